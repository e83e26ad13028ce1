"""Numbers, names and tables that the pages state in words."""

import ast
import dataclasses
import importlib
import importlib.util
import inspect
import re
from pathlib import Path

import pytest
import test_against_explorer
import test_periodic
import test_representatives

import warpdraft.core
from warpdraft.backends.cutedsl import dtypes as lowered
from warpdraft.backends.cutedsl import fixed, run
from warpdraft.backends.cutedsl.bodies import BODIES
from warpdraft.backends.emulator import BODIES as TWINS
from warpdraft.backends.emulator import ORDERS, dtypes, launch
from warpdraft.core import closure, joints, periodic, report, valuations
from warpdraft.core import run as runs

DOCS = Path(__file__).parents[2] / "docs"
verifier = importlib.import_module(
    "warpdraft.core.verify"
)  # the name `verify` in the public face is the function


def read(name):
    return (DOCS / f"{name}.md").read_text(encoding="utf-8")


def rows(page, heading):
    """The cells of the first table below ``heading``."""
    table = re.search(r"^\|.*?(?=\n\n)", page[page.index(f"\n{heading}\n") :], re.MULTILINE | re.DOTALL)
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[0].splitlines()[2:]]


def test_limits_of_the_verifier():
    page = read("verifier")
    for text in (
        f"budget is {verifier.BUDGET:g} seconds",
        f"more than {verifier.MAX_RUN:,} events",
        f"above {valuations.MAX_PERIOD},",
        f"tile counts run to {valuations.TILES}",
        f"for up to {valuations.PATTERN} tiles",
        f"more than {valuations.MAX_CHOICES:,} combinations",
        f"every pattern of up to {valuations.PATTERN} outcomes",
        f"within {periodic.EVENTS:,} events",
        f"with conditions, {closure.EVENTS:,} events",
        f"more than {joints.MAX_KEYS} conditions",
        f"the last {runs.MAX_STEPS}, and {report.SHOWN_STEPS} are printed",
    ):
        assert text in " ".join(page.split()), text


def test_how_much_was_tested():
    page = " ".join(read("verifier").split())
    programs, long = test_against_explorer.PROGRAMS, test_against_explorer.LONG
    kinds = len(test_against_explorer.KINDS)
    assert f"on {programs:,} programs of each of {kinds} kinds in each test run, and on {long:,} in the long" in page
    assert f"more than {test_against_explorer.CAP:,} states" in page
    loops, long = test_periodic.SCHEDULES, test_periodic.LONG
    assert (
        f"on {loops} random loops and {loops // 2} random nests ({long:,} and {long // 2:,} in the long run)"
        in page
    )
    schedules = test_representatives.SCHEDULES, test_representatives.LONG, test_representatives.EXPLORED
    assert "on {:,} random schedules, {:,} in the long run; {} random".format(*schedules) in page
    for path in re.findall(r"`(tests/[^`]+)`", page):
        assert (DOCS.parent / path).exists(), path


def test_stock_bodies_are_listed():
    listed = {row[0].strip("`"): row for row in rows(read("backends"), "## Stock bodies")}
    assert set(listed) == set(BODIES) == set(TWINS)


@pytest.mark.parametrize("name", BODIES)
def test_parameters_of_a_stock_body_are_listed(name):
    row = next(row for row in rows(read("backends"), "## Stock bodies") if row[0] == f"`{name}`")
    file = Path(importlib.import_module(type(BODIES[name]).__module__).__file__)
    calls = (n for n in ast.walk(ast.parse(file.read_text())) if isinstance(n, ast.Call))
    reads = ("parameter", "name", "numbers", "words")
    asked = {
        c.args[0].value
        for c in calls
        if getattr(c.func, "attr", "") in reads and c.args and isinstance(c.args[0], ast.Constant)
    }
    for parameter in asked:
        assert f"`{parameter}`" in row[2], parameter


def test_numbers_of_the_backends():
    page = " ".join(read("backends").split())
    limits = ast.literal_eval(fixed.assignment("selfcheck", "LIMITS").partition("=")[2].strip())
    assert limits == {"fp16": 5e-4, "bf16": 4e-3, "e4m3": 2e-3, "fp32": 1e-4, "ue8m0": 0.0}
    assert "5e-4 (fp16), 4e-3 (bf16), 2e-3 (e4m3), 1e-4 (fp32)" in page
    deadline = int(fixed.assignment("watchdog", "DEADLINE").partition("=")[2])
    assert f"waited for {deadline // 10**6} ms" in page
    assert [d.name for d in lowered.DTYPES] == list(limits)
    found = (dtypes.FP16, dtypes.BF16, dtypes.E4M3, dtypes.FP32)
    assert [d.limit for d in found] == [1e-3, 8e-3, 2e-3, 1e-4]
    assert "error of 1e-3, 8e-3, 2e-3 and 1e-4" in page
    assert launch.SMS == 2 and "runs on two CTAs" in page
    assert [row[0].strip("`") for row in rows(read("backends"), "## The emulator")] == list(ORDERS)
    assert run.run_module.__kwdefaults__["seconds"] == 120 and "after two minutes" in read("command_line")


def imports():
    """(module of Task Scheduling, name) of the table that says which import lines change."""
    for left, _ in rows(read("authoring"), "## Coming from Task Scheduling"):
        for part in left.split("; "):
            words = re.findall(r"`([^`]+)`", part)
            if words[0].startswith("from "):
                names = words[0].partition(" import ")[2].split(", ")
                yield from (("__init__", name) for name in names if name != "...")
            else:
                module = words[0].rpartition(".")[2]
                yield from ((module, name) for name in words[1:])


def test_what_task_scheduling_has_is_here():
    assert len(list(imports())) > 25
    for module, name in imports():
        assert hasattr(warpdraft.core, name), f"{module}.{name}"


def test_task_scheduling_has_what_the_table_says():
    found = importlib.util.find_spec("cutlass")
    folder = Path(found.origin).parent / "experimental" / "task_scheduling" if found else None
    if folder is None or not folder.is_dir():
        pytest.skip("the CuTe DSL is not installed (pip install 'warpdraft[cutedsl]')")
    for module, name in imports():
        body = ast.parse((folder / f"{module}.py").read_text(encoding="utf-8")).body
        names = {a.asname or a.name for n in body if isinstance(n, ast.ImportFrom) for a in n.names}
        names |= {n.name for n in body if isinstance(n, ast.ClassDef | ast.FunctionDef)}
        names |= {t.id for n in body if isinstance(n, ast.Assign) for t in n.targets if hasattr(t, "id")}
        assert name in names, f"{module}.{name}"


def test_factories_take_the_parameters_of_task_scheduling_in_its_order():
    found = importlib.util.find_spec("cutlass")
    file = Path(found.origin).parent / "experimental/task_scheduling/resources.py" if found else None
    if file is None or not file.exists():
        pytest.skip("the CuTe DSL is not installed (pip install 'warpdraft[cutedsl]')")
    functions = (n for n in ast.walk(ast.parse(file.read_text("utf-8"))) if isinstance(n, ast.FunctionDef))
    factories = [f for f in functions if f.name.startswith("create_") and hasattr(warpdraft.core, f.name)]
    assert len(factories) == len(warpdraft.core.PipelineType)
    for factory in factories:
        theirs = [a.arg for a in factory.args.args]
        own = list(inspect.signature(getattr(warpdraft.core, factory.name)).parameters)
        assert own[: len(theirs)] == theirs, factory.name


def test_the_table_of_arrivals_names_every_pipeline_type():
    listed = [row[0].strip("`") for row in rows(read("authoring"), "### Who arrives how often")]
    assert set(warpdraft.core.PipelineType) <= set(listed)
    typed = [row[0].strip("`") for row in rows(read("authoring"), "### Types")]
    assert set(typed) == set(warpdraft.core.PipelineType)


def test_engines_and_signals_are_all_listed():
    engines = {row[0].strip('`"') for row in rows(read("authoring"), "### Engines")}
    assert engines == set(warpdraft.core.Engine)
    for signal in warpdraft.core.Signal:
        assert f"`Signal.{signal.name}`" in read("authoring")


def test_every_keyword_of_the_interface_is_explained():
    page = read("authoring")
    fields = (f for f in dataclasses.fields(warpdraft.core.MemoryResource) if f.init)
    known = {"is_barrier", "consumer_wait_signaling_threads"}  # of Task Scheduling: taken, without effect
    assert {f.name for f in fields if f"`{f.name}`" not in page} <= known
    for name in warpdraft.core.PipelineConfig.__dataclass_fields__:
        assert f"`{name}`" in page, name
