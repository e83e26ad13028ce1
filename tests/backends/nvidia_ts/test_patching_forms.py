"""Scripts in many forms, patched: what an edit does not concern stays as it is, and names change where things are made."""

import difflib
import re
import runpy
from dataclasses import replace

import pytest

from warpdraft.backends.nvidia_ts.patching.matching import CannotPatch
from warpdraft.backends.nvidia_ts.patching.script import patched
from warpdraft.core.document import Guard, GuardKind
from warpdraft.core.edits import Rename, RenameTask
from warpdraft.core.equality import equal_schedules

SCRIPT = '''\
"""A script of a user."""

from warpdraft.core import *


class Gmem(MemoryResource):
    @consumer_work(returns="coord")
    def coords(self, stage_info): ...


class Smem(MemoryResource):
    @producer_work
    def load(self, stage_info, coord): ...

    @consumer_work
    def use(self, stage_info): ...


@schedule
def load_schedule(gmem, smem):
    with domain_loop(0, 8, 1) as k:
        c = gmem.coords()  # where
        smem.try_acquire()
        smem.acquire()
        # the copy itself
        smem.load(coord=c)

        with k.last_iter():  # says why
            smem.try_acquire()
        smem.commit()  # full


@schedule
def use_schedule(smem):
    with domain_loop(0, 8):
        smem.wait()
        smem.use()
        smem.release()


def build():
    smem = Smem(
        name="smem",
        pipeline_config=create_async_async_pipeline_cfg(2, 32, 32),
        smem=[SmemAllocation("s", size_bytes=64)],
    )
    gmem = Gmem(name="gmem")
    load = Task([gmem], [smem], 0, 1, schedule=load_schedule(gmem, smem), name="load")
    use = Task([smem], [], 1, 1, schedule=use_schedule(smem), name="use")
    return TaskManager([load, use], {smem: [gmem]}, name="case")
'''


def built(path, text):
    """The document of a script with that text."""
    path.write_bytes(text.encode())
    return runpy.run_path(str(path))["build"]().document


def loop_of_load(document, change):
    """``document`` with the body of its first loop changed."""
    load, *others = document.tasks
    loop = replace(load.body[0], body=tuple(change(list(load.body[0].body))))
    return replace(document, tasks=(replace(load, body=(loop,)), *others))


FORMS = {
    "tabs": lambda s: re.sub("^( {4})+", lambda m: "\t" * (len(m[0]) // 4), s, flags=re.MULTILINE),
    "two spaces": lambda s: re.sub("^( {4})+", lambda m: "  " * (len(m[0]) // 4), s, flags=re.MULTILINE),
    "carriage returns": lambda s: s.replace("\n", "\r\n"),
    "some carriage returns": lambda s: s.replace("\n", "\r\n", 20),
    "a byte-order mark": lambda s: "\ufeff" + s,
    "form feeds": lambda s: s.replace("\n\n\n", "\n\x0c\n\n"),
    "no end": lambda s: s.rstrip("\n"),
    "letters of more bytes": lambda s: s.replace("# where", "# größe ☃").replace("# says why", "# où ☃"),
    "a decorator with arguments": lambda s: s.replace(
        "@schedule\ndef use",
        "def noted(*_):\n    return lambda f: f\n\n\n@schedule\n@noted(1, [\n  2])\ndef use",
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_nothing_else_of_a_script_changes(tmp_path, form):
    """However it is written: lines that are not concerned stay what they are, byte for byte."""
    path, text = tmp_path / "script.py", FORMS[form](SCRIPT)
    before = built(path, text)

    def change(b):
        first = Guard("g", GuardKind.FIRST_ITER, (b[2],), loop="k")
        return [*b[:2], first, b[3], replace(b[4], kind=GuardKind.FIRST_ITER), *b[5:]]

    after = loop_of_load(before, change)
    new = patched(str(path), text, before, after)
    assert equal_schedules(built(path, new), after)
    old, lines = text.splitlines(keepends=True), new.splitlines(keepends=True)
    steps = [line for line in difflib.ndiff(old, lines) if line[0] in "+-"]
    step = {"tabs": "\t", "two spaces": "  "}.get(form, "    ")
    comment = "  # où ☃" if form == "letters of more bytes" else "  # says why"
    end = "\r\n" if "carriage" in form and form.startswith("carriage") else "\n"
    assert [s[2:].rstrip("\r\n") for s in steps if s[0] == "+"] == [
        f"{step * 2}with k.first_iter():",
        f"{step * 3}smem.acquire()",
        f"{step * 2}with k.first_iter():{comment}",
    ]
    assert len([s for s in steps if s[0] == "-"]) == 2
    assert all(s.endswith(end) for s in steps if s[0] == "+" and form != "some carriage returns")


def test_tasks_and_resources_are_renamed_where_they_are_made(tmp_path):
    path = tmp_path / "script.py"
    before = built(path, SCRIPT)
    after = RenameTask("load", "fetch").apply(Rename("smem", "ring").apply(before))
    new = patched(str(path), SCRIPT, before, after)
    expected = SCRIPT.replace('name="smem"', 'name="ring"').replace('name="load"', 'name="fetch"')
    assert new == expected and equal_schedules(built(path, new), after)
    text = SCRIPT.replace('name="load"', "name=str('load')")
    with pytest.raises(CannotPatch, match=r"the name of load is str\('load'\), not the text"):
        patched(str(path), text, built(path, text), after)
