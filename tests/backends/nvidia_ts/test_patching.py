"""An edited document applied to the script that it was captured from. The scripts are in our own words here, which read
like Task Scheduling's, so that none of this needs it; `test_patch_script` does."""

import difflib
import re
import runpy
from dataclasses import replace

import pytest

from warpdraft.backends.nvidia_ts.patching.matching import CannotPatch
from warpdraft.backends.nvidia_ts.patching.script import patched
from warpdraft.core.document import Guard, GuardKind, Loop, Op, OpKind, Token
from warpdraft.core.equality import equal_schedules

SCRIPT = '''\
"""A script of a user."""

from warpdraft.core import *

STAGES = 3


class Gmem(MemoryResource):
    @consumer_work(returns="coord")
    def coords(self, stage_info): ...


class Smem(MemoryResource):
    @producer_work
    def load(self, stage_info, coord, half): ...

    @consumer_work(returns="tile")
    def tile(self, stage_info): ...

    @consumer_work
    def use(self, stage_info, tile): ...


@schedule
def load_schedule(gmem, smem):
    """Fills the ring."""
    # one block a time
    with domain_loop(0, 8, 1) as k:
        c = gmem.coords()  # where
        smem.try_acquire()
        smem.acquire()
        # the copy itself
        smem.load(coord=c, half=0)

        with k.last_iter():  # says why
            smem.try_acquire()
        smem.commit()  # full


@schedule
def use_schedule(smem):
    unused = 1
    with domain_loop(0, 8):
        smem.wait()
        smem.use(tile=smem.tile())
        with_comment = 3  # stays
        smem.release()
        # the end of the loop


def build():
    one = 32
    smem = Smem(
        name="smem",
        pipeline_config=create_async_async_pipeline_cfg(2, 32, consumer_group=int(32)),
        smem=[SmemAllocation("s", size_bytes=64)],
    )
    gmem = Gmem(name="gmem")
    load = Task([gmem], [smem], 0, 1, schedule=load_schedule(gmem, smem), name="load")
    use = Task(
        src_resources=[smem], dst_resources=[], warp_idx=one, num_warps=1, schedule=use_schedule(smem), name="use"
    )
    return TaskManager([load, use], {smem: [gmem]}, name="case")
'''


class Case:
    """A script as a file, and what it builds."""

    def __init__(self, folder, text=SCRIPT):
        self.path = folder / "script.py"
        self.text = text
        self.before = self.build(text)

    def build(self, text):
        self.path.write_text(text)
        return runpy.run_path(str(self.path))["build"]().document

    def patch(self, after):
        return patched(str(self.path), self.text, self.before, after)

    def changed(self, after, again=True):
        """The lines that go and come; what the new text builds is ``after``."""
        new = self.patch(after)
        if again:
            assert equal_schedules(self.build(new), after), new
        lines = difflib.unified_diff(self.text.splitlines(), new.splitlines(), n=0, lineterm="")
        return [line for line in lines if not line.startswith(("---", "+++", "@@"))]

    def refused(self, after):
        with pytest.raises(CannotPatch) as caught:
            self.patch(after)
        return str(caught.value)


@pytest.fixture
def case(tmp_path):
    return Case(tmp_path)


def body(document, task, change):
    """``document`` with the body of the loop of ``task`` changed."""
    return in_task(document, task, lambda b: (replace(b[0], body=tuple(change(list(b[0].body)))), *b[1:]))


def in_task(document, task, change):
    tasks = tuple(replace(t, body=change(t.body)) if t.name == task else t for t in document.tasks)
    return replace(document, tasks=tasks)


def test_nothing_changes(case):
    assert case.patch(case.before) == SCRIPT


def test_an_op_is_deleted(case):
    after = body(case.before, "load", lambda b: b[:1] + b[2:])
    assert case.changed(after) == ["-        smem.try_acquire()"]


def test_an_op_is_moved_with_its_comment(case):
    after = body(case.before, "load", lambda b: [b[0], b[3], *b[1:3], *b[4:]])
    changed = case.changed(after)
    assert set(changed) == {
        f"{s}{line}"
        for s in "-+"
        for line in ("        # the copy itself", "        smem.load(coord=c, half=0)")
    } or set(changed) == {f"{s}        smem.{what}()" for s in "-+" for what in ("try_acquire", "acquire")}


def test_ops_are_inserted(case):
    def change(b):
        again = Op("load.x", OpKind.WORK, "smem", "load", (("coord", Token("coord")), ("half", 1)))
        return [*b[:4], again, *b[4:]]

    assert case.changed(body(case.before, "load", change)) == ["+        smem.load(coord=c, half=1)"]
    after = body(case.before, "use", lambda b: [Op("use.x", OpKind.TRY_WAIT, "smem"), *b])
    assert case.changed(after) == ["+        smem.try_wait()"]


def test_an_argument_changes(case):
    def change(b):
        return [*b[:3], replace(b[3], args=(b[3].args[0], ("half", 5))), *b[4:]]

    assert case.changed(body(case.before, "load", change)) == [
        "-        smem.load(coord=c, half=0)",
        "+        smem.load(coord=c, half=5)",
    ]


def test_a_value_that_no_variable_holds_gets_one(case):
    def change(b):
        return [*b[:3], replace(b[2], id="use.x"), *b[3:]]

    assert case.changed(body(case.before, "use", change)) == [
        "-        smem.use(tile=smem.tile())",
        "+        tile = smem.tile()",
        "+        smem.use(tile=tile)",
        "+        smem.use(tile=tile)",
    ]


def test_a_condition_around_an_op_names_the_loop(case):
    def change(b):
        return [*b[:-1], Guard("g", GuardKind.EVERY, (b[-1],), loop="k", period=2, start=1)]

    assert case.changed(body(case.before, "use", change)) == [
        "-    with domain_loop(0, 8):",
        "+    with domain_loop(0, 8) as k:",
        "-        smem.release()",
        "+        with k.every(2, start=1):",
        "+            smem.release()",
    ]


def test_a_condition_changes_and_keeps_its_comments(case):
    def change(b):
        return [*b[:4], replace(b[4], kind=GuardKind.FIRST_ITER), *b[5:]]

    assert case.changed(body(case.before, "load", change)) == [
        "-        with k.last_iter():  # says why",
        "+        with k.first_iter():  # says why",
    ]


def test_an_op_leaves_the_loop(case):
    def change(b):
        return (b[0].body[0], replace(b[0], body=b[0].body[1:]), *b[1:])

    changed = case.changed(in_task(case.before, "use", change))
    assert changed == ["+    smem.wait()", "-        smem.wait()"]


def test_bounds(case):
    def stop(b):
        return (replace(b[0], stop=16),)

    assert case.changed(in_task(case.before, "load", stop)) == [
        "-    with domain_loop(0, 8, 1) as k:",
        "+    with domain_loop(0, 16, 1) as k:",
    ]
    case = Case(case.path.parent)

    def step(b):
        return (replace(b[0], step=2),)

    assert case.changed(in_task(case.before, "use", step))[1] == "+    with domain_loop(0, 8, 2):"


def test_numbers_of_tasks(case):
    load = replace(case.before.tasks[0], warp_idx=4, num_registers=40)
    changed = case.changed(replace(case.before, tasks=(load, case.before.tasks[1])))
    assert changed[1].strip("+ ") == (
        'load = Task([gmem], [smem], 4, 1, schedule=load_schedule(gmem, smem), name="load", num_registers=40)'
    )


def test_numbers_of_pipelines(case):
    smem = next(r for r in case.before.resources if r.name == "smem")
    pipeline = replace(smem.pipeline, stages=4, producer_count=64, advance_on_acquire=True)
    storage = replace(smem.storage, stages=4)
    changed = replace(smem, pipeline=pipeline, storage=storage)
    resources = tuple(changed if r is smem else r for r in case.before.resources)
    assert case.changed(replace(case.before, resources=resources))[1].strip("+ ") == (
        "pipeline_config=create_async_async_pipeline_cfg(4, 64, consumer_group=int(32), advance_on_acquire=True),"
    )


def test_a_number_that_the_module_names(tmp_path):
    """A constant of the module is changed where it is assigned, for all that it stands for."""
    named = SCRIPT.replace("pipeline_cfg(2, 32", "pipeline_cfg(STAGES, 32")
    more = Case(tmp_path, named.replace("STAGES = 3", "STAGES = 5")).before
    case = Case(tmp_path, named)
    assert case.changed(more) == ["-STAGES = 3", "+STAGES = 5"]
    for text in ("STAGES = 2 + 1", "STAGES = 3\nSTAGES = 3", "STAGES = int(3)"):
        other = Case(tmp_path, named.replace("STAGES = 3", text))
        assert "stages of smem is STAGES, not a number" in other.refused(more)


def test_all_of_a_block_goes(case):
    def nothing(b):
        return [b[1]]

    text = case.patch(body(case.before, "use", nothing))
    assert "with_comment = 3  # stays" in text and "# the end of the loop" in text and "smem.wait" not in text


@pytest.mark.parametrize(
    "old, new, edit, expected",
    [
        (
            "        smem.wait()\n",
            "        for _ in range(2):\n            smem.wait()\n",
            None,
            r"script.py:\d+: ops are made in a for loop",
        ),
        (
            "        smem.wait()\n",
            "        if STAGES:\n            smem.wait()\n",
            None,
            r"script.py:\d+: ops are made in an if",
        ),
        (
            "        smem.wait()\n",
            "        waits(smem)\n",
            None,
            r"script.py:\d+: use.02 is made outside the schedule functions",
        ),
        (
            "        smem.wait()\n",
            "        smem.wait(); smem.wait()\n",
            None,
            r"script.py:\d+: two statements in one line",
        ),
        (
            "        smem.wait()\n",
            "        [smem.wait() for _ in range(2)]\n",
            None,
            r"script.py:\d+: use.02 is made by something else than a call in its place",
        ),
        (
            "domain_loop(0, 8):",
            "domain_loop(0, STAGES):",
            "stop",
            r"script.py:\d+: stop is STAGES, not a number",
        ),
    ],
)
def test_what_cannot_be_rewritten(tmp_path, old, new, edit, expected):
    text = SCRIPT.replace(old, new).replace(
        "@schedule\ndef load", "def waits(smem):\n    smem.wait()\n\n\n@schedule\ndef load"
    )
    case = Case(tmp_path, text)

    def change(b):
        return (replace(b[0], stop=16),) if edit else (replace(b[0], body=b[0].body[:-1]),)

    assert re.search(expected, case.refused(in_task(case.before, "use", change)))


def test_refusals(case):
    document = case.before
    assert "warp_idx of use is one, not a number" in case.refused(
        replace(document, tasks=(document.tasks[0], replace(document.tasks[1], warp_idx=8)))
    )
    smem = document.resources[1]
    counted = replace(smem, pipeline=replace(smem.pipeline, consumer_count=64))
    resources = tuple(counted if r is smem else r for r in document.resources)
    if smem.name == "smem":
        assert "consumer_count of smem" not in case.patch(replace(document, resources=resources))
    assert "graph changes from" in case.refused(replace(document, graph=()))
    assert "tasks are added" in case.refused(replace(document, tasks=document.tasks[:1]))
    loop = Loop(
        "new", "domain", "j", (Op("use.x", OpKind.RELEASE, "smem"),), stop=document.tasks[0].body[0].stop
    )
    assert "domain_loop(0, 8, 1)" in case.patch(in_task(document, "use", lambda b: (*b, loop)))
    other = Op("use.x", OpKind.WORK, "gmem", "coords")
    assert "use_schedule() is not given gmem" in case.refused(body(document, "use", lambda b: [other, *b]))
    fence = Op("use.x", OpKind.FENCE_PROXY_ASYNC)
    assert "is done in the body of a work" in case.refused(body(document, "use", lambda b: [fence, *b]))
    unknown = Op("use.x", OpKind.WORK, "smem", "use", (("tile", Token("nowhere")),))
    assert "takes nowhere, which nothing before it returns" in case.refused(
        body(document, "use", lambda b: [unknown, *b])
    )


def test_a_function_that_two_tasks_share(tmp_path):
    text = SCRIPT.replace(
        "return TaskManager([load, use]",
        "twice = Task([smem], [], 40, 1, schedule=use_schedule(smem), name='twice')\n"
        "    return TaskManager([load, use, twice]",
    )
    case = Case(tmp_path, text)

    def fewer(b):
        return b[1:]

    only = body(case.before, "use", fewer)
    assert "use and twice share this schedule function" in case.refused(only)
    assert case.changed(body(only, "twice", fewer)) == ["-        smem.wait()"]
