"""Forms of the cases of Task Scheduling, and of named barriers, beside those of the cases' own tests."""

from __future__ import annotations

from kit import K, buffer, build, channel, do, drain, fill, output, ring, role, times

from warpdraft.core import AsyncGroup, Document, NamedBarrier, domain_loop


def handed(back: bool) -> Document:
    """N1 in a loop: 128 threads arrive, 128 others wait."""
    s, there, here = buffer("s"), NamedBarrier(1, 256, "there"), NamedBarrier(2, 256, "here")

    def give():
        with domain_loop(0, K):
            s.share()
            there.arrive()
            if back:
                here.sync()

    def take():
        with domain_loop(0, K):
            there.sync()
            s.read()
            if back:
                here.arrive()

    return build(role("wg0", 0, 4, give, [], [s]), role("wg1", 4, 4, take, [s]))


def shared(meet: bool) -> Document:
    """P01: a buffer of two tasks."""
    s, both = buffer("s"), NamedBarrier(1, 64, "both")
    first = role("write", 0, 1, lambda: (s.fill(), both.sync() if meet else None), [], [s])
    return build(first, role("read", 1, 1, lambda: (both.sync() if meet else None, s.read()), [s]))


def doubled(names: str, cursors: bool = False) -> Document:
    """P02, P03: two stages in each iteration of the consumer."""
    x = channel("x", 2, advance_on_wait=cursors)
    return build(fill(x, 2 * K), drain(x, body=times(K, x, names)))


def passed(made, *taken, first: int = 4) -> Document:
    """P08, P11, P19: one producer, and consumers that each take so many; the first on warp ``first``."""
    x = channel("x", 2)
    users = [drain(x, trips, f"use{i}", first + i) for i, trips in enumerate(taken)]
    producer = role("load", 0, 1, times(made, x, "acquire fill commit"), [], [x])
    return build(producer, *users)


def unreleased(trips) -> Document:
    """P21: nothing uses the pipeline after its last stage, which is not given back."""
    x = channel("x", 2)

    def use():
        times(trips - 1, x, "wait read release")()
        do(x, "wait read")

    return build(fill(x, trips), drain(x, body=use))


def viewed() -> Document:
    """P22: two tasks look at one stage at a time."""
    x, out = ring("x", 2), output()

    def use():
        group = AsyncGroup("bulk_store")
        with domain_loop(0, K):
            x.wait()
            out.store(tile=x.tile())
            group.commit()
            group.wait(0)
            x.release()

    return build(fill(x), *(role(f"use{i}", 4 + i, 1, use, [x], [out]) for i in range(2)))


def overlaid(meet: bool) -> Document:
    """P24: two buffers that share their bytes."""
    x, y = (buffer(name, alias="xy", alias_phase=i) for i, name in enumerate("xy"))
    both = NamedBarrier(1, 64, "both")
    first = role("first", 0, 1, lambda: (do(x, "fill read"), both.sync() if meet else None), [x], [x])
    return build(
        first, role("second", 1, 1, lambda: (both.sync() if meet else None, do(y, "fill read")), [y], [y])
    )
