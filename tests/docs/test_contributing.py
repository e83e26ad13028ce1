"""The hazard that CONTRIBUTING shows keeps the rules that every hazard keeps."""

import sys
from dataclasses import fields
from pathlib import Path
from types import ModuleType

import docs_blocks
import pytest
import test_hazards

from warpdraft.core.hazards import HAZARDS, Hazard
from warpdraft.core.verify import verify

PAGE = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
SHOWN = "warpdraft.core.hazards.shown_in_contributing"


@pytest.fixture(scope="module")
def hazard():
    (block,) = (b for b in docs_blocks.blocks(PAGE) if b.language == "python")
    module = ModuleType(SHOWN)
    module.__package__ = SHOWN.rpartition(".")[0]
    sys.modules[SHOWN] = module
    exec(compile(block.body, "CONTRIBUTING.md", "exec", dont_inherit=True), vars(module))
    yield module.HAZARD
    del sys.modules[SHOWN]


def test_it_is_found_in_the_bad_schedule_alone(hazard):
    found = list(hazard.check(hazard.bad))
    assert [f.code for f in found] == [hazard.code] and found[0].name == hazard.name and found[0].message
    assert not list(hazard.check(hazard.good))
    assert verify(hazard.good).findings == ()


def test_it_names_its_own_code(hazard):
    test_hazards.test_the_module_names_its_own_code(hazard)


def test_every_field_that_needs_a_value_is_given(hazard):
    assert all(getattr(hazard, f.name) for f in fields(Hazard) if f.type != "bool")


def test_its_code_is_free_or_its_own(hazard):
    taken = {h.code: h.name for h in HAZARDS}
    assert taken.get(hazard.code, hazard.name) == hazard.name


def test_the_page_stays_short():
    assert len(PAGE.splitlines()) <= 100
