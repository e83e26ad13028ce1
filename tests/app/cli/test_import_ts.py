"""`warpdraft import-ts`: what it prints and saves, and what it says of scripts that fail."""

import importlib.util
import json
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from warpdraft.app.cli import main
from warpdraft.core.equality import equal_schedules
from warpdraft.core.store import load

SCRIPTS = Path(__file__).parents[2] / "backends" / "nvidia_ts" / "scripts"
pytestmark = [
    pytest.mark.skipif(
        importlib.util.find_spec("nvidia_cutlass_dsl") is None,
        reason="the CuTe DSL is not installed (pip install 'warpdraft[cutedsl]')",
    ),
    pytest.mark.xdist_group("nvidia_ts"),
]


@pytest.fixture
def import_ts(capfd, monkeypatch):
    """Runs the command in this process; the script runs in another all the same."""

    def run(*words, cwd=None):
        if cwd is not None:
            monkeypatch.chdir(cwd)
        code = main(["import-ts", *map(str, words)])
        return SimpleNamespace(
            returncode=code, **dict(zip(("stdout", "stderr"), capfd.readouterr(), strict=True))
        )

    return run


def test_managers_are_checked_and_saved_beside_task_scheduling_s_opinion(import_ts, tmp_path):
    done = import_ts(
        SCRIPTS / "groups.py", "Merge", "Fork", "--second-opinion", "--json", "-o", tmp_path / "out"
    )
    assert done.returncode == 0, done.stderr
    first, second = json.loads(done.stdout)
    assert (first["document"], second["document"], first["verdict"]) == ("groups", "groups_2", "safe")
    assert first["task_scheduling"]["verdict"] == "accepted" and first["task_scheduling"]["states"] > 0
    assert "a.load" in first["scope"]["defaults"] and "parts.py:" in first["source"]
    saved = load(tmp_path / "out" / "groups_2.warpdraft.json")
    assert saved.pipeline_groups[0].mode == "Fork"


def test_one_of_several_and_what_differs(import_ts, tmp_path):
    (tmp_path / "parts.py").write_text((SCRIPTS / "parts.py").read_text())
    both = (SCRIPTS / "split_consumer.py").read_text().replace("    build()", "    build()\n    other()")
    (tmp_path / "both.py").write_text(
        both.replace("if __name__", "def other():\n    from one import build\n    build()\n\n\nif __name__")
    )
    (tmp_path / "one.py").write_text((SCRIPTS / "tma_async.py").read_text())
    script = tmp_path / "both.py"
    done = import_ts(script, "--second-opinion", "--manager", "both", "-o", tmp_path / "it.warpdraft.json")
    assert done.returncode == 0, done.stderr
    assert "both: safe assuming defaults for 8 works" in done.stdout and "both_2" not in done.stdout
    assert "Task Scheduling: rejected" in done.stdout and "they differ: it rejects" in done.stdout
    assert (tmp_path / "it.warpdraft.json").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\nraise ValueError('no\\nway')", "script.py: raises ValueError: no way (script.py:2)"),
        ("import not_there", "script.py: needs the module 'not_there', which is not installed (script.py:1)"),
        ("print('hello')", "script.py: builds no TaskManager of Task Scheduling"),
        (
            "import argparse\nargparse.ArgumentParser().parse_args()",
            "script.py: ends with exit code 2: script.py: error: unrecognized arguments: --size 3",
        ),
        ("import os\nos._exit(7)", "script.py: ended its process (exit code 7)"),
        ("def f(:", "script.py: raises SyntaxError: invalid syntax (script.py:1)"),
        (
            "print(end='how many? ')\ninput()",
            "script.py: raises EOFError: EOF when reading a line (script.py:2)",
        ),
        (
            "class Odd(Exception):\n    def __str__(self):\n        return 1 / 0\nraise Odd",
            "script.py: raises Odd: cannot be printed: ZeroDivisionError (script.py:4)",
        ),
        ("raise ValueError('\\x1b[2Jgone')", "script.py: raises ValueError: ?[2Jgone (script.py:1)"),
        ("def f():\n    f()\nf()", "script.py: raises RecursionError: maximum recursion depth exceeded"),
        ("import sys\nsys.exit('give a size')", "script.py: ends itself: give a size"),
        (
            "def build(size, more=1): ...",
            "script.py: builds no TaskManager of Task Scheduling; build(size) needs arguments: give them defaults",
        ),
        ("def build(**more):\n    raise ValueError(more)", "script.py: raises ValueError: {} (script.py:2)"),
        (
            "import subprocess, sys\nsubprocess.run([sys.executable, '-c', ''])",
            "script.py: builds no TaskManager of Task Scheduling; it starts processes of its own",
        ),
        (
            "from .other import build",
            "script.py: raises ImportError: attempted relative import with no known parent package (script.py:1); it is "
            "part of a package: give package.module:function",
        ),
    ],
)
def test_scripts_that_fail(import_ts, tmp_path, text, message):
    (tmp_path / "script.py").write_text(text)
    done = import_ts("script.py", "--size", "3", cwd=tmp_path)
    last = done.stderr.strip().splitlines()[-1]
    assert (done.returncode, done.stdout) == (2, "") and last.startswith(f"warpdraft: {message}"), done.stderr


@pytest.mark.parametrize("command", ["import-ts", "check"])
def test_what_is_written_from_a_document_opens_as_it_is(tmp_path, capfd, command):
    """It has build(), and builds nothing where it is only started."""
    document = tmp_path / "pdl.warpdraft.json"
    assert main(["import-ts", str(SCRIPTS / "pdl.py"), "-o", str(document)]) == 0
    assert main(["export", "--target", "ts", str(document), "-o", str(tmp_path / "back.py")]) == 0
    capfd.readouterr()
    assert main([command, str(tmp_path / "back.py")]) == 0
    assert capfd.readouterr().out.startswith("back: safe")
    if command == "import-ts":
        again = tmp_path / "again.warpdraft.json"
        assert main([command, str(tmp_path / "back.py"), "-o", str(again)]) == 0
        assert equal_schedules(replace(load(again), name="pdl"), load(document))


def test_a_script_that_does_not_end(import_ts, tmp_path):
    (tmp_path / "script.py").write_text("while True: pass")
    done = import_ts("script.py", "--time-limit", "12", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, "warpdraft: script.py: was stopped after 12 s\n")


def test_what_is_not_there(import_ts, tmp_path):
    for words, message in (
        (("none.py",), "none.py: no such file"),
        ((tmp_path,), "is a folder"),
        (("a b:c",), "give a script, or module:function"),
        ((), "takes a script, or module:function"),
        (("--json",), "takes a script, or module:function"),
        (("it.warpdraft.json",), "it.warpdraft.json: is a document already"),
        ((f"{SCRIPTS}/pdl.py:build",), f"give pdl:build, a module, from the folder {SCRIPTS}"),
        (("x.py", "--time-limit", "0"), "must be more than 0"),
    ):
        done = import_ts(*words, cwd=tmp_path)
        assert done.returncode == 2 and message in done.stderr, done.stderr


def test_options_stand_in_front_or_behind(import_ts, tmp_path):
    script = SCRIPTS / "pdl.py"
    for words in (("-o", tmp_path / "a", "--json", script), (script, "-o", tmp_path / "b", "--json")):
        done = import_ts(*words, "ahead")
        assert json.loads(done.stdout)["verdict"] == "safe", done.stderr
    assert load(tmp_path / "a" / "pdl.warpdraft.json") == load(tmp_path / "b" / "pdl.warpdraft.json")
    done = import_ts(script, "-o", "/proc/none")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith(
        "warpdraft: /proc/none/pdl.warpdraft.json: cannot be written: No such file or directory\n"
    )


def test_a_function_of_a_module(import_ts, tmp_path):
    for name in ("parts", "pdl"):
        (tmp_path / f"{name}.py").write_text((SCRIPTS / f"{name}.py").read_text())
    done = import_ts("pdl:build", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.startswith("pdl: safe"), done.stderr


BUILDERS = """
from pdl import build as made

one = 1
async def later():
    made()
def each():
    yield made()
    yield made("ahead")
async def each_later():
    yield made()
"""


def test_builders_that_have_only_begun(import_ts, tmp_path):
    """Coroutines and generators are run to their end; what is no function is said."""
    for name in ("parts", "pdl"):
        (tmp_path / f"{name}.py").write_text((SCRIPTS / f"{name}.py").read_text())
    (tmp_path / "builders.py").write_text(BUILDERS)
    for function, managers in (("later", 1), ("each", 2), ("each_later", 1)):
        done = import_ts(f"builders:{function}", cwd=tmp_path)
        assert done.returncode == 0 and done.stdout.count("builders") >= managers, done.stderr
        assert done.stdout.count("built at") == managers
    for function, message in (
        ("one", "builders:one: has no function one, but an int of that name"),
        ("none", "builders:none: has no function none"),
    ):
        done = import_ts(f"builders:{function}", cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == f"warpdraft: {message}\n"


def test_what_a_script_leaves_running_is_ended(import_ts, tmp_path):
    for name in ("parts", "pdl"):
        (tmp_path / f"{name}.py").write_text((SCRIPTS / f"{name}.py").read_text())
    (tmp_path / "script.py").write_text(
        "import subprocess, pdl\npdl.build()\nchild = subprocess.Popen(['sleep', '1000'])\n"
        "open('child', 'w').write(str(child.pid))\n"
    )
    done = import_ts("script.py", "--time-limit", "200", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.startswith("script: safe"), done.stderr
    state = Path("/proc", (tmp_path / "child").read_text(), "stat")
    until = time.monotonic() + 60  # it was told to end, and may not have come to it yet
    while state.exists() and state.read_text().rpartition(")")[2].split()[0] not in "ZX":
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_rejection_that_is_a_warning_here(import_ts, tmp_path):
    """Task Scheduling's reason with the line that it announces, and the rule that warns of the same here."""
    (tmp_path / "parts.py").write_text((SCRIPTS / "parts.py").read_text())
    text = (SCRIPTS / "pdl.py").read_text()
    (tmp_path / "early.py").write_text(
        text.replace("    out.store()\n    after.launch_griddep()", "    out.store()").replace(
            "def use_schedule(tile, out, after):\n",
            "def use_schedule(tile, out, after):\n    after.launch_griddep()\n",
        )
    )
    done = import_ts("early.py", "--second-opinion", cwd=tmp_path)
    said = done.stdout[done.stdout.index("Task Scheduling:") :]
    assert (
        "after.launch_griddep before any" in said
        and "none goes wrong; WD701 pdl-launch-first only warns" in said
    )


def test_check_takes_such_scripts_too(capfd):
    code = main(["check", str(SCRIPTS / "pdl.py"), "--json", "--second-opinion"])
    found = json.loads(capfd.readouterr().out)
    assert (code, found["document"], found["verdict"]) == (0, "pdl", "safe")
    assert found["task_scheduling"]["verdict"] == "accepted" and found["task_scheduling"]["difference"] == ""


def test_a_second_opinion_of_something_else(tmp_path, capfd):
    (tmp_path / "x.py").write_text("from warpdraft.core import *\nTaskManager([], {})\n")
    assert main(["check", str(tmp_path / "x.py"), "--second-opinion"]) == 2
    assert "x.py is no script of Task Scheduling" in capfd.readouterr().err
