"""Code that a document brings along is named, and asked about once."""

import importlib.util
from dataclasses import replace
from pathlib import Path

from warpdraft.app.consent import Consent, own_code
from warpdraft.core.document import Kernel, Work
from warpdraft.core.edits import AddWork, SetDocument

_spec = importlib.util.spec_from_file_location("sample", Path(__file__).parent / "sample.py")
sample = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(sample)
GEMM = sample.gemm()


def test_stock_documents_ask_nothing():
    assert own_code(GEMM) == () and Consent().question(GEMM, "Run") == ""


def test_own_code_is_named_and_asked_about_once():
    mine = AddWork("acc", Work("scale", "producer", code="def scale(self): ...")).apply(GEMM)
    mine = replace(mine, kernel=Kernel("k", reference="mine:reference"))
    consent = Consent()
    question = consent.question(mine, "Run")
    assert "acc.scale (embedded source)" in question and "mine:reference" in question
    consent.agree(mine)
    assert consent.question(mine, "Export") == ""
    assert consent.question(SetDocument("name", "other").apply(mine), "Run") == ""
    changed = replace(mine, kernel=Kernel("k", reference="other:reference"))
    assert consent.question(changed, "Run")
