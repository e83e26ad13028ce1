"""What the README shows is true."""

import re
from pathlib import Path

import pytest

from warpdraft.core import ScheduleError, load, verify
from warpdraft.core.document import Guard, Op, OpKind
from warpdraft.core.edits import MoveNode, SetPipeline, SplitTask
from warpdraft.core.tree import placed

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def codes(document):
    return {f.code for f in verify(document).findings}


@pytest.fixture
def gemm():
    return load(ROOT / "assets" / "examples" / "persistent_gemm.warpdraft.json")


def test_the_python_example_ends_as_its_comment_says():
    (code,) = re.findall(r"```python\n(.*?)```", README, re.S)
    with pytest.raises(ScheduleError) as raised:
        exec(compile(code, "readme.py", "exec"), {"__name__": "readme"})
    assert {f.code for f in raised.value.findings} == {"WD302"}


def test_the_tour_breaks_the_gemm_as_it_says(gemm):
    def is_wait(node):
        return isinstance(node, Op) and node.kind is OpKind.GROUP_WAIT and node.count == 1

    wait = next(p for p in placed(gemm) if is_wait(p.node))
    guard = next(p.node for p in placed(gemm) if isinstance(p.node, Guard) and p.parents == wait.parents)
    loop = wait.parents[-1]
    broken = MoveNode(guard.id, loop.id, loop.body.index(wait.node)).apply(gemm)
    assert codes(broken) == {"WD403"}


def test_the_tour_changes_the_gemm_as_it_says(gemm):
    assert codes(SetPipeline("smem_ab", "stages", 3).apply(gemm)) == set()
    assert codes(SplitTask("load", ("load_b",), "load_b", 1).apply(gemm)) == set()


def test_images_and_links_are_there():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).exists(), target
