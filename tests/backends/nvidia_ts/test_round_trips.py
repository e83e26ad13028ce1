"""Scripts of Task Scheduling, imported, written again and imported again: the same documents."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from warpdraft.backends.nvidia_ts import to_task_scheduling
from warpdraft.backends.nvidia_ts.apply import apply_annotations
from warpdraft.core.document import Op, Space
from warpdraft.core.equality import equal_schedules
from warpdraft.core.expressions import Symbol

pytestmark = [pytest.mark.xdist_group("nvidia_ts")]
SCRIPTS = Path(__file__).parent / "scripts"
NO_SCRIPTS = ("parts", "cases_kit", "cases", "cases_memory")
MEMORY = [("cases_memory", name) for name in ("p01", "p09", "p14", "p17", "p18", "p22", "p23", "p24", "p28")]


def unused(document, left_out):
    """``document`` without what the new script leaves out, and says so."""
    gone = {line.removesuffix(", which no task uses") for line in left_out}
    resources = tuple(r for r in document.resources if r.name not in gone)
    named = dict(re.findall(r"that (\w+) is called (\w+)", "\n".join(left_out)))
    document = renamed(document, {old: new for new, old in named.items()})
    return replace(document, resources=resources)


def renamed(document, names):
    """``document`` with other names of symbols."""

    def body(nodes):
        return tuple(n if isinstance(n, Op) else one(n) for n in nodes)

    def one(node):
        stop = getattr(node, "stop", None)
        if isinstance(stop, Symbol):
            node = replace(node, stop=replace(stop, name=names.get(stop.name, stop.name)))
        return replace(node, body=body(node.body))

    tasks = tuple(replace(t, body=body(t.body)) for t in document.tasks)
    symbols = tuple(replace(s, name=names.get(s.name, s.name)) for s in document.symbols)
    return replace(document, tasks=tasks, symbols=symbols)


def placed_by_nobody(document, original):
    """``document`` without the columns that a new allocator chose, where the original had none."""
    left = {
        r.name for r in original.resources if r.storage and r.space is Space.TMEM and r.storage.offset is None
    }

    def free(resource):
        return (
            replace(resource, storage=replace(resource.storage, offset=None))
            if resource.name in left
            else resource
        )

    return replace(document, resources=tuple(free(r) for r in document.resources))


ALONE = [(p.stem,) for p in sorted(SCRIPTS.glob("*.py")) if p.stem not in NO_SCRIPTS]


@pytest.mark.parametrize(
    "call", [*ALONE, ("pdl", "ahead"), ("dynamic_domain", "7", "5"), *MEMORY], ids=" ".join
)
def test_round_trip(built, read, call, tmp_path):
    for number, document in enumerate(built(*call).documents):
        written = to_task_scheduling(document)
        path = tmp_path / f"again_{number}.py"
        path.write_text(f"{written.text}\n\nbuild()\n")
        (again,) = read(path, document.name)
        again = placed_by_nobody(apply_annotations(again, written.annotations), document)
        assert equal_schedules(again, unused(document, written.left_out))
