"""Scripts of Task Scheduling, imported, written again and imported again: the same documents."""

from dataclasses import replace
from pathlib import Path

import pytest

from warpdraft.backends.nvidia_ts import NotExpressible, to_task_scheduling
from warpdraft.backends.nvidia_ts.apply import apply_annotations
from warpdraft.core.equality import equal_schedules

pytestmark = [pytest.mark.xdist_group("nvidia_ts")]
SCRIPTS = Path(__file__).parent / "scripts"
NO_SCRIPTS = ("parts", "cases_kit", "cases", "cases_memory")  # the last: places beside aliases
REFUSED = {"skipped_tiles": "a method of a queue's class"}


def unused(document, left_out):
    """``document`` without what the new script leaves out, and says so."""
    gone = {line.removesuffix(", which no task uses") for line in left_out}
    aliases = [r.storage.alias for r in document.resources if r.storage]

    def alone(resource):
        storage = resource.storage
        if storage is not None and storage.offset is not None:  # an alias adds nothing to a place
            return replace(resource, storage=replace(storage, alias="", phase=0))
        if storage is None or aliases.count(storage.alias) > 1 or not storage.alias:
            return resource
        return replace(resource, storage=replace(storage, alias="", phase=0))

    resources = tuple(alone(r) for r in document.resources if r.name not in gone)
    groups = tuple(replace(g, pipeline=None) for g in document.pipeline_groups)
    return replace(document, resources=resources, pipeline_groups=groups)


@pytest.mark.parametrize("name", [p.stem for p in sorted(SCRIPTS.glob("*.py")) if p.stem not in NO_SCRIPTS])
def test_round_trip(built, read, name, tmp_path):
    for number, document in enumerate(built(name).documents):
        if name in REFUSED:
            with pytest.raises(NotExpressible, match=REFUSED[name]):
                to_task_scheduling(document)
            continue
        if any(
            p.place is not None for r in document.resources for p in (r.storage.parts if r.storage else ())
        ):
            with pytest.raises(NotExpressible, match="lie apart from each other"):
                to_task_scheduling(document)
            continue
        written = to_task_scheduling(document)
        path = tmp_path / f"again_{number}.py"
        path.write_text(f"{written.text}\n\nbuild()\n")
        (again,) = read(path, document.name)
        again = apply_annotations(again, written.annotations)
        assert equal_schedules(again, unused(document, written.left_out))
