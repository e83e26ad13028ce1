"""What running a schedule function records: ops, ids, lines, copies, values, blocks."""

import inspect

import pytest

from warpdraft.core import (
    FIRST_ITER,
    AsyncGroup,
    Every,
    MBarrier,
    MemoryResource,
    NamedBarrier,
    PipelineConfig,
    ScheduleError,
    Task,
    TaskManager,
    WorkQueue,
    ceil_div,
    cluster_sync,
    consumer_work,
    domain_loop,
    elect_lane,
    elect_warp,
    producer_work,
    schedule,
    symbol,
    sync_warp,
    when_false,
    when_true,
    work_tile_loop,
)
from warpdraft.core.document import GuardKind, Loop, OpKind, Token

n = symbol("n")


class Ring(MemoryResource):
    @producer_work
    def fill(self, stage_info, value=None, row=0): ...

    @consumer_work
    def look(self, stage_info): ...

    @consumer_work(returns=("x", "y"))
    def pair(self, stage_info): ...

    @consumer_work(returns="flag")
    def test(self, stage_info): ...

    def helper(self): ...

    width = 64


def captured(function, *extra, ring=None, **task):
    """The document of one task that runs ``function``."""
    ring = ring or Ring(name="ring", pipeline_config=PipelineConfig(num_stages=2))
    whole = schedule(function)(ring, *extra)
    return TaskManager([Task([ring], [ring], 0, 1, schedule=whole, name="t", **task)], {}).document


def body(function, *extra, **task):
    return captured(function, *extra, **task).tasks[0].body


def test_ids_count_ops_and_blocks_in_order_and_lines_are_the_authors():
    def work(ring):
        ring.acquire()
        with domain_loop(n):
            ring.fill()
        ring.commit()

    first = inspect.getsourcelines(work)[1]
    acquire, loop, commit = body(work)
    assert [acquire.id, loop.id, loop.body[0].id, commit.id] == ["t.01", "t.02", "t.03", "t.04"]
    assert [acquire.source.line, loop.source.line, loop.body[0].source.line] == [
        first + 1,
        first + 2,
        first + 3,
    ]
    assert acquire.source.file == __file__
    assert acquire.copy_of == ""


def test_unrolled_ops_know_the_first_of_their_line():
    def work(ring):
        for row in range(3):
            ring.fill(row=row); ring.commit()  # fmt: skip  # noqa: E702

    ops = body(work)
    assert [op.copy_of for op in ops] == ["", "", "t.01", "t.02", "t.01", "t.02"]
    assert [op.args for op in ops if op.work] == [(("value", None), ("row", row)) for row in range(3)]


def test_what_a_helper_function_does_belongs_to_the_helpers_line():
    def release_twice(ring):
        ring.release()
        ring.release()

    def work(ring):
        release_twice(ring)

    assert {op.source.line for op in body(work)} == {
        inspect.getsourcelines(release_twice)[1] + i for i in (1, 2)
    }


def test_unpacking_tells_how_many_values_a_work_returns():
    def work(ring):
        a, b, _ = ring.look()
        ring.fill(a, row=1)
        ring.fill(value=b)
        single = ring.look()
        ring.fill(single)
        ring.look()

    look, fill_a, fill_b, one, fill_one, unseen = body(work)
    assert look.results == ("a", "b", "look_2")
    assert fill_a.args == (("value", Token("a")), ("row", 1))
    assert fill_b.args == (("value", Token("b")), ("row", 0))
    assert (one.results, fill_one.args[0]) == (("single",), ("value", Token("single")))
    assert unseen.results == ()


def test_declared_values_keep_their_names_and_new_ones_get_new_names():
    def work(ring):
        a, b = ring.pair()
        c, _ = ring.pair()
        ring.fill(value=a)
        ring.fill(value=c)
        return b

    one, two, use_a, use_c = body(work)
    assert (one.results, two.results) == (("x", "y"), ("x_2", "y_2"))
    assert (use_a.args[0][1], use_c.args[0][1]) == (Token("x"), Token("x_2"))


def test_wrong_unpacking_is_recorded_for_the_verifier():
    def work(ring):
        a, b, c = ring.pair()
        ring.fill(value=c)
        (only,) = ring.pair()
        p, q = ring.test()
        return a, b, only, p, q

    three, fill, one, two = body(work)
    assert three.results == ("x", "y", "c")
    assert fill.args[0] == ("value", Token("c"))
    assert one.results == ("x_2",)
    assert len(two.results) == 2


def test_a_value_of_another_task_stays_unresolved():
    leaked = []

    def load(ring):
        leaked.append(ring.test())

    def use(ring):
        ring.fill(value=leaked[0])

    body(load)
    (fill,) = body(use)
    assert fill.args[0] == ("value", Token("load:flag"))


def test_unknown_works_and_arguments_are_recorded():
    def work(ring):
        ring.helper()
        ring.misspelt(3, row=ring.width)
        ring.fill(1, 2, 3)

    helper, misspelt, fill = body(work)
    assert (helper.kind, helper.work) == (OpKind.WORK, "helper")
    assert (misspelt.work, misspelt.args) == ("misspelt", (("argument_0", 3), ("row", 64)))
    assert fill.args == (("value", 1), ("row", 2), ("argument_2", 3))


def test_loops_are_called_as_the_schedule_calls_them():
    def work(ring):
        with domain_loop(1, ceil_div(n, 2), 3) as k:
            ring.fill(value=k)
        with domain_loop(n, unroll=4) as k:
            pass
        with domain_loop(n):
            pass

    one, two, three = body(work)
    assert (one.var, one.start, one.stop, one.step) == ("k", 1, ceil_div(n, 2), 3)
    assert one.body[0].args[0] == ("value", Token("k"))
    assert (two.var, two.unroll, three.var) == ("k_2", 4, "k_3")


def test_guards():
    def work(ring):
        with domain_loop(n) as k:
            with k.first_iter():
                ring.fill()
            with k.every(2, start=1):
                with elect_warp(3):
                    ring.fill()
            with k.last_iter(), elect_lane():
                ring.fill()
            with when_true(Every(4, 2)):
                sync_warp()
            with when_true(FIRST_ITER):
                cluster_sync()

    (loop,) = body(work)
    first, every, last, counted, at_first = loop.body
    assert [g.kind for g in loop.body] == ["first_iter", "every", "last_iter", "every", "first_iter"]
    assert (first.loop, every.loop, every.period, every.start) == ("k", "k", 2, 1)
    assert (every.body[0].kind, every.body[0].warp) == (GuardKind.ELECT_WARP, 3)
    assert last.body[0].kind is GuardKind.ELECT_LANE
    assert (counted.loop, counted.period, counted.start) == ("", 4, 2)
    assert at_first.loop == ""


def test_a_guard_outside_its_loop_is_recorded():
    def work(ring):
        with domain_loop(n) as k:
            pass
        with k.last_iter():
            ring.fill()

    loop, guard = body(work)
    assert (guard.kind, guard.loop, loop.body) == (GuardKind.LAST_ITER, "k", ())


def test_run_time_conditions():
    def work(ring):
        with when_true(ring.test()):
            ring.fill()
        with when_false("dense"):
            ring.fill()
        with when_true(object()):
            ring.fill()
        with when_true(ring.test(), key=("mask", 1)):
            ring.fill()

    _, tested, named, opaque, _, keyed = body(work)
    assert (tested.key, tested.token) == ("ring.test.flag", "flag")
    assert (named.kind, named.key, named.token) == (GuardKind.WHEN_FALSE, "dense", "")
    assert opaque.key == "condition"
    assert (keyed.key, keyed.token) == ("mask.1", "flag_2")


def empty(queue, tile):
    """A predicate; only its name is stored."""


def test_tile_loops():
    queue = WorkQueue(name="queue", tiles=ceil_div(n, 2), band=8)

    def work(ring, queue):
        with work_tile_loop(queue, skip_if=empty) as tile:
            with tile.skippable():
                ring.fill()
            queue.get_and_advance_work_tile()

    document = captured(work, queue)
    (loop,) = document.tasks[0].body
    assert isinstance(loop, Loop)
    assert (loop.kind, loop.var, loop.queue, loop.stop, loop.skip_if) == (
        "tile",
        "tile",
        "queue",
        ceil_div(n, 2),
        "empty",
    )
    assert (loop.body[0].kind, loop.body[0].loop) == (GuardKind.SKIPPABLE, "tile")
    assert document.symbols == (n,)
    (record,) = [r for r in document.resources if r.name == "queue"]
    assert (record.space, record.params) == ("queue", (("band", 8),))


def test_barriers_and_groups_are_called_as_the_schedules_parameters():
    def work(ring, done, copies, gate):
        done.sync()
        done.arrive()
        copies.commit()
        copies.wait_read(1)
        gate.arrive_expect_tx(64, stage=1)
        gate.wait(parity=0)
        outside.sync()
        ring.fill(value=gate)

    outside = NamedBarrier(3, 64)
    document = captured(work, NamedBarrier(2, 128), AsyncGroup("bulk_store"), MBarrier("gate", stages=2))
    assert [b.name for b in document.barriers] == ["done", "barrier_3"]
    assert (document.groups[0].name, document.mbarriers[0].name) == ("copies", "gate")
    kinds = [(op.kind, op.target, op.count, op.stage) for op in document.tasks[0].body[:7]]
    assert kinds[3:6] == [
        ("group_wait_read", "copies", 1, None),
        ("mbarrier_arrive_expect", "gate", 64, 1),
        ("mbarrier_wait", "gate", 0, None),
    ]
    assert document.tasks[0].body[7].args[0] == ("value", "gate")


def test_one_schedule_on_two_tasks():
    ring = Ring(name="ring")

    @schedule
    def work(ring):
        ring.fill()

    both = work(ring)
    document = TaskManager([Task([], [ring], w, 1, schedule=both) for w in (0, 1)], {}).document
    assert [t.name for t in document.tasks] == ["work", "work_2"]
    assert [t.body[0].id for t in document.tasks] == ["work.01", "work_2.01"]


def refused(function, *extra):
    with pytest.raises(ScheduleError) as error:
        captured(function, *extra)
    message = str(error.value)
    assert message.startswith(f"{__file__}:")
    return message


def test_what_no_document_can_hold_is_refused_with_its_line():
    def value(ring):
        ring.fill(value=object())

    def bound(ring):
        with domain_loop(1.5):
            pass

    def truth(ring):
        if ring.test():
            ring.fill()

    def stage(ring):
        ring.fill(stage=1.5)

    def tiles(ring):
        with work_tile_loop(ring):
            pass

    def nested(ring):
        schedule(value)(ring)

    assert "cannot be stored" in refused(value)
    assert "must be an integer, a symbol" in refused(bound)
    assert "no value at capture" in refused(truth)
    assert "stage= must be an integer" in refused(stage)
    assert "needs a WorkQueue" in refused(tiles)
    assert "inside another" in refused(nested)


def test_outside_a_schedule_nothing_is_recorded():
    ring = Ring(name="ring")
    assert ring.width == 64
    for call in (ring.acquire, sync_warp, lambda: domain_loop(n), lambda: NamedBarrier(1, 32).sync()):
        with pytest.raises(ScheduleError, match="inside a function decorated"):
            call()
    with pytest.raises(AttributeError):
        ring.misspelt  # noqa: B018


def test_an_exception_in_a_schedule_leaves_no_recorder_behind():
    def broken(ring):
        with domain_loop(n):
            raise KeyError("mine")

    with pytest.raises(KeyError):
        captured(broken)
    assert len(body(lambda ring: ring.commit())) == 1
