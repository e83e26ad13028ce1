"""The pages: their Python runs, prints what they show, and their links lead somewhere."""

import os
import re
from pathlib import Path

import docs_blocks
import docs_hazards
import pytest

import warpdraft.core

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [*sorted(DOCS.glob("*.md")), DOCS.parent / "CONTRIBUTING.md"]
WITH_PYTHON = ["authoring", "backends", "verifier"]
STALE = "out of step: run python scripts/docs_write.py"
every_page = pytest.mark.parametrize("path", PAGES, ids=[p.stem for p in PAGES])


def read(name):
    return (DOCS / f"{name}.md").read_text(encoding="utf-8")


def shown(run):
    for block, expected, printed in run:
        if expected is not None:
            assert docs_blocks.same(expected.body, printed), f"line {expected.line} is {STALE}"
        else:
            assert not printed or "raises" in block.info, f"line {block.line} prints what is not shown"


@pytest.mark.parametrize("name", WITH_PYTHON)
def test_python_prints_what_the_page_shows(name):
    shown(docs_blocks.run_page(read(name)))


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", [n for n in WITH_PYTHON if "```python slow" in read(n)])
def test_slow_python_runs_too(name):
    pytest.importorskip("cutlass", reason="the CuTe DSL is not installed (pip install 'warpdraft[cutedsl]')")
    shown(docs_blocks.run_page(read(name), slow=True))


@pytest.mark.parametrize("name", WITH_PYTHON)
def test_every_output_belongs_to_a_block_that_is_run(name):
    page = read(name)
    outputs = [block for block in docs_blocks.blocks(page) if block.language == "text"]
    belonging = [expected for _, expected in docs_blocks.output_blocks(page) if expected is not None]
    assert [o.line for o in outputs] == [b.line for b in belonging]


def test_the_rules_are_in_step():
    assert docs_blocks.same(read("hazards"), docs_hazards.page()), f"docs/hazards.md is {STALE}"


@pytest.mark.parametrize("name", WITH_PYTHON)
def test_errors_that_are_shown_are_meant(name):
    for block, expected in docs_blocks.output_blocks(read(name)):
        shown = re.findall(r"^\w*(?:Error|Exception)(?=:)", expected.body if expected else "", re.MULTILINE)
        assert not shown or "raises" in block.info, f"line {block.line}"
        assert set(shown) <= {"ScheduleError", "DocumentError"}, f"line {block.line} shows {shown}"


@every_page
def test_links_lead_somewhere(path):
    prose = docs_blocks.FENCE.sub("", path.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if re.match(r"https?:", target):
            continue
        file, _, anchor = target.partition("#")
        page = (path.parent / file).resolve() if file else path
        assert page.exists(), f"{path.name}: {target}"
        assert not anchor or anchor in anchors(page), f"{path.name}: {target}"


def anchors(page):
    """The anchors of a page's headings, as Markdown viewers make them."""
    prose = docs_blocks.FENCE.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.*)$", prose, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


@every_page
def test_folders_of_this_machine_are_not_shown(path):
    text = path.read_text(encoding="utf-8")
    assert (
        os.sep + "tmp" + os.sep not in text and str(Path.home()) not in text and str(DOCS.parent) not in text
    )


def test_every_public_name_is_explained():
    text = "".join(path.read_text(encoding="utf-8") for path in PAGES)
    missing = [name for name in warpdraft.core.__all__ if not re.search(rf"\b{name}\b", text)]
    assert not missing


def test_blocks_are_found_with_their_words_and_lines():
    page = "x\n\n```python raises\n1 / 0\n```\n\n```text\nZeroDivisionError: division by zero\n```\n"
    ((block, expected, printed),) = docs_blocks.run_page(page)
    assert (block.language, block.info, block.line) == ("python", ("python", "raises"), 4)
    assert printed == expected.body and docs_blocks.refreshed(page) == page
    stale = page.replace("division", "divided")
    assert docs_blocks.refreshed(stale) == page


def test_a_block_that_raises_unasked_is_reported_with_its_line():
    with pytest.raises(AssertionError, match="line 2: ZeroDivisionError"):
        list(docs_blocks.run_page("```python\n1 / 0\n```\n"))
    with pytest.raises(AssertionError, match="raises nothing"):
        list(docs_blocks.run_page("```python raises\n1\n```\n"))


def test_measured_numbers_may_differ():
    assert docs_blocks.same("safe (8 events, 0.10 s)", "safe (8 events, 1.23 s)\n")
    assert docs_blocks.same('"seconds": 0.04\nerror 2.08e-04', '"seconds": 1.0\nerror 2.1e-04')
    assert not docs_blocks.same("safe (8 events, 0.10 s)", "safe (9 events, 0.10 s)")
