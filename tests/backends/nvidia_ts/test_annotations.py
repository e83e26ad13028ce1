"""Annotation files: what they say, what is refused, and that they are written as they are read."""

import re
from pathlib import Path

import pytest

from warpdraft.backends.nvidia_ts import AnnotationError, beside, dump_annotations, load_annotations
from warpdraft.backends.nvidia_ts.annotations import loads_annotations
from warpdraft.backends.nvidia_ts.formulas import FormulaError, names_in, value_of
from warpdraft.core import Engine, symbol

PAGE = Path(__file__).parents[3] / "docs" / "ts-annotations.md"
HEAD = "warpdraft-annotations = 1\n"


def example():
    return re.search(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL).group(1)


def test_the_example_of_the_page():
    found = loads_annotations(example())
    store = found.works["gmem_c.store"]
    assert store.engine is Engine.BULK_STORE and store.reads[0].resource == "smem_c"
    assert [s.op.value for s in store.sync] == ["group_commit", "group_wait_read"] and store.sync[
        1
    ].count == 0
    assert found.barriers["epilogue"].threads == 128
    assert found.symbols["k_tiles"].min == 1 and found.symbols["k_tiles"].same_as == ("get_domain_2",)
    assert loads_annotations(dump_annotations(found, {"gmem_c.store": ("seen: cp.async.bulk",)})) == found


def test_every_field_is_written_back():
    text = HEAD + (
        "[barriers.b]\nid = 3\nthreads = 64\n"
        '[works."a.b"]\nview = true\ntx = 4\nreads = [{ stage = "k % 2", offset = 1, bytes = "x", slices = true }]\n'
        'sync = [{ op = "barrier_arrive", at = "before", barrier = "b", lane = true, iteration = "last_iter", every = 2, '
        'start = 1, when = "c", arguments = { head = true, n = 3, t = "q\\"x" } }, { op = "sync_warp", unless = "d" }]\n'
        '[works."a.c"]\ntouches_nothing = true\nundecided = ["line 3: ?"]\n'
    )
    found = loads_annotations(text)
    assert found.works["a.b"].sync[0].arguments == (("head", True), ("n", 3), ("t", 'q"x'))
    assert loads_annotations(dump_annotations(found)) == found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "needs the line warpdraft-annotations = 1"),
        ("warpdraft-annotations = 2", "has 2"),
        (HEAD + "[work]", "'work' is unknown; there are barriers, symbols, works"),
        (HEAD + "works = 3", "works: must be a table of tables"),
        (HEAD + "[works.a]", 'a work is named "resource.work"'),
        (HEAD + '[works."a.b"]\nengine = "tpu"', "none of warp, tma"),
        (HEAD + '[works."a.b"]\nreads = [{ byte = 3 }]', "works.\"a.b\".reads[0]: 'byte' is unknown"),
        (HEAD + '[works."a.b"]\nreads = [{ bytes = "open(1)" }]', "is no formula"),
        (HEAD + '[works."a.b"]\nreads = [{ bytes = -3 }]', "at least 0 or a formula"),
        (HEAD + '[works."a.b"]\ntx = true', "must be int, not True"),
        (HEAD + '[works."a.b"]\ntouches_nothing = true\nreads = [{}]', "touches_nothing with reads"),
        (HEAD + '[works."a.b"]\nsync = [{ at = "after" }]', "lacks 'op'"),
        (HEAD + '[works."a.b"]\nsync = [{ op = "acquire" }]', "op 'acquire' is none of group_commit"),
        (HEAD + '[works."a.b"]\nsync = [{ op = "group_wait" }]', "group= belongs to"),
        (HEAD + '[works."a.b"]\nsync = [{ op = "barrier_sync", barrier = "x" }]', "'x' is not in [barriers]"),
        (
            HEAD + '[works."a.b"]\nsync = [{ op = "sync_warp", iteration = "second" }]',
            "first_iter or last_iter",
        ),
        (HEAD + "[barriers.b]\nid = 16\nthreads = 64", "id is 0..15"),
        (HEAD + "x = [", "not TOML"),
    ],
)
def test_what_is_refused(text, message):
    with pytest.raises(AnnotationError, match=re.escape(message)) as caught:
        loads_annotations(text, "gemm.annotations.toml")
    assert str(caught.value).startswith("gemm.annotations.toml: ") and "\n" not in str(caught.value)


def test_files(tmp_path):
    assert beside(tmp_path / "gemm.py") == tmp_path / "gemm.annotations.toml"
    with pytest.raises(AnnotationError, match="cannot be read"):
        load_annotations(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_bytes(b"\xff")
    with pytest.raises(AnnotationError, match="byte 0: not UTF-8"):
        load_annotations(tmp_path / "bad.toml")


def test_formulas():
    assert value_of("warp * 2048 + max(stage - 1, 0)", {"warp": 3, "stage": 5}) == 6148
    assert names_in("a + min(b, 2) * a") == ("a", "b") and value_of(7, {}) == 7
    assert str(value_of("k % 2", {"k": symbol("k")})) == "(k % 2)"
    for text, message in (
        ("x", "no value"),
        ("1 // 0", "divides by zero"),
        ("a.b", "no formula"),
        ("1 +", "no"),
    ):
        with pytest.raises(FormulaError, match=message):
            value_of(text, {})
