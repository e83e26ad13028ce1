"""Task Scheduling's own check, asked about a document: also one that was edited since its import."""

from dataclasses import replace

import pytest

from warpdraft.backends.nvidia_ts import ImportRefused, asking
from warpdraft.core import verify
from warpdraft.core.document import Loop
from warpdraft.core.tree import find_task

pytestmark = [pytest.mark.xdist_group("nvidia_ts")]


def test_what_it_says_of_a_document_and_of_the_edited_one(built):
    document = built("tma_async").documents[0]
    assert asking.is_theirs(document)
    broken = replace(find_task(document, "use"), warp_idx=6)  # its registers need whole warpgroups
    edited = replace(document, tasks=tuple(broken if t.name == "use" else t for t in document.tasks))
    found = [asking.ask_task_scheduling(d, verify(d), 120.0) for d in (document, edited)]
    assert [opinion.verdict for opinion, _ in found] == ["accepted", "rejected"]
    assert found[0][0].states > 0 and found[0][1] == ""


def test_loops_that_run_once_more_than_others(built):
    """What getters give is not known; with one iteration of every loop Task Scheduling would find this one blocked."""
    document = built("dynamic_domain").documents[0]

    def once_more(loop):
        return replace(loop, stop=loop.stop + 1)

    def behind(loop):
        return loop, *(replace(o, id=f"{o.id}.last") for o in loop.body)

    load, use = ((t, t.body[0].body) for t in document.tasks)
    bodies = {
        "load": tuple(once_more(n) if isinstance(n, Loop) else n for n in load[1]),
        "use": tuple(m for n in use[1] for m in (behind(n) if isinstance(n, Loop) else (n,))),
    }
    tasks = tuple(
        replace(t, body=(replace(t.body[0], body=bodies[t.name]), *t.body[1:])) for t in document.tasks
    )
    edited = replace(document, tasks=tasks)
    opinion, why = asking.ask_task_scheduling(edited, verify(edited), 120.0)
    assert (opinion.verdict, why) == ("accepted", "")


def test_without_task_scheduling(built, monkeypatch):
    def missing():
        raise ImportRefused("nvidia-cutlass-dsl is not installed")

    monkeypatch.setattr(asking, "installed", missing)
    document = built("tma_async").documents[0]
    with pytest.raises(ImportRefused, match="not installed"):
        asking.ask_task_scheduling(document, verify(document), 60.0)
