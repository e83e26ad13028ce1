"""Blocks of one warp: a task's other warps move their cursors past them, and brackets are the task's."""

import pytest
from kit import K, accepted, build, channel, codes, drain, fill, ring, role

from warpdraft.core import (
    NamedBarrier,
    Signal,
    domain_loop,
    elect_lane,
    elect_warp,
    fence_proxy_async,
    symbol,
    sync_warp,
)
from warpdraft.core.program import EventKind
from warpdraft.core.unroll import unroll


def release_by_one(*, meet=True, split=False):
    """Four warps read a stage, one of them gives it back."""
    ab, barrier = ring("ab", 3, advance_on_wait=split), NamedBarrier(1, 128, "meet")

    def math():
        with domain_loop(0, K):
            ab.wait()
            ab.read()
            fence_proxy_async()
            if meet:
                barrier.sync()
            with elect_warp(0):
                ab.release()

    return build(fill(ab), role("math", 4, 4, math, [ab]))


@pytest.mark.parametrize("split", [False, True])
def test_one_warp_releases_for_all_that_met(split):
    assert accepted(release_by_one(split=split))
    found = codes(release_by_one(split=split, meet=False))
    assert "WD105" not in found and found & {"WD205", "WD401"}  # C18


def test_the_same_with_a_lag():
    ab, barrier = ring("ab", 3, advance_on_wait=True), NamedBarrier(1, 128, "meet")
    steps = symbol("steps", min=1)

    def math():
        with domain_loop(0, steps) as k:
            ab.wait()
            ab.read()
            fence_proxy_async()
            barrier.sync()
            with k.every(1, start=1), elect_warp(2):
                ab.release()
        with elect_warp(1):
            ab.release()

    assert accepted(build(fill(ab, steps), role("math", 4, 4, math, [ab])))


@pytest.mark.parametrize("meet", [True, False])
def test_one_warp_polls_for_all(meet):
    ab, barrier = ring("ab", 2), NamedBarrier(1, 128, "meet")

    def math():
        with domain_loop(0, K):
            with elect_warp(0):
                ab.try_wait()
                ab.wait()
            if meet:
                barrier.sync()
            ab.read()
            fence_proxy_async()
            ab.release()

    schedule = build(fill(ab), role("math", 4, 4, math, [ab]))
    assert accepted(schedule) if meet else codes(schedule) >= {"WD401"}


def test_warps_take_turns_at_one_cursor():
    x = channel("x", 2)

    def write():
        with domain_loop(0, K):
            for warp in (0, 1):
                with elect_warp(warp):
                    x.acquire()
                    x.fill()
                    x.commit()

    def read():
        with domain_loop(0, K):
            for _ in range(2):
                x.wait()
                x.read()
                x.release()

    schedule = build(role("write", 0, 2, write, [], [x]), role("use", 4, 1, read, [x]))
    assert accepted(schedule)
    stages = [
        [e.stage for e in s.events if e.kind is EventKind.WORK] for s in unroll(schedule, {"k": 3}).streams
    ]
    assert stages == [[0, 0, 0], [1, 1, 1], [0, 1, 0, 1, 0, 1]]


def test_a_warp_whose_stages_nobody_shares_counts_alone():
    a, b = channel("a", 2), channel("b", 2)

    def write():
        for warp, x in enumerate((a, b)):
            with elect_warp(warp), domain_loop(0, K):
                x.acquire()
                x.fill()
                x.commit()

    uses = [drain(x, name=f"use_{x.name}", first=4 + i) for i, x in enumerate((a, b))]
    assert codes(build(role("write", 0, 2, write, [], [a, b]), *uses)) == set()


def test_one_lane_signals_and_its_warp_moves():
    x = channel("x", 2, producer_signaling_threads=Signal.THREAD)

    def write():
        with domain_loop(0, K):
            x.acquire()
            x.share()
            sync_warp()
            with elect_lane():
                x.commit()

    assert accepted(build(role("write", 0, 2, write, [], [x]), drain(x)))
