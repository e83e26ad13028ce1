"""CTAs that share a multiprocessor: what each may have of it."""

from dataclasses import replace
from pathlib import Path

import pytest

import warpdraft.assets
from warpdraft.core import load, verify
from warpdraft.core.edits import EditError, SetDocument, SetPipeline, SetTask
from warpdraft.core.layout import layout, smem_capacity, tmem_capacity
from warpdraft.core.registers import entry_registers
from warpdraft.core.tables import compared_table, memory_table, register_table

EXAMPLES = Path(warpdraft.assets.__file__).parent / "examples"


@pytest.fixture(scope="module")
def gemm():
    """Two CTAs on a multiprocessor, to the last byte and register."""
    return load(EXAMPLES / "gemm.warpdraft.json")


def codes(document):
    return {f.code for f in verify(document).errors}


def test_shares(gemm):
    assert gemm.ctas_per_sm == 2
    assert [smem_capacity(replace(gemm, ctas_per_sm=n)) for n in (1, 2, 3)] == [232_448, 115_712, 76_800]
    assert [tmem_capacity(replace(gemm, ctas_per_sm=n)) for n in (1, 2, 4)] == [512, 256, 128]
    assert smem_capacity(replace(gemm, smem_capacity=4000)) == 4000
    assert [entry_registers(256, n) for n in (1, 2, 3)] == [248, 128, 80]


def test_the_example_fills_its_half(gemm):
    assert layout(gemm).smem_bytes == smem_capacity(gemm)
    assert "115712 of 115712 B" in memory_table(gemm)
    assert register_table(gemm).endswith("of 32768, 2 CTAs on a multiprocessor")
    assert codes(gemm) == set()


def test_what_does_not_fit_beside_another(gemm):
    deeper = SetPipeline("smem_ab", "stages", 4).apply(gemm)
    assert codes(deeper) == {"WD601"} and codes(replace(deeper, ctas_per_sm=1)) == set()
    more = SetTask("load", "num_registers", 40).apply(gemm)
    assert codes(more) == {"WD303", "WD603"}  # what is over budget is never granted
    assert codes(replace(gemm, ctas_per_sm=3)) == {"WD303", "WD601", "WD603"}


@pytest.mark.parametrize("ctas", [-1, 0, 9, 33, 10**9])
def test_numbers_that_no_multiprocessor_holds(gemm, ctas):
    found = [f for f in verify(replace(gemm, ctas_per_sm=ctas)).errors if f.code == "WD605"]
    assert [(f.expected, f.actual) for f in found] == [("1 to 8 CTAs on a multiprocessor", str(ctas))]


def test_it_is_said_where_tables_would_be_equal(gemm):
    other = replace(gemm, ctas_per_sm=1)
    assert "2 CTAs on a multiprocessor" in compared_table(gemm, other)


def test_it_is_an_edit(gemm):
    assert SetDocument("ctas_per_sm", 1).apply(gemm) == replace(gemm, ctas_per_sm=1)
    with pytest.raises(EditError, match="ctas_per_sm"):
        SetDocument("ctas_per_sm", 0).apply(gemm)
