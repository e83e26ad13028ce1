"""The scripts of this folder, run once in this process while their managers are watched."""

import contextlib
import importlib.util
import io
import os
import re
import runpy
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

import pytest

from warpdraft.backends.nvidia_ts import ImportRefused, Opinion, from_task_manager
from warpdraft.core.document import Document

SCRIPTS = Path(__file__).parent / "scripts"
NOT_ASKED = ("attention",)  # Task Scheduling's search of it takes minutes
INSTALLED = importlib.util.find_spec("nvidia_cutlass_dsl") is not None


@dataclass
class Built:
    """What a script built: documents, Task Scheduling's opinions, and its managers."""

    documents: list[Document]
    opinions: list[Opinion]
    managers: list
    traces: list


def run(path, arguments=(), opinion=True, name=None):
    """The managers that the script at ``path`` builds."""
    from warpdraft.backends.nvidia_ts.watch import watching

    found = Built([], [], [], [])

    def take(manager, trace, opinion):
        found.documents.append(from_task_manager(manager, name=name or path.stem, trace=trace))
        found.opinions.append(opinion)
        found.managers.append(manager)
        found.traces.append(trace)

    with watching(take, opinion), started_as(path, arguments):
        runpy.run_path(str(path), run_name="__main__")
    return found


@contextlib.contextmanager
def started_as(path, arguments):
    """The process as Python leaves it to a script; what it prints and warns of is swallowed."""
    before, modules = (sys.argv, list(sys.path)), set(sys.modules)
    sys.argv, sys.path[:0] = [str(path), *map(str, arguments)], [str(path.parent)]
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        sys.argv, sys.path[:] = before
        for module in set(sys.modules) - modules:
            if getattr(sys.modules[module], "__file__", "") and str(SCRIPTS) in str(
                sys.modules[module].__file__
            ):
                del sys.modules[module]


@pytest.fixture(scope="session")
def task_scheduling():
    """Skips where Task Scheduling is not installed, or another release than the one that is read."""
    if not INSTALLED:
        pytest.skip("the CuTe DSL is not installed (pip install 'warpdraft[cutedsl]')")
    os.environ.setdefault("CUTE_DSL_ARCH", "sm_100a")
    from warpdraft.backends.nvidia_ts.version import task_scheduling

    try:
        return task_scheduling()
    except ImportRefused as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def built(task_scheduling):
    """By name of the script, what it builds; each is run once."""
    known: dict[str, Built] = {}

    def of(name, *arguments):
        key = " ".join((name, *map(str, arguments)))
        if key not in known:
            known[key] = run(SCRIPTS / f"{name}.py", arguments, opinion=name not in NOT_ASKED)
        return known[key]

    return of


@pytest.fixture
def read(task_scheduling):
    """``read(path, name)``: the documents that a script builds, called so."""
    return lambda path, name: run(path, opinion=False, name=name).documents


@pytest.fixture
def moved(task_scheduling, tmp_path):
    """By name of a script, the document that it builds once its imports name warpdraft.core instead."""
    from warpdraft.app.cli.scripts import run_script

    theirs = r"from cutlass\.experimental\.task_scheduling[\w.]* import"
    for path in SCRIPTS.glob("*.py"):
        text = re.sub(theirs, "from warpdraft.core import", path.read_text(encoding="utf-8"))
        (tmp_path / path.name).write_text(text, encoding="utf-8")

    def of(name):
        script = tmp_path / f"{name}.py"
        sys.modules.pop("parts", None)
        with started_as(script, ()):
            (document,) = run_script(str(script)).documents
        sys.modules.pop("parts", None)
        return document

    return of
