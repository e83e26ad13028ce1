"""Sequences of tiles: what is tried, what is proved, and that a proof agrees with running what it covers."""

import os
import random
from dataclasses import replace
from time import perf_counter

import pytest

from warpdraft.core.document import GuardKind
from warpdraft.core.expressions import Operation, Symbol, symbol
from warpdraft.core.findings import Severity
from warpdraft.core.hazards import HAZARDS
from warpdraft.core.hazards.examples import (
    acquire,
    channel,
    commit,
    document,
    fence,
    guard,
    loop,
    queue,
    release,
    ring,
    task,
    tiles,
    wait,
    work,
)
from warpdraft.core.hazards.scheduler_desync import scheduler
from warpdraft.core.machine import Machine
from warpdraft.core.periodic import Unproved
from warpdraft.core.run import execute
from warpdraft.core.store import dumps, loads
from warpdraft.core.tile_graph import TileProver
from warpdraft.core.tile_kinds import tile_kinds
from warpdraft.core.to_python import to_python
from warpdraft.core.unroll import unroll
from warpdraft.core.valuations import cases
from warpdraft.core.verify import verify

T, K = Symbol("tiles"), Symbol("k_tiles", 0, per_tile=True)
ADVANCE = work("queue", "get_and_advance_work_tile")


def persistent(load, use, *, resources, skips=("", ""), symbols=(T, K)):
    """Two tasks that loop over tiles."""
    return document(
        "persistent",
        task("load", 0, 1, tiles(*load, ADVANCE, stop=T, skip_if=skips[0])),
        task("use", 4, 1, tiles(*use, ADVANCE, stop=T, skip_if=skips[1])),
        resources=(*resources, queue()),
        graph=(),
        symbols=symbols,
    )


FILL = acquire("x"), work("x", "fill"), commit("x")
TAKE = wait("x"), work("x", "read"), release("x")


def rings(stages=2, stop=K):
    return persistent([loop(*FILL, stop=stop)], [loop(*TAKE, stop=stop)], resources=(channel("x", stages),))


class TestKinds:
    def test_what_a_tile_decides(self):
        skipped = persistent(
            [guard(GuardKind.SKIPPABLE, loop(*FILL, stop=K))],
            [guard(GuardKind.SKIPPABLE, loop(*TAKE, stop=K))],
            resources=(channel("x"),),
            skips=("empty", "empty"),
        )
        found = tile_kinds(skipped)
        assert found.keys == {"empty": False} and found.symbols == {"k_tiles": 0} and found.tiles == "tiles"
        kinds = found.kinds(skipped, {"k_tiles": (0, 1, 2)})
        assert kinds == [(False, 0), (False, 1), (False, 2), (True, 0)]  # a skipped tile runs no loop
        assert found.words((True, 2)) == "skipped by empty and k_tiles = 2"

    def test_conditions_of_inner_loops_are_no_kinds(self):
        inner = persistent(
            [loop(guard(GuardKind.WHEN_TRUE, *FILL, key="c"))],
            [loop(guard(GuardKind.WHEN_TRUE, *TAKE, key="c"))],
            resources=(channel("x"),),
            symbols=(T,),
        )
        assert not tile_kinds(inner)

    def test_all_sequences_of_up_to_four_tiles_are_tried(self):
        tried = [p for _, p in cases(rings()) if hasattr(p, "text")]
        lengths = {(n, k) for p in tried for n, k in [(len(p["k_tiles"]), p["k_tiles"])]}
        assert all(sum(n == m for m, _ in lengths) >= 3**n for n in range(1, 5))

    def test_one_value_a_tile(self):
        program = unroll(Machine(rings()), {"tiles": 3, "k_tiles": 0}, conditions={"k_tiles": (2, 0, 1)})
        fills = [e.at for e in program.streams[0].events if e.op == "load.03"]
        assert fills == [(("tile", 0), ("k", 0)), (("tile", 0), ("k", 1)), (("tile", 2), ("k", 0))]


class TestProof:
    @pytest.mark.parametrize("stages", [1, 2, 3, 5])
    def test_rings(self, stages):
        report = verify(rings(stages))
        assert report.verdict == "safe" and report.scope.kind == "all" and not report.findings
        assert "all sequences of tiles" in report.scope.reason

    def test_a_mistake_that_only_long_sequences_show(self):
        """The phase shifts only once a tile with five iterations was followed by an empty one, twice."""
        odd = Operation("//", Operation("+", K, 1), 6)  # 1 at five iterations
        found = persistent(
            [loop(*FILL, stop=K), loop(*FILL, stop=odd, var="n")],
            [loop(*TAKE, stop=K)],
            resources=(channel("x", 2),),
        )
        report = verify(found)
        assert report.verdict == "unsafe"
        assert any(
            "k_tiles = 5" in note or ("k_tiles", 5) in f.case for f in report.errors for note in f.notes
        )

    def test_unequal_loops(self):
        report = verify(
            persistent(
                [loop(*FILL, stop=K)],
                [loop(*TAKE, stop=Operation("min", K, 3))],
                resources=(channel("x", 2),),
            )
        )
        assert report.verdict != "safe" or report.scope.kind == "listed"

    def test_stages_that_start_anew(self):
        """A buffer of the tile loop's own: the last read of a tile is not ordered before the next tile's write."""
        found = persistent(
            [loop(acquire("x"), work("x", "load"), commit("x"), stop=K)],
            [loop(wait("x"), work("x", "read"), release("x"), stop=K)],
            resources=(ring("x"),),
        )
        assert {f.code for f in verify(found).errors} == {"WD501"}
        fenced = persistent(
            [loop(acquire("x"), work("x", "load"), commit("x"), stop=K)],
            [loop(wait("x"), work("x", "read"), fence(), release("x"), stop=K)],
            resources=(ring("x"),),
        )
        assert verify(fenced).scope.kind == "all"


def random_tile(rng):
    """Bodies of a producer and a consumer of two rings, right or with a mistake; kinds decide what runs."""

    def part(ring, key, take):
        ops = (wait, "read", release) if take else (acquire, "fill", commit)
        body = [ops[0](ring), work(ring, ops[1]), ops[2](ring)]
        if rng.random() < 0.04:
            body.pop(rng.randrange(3))
        if key == "k":
            return loop(*body, stop=K, var=f"k_{ring}")
        if key:
            return guard(GuardKind.WHEN_TRUE if key == "c" else GuardKind.WHEN_FALSE, *body, key="c")
        return loop(*body, stop=1, var=f"one_{ring}")

    keys = {ring: rng.choice(["", "k", "c", "d"]) for ring in "xy"}
    sides = []
    for take in (False, True):
        parts = [
            part(r, keys[r] if rng.random() < 0.95 else rng.choice(["", "k", "c", "d"]), take) for r in "xy"
        ]
        if rng.random() < 0.2:
            parts.reverse()
        sides.append(parts)
    stages = rng.choice([1, 2, 3]), rng.choice([1, 2])
    return persistent(*sides, resources=tuple(channel(r, s) for r, s in zip("xy", stages, strict=True)))


@pytest.mark.parametrize("seed", range(40))
def test_a_proof_agrees_with_long_random_sequences(seed):
    rng = random.Random(seed)
    schedule = random_tile(rng)
    machine = Machine(schedule)
    if not machine.tile_kinds:
        return
    prover = TileProver(machine, lambda run, _: not run.wrong, lambda run: not run.wrong, perf_counter() + 20)
    try:
        prover.prove()
    except Unproved as why:
        if "different orders" in str(why):  # of two rings: a long enough tile hangs
            assert verify(schedule).verdict == "unsafe"
        else:
            assert "an error" in str(why) or "events" in str(why)
        return
    for _ in range(12):
        n = rng.randrange(1, 9)
        patterns = {"k_tiles": tuple(rng.choice([0, 1, 2, 3, 5, 8]) for _ in range(n))}
        patterns["c"] = tuple(rng.random() < 0.5 for _ in range(n))
        run = execute(machine, {"tiles": n, "k_tiles": 0}, patterns)
        assert not run.wrong, (seed, patterns)


N = Symbol("n_tiles", 0, per_tile=True)
COUNT = 1500 if os.environ.get("WARPDRAFT_LONG") else 30


def random_queue(rng, own=True):
    """Two rings, or the same one twice, whose loops have trip counts of each tile's ``own``, in tiles that may be skipped,
    of a queue that requests tiles at run time or only counts them; now and then with a mistake anywhere."""
    k, n = (replace(s, per_tile=own) for s in (K, N))
    clc, skip = rng.random() < 0.6, rng.random() < 0.5
    stops = [rng.choice([k, n, Operation("+", k, 1), Operation("min", k, 2), 1, 2]) for _ in "xy"]
    names = rng.choice(["xy", "xx", "yx"])
    guards = [
        rng.choice([None, None, guard_of(GuardKind.FIRST_ITER), guard_of(GuardKind.LAST_ITER)]) for _ in "xy"
    ]

    def part(place, take):
        ring = names[place]
        body = [wait(ring), work(ring, "read"), release(ring)]
        if not take:
            body = [acquire(ring), work(ring, "fill"), commit(ring)]
        body = mistaken(body, rng)
        if guards[place] and rng.random() < 0.95:
            body = [*body, guards[place](*body)]
        stop = stops[place] if rng.random() < 0.97 else rng.choice(stops)
        return loop(*body, stop=stop, var=f"i{place}")

    def tile(take):
        body = [part(0, take), part(1, take)]
        if rng.random() < 0.05:
            body.reverse()
        return [guard(GuardKind.SKIPPABLE, *body)] if skip else body

    read = [wait("queue"), ADVANCE, release("queue")] if clc else [ADVANCE]
    ask = [acquire("queue"), work("queue", "fetch_work_tile"), commit("queue")] if clc else []
    empty = "empty" if skip else ""
    bodies = [mistaken([*tile(take), *read], rng, 0.02) for take in (False, True)]
    asking = mistaken([*ask, *read], rng)
    behind = ask if rng.random() < 0.05 else ()
    rings = tuple(channel(r, rng.choice([1, 2, 3])) for r in "xy")
    return document(
        "queued",
        task("load", 0, 1, tiles(*bodies[0], stop=T, skip_if=empty)),
        task("use", 4, rng.choice([1, 2]), tiles(*bodies[1], stop=T, skip_if=empty)),
        *([task("ask", 8, 1, tiles(*asking, stop=T, skip_if=empty), *behind)] if clc else ()),
        resources=(*rings, scheduler(rng.choice([1, 2])) if clc else queue()),
        graph=(),
        symbols=(T, k, n),
        target="sm_100a",
    )


def guard_of(kind):
    return lambda *body: guard(kind, *body)


def mistaken(body, rng, chance=0.03):
    """``body``, now and then without an op, or with two that have changed places."""
    body = list(body)
    if rng.random() < chance and len(body) > 1:
        body.pop(rng.randrange(len(body)))
    if rng.random() < chance:
        i, j = rng.randrange(len(body)), rng.randrange(len(body))
        body[i], body[j] = body[j], body[i]
    return body


@pytest.mark.timeout(7200 if os.environ.get("WARPDRAFT_LONG") else 600)  # by the clock, on a busy machine
@pytest.mark.parametrize("own", [True, False])
def test_no_sequence_of_tiles_breaks_what_is_proved(own):
    rng, proved, refuted = random.Random(7), 0, 0
    for _ in range(COUNT):
        found = random_queue(rng, own)
        report = verify(found, budget=20)
        refuted += report.verdict == "unsafe"
        if report.scope.kind != "all" or report.verdict != "safe":
            continue
        proved += 1
        machine = Machine(found)
        for _ in range(8):
            n = rng.randrange(1, 12)
            patterns = {
                s.name: [rng.choice([0, 1, 2, 3, 5, 8, 13]) for _ in range(n * own + 1)] for s in (K, N)
            }
            patterns["empty"] = [rng.random() < 0.4 for _ in range(n)]
            values = {"tiles": n, "k_tiles": max(patterns["k_tiles"]), "n_tiles": max(patterns["n_tiles"])}
            patterns = {k: tuple(v) for k, v in patterns.items() if own or k == "empty"}
            run = execute(machine, values, patterns)
            errors = [f for h in HAZARDS for f in h.examine(run) if f.severity is Severity.ERROR]
            assert not run.wrong and not errors, (to_python(found), patterns, errors)
    assert proved > COUNT // 6 and refuted > COUNT // 6, (proved, refuted)


def test_per_tile_symbols_are_stored_and_written():
    found = rings()
    assert loads(dumps(found)) == found
    assert "per_tile=True" in to_python(found)
    assert symbol("k", per_tile=True).per_tile
