"""The views as values: what each pane is told."""

import importlib.util
import json
from dataclasses import replace
from pathlib import Path

import pytest

from warpdraft.app.values import Result
from warpdraft.app.views import graph, words
from warpdraft.app.views.code import code_view, source_view
from warpdraft.app.views.colors import task_colors
from warpdraft.app.views.details import changes, details_view, find
from warpdraft.app.views.findings import findings_view, marks_view, verdict_view
from warpdraft.app.views.resources import resources_view
from warpdraft.app.views.schedule import schedule_view
from warpdraft.app.views.selection import selection_view
from warpdraft.core import edits
from warpdraft.core.document import Edge, Op, OpKind, Source, Task
from warpdraft.core.findings import Finding, Fix, Report, Scope, Severity, Step
from warpdraft.core.tree import placed

_spec = importlib.util.spec_from_file_location("sample", Path(__file__).parent / "sample.py")
sample = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(sample)
GEMM = sample.gemm()

ERROR = Finding(
    "WD403", "early-release", Severity.ERROR, "too early", ("math.02", "load.05"), ("smem_ab",), ("math",),
    witness=(Step("math.w0", "math.02", "reads", "k 0"),), case=(("k_tiles", 3),),
    fixes=(Fix("Move it", (edits.MoveNode("load.05", "load.06", 0),)),),
)  # fmt: skip
ADVICE = Finding("WD801", "redundant-sync", Severity.ADVICE, "not needed", ("math.02",))
REPORT = Report(
    "gemm", "unsafe", Scope("listed", (("k_tiles", (1, 2, 3)), ("tiles", (0, 4)))), (ADVICE, ERROR)
)


def nodes(view):
    stack = [node for column in view["columns"] for node in column["nodes"]]
    while stack:
        node = stack.pop(0)
        yield node
        stack += node.get("nodes", [])


def test_the_schedule_shows_every_node_once_and_is_plain_data():
    view = schedule_view(GEMM)
    assert sorted(node["id"] for node in nodes(view)) == sorted(p.node.id for p in placed(GEMM))
    json.dumps(view)
    by_verb = {node["verb"]: node for node in nodes(view) if node["kind"] == "op"}
    assert (by_verb["mma"]["engine"], by_verb["load_a"]["engine"], by_verb["tiles"]["engine"]) == (
        "wgmma",
        "tma",
        "view",
    )
    assert by_verb["store"]["copies"] == 4 and by_verb["mma"]["copies"] == 1
    assert view["columns"][0]["split"] == [{"ring": "smem_ab", "works": ["load_a", "load_b"]}]


def test_words():
    texts = [line.strip() for line in words.schedule_text(GEMM.tasks[1].body)]
    assert texts[:3] == ["for tile of queue (tiles)", "for k in 0 .. k_tiles", "smem_ab.wait()"]
    assert "every k from 1" in texts and "only warp 0" in texts and "smem_c.store(fragment, stage=1)" in texts
    assert (words.bytes_text(100), words.bytes_text(49152), words.bytes_text(1536)) == (
        "100 B",
        "48 KiB",
        "1.5 KiB",
    )
    assert (words.warps_text(8, 1), words.warps_text(0, 8)) == ("warp 8", "warps 0-7")


def test_resources_tell_derived_counts_and_overflow():
    view = resources_view(GEMM)
    ring = next(item for item in view["items"] if item["name"] == "smem_ab")
    fields = {field["key"]: field for field in ring["fields"]}
    assert (fields["producer_count"]["value"], fields["producer_count"]["derived"]) == (None, 1)
    assert fields["consumer_count"]["derived"] == 8
    assert not any(meter["over"] for meter in view["meters"])
    more = resources_view(edits.SetPipeline("smem_ab", "stages", 5).apply(GEMM))
    assert [meter["over"] for meter in more["meters"] if meter["label"] == "SMEM"] == [True]


def test_findings_come_worst_first_and_marks_keep_the_worst():
    assert [item["code"] for item in findings_view(REPORT)["items"]] == ["WD403", "WD801"]
    assert marks_view(REPORT)["ops"] == {"math.02": "error", "load.05": "error"}
    verdict = verdict_view(Result(3, REPORT), 3)
    assert verdict["counts"] == {"error": 1, "warning": 0, "advice": 1}
    assert verdict["scope"] == "k_tiles 1..3, tiles 0, 4"
    assert not verdict["checking"] and not verdict["searching"]
    assert verdict_view(Result(2, REPORT), 3)["checking"]
    assert verdict_view(Result(3, REPORT, whole=False), 3)["searching"]
    assert findings_view(None, "broken")["problem"] == "broken"


def test_a_finding_is_explained_with_its_fix_as_a_diff():
    key = findings_view(REPORT)["items"][0]["key"]
    assert find(REPORT, key) is ERROR
    view = details_view(GEMM, REPORT, "finding", (key,))
    assert view["case"] == "k_tiles = 3" and view["rule"] and view["harm"]
    signs = [sign for sign, _ in view["fixes"][0]["diff"]]
    assert "+" in signs and "-" in signs
    assert details_view(GEMM, None, "finding", (key,)) == {"kind": "empty"}
    assert not view["searched"] and details_view(GEMM, REPORT, "finding", (key,), {key: ()})["searched"]


def test_changes_name_what_differs():
    lines = changes(GEMM, edits.SetPipeline("smem_ab", "stages", 3).apply(GEMM))
    assert lines == [["@", "smem_ab"], [" ", "stages: 4 → 3"], [" ", "stored stages: 4 → 3"]]
    typed = edits.SetPipeline("smem_ab", "consumer_count", 16).apply(GEMM)
    derived = changes(typed, edits.SetPipeline("smem_ab", "consumer_count", None).apply(typed))
    assert derived[0] == ["@", "smem_ab"] and derived[1][1].startswith("consumer count: 16 → derived (")
    assert changes(GEMM, GEMM) == []


@pytest.mark.parametrize(
    "kind, ids, ops, resources",
    [
        ("op", ("load.02",), ["load.02"], ["smem_ab"]),
        ("resource", ("acc",), None, ["acc"]),
        ("edge", ("acc->smem_c",), [], ["acc", "smem_c"]),
        ("", (), [], []),
        ("op", ("nobody",), [], []),
    ],
)
def test_selection_lights_up(kind, ids, ops, resources):
    view = selection_view(GEMM, REPORT, kind, ids)
    assert view["resources"] == resources and (ops is None or view["ops"] == ops)


def test_a_selected_loop_lights_up_what_is_in_it():
    view = selection_view(GEMM, None, "op", ("load.06",))
    assert set(view["ops"]) >= {"load.00", "load.05"}


def test_the_graph_has_a_node_each_and_marks_missing_edges():
    view = graph.graph_view(GEMM)
    assert view["svg"].startswith("<svg") and view["svg"].count('class="node') == len(GEMM.resources)
    assert 'fill="#' not in view["svg"] and "ink-" in view["svg"]
    without = edits.RemoveEdge("smem_ab", "acc").apply(GEMM)
    assert graph.missing_edges(without) == (Edge("smem_ab", "acc"),)
    assert [row["missing"] for row in graph.graph_view(without)["rows"] if row["down"] == "acc"] == [True]


def test_names_cannot_break_the_drawing():
    odd = replace(
        GEMM,
        tasks=(*GEMM.tasks, Task("weird", 12, 1)),
        resources=(replace(GEMM.resources[0], name='a<b&"c'),),
    )
    view = graph.graph_view(replace(odd, graph=(), tasks=()))
    assert view["problem"] == "" and "<script" not in view["svg"] and "a&lt;b&amp;" in view["svg"]


def test_a_graph_without_graphviz_says_what_helps(monkeypatch):
    monkeypatch.setattr(graph, "dot_program", lambda: None)
    graph.draw.cache_clear()
    view = graph.graph_view(GEMM)
    assert view["svg"] == "" and "graphviz-pure" in view["problem"] and view["rows"]


def test_a_layout_program_that_fails_is_told(monkeypatch, tmp_path):
    program = tmp_path / "dot"
    program.write_text("#!/bin/sh\necho no way >&2\nexit 3\n")
    program.chmod(0o755)
    monkeypatch.setattr(graph, "dot_program", lambda: program)
    graph.draw.cache_clear()
    assert "no way" in graph.graph_view(GEMM)["problem"]
    graph.draw.cache_clear()


def test_code_lines_name_their_ops():
    view = code_view(GEMM, "import x\nwait(full)  # op math.02\nload.05 and nobody.99")
    assert [ids for _, ids in view["lines"]] == [[], ["math.02"], ["load.05"]]


def test_all_lines_of_a_call_are_its_ops():
    text = "op.copy(  # op load.05\n    'load.05',\n    ')',  # (\n    box(1, 2),\n)\nother(\n    1,\n)"
    ids = [found for _, found in code_view(GEMM, text)["lines"]]
    assert ids == [["load.05"]] * 5 + [[]] * 3


def test_all_lines_of_an_authored_call_are_its_ops(tmp_path):
    (tmp_path / "a.py").write_text("one(\n)\ntwo(\n    3,\n)\nfour\n")
    task = Task("t", 0, 1, (Op("t.00", OpKind.SYNC_WARP, source=Source("a.py", 3)),))
    found = source_view(replace(GEMM, tasks=(task,)), (tmp_path,), None)["forms"][0]["lines"]
    assert [ids for _, ids in found] == [[], [], ["t.00"], ["t.00"], ["t.00"], []]


def test_an_empty_document_has_nothing_to_check():
    assert verdict_view(Result(1, Report("x", "safe", Scope("all"))), 1, empty=True)["word"] == "empty"
    assert verdict_view(Result(1, Report("x", "safe", Scope("all"))), 1)["word"] == "safe"


def test_source_is_read_only_from_its_folders(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.py").write_text("one\ntwo\n")
    (tmp_path / "secret.py").write_text("no")

    def named(file):
        op = Op("t.00", OpKind.SYNC_WARP, source=Source(file, 2))
        return replace(GEMM, tasks=(Task("t", 0, 1, (op,)),))

    found = source_view(named("a.py"), (tmp_path / "in",), "def build(): ...")["forms"]
    assert [form["title"] for form in found] == ["a.py", "written back from the document"]
    assert found[0]["lines"] == [["one", []], ["two", ["t.00"]]]
    for file in ("../secret.py", str(tmp_path / "secret.py"), "missing.py"):
        assert len(source_view(named(file), (tmp_path / "in",), None)["forms"]) == 1


def test_task_colours_differ_and_stay():
    before = task_colors(GEMM)
    after = task_colors(edits.AddTask(Task("store", 12, 1)).apply(GEMM))
    assert len(set(after.values())) == 3 and {k: after[k] for k in before} == before
