"""Verdicts, exit codes and JSON of `check`, and the pages of `explain`."""

import json
from importlib import import_module

import pytest

from warpdraft.core.findings import Report, Scope
from warpdraft.core.hazards import HAZARDS


@pytest.mark.parametrize("name", ["tma_copy", "gemm", "persistent_gemm"])
@pytest.mark.parametrize("ending", ["warpdraft.json", "py"])
def test_safe_schedules_end_with_0(warpdraft, examples, name, ending):
    ended = warpdraft("check", examples / f"{name}.{ending}")
    assert ended.code == 0 and ended.out.startswith(f"{name}: safe") and not ended.err


@pytest.mark.parametrize(
    "name, code",
    [("broken_deadlock", "WD301"), ("broken_early_release", "WD403"), ("broken_arrival_count", "WD201")],
)
def test_errors_end_with_1_and_name_the_rule(warpdraft, examples, name, code):
    ended = warpdraft("check", examples / f"{name}.warpdraft.json")
    assert ended.code == 1 and f"error[{code}]" in ended.out and f"{name}: unsafe" in ended.out
    assert f"warpdraft explain {code}" in ended.out


def test_json_has_the_documented_form(warpdraft, examples):
    ended = warpdraft("check", examples / "broken_early_release.warpdraft.json", "--json")
    report = json.loads(ended.out)
    assert ended.code == 1 and list(report) == ["document", "verdict", "scope", "findings", "stats"]
    assert report["verdict"] == "unsafe" and set(report["stats"]) == {"events", "seconds"}
    assert {"kind", "trip_counts", "tiles", "lanes", "reason"} <= set(report["scope"])
    wanted = {
        "code",
        "name",
        "severity",
        "message",
        "ops",
        "resources",
        "expected",
        "actual",
        "witness",
        "fixes",
    }
    assert wanted <= set(report["findings"][0])


def test_advice_is_given_on_request_and_changes_no_verdict(warpdraft, examples):
    path = examples / "gemm.warpdraft.json"
    assert "WD803" not in warpdraft("check", path).out
    ended = warpdraft("check", path, "--advice")
    assert ended.code == 0 and "advice[WD803]" in ended.out and "note: predicted timeline" in ended.out
    report = json.loads(warpdraft("check", path, "--advice", "--json").out)
    assert report["verdict"] == "safe" and report["advice"]
    assert {f["severity"] for f in report["findings"]} == {"advice"}


def test_set_includes_both_ends(warpdraft, examples):
    path = examples / "persistent_gemm.warpdraft.json"
    report = json.loads(warpdraft("check", path, "--json", "--set", "k_tiles=2:5,tiles=1").out)
    assert report["scope"]["trip_counts"] == {"k_tiles": [2, 3, 4, 5], "tiles": [1]}
    assert report["scope"]["kind"] == "listed" and report["verdict"] == "safe"


def test_incomplete_ends_with_3(warpdraft, examples, monkeypatch):
    report = Report("gemm", "incomplete", Scope("incomplete", reason="the time budget ran out"))
    monkeypatch.setattr(import_module("warpdraft.core.verify"), "verify", lambda document, **options: report)
    ended = warpdraft("check", examples / "gemm.warpdraft.json")
    assert ended.code == 3 and "the time budget ran out" in ended.out


SEVERAL = """
import sys
from warpdraft.assets.examples import broken_deadlock, gemm, tma_copy
print("talk", sys.argv, __name__)
gemm.build()
def build(name="tma_copy"):
    return [tma_copy.build(), broken_deadlock.build()] if WORST else tma_copy.build()
if __name__ == "__main__":
    raise RuntimeError("only when started by hand")
"""


def test_a_script_is_run_and_all_its_managers_checked_worst_first_in_the_code(warpdraft, tmp_path):
    script = tmp_path / "several.py"
    script.write_text(SEVERAL + "WORST = False\n")
    ended = warpdraft("check", script, "--json")
    assert ended.code == 0 and ended.err == f"talk ['{script}'] __warpdraft__\n"
    assert [r["document"] for r in json.loads(ended.out)] == ["gemm", "tma_copy"]
    script.write_text(SEVERAL + "WORST = True\n")
    ended = warpdraft("check", script)
    assert ended.code == 1 and "gemm: safe" in ended.out and "broken_deadlock: unsafe" in ended.out


def test_a_schedule_error_that_escapes_ends_with_1(warpdraft, tmp_path):
    script = tmp_path / "escapes.py"
    script.write_text(
        "from warpdraft.assets.examples.broken_deadlock import build as b\nb().print_and_verify()\n"
    )
    ended = warpdraft("check", script, "--json")
    assert ended.code == 1 and json.loads(ended.out)["verdict"] == "unsafe"
    assert "broken_deadlock" in ended.err.splitlines()[-1] and "Traceback" not in ended.err
    script.write_text("from warpdraft.core import domain_loop\nwith domain_loop(0, 4): pass\n")
    ended = warpdraft("check", script)
    assert ended.code == 1 and not ended.out and ended.err.count("\n") == 1 and "escapes.py" in ended.err


def test_scripts_may_import_their_neighbours_and_run_programs(warpdraft, tmp_path, examples):
    (tmp_path / "neighbour_of_it.py").write_text("from warpdraft.assets.examples.gemm import build\n")
    script = tmp_path / "imports.py"
    script.write_text(
        "import subprocess\nfrom neighbour_of_it import build\nsubprocess.run(['echo', 'noise'])\n"
    )
    ended = warpdraft("check", script, "--json")
    assert ended.code == 0 and json.loads(ended.out)["document"] == "gemm" and ended.err == "noise\n"


@pytest.mark.parametrize("hazard", HAZARDS, ids=lambda h: h.code)
def test_every_rule_has_a_page(warpdraft, hazard):
    ended = warpdraft("explain", hazard.code)
    assert ended.code == 0 and ended.out.startswith(f"{hazard.code}  {hazard.name}")
    assert warpdraft("explain", hazard.name).out == warpdraft("explain", hazard.code.lower()).out == ended.out


def test_an_unknown_rule_gets_a_hint(warpdraft):
    assert "did you mean early-release?" in warpdraft("explain", "early-relase").refusal
    assert warpdraft("explain", "WD999").refusal
