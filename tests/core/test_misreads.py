"""Reads of what nobody wrote, reads of another use's bytes, and copies that nobody waits for."""

from dataclasses import replace

import pytest

from warpdraft.assets.examples import persistent_gemm
from warpdraft.core.document import Engine, Footprint, GuardKind, Op, Pipeline, Resource, Space, Storage, Work
from warpdraft.core.edits import DeleteNode
from warpdraft.core.expressions import Operation, Symbol
from warpdraft.core.hazards.examples import (
    MMA,
    K,
    accumulator,
    acquire,
    buffer,
    channel,
    commit,
    document,
    elect,
    fence,
    group_commit,
    group_wait,
    guard,
    loop,
    release,
    ring,
    task,
    wait,
    work,
)
from warpdraft.core.layout import layout
from warpdraft.core.tree import walk
from warpdraft.core.verify import verify


def found(schedule, code):
    return [f for f in verify(schedule).errors if f.code == code]


def codes(schedule):
    return {f.code for f in verify(schedule).findings}


def without(schedule, name):
    op = next(n for t in schedule.tasks for n in walk(t.body) if isinstance(n, Op) and n.work == name)
    return DeleteNode(op.id).apply(schedule)


class TestUnwritten:
    def test_a_part_that_no_copy_fills(self):
        (one,) = found(without(persistent_gemm.build().document, "load_a"), "WD410")
        assert "nobody has written" in one.message and one.resources == ("smem_ab",) and one.witness
        assert "bytes 1024 to 17407 of smem_ab[0]" in one.message

    @pytest.mark.parametrize("offset", [0, 512])
    def test_half_a_stage(self, offset):
        half = Work("fill", "producer", footprint=Footprint("range", offset, 512))
        x = replace(channel("x"), works=(half, Work("read", "consumer")))
        (one,) = found(self.handed(x), "WD410")
        base = layout(self.handed(x)).offsets["x"] + 512 - offset
        assert f"reads bytes {base} to {base + 511} of x[0]" in one.message

    def handed(self, *resources, body=None):
        fill = (work("x", "fill"),) if body is None else body
        return document(
            "handed",
            task("load", 0, 1, loop(acquire("x"), *fill, commit("x"))),
            task("use", 4, 1, loop(wait("x"), work("x", "read"), release("x"))),
            resources=resources,
        )

    def test_stages_that_are_handed_on_and_never_filled(self):
        assert found(self.handed(channel("x"), body=()), "WD410")

    def test_without_storage_and_without_producing_works_it_is_a_token(self):
        x = Resource("x", Space.SMEM, Pipeline(2), works=(Work("read", "consumer"),))
        assert codes(self.handed(x, body=())) == set()

    def test_without_storage_parts_mean_nothing(self):
        works = (Work("fill", "producer", footprint=Footprint("range", 0, 64)), Work("read", "consumer"))
        assert codes(self.handed(Resource("x", Space.SMEM, Pipeline(2), works=works))) == set()

    def test_what_no_task_writes_comes_from_outside(self):
        schedule = document("read", task("t", 0, 1, work("x", "read")), resources=(buffer("x"),), symbols=())
        assert verify(schedule).verdict == "safe"

    def test_a_view_of_bytes_written_under_another_name(self):
        views = [replace(buffer(n, alias="a", phase=p), works=buffer(n).works) for p, n in enumerate("xyz")]
        read = [work("y", "read"), work("z", "read")]
        schedule = document("views", task("t", 0, 1, work("x", "fill"), *read), resources=views, symbols=())
        assert codes(schedule) == set()

    def test_registers_of_another_warp(self):
        def multiply(*mma):
            return document(
                "registers",
                task("math", 0, 4, *mma, group_wait("mma_group"), work("acc", "read")),
                resources=(buffer("operand"), replace(accumulator(), works=(ACC, Work("read", "consumer")))),
                groups=(MMA,),
                symbols=(),
            )

        ACC = Work("mma", "producer", accumulator().works[0].engine)
        mma = work("acc", "mma"), group_commit("mma_group")
        assert codes(multiply(*mma)) == set()
        (one,) = found(multiply(elect(*mma)), "WD410")
        assert any("private" in note for note in one.notes)

    def test_the_loop_that_runs_zero_times_is_named(self):
        trips = Symbol("n", 0)
        schedule = document(
            "sum",
            task("t", 0, 1, loop(work("x", "fill"), stop=trips), work("x", "read")),
            resources=(buffer("x"),),
            symbols=(trips,),
        )
        (one,) = found(schedule, "WD410")
        assert one.case == (("n", 0),) and any("runs zero times" in note for note in one.notes)
        assert (
            verify(replace(schedule, symbols=(Symbol("n", 1),)), trip_counts={"n": [1, 2]}).verdict == "safe"
        )

    def test_a_race_is_told_as_a_race(self):
        schedule = document(
            "race",
            task("reader", 0, 1, work("x", "read")),
            task("writer", 4, 1, work("x", "fill")),
            resources=(buffer("x"),),
            symbols=(),
        )
        assert codes(schedule) == {"WD401"}


class TestStale:
    def test_a_stage_that_is_filled_once(self):
        schedule = document(
            "once",
            task(
                "load",
                0,
                1,
                loop(acquire("x"), guard(GuardKind.FIRST_ITER, work("x", "fill"), loop="k"), commit("x")),
            ),
            task("use", 4, 1, loop(wait("x"), work("x", "read"), release("x"))),
            resources=(channel("x", stages=1),),
        )
        (one,) = found(schedule, "WD411")
        assert one.case == (("k_tiles", 2),) and "for phase 1" in one.message and "for phase 0" in one.message

    def test_copies_too(self):
        load = guard(GuardKind.EVERY, work("ab", "load"), loop="k", period=4)
        schedule = document(
            "copies",
            task("load", 0, 1, loop(acquire("ab"), load, commit("ab"))),
            task("use", 4, 1, loop(wait("ab"), work("ab", "read"), fence(), release("ab"))),
            resources=(replace(ring(), storage=Storage(1024, 2)),),
        )
        assert verify(schedule).verdict == "unsafe"


class TestInFlight:
    def copy(self, more, *, waits=True):
        use = (wait("ab"), work("ab", "read"), fence())
        return document(
            "copy",
            task(
                "load",
                0,
                1,
                loop(acquire("ab"), work("ab", "load"), commit("ab"), stop=Operation("+", K, more)),
            ),
            task("use", 4, 1, loop(*use[not waits :], *([release("ab")] if waits else []))),
            resources=(ring(),),
        )

    def test_a_copy_that_nobody_waits_for(self):
        (one,) = found(self.copy(1), "WD409")
        assert one.ops == ("load.02",) and one.case == (("k_tiles", 0),) and "no warp waits" in one.message

    def test_all_are_waited_for(self):
        assert codes(self.copy(0)) == set()

    def test_a_copy_without_a_barrier(self):
        x = Resource("x", Space.SMEM, storage=Storage(64), works=(Work("load", "producer", Engine.TMA),))
        schedule = document("bare", task("t", 0, 1, work("x", "load")), resources=(x,), symbols=())
        (one,) = found(schedule, "WD409")
        assert "no mbarrier" in one.actual

    def test_a_last_release_may_be_left_out(self):
        schedule = document(
            "once",
            task("load", 0, 1, acquire("ab"), work("ab", "load"), commit("ab")),
            task("use", 4, 1, wait("ab"), work("ab", "read")),
            resources=(ring(),),
            symbols=(),
        )
        assert codes(schedule) == set()
