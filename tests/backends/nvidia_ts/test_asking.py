"""Task Scheduling's own check, asked about a document: also one that was edited since its import."""

from dataclasses import replace

import pytest

from warpdraft.backends.nvidia_ts import ImportRefused, asking
from warpdraft.core import verify
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


def test_without_task_scheduling(built, monkeypatch):
    def missing():
        raise ImportRefused("nvidia-cutlass-dsl is not installed")

    monkeypatch.setattr(asking, "installed", missing)
    document = built("tma_async").documents[0]
    with pytest.raises(ImportRefused, match="not installed"):
        asking.ask_task_scheduling(document, verify(document), 60.0)
