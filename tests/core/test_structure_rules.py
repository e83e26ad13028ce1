"""Rules on structure beyond their examples: what else they find, and what they leave alone."""

from dataclasses import replace

import pytest

from warpdraft.core.document import Edge, Engine, GuardKind, NamedBarrier, OpKind, Resource, Space, Work
from warpdraft.core.expressions import Symbol
from warpdraft.core.findings import Severity
from warpdraft.core.hazards.examples import (
    MMA,
    accumulator,
    acquire,
    buffer,
    channel,
    commit,
    document,
    group_commit,
    group_wait,
    guard,
    loop,
    op,
    queue,
    release,
    ring,
    sync,
    task,
    tiles,
    wait,
    work,
)
from warpdraft.core.verify import verify

ADVANCE = work("queue", "get_and_advance_work_tile")
FILL = loop(acquire("x"), work("x", "fill"), commit("x"))
USE = loop(wait("x"), work("x", "read"), release("x"))


def codes(schedule):
    return {f.code for f in verify(schedule).findings}


def inside(block, key):
    """The loop ``block`` with its condition inside."""
    return replace(block, body=(guard(GuardKind.WHEN_FALSE, *block.body, key=key),))


def skipping(load, use):
    """Roles that skip tiles under a predicate: by `skippable`, or by a condition around ("-x") or inside ("/x") the loop."""
    bodies = []
    for body, under in ((FILL, load), (USE, use)):
        if under[:1] == "-":
            bodies.append(tiles(guard(GuardKind.WHEN_FALSE, body, key=under[1:]), ADVANCE))
        elif under[:1] == "/":
            bodies.append(tiles(inside(body, under[1:]), ADVANCE))
        else:
            bodies.append(tiles(guard(GuardKind.SKIPPABLE, body) if under else body, ADVANCE, skip_if=under))
    return document(
        "skipping",
        task("load", 0, 1, bodies[0]),
        task("use", 4, 1, bodies[1]),
        resources=(channel("x"), queue()),
        graph=(),
    )


@pytest.mark.parametrize(
    ("load", "use", "bad"),
    [
        ("a", "a", False),
        ("", "", False),
        ("a", "b", True),
        ("a", "", True),
        ("a", "-a", False),
        ("-a", "a", False),
        ("a", "/a", False),
        ("a", "-b", True),
        ("/a", "", True),
    ],
)
def test_predicates(load, use, bad):
    found = codes(skipping(load, use))
    assert bool(found) == bad
    if "a" in (load, use):  # a tile loop skips by it
        assert ("WD114" in found) == bad


def test_both_branches_of_a_predicate_are_every_tile():
    branches = [guard(kind, USE, key="a") for kind in (GuardKind.WHEN_TRUE, GuardKind.WHEN_FALSE)]
    for skip, bad in ((FILL, False), (guard(GuardKind.SKIPPABLE, FILL), True)):
        schedule = document(
            "branches",
            task("load", 0, 1, tiles(skip, ADVANCE, skip_if="a")),
            task("use", 4, 1, tiles(*branches, ADVANCE)),
            resources=(channel("x"), queue()),
            graph=(),
        )
        assert ("WD114" in codes(schedule)) == bad


def test_auxiliary_works_stand_in_skipped_tiles_too():
    x = replace(channel("x"), works=(*channel("x").works, Work("prepare", "producer", auxiliary=True)))
    for early, bad in (("prepare", False), ("fill", True)):
        schedule = document(
            "auxiliary",
            task(
                "load", 0, 1, tiles(work("x", early), guard(GuardKind.SKIPPABLE, FILL), ADVANCE, skip_if="a")
            ),
            task("use", 4, 1, tiles(guard(GuardKind.SKIPPABLE, USE), ADVANCE, skip_if="a")),
            resources=(x, queue()),
            graph=(),
        )
        assert ("WD114" in codes(schedule)) == bad


def test_peeks_stand_in_skipped_tiles_too():
    look = op(OpKind.TRY_WAIT, "x")
    for early, bad in ((look, False), (wait("x"), True)):
        schedule = document(
            "peeks",
            task("load", 0, 1, tiles(guard(GuardKind.SKIPPABLE, FILL), ADVANCE, skip_if="a")),
            task("use", 4, 1, tiles(early, guard(GuardKind.SKIPPABLE, USE), ADVANCE, skip_if="a")),
            resources=(channel("x"), queue()),
            graph=(),
        )
        assert ("WD114" in codes(schedule)) == bad


def test_edges_at_ping_pong_resources_and_barriers_need_no_direction():
    """A stage that goes back and forth is made from itself; who fills it makes others from it, too."""

    def schedule(*graph):
        fill = loop(
            acquire("x"), work("x", "fill"), commit("x"), acquire("y"), work("y", "fill"), commit("y")
        )
        use = loop(wait("x"), work("x", "read"), release("x"))
        end = loop(wait("y"), work("y", "read"), release("y"))
        tasks = task("fill", 0, 1, fill), task("use", 4, 1, use), task("end", 8, 1, end)
        return document("back and forth", *tasks, resources=(channel("x"), channel("y")), graph=graph)

    assert codes(schedule(("x", "x"), ("x", "y"))) == set()
    assert codes(schedule(("x", "y"))) == {"WD103"}
    assert codes(schedule(("y", "x"), ("y", "y"))) == set()
    nothing = replace(channel("y"), works=(), storage=None)
    for y, bad in ((nothing, False), (replace(nothing, works=channel("y").works), True)):
        found = document(
            "turns",
            task("fill", 0, 1, loop(acquire("x"), work("x", "fill"), commit("x"), acquire("y"), commit("y"))),
            task("use", 4, 1, loop(wait("y"), wait("x"), work("x", "read"), release("x"), release("y"))),
            resources=(channel("x"), y),
            graph=(("x", "y"),),
        )
        assert ("WD103" in codes(found)) == bad


def test_a_condition_in_the_first_and_in_the_last_iteration():
    first = guard(GuardKind.FIRST_ITER, guard(GuardKind.WHEN_TRUE, *FILL.body, key="a"))
    last = guard(GuardKind.WHEN_TRUE, guard(GuardKind.LAST_ITER, *USE.body), key="a")
    schedule = document(
        "ends",
        task("load", 0, 1, loop(loop(first), stop=Symbol("n"), var="i")),
        task("use", 4, 1, loop(loop(last), stop=Symbol("n"), var="i")),
        resources=(channel("x"),),
        symbols=(Symbol("n"), Symbol("k_tiles")),
    )
    assert codes(schedule) == set()


@pytest.mark.parametrize("key", ["a", "b"])
def test_a_condition_around_a_loop_is_the_same_inside_it(key):
    schedule = document(
        "around and inside",
        task("load", 0, 1, guard(GuardKind.WHEN_FALSE, FILL, key="a")),
        task("use", 4, 1, inside(USE, key)),
        resources=(channel("x"),),
    )
    assert bool(codes(schedule)) == (key == "b")


def test_a_task_that_works_once_beside_persistent_ones():
    once = document("once", task("load", 0, 1, FILL), task("use", 4, 1, USE), resources=(channel("x"),))
    assert codes(once) == set()


def test_self_edges_need_both_sides_and_reads_that_end():
    both = (acquire("x"), work("x", "fill"), commit("x"), wait("x"), work("x", "read"), release("x"))

    def schedule(x=None, **fields):
        x = x or channel("x")
        return document("self", task("t", 0, 1, loop(*both), **fields), resources=(x,), graph=(("x", "x"),))

    assert codes(schedule()) == set()
    assert "WD115" in codes(schedule(dst=("x",), src=()))
    late = replace(channel("x"), works=(Work("fill", "producer"), Work("read", "consumer", Engine.WGMMA)))
    assert "WD115" in codes(schedule(late))


def test_a_layout_has_the_clusters_size():
    x = channel("x", cta_layout=(1, 2, 1, 1))
    good = document(
        "cta",
        task("load", 0, 1, FILL),
        task("use", 4, 1, USE),
        resources=(x,),
    )
    assert "WD215" in codes(good) and "WD215" not in codes(replace(good, cluster=(2, 1, 1)))


def test_a_split_consumer_may_be_ordered_by_a_barrier():
    def schedule(*meeting):
        return document(
            "split",
            task("load", 0, 1, FILL),
            task("watch", 4, 1, loop(wait("x"), *meeting)),
            task("use", 8, 1, loop(*meeting, release("x"))),
            resources=(channel("x", advance_on_wait=True),),
            barriers=(NamedBarrier("meet", 1, 64),),
        )

    assert "WD217" in codes(schedule()) and codes(schedule(sync("meet"))) == set()


def test_a_split_consumer_may_be_ordered_over_a_third_task():
    middle = loop(wait("a"), acquire("b"), commit("b"), release("a"))
    schedule = document(
        "split",
        task("load", 0, 1, FILL),
        task("watch", 4, 1, loop(wait("x"), acquire("a"), commit("a"))),
        task("middle", 5, 1, middle),
        task("use", 8, 1, loop(wait("b"), work("x", "read"), release("x"), release("b"))),
        resources=(channel("x", 4, advance_on_wait=True), channel("a"), channel("b")),
    )
    assert "WD217" not in codes(schedule)
    assert Edge("x", "a") in schedule.graph


J, K, P = Symbol("j"), Symbol("k_tiles"), Symbol("p", 1)


def looping(*bounds, use=USE.body):
    """A ring whose both sides loop from, to, by ``bounds``."""
    fields = dict(zip(("start", "stop", "step"), bounds, strict=False))
    return document(
        "looping",
        task("load", 0, 1, loop(acquire("x"), work("x", "fill"), commit("x"), **fields)),
        task("use", 4, 1, loop(*use, **fields)),
        resources=(channel("x"),),
        symbols=(J, K, P),
    )


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ((0, K // 0), "stop of loop load.00 of load (k_tiles = 0) divides by zero"),
        ((0, J // K), "(j = 0, k_tiles = 0) divides by zero"),
        ((0, J % K), "divides by zero"),
        ((J // K, P), "start of loop load.00"),
        ((0, J // (K - 7)), "(j = 0, k_tiles = 7) divides by zero"),
        ((0, J // (K - 1000)), "k_tiles = 1000) divides by zero"),
        ((0, P, J), "step of loop load.00 of load (j = 0) is 0"),
    ],
)
def test_bounds_without_a_value(bounds, words):
    found = [f for f in verify(looping(*bounds)).errors if f.code == "WD107"]
    assert len(found) == 2 and words in found[0].message


@pytest.mark.parametrize("bounds", [(0, K - 100), (0, K - 1), (0, 3 * K - 2), (2, K - 1), (0, -5)])
def test_a_negative_end_is_a_warning(bounds):
    report = verify(looping(*bounds))
    assert report.verdict == "safe"
    assert [(f.code, f.severity) for f in report.findings] == [("WD107", Severity.WARNING)] * 2


@pytest.mark.parametrize(
    "bounds",
    [
        (1, K),
        (5, 3),
        (0, 0),
        (-4, -1),
        (0, P - 1),
        (0, J // P),
        (0, J % P),
        (0, K, P),
        (0, 100 - K),
        (P, 0, -1),
    ],
)
def test_loops_that_may_run_no_iteration(bounds):
    assert verify(looping(*bounds)).findings == ()


@pytest.mark.parametrize("stop", [K - 100, K // 4, K // 40, 100 - K])
def test_loops_that_run_only_for_larger_values_are_run(stop):
    assert "WD302" in codes(looping(0, stop, use=(wait("x"), work("x", "read"))))
    early = (release("x"), wait("x"), work("x", "read"))
    assert "WD105" in codes(looping(0, stop, use=early))


def test_a_loop_that_no_value_runs_is_not_called_safe():
    report = verify(looping(0, K - 5000))
    assert report.verdict == "incomplete" and "load.00 runs no iteration" in report.scope.reason


def chain(graph):
    """Through a ring into registers and out: only the ring has a pipeline."""
    mma = (work("ab", "tile", result="t"), work("acc", "mma", tile="t"), group_commit("mma_group"))
    return document(
        "chain",
        task("load", 0, 1, loop(work("gmem", "read"), acquire("ab"), work("ab", "load"), commit("ab"))),
        task("math", 4, 4, loop(wait("ab"), *mma, group_wait("mma_group"), release("ab"))),
        resources=(Resource("gmem", Space.GMEM, works=(Work("read", "consumer"),)), ring(), accumulator()),
        groups=(MMA,),
        graph=graph,
    )


@pytest.mark.parametrize(
    ("graph", "missing"),
    [
        ((("gmem", "ab"), ("ab", "acc")), []),
        ((("gmem", "ab"),), ["acc"]),
        ((("ab", "acc"),), ["gmem"]),
        ((), ["gmem", "ab", "acc"]),
    ],
)
def test_resources_without_a_pipeline_are_in_the_graph_too(graph, missing):
    found = [f.resources[0] for f in verify(chain(graph)).findings if f.code == "WD102"]
    assert sorted(found) == sorted(missing)
    assert codes(chain(graph)) <= {"WD102"}


def test_a_resource_made_from_nothing():
    for roots in ((), ("acc",)):
        schedule = replace(chain((("gmem", "ab"),)), roots=roots)
        assert codes(schedule) == ({"WD102"} if not roots else set())


def test_what_no_edge_could_join_is_left_out_of_the_graph():
    scratch = (work("s", "fill"), sync("meet"), work("s", "read"))
    schedule = document(
        "apart",
        task("load", 0, 1, tiles(FILL, ADVANCE)),
        task("use", 4, 1, tiles(USE, ADVANCE)),
        task("alone", 8, 4, tiles(*scratch, sync("meet"), ADVANCE)),
        resources=(channel("x"), queue(), buffer("s")),
        barriers=(NamedBarrier("meet", 1, 128),),
        graph=(),
    )
    assert "WD102" not in codes(schedule)
