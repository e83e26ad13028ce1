"""The public vocabulary of NVIDIA's Task Scheduling: every name, parameter and member that a schedule says is here too.

Read from its sources, where they are installed: names only.
"""

import ast
import importlib.util
import inspect
from pathlib import Path

import pytest

import warpdraft.core as core

SPEC = importlib.util.find_spec("nvidia_cutlass_dsl")
ROOTS = [Path(p) for p in SPEC.submodule_search_locations or ()] if SPEC else []
FOLDERS = [r / "dsl_packages/cutlass/experimental/task_scheduling" for r in ROOTS]
FOLDER = next((f for f in FOLDERS if f.is_dir()), None)
pytestmark = pytest.mark.skipif(FOLDER is None, reason="NVIDIA Task Scheduling is not installed here")

LEGACY = "lists of stages, which captured schedules replace"
CAPTURE = "a part of its own capture"
KERNEL = "runs inside a kernel"
NOT_HERE = {
    "Route": CAPTURE,
    "Step": CAPTURE,  # ours is a step of a witness
    "Schedule": CAPTURE,
    "ConditionalBlock": CAPTURE,
    "DomainLoop": CAPTURE,
    "WorkTileLoop": CAPTURE,
    "ScheduleResult": CAPTURE,
    "DataFlowToken": CAPTURE,
    "ScheduleBuilder": CAPTURE,
    "ResourceProxy": CAPTURE,
    "WorkTileLoopProxy": CAPTURE,
    "DomainLoopProxy": CAPTURE,
    "bind_task_local_variables": CAPTURE,
    "get_task_local_variables": CAPTURE,
    "BlockGuard": CAPTURE,
    "is_skippable_guard": CAPTURE,
    "is_iteration_predicate": CAPTURE,
    "guard_fires": CAPTURE,
    "ScheduleStage": LEGACY,
    "ScheduleStageType": LEGACY,
    "LoopGuard": LEGACY,
    "is_loop_guard": LEGACY,
    "normalize_and_validate_schedule_list": LEGACY,
    "DependencyGraphEdge": "a picture of the graph",
    "DependencyGraphControlEdge": "a picture of the graph",
    "expand_loop": "its checker",
    "print_schedule_list": "its checker",
}
FILES = ("schedule_builder", "memory", "pipeline_group", "resources", "task", "task_manager", "enums")
# Parameters that Task Scheduling has and nothing here depends on: taken all the same, by ``**other``.
OPEN = ("Task", "TaskManager")
METHODS = {  # of classes that a schedule's module calls
    "SmemAllocator": (
        "add",
        "add_resource",
        "add_pipeline_group",
        "add_tmem_ptr",
        "add_alias_group",
        "compute_layout",
    ),
    "TmemAllocator": ("add", "add_resource", "add_alias_group", "compute_layout"),
    "TaskManager": ("print_and_verify", "setup_resources_and_tasks", "run"),
    "MemoryResource": ("get_smem_requirements", "get_tmem_requirements"),
    "WorkQueue": ("init_work_tile", "get_and_advance_work_tile", "fetch_work_tile", "skip_work_tile_if"),
    "PdlWaitBarrier": ("wait_griddep",),
    "PdlLaunchBarrier": ("launch_griddep",),
    "TaskLocalVariable": ("uninitialized",),
}


def definitions():
    """(name, node) of every public class and function."""
    for file in FILES if FOLDER else ():
        for node in ast.parse((FOLDER / f"{file}.py").read_text()).body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
                yield node.name, node


DEFINITIONS = dict(definitions())


def parameters_of(node):
    """Names of what a call may give, in order: positional ones, then keywords; whether each may be left out."""
    if isinstance(node, ast.ClassDef):
        init = next((m for m in node.body if isinstance(m, ast.FunctionDef) and m.name == "__init__"), None)
        if init is None:
            fields = [
                m for m in node.body if isinstance(m, ast.AnnAssign) and not m.target.id.startswith("_")
            ]
            kept = [
                f for f in fields if "ClassVar" not in ast.unparse(f) and "init=False" not in ast.unparse(f)
            ]
            return [f.target.id for f in kept], []
        node = init
    names = [a.arg for a in node.args.posonlyargs + node.args.args if a.arg not in ("self", "cls")]
    return names, [a.arg for a in node.args.kwonlyargs]


def test_every_name_is_here_or_said_not_to_be():
    assert [n for n in DEFINITIONS if not hasattr(core, n) and n not in NOT_HERE] == []
    face = ast.parse((FOLDER / "__init__.py").read_text())
    listed = next(ast.literal_eval(n.value) for n in face.body if isinstance(n, ast.Assign))
    assert [n for n in listed if n != "pipeline" and not hasattr(core, n)] == []


RUNTIME = {"consumer_vars", "producer_vars", "pipeline", "tile_scheduler"}  # values of a running kernel


@pytest.mark.parametrize("name", sorted(set(DEFINITIONS) - set(NOT_HERE)))
def test_the_same_calls_are_taken(name):
    ours = getattr(core, name)
    if name == "schedule":
        return  # a decorator: its parameter is never named
    if inspect.isclass(ours) and issubclass(ours, BaseException | core.PipelineType.__mro__[-2]):
        return
    positional, keywords = parameters_of(DEFINITIONS[name])
    try:
        known = inspect.signature(ours).parameters
    except ValueError:
        return  # an enumeration: its members are compared
    takes_all = any(p.kind is p.VAR_KEYWORD for p in known.values())
    positions = [n for n, p in known.items() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    missing = [n for n in positional + keywords if n not in known and n not in RUNTIME]
    assert takes_all or not missing, missing
    if name not in OPEN and positions:
        shared = [n for n in positional if n in positions]
        assert positions[: len(shared)] == shared


@pytest.mark.parametrize(
    "name",
    [
        n
        for n, d in DEFINITIONS.items()
        if (isinstance(d, ast.ClassDef) and "Enum" in ast.unparse(d.bases[0] if d.bases else d))
        or n in ("WorkAttr", "SignalingThreads")
    ],
)
def test_members(name):
    if name in NOT_HERE:
        return
    members = {
        m.targets[0].id: ast.literal_eval(m.value)
        for m in DEFINITIONS[name].body
        if isinstance(m, ast.Assign) and not m.targets[0].id.startswith("_")
    }
    assert {n: m.value for n, m in getattr(core, name).__members__.items()} == members


@pytest.mark.parametrize(("name", "methods"), METHODS.items())
def test_methods(name, methods):
    assert [m for m in methods if not hasattr(getattr(core, name), m)] == []


def test_factories_take_their_parameters_in_order():
    config = DEFINITIONS["PipelineConfig"]
    found = {
        m.name: m for m in config.body if isinstance(m, ast.FunctionDef) and m.name.startswith("create_")
    }
    assert len(found) == 7
    for name, node in found.items():
        ours = list(inspect.signature(getattr(core, name)).parameters)
        theirs, _ = parameters_of(node)
        assert ours[: len(theirs)] == theirs, name
        assert hasattr(core.PipelineConfig, name)
