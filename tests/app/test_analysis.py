"""The processes that check and predict: they answer, end, and are replaced."""

import importlib.util
import subprocess
import sys
import time
from pathlib import Path

import pytest

from warpdraft.app.analysis import Child, Failed, Spares, Unwanted
from warpdraft.core import edits

_spec = importlib.util.spec_from_file_location("sample", Path(__file__).parent / "sample.py")
sample = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(sample)


def test_the_analysis_process_tells_early():
    analyst, early = Child(), []
    report = analyst.ask("verify", edits.DeleteNode("load.04").apply(sample.gemm()), early=early.append)
    assert report.verdict == "unsafe" and [told.verdict for told in early] == ["unsafe"]
    analyst.close()


def test_the_analysis_process_answers_fails_in_words_and_ends():
    analyst = Child()
    assert analyst.ask("verify", sample.gemm()).verdict in ("safe", "unsafe")
    with pytest.raises(Failed):
        analyst.ask("why", sample.gemm(), "nobody")
    drawing, facts = analyst.ask("predict", sample.gemm(), {"k_tiles": 4, "tiles": 1})
    assert drawing.bars["op"] and facts["rows"]
    with pytest.raises(Unwanted):
        analyst.ask("verify", sample.gemm(), unwanted=lambda: True)
    analyst.close()
    with pytest.raises(Unwanted):
        analyst.ask("verify", sample.gemm())


def test_an_analysis_process_that_dies_is_replaced():
    analyst = Child()
    analyst.ask("verify", sample.gemm())
    analyst._process.kill()
    analyst._process.wait()
    with pytest.raises(Failed):
        analyst.ask("verify", sample.gemm())
    assert analyst.ask("verify", sample.gemm()).document == "persistent_gemm"
    analyst.close()


def test_spare_processes_answer_and_are_replaced():
    spares = Spares()
    spares.keep(1)
    first = spares._ready[0]
    assert spares.take() is first and first.poll() is None
    first.kill()
    first.communicate()
    spares.keep(2)
    spares._ready[0].kill()
    spares._ready[0].wait()
    taken = spares.take()  # a dead one is passed over
    assert taken.poll() is None
    taken.kill()
    taken.communicate()
    spares.close()
    assert not spares._ready


def test_a_question_over_its_budget_is_ended_and_the_next_is_answered():
    analyst = Child(budget=0.0)
    with pytest.raises(Failed, match="took more than"):
        analyst.ask("verify", sample.gemm())
    analyst._budget = 60.0
    assert analyst.ask("verify", sample.gemm()).document == "persistent_gemm"
    analyst.close()


BUSY = """
import os, subprocess, sys, time
code = "import os, sys; from warpdraft.app.analyst import end_with; end_with(int(sys.argv[1]))"
code += "; print(os.getpid(), flush=True)\\nwhile True: pass"
subprocess.Popen([sys.executable, "-c", code, str(os.getpid())], start_new_session=True)
time.sleep(60)
"""


def test_a_computing_analyst_ends_when_the_editor_is_killed():
    editor = subprocess.Popen([sys.executable, "-c", BUSY], stdout=subprocess.PIPE, text=True)
    analyst = int(editor.stdout.readline())
    editor.kill()
    editor.wait()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and not ended(analyst):
        time.sleep(0.05)
    assert ended(analyst)


def ended(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True
