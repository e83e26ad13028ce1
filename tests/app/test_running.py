"""Runs in another process: output, end, stop and time limit."""

import subprocess
import sys
import time
from pathlib import Path

from warpdraft.app.running import Runner, RunState, log_view


def finish(runner, seconds=20):
    deadline = time.monotonic() + seconds
    while runner.running and time.monotonic() < deadline:
        time.sleep(0.02)
    return runner.state


def python(code):
    return [sys.executable, "-c", code]


def test_output_comes_and_the_result_is_read():
    states = []
    runner = Runner(states.append)
    runner.start(
        python("import sys; print('step 1', file=sys.stderr); print('{\"tflops\": 612.25, \"ok\": true}')"),
        "running",
    )
    state = finish(runner)
    assert state.state == "done" and "step 1" in state.lines and state.summary == "right"
    assert ["tflops", "612.2"] in log_view(state)["facts"]
    assert states[0].state == "running"


def test_a_result_is_told_in_words():
    result = {
        "verdict": "right",
        "sizes": {"m": 512, "n": 256, "k": 128},
        "ran": [["forward", 0], ["backward", 0]],
        "order": "forward",
        "relative_error": 0.001,
    }
    assert log_view(RunState("done", (), result))["facts"] == [
        ["verdict", "right"],
        ["sizes", "m = 512, n = 256, k = 128"],
        ["in every order", "forward, backward (seed 0)"],
        ["relative error", "0.001"],
    ]


def test_a_run_is_forgotten_with_its_document():
    runner = Runner(lambda state: None)
    runner.start(python("print('{}')"), "running")
    assert finish(runner).state == "done"
    runner.forget()
    assert runner.state == RunState()
    runner.start(python("import time; time.sleep(60)"), "running")
    runner.forget()
    assert finish(runner) == RunState()


def test_exit_codes_have_words():
    for code, words in ((1, "wrong, hung or deadlocked"), (2, "could not run")):
        runner = Runner(lambda state: None)
        runner.start(python(f"import sys; sys.exit({code})"), "running")
        assert finish(runner).summary == words


def test_a_run_can_be_stopped_with_all_that_it_started():
    runner = Runner(lambda state: None)
    runner.start(python("import subprocess; subprocess.run(['sleep', '60'])"), "running")
    time.sleep(0.3)
    start = time.monotonic()
    runner.cancel()
    assert finish(runner).state == "stopped" and time.monotonic() - start < 5


def test_a_run_that_takes_too_long_is_ended():
    runner = Runner(lambda state: None, limit=0.3)
    runner.start(python("import time; time.sleep(60)"), "running")
    state = finish(runner)
    assert state.state == "late" and "time limit" in state.summary


def test_a_program_that_is_not_there_is_told():
    ended = []
    runner = Runner(lambda state: None)
    runner.start(["/no/such/program"], "running", lambda: ended.append(True))
    assert finish(runner).state == "failed" and ended == [True]


def test_only_one_run_at_a_time():
    runner = Runner(lambda state: None)
    runner.start(python("import time; time.sleep(5)"), "first")
    runner.start(python("print('{}')"), "second")
    assert runner.state.lines == ("first",)
    runner.cancel()
    assert finish(runner).state == "stopped"


def test_a_run_ends_with_an_editor_that_is_killed(tmp_path):
    """With all that the run has started."""
    note = tmp_path / "pids"
    inner = f"import os, time; open({str(note)!r}, 'a').write(f'{{os.getpid()}} '); time.sleep(60)"
    outer = (
        "import subprocess, sys; "  # as a kernel's process, it leads a session of its own
        f"subprocess.run([sys.executable, '-c', {inner!r}], start_new_session=True)"
    )
    editor = (
        "import sys, time; from warpdraft.app.running import Runner; "
        f"Runner(lambda state: None).start([sys.executable, '-c', {outer!r}], 'running'); time.sleep(60)"
    )
    process = subprocess.Popen(python(editor))
    assert until(lambda: note.exists() and note.read_text().strip())
    process.kill()
    process.wait(10)
    pid = int(note.read_text())
    assert until(lambda: not alive(pid))


def test_a_stop_ends_what_leads_a_session_of_its_own(tmp_path):
    note = tmp_path / "pid"
    inner = f"import os, time; open({str(note)!r}, 'a').write(f'{{os.getpid()}} '); time.sleep(60)"
    runner = Runner(lambda state: None)
    runner.start(
        python(
            f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}], start_new_session=True)"
        ),
        "running",
    )
    assert until(lambda: note.exists() and note.read_text().strip())
    runner.cancel()
    assert finish(runner).state == "stopped" and until(lambda: not alive(int(note.read_text())))


def until(holds, seconds=30):
    deadline = time.monotonic() + seconds
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.05)
    return holds()


def alive(pid):
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
