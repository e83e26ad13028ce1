"""What is exported, and what is refused."""

import ast
import subprocess
import sys
from dataclasses import replace
from unittest import mock

import pytest

from warpdraft.assets.regenerate import path_of
from warpdraft.backends.cutedsl import ExportRefused, LoweringError, export_module, lower, op_lines
from warpdraft.backends.cutedsl.fixed import definition
from warpdraft.core.document import Op
from warpdraft.core.store import load
from warpdraft.core.tree import walk


def gpu(capability):
    """A PyTorch on a machine with a GPU of this capability, or with none."""
    cuda = mock.Mock()
    cuda.is_available.return_value = capability is not None
    cuda.get_device_capability.return_value = capability
    cuda.get_device_name.return_value = "some GPU"
    return mock.Mock(cuda=cuda)


def test_safe_documents_are_exported(document):
    for name in ("gemm", "persistent_gemm", "tma_copy", "store_task"):
        source = export_module(document(name))
        assert source == lower(document(name))
        assert "UNSAFE" not in source


@pytest.mark.parametrize("name", ["broken_arrival_count", "broken_deadlock", "broken_early_release"])
def test_unsafe_documents_are_refused(document, name):
    with pytest.raises(ExportRefused) as refused:
        export_module(document(name))
    assert refused.value.findings
    lines = export_module(document(name), unsafe=True).splitlines()
    assert lines[0].startswith('"""UNSAFE')
    for finding, line in zip(refused.value.findings, lines[1:], strict=False):
        assert finding.code in line and finding.message in line


@pytest.mark.parametrize("name", ["attention", "ping_pong"])
def test_a_schedule_without_a_kernel_is_refused(name):
    with pytest.raises(LoweringError, match="no kernel"):
        export_module(load(path_of(name)))


def test_one_debug_build_at_a_time(document):
    with pytest.raises(LoweringError, match="one build, not watchdog and profile"):
        export_module(document("gemm"), profile=True, watchdog=True)


def test_a_profile_build_has_the_same_schedule(any_document):
    plain, profiled = (lower(any_document, build=build) for build in ("", "profile"))
    tagged = [[line for line in text.splitlines() if "# op" in line] for text in (plain, profiled)]
    assert tagged[0] == tagged[1]
    assert "clock" not in plain and "stamped" not in plain
    ops = next(n for n in ast.parse(profiled).body if getattr(n, "name", "") == "Ops").body
    methods = {
        m.name: [ast.unparse(d) for d in m.decorator_list] for m in ops if isinstance(m, ast.FunctionDef)
    }
    own = {name for name, decorators in methods.items() if "stamped" not in decorators} - {"arm"}
    assert own == {"stamp", "start", "finish", "write"}
    called = {
        n.attr
        for n in ast.walk(ast.parse(plain))
        if isinstance(n, ast.Attribute) and ast.unparse(n.value) == "op"
    }
    assert profiled.count("def stamped(") == 1
    assert set(methods) - own == called


def test_a_jitter_build_has_the_same_schedule(any_document):
    plain, delayed = (lower(any_document, build=build) for build in ("", "jitter"))
    tagged = [[line for line in text.splitlines() if "# op" in line] for text in (plain, delayed)]
    assert tagged[0] == tagged[1]
    assert "nanosleep" not in plain and delayed.count("nanosleep") == 1
    methods = {m.split("(")[0] for m in delayed.split("@delayed\n")[1:]}
    assert len(methods) == delayed.count("@delayed\n") >= 3
    assert "op = Ops(seed, warp_idx)" in delayed


def test_records_are_decoded():
    text = definition("profile", "profile")
    row = [10**12, (1 << 33) + 7, 10**12 + 500, 900, *(0 for _ in range(4))]
    row[4 + 2] = (25 << 32) | 20  # op b, first occurrence
    row[4 + 3] = ((2**32 - 1) << 32) | (2**32 - 5)
    signed = [r - (1 << 64) if r >> 63 else r for r in row]
    rows = [[[0] * 8, signed], [[0] * 8] * 2]
    scope = {"NAME": "k", "OPS": ("a", "b"), "STEPS": 2, "HEADER": 4}
    scope["device_records"] = lambda: mock.Mock(tolist=lambda: rows)
    exec(text, scope)
    found = scope["profile"]({"M": 1})
    assert found["warps"] == [
        {
            "cta": 0,
            "warp": 1,
            "globaltimer": [10**12, 10**12 + 500],
            "clock": [7, 900],
            "ops": {"b": [[20, 25], [2**32 - 5, 2**32 - 1]]},
        }
    ]


def test_a_watchdog_build_has_the_same_schedule(any_document):
    plain, watched = (lower(any_document, build=build).splitlines() for build in ("", "watchdog"))
    first, last = "# shared memory", "@cute.jit"
    schedules = []
    for lines in (plain, watched):
        start = next(i for i, line in enumerate(lines) if line.strip() == first)
        schedules.append(lines[start : lines.index(last, start)])
    assert schedules[0] == schedules[1]
    assert not any("bounded_wait" in line for line in plain)
    assert sum("self.bounded_wait(op" in line for line in watched) >= 1


def test_the_same_document_gives_the_same_text(any_document):
    assert lower(any_document) == lower(replace(any_document))


def test_every_op_has_its_line(any_document):
    lines = op_lines(lower(any_document))
    ops = {n.id for t in any_document.tasks for n in walk(t.body) if isinstance(n, Op)}
    assert ops == set(lines)


def test_the_module_needs_only_the_dsl_and_torch(any_document):
    tree = ast.parse(lower(any_document))
    found = {a.name.split(".")[0] for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    found |= {n.module.split(".")[0] for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    assert found - sys.stdlib_module_names == {
        "cuda",
        "cutlass",
        "torch",
    }  # cuda: bindings that the DSL brings


@pytest.mark.parametrize(
    ("arch", "torch", "missing"),
    [
        ("sm_100a", None, "capability 10.0 (sm_100a) and PyTorch, which is not installed"),
        ("sm_100a", gpu(None), "capability 10.0 (sm_100a), and PyTorch finds no GPU"),
        ("sm_100a", gpu((9, 0)), "capability 10.0 (sm_100a), not some GPU"),
        ("sm_90a", gpu((10, 0)), "capability 9.0 (sm_90a), not some GPU"),
        ("sm_90a", gpu((9, 0)), ""),
        ("sm_100a", gpu((10, 0)), ""),
    ],
)
def test_the_self_check_says_what_the_machine_lacks(arch, torch, missing):
    scope = {"ARCH": arch}
    exec(definition("selfcheck", "missing_here"), scope)
    with mock.patch.dict(sys.modules, torch=torch):  # None: as if it were not installed
        said = scope["missing_here"]()
    assert said.endswith(missing) and bool(said) == bool(missing)


def test_heading_cannot_end_the_docstring(document):
    source = lower(document("gemm"), 'a """ and a \\')
    assert ast.get_docstring(ast.parse(source)).startswith("a ''' and a \\")


def test_exporting_loads_neither_the_dsl_nor_torch():
    code = "import sys, warpdraft.backends.cutedsl; print({'cutlass', 'torch', 'cuda'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
