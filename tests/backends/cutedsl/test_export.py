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
    own = {name for name, decorators in methods.items() if "stamped" not in decorators}
    assert own == {"start", "finish", "end_row", "write_row", "write_times", "write"}
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
    """Two steps of room for each of two rows: of ops b and c (b has no reading of its own behind it), and of a alone."""
    scope = {"NAME": "k", "OPS": ("a", "b", "c"), "STEPS": 2, "HEADER": 4, "MOST": 4}
    exec(f"{definition('profile', 'Row')}\n\n{definition('profile', 'profile')}", scope)
    wide, narrow = scope["Row"]([1, 2, 3]), scope["Row"]([4, 5])
    wide.ops, narrow.ops = [("b", 0, 1), ("c", 1, 2)], [("a", 0, 1)]
    wide.put_behind([])
    narrow.put_behind([wide])
    scope["LAYOUT"] = [wide, narrow, scope["Row"]()]
    words = [0] * 24
    words[8 + 4 : 8 + 7] = 2**32 - 5, 2**32 - 1, 3  # b and c, the second time
    words[8 + 8 : 8 + 10] = 20, 25  # a, the first time
    values = [10**12, (1 << 33) + 7, 10**12 + 500, 900]
    values += [high << 32 | low for low, high in zip(words[8::2], words[9::2], strict=True)]
    signed = [v - (1 << 64) if v >> 63 else v for v in values]
    scope["device_records"] = lambda: mock.Mock(tolist=lambda: [[[0] * 12, signed], [[0] * 12] * 2])
    found = scope["profile"]({"M": 1})
    assert found["warps"] == [
        {
            "cta": 0,
            "warp": 1,
            "globaltimer": [10**12, 10**12 + 500],
            "clock": [7, 900],
            "ops": {
                "b": [[0, 0], [2**32 - 5, 2**32 - 1]],
                "c": [[0, 0], [2**32 - 1, 3]],
                "a": [[20, 25], [0, 0]],
            },
        }
    ]


def test_rows_of_half_as_many_words_share_room():
    scope = {"STEPS": 2, "MOST": 4}
    exec(definition("profile", "Row"), scope)
    rows = []
    for readings in (2, 4, 2, 3, 1, 2):
        rows.append(scope["Row"](range(readings)))
        rows[-1].put_behind(rows[:-1])
    assert [row.place for row in rows] == [0, 8, 2, 16, 24, 26]


def test_rows_end_where_loops_and_branches_begin_and_at_the_end_of_blocks(document):
    profiled = lower(document("ping_pong_gemm"), build="profile").splitlines()
    ends = [i for i, line in enumerate(profiled) if line.strip() in ("op.end_row()", "op.write_row()")]
    assert len(ends) > 20
    for i in ends:
        depth = [len(line) - len(line.lstrip()) for line in profiled[i : i + 2]]
        begins = profiled[i + 1].strip().split()[0]
        assert depth[1] < depth[0] or begins == ("if" if "write" in profiled[i] else "for")


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
