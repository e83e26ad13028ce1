"""`export --target ts`, `annotate` and `patch-ts`: what they write, show and refuse. Those that import need the DSL."""

import importlib.util
from pathlib import Path

import pytest

from warpdraft.backends.nvidia_ts.annotations import load_annotations
from warpdraft.core.document import OpKind
from warpdraft.core.edits import DeleteNode
from warpdraft.core.store import load, save
from warpdraft.core.tree import ops_of

SCRIPT = Path(__file__).parents[2] / "backends" / "nvidia_ts" / "bodies" / "store.py"
needs_ts = pytest.mark.skipif(
    importlib.util.find_spec("cutlass") is None,
    reason="Task Scheduling (nvidia-cutlass-dsl) is not installed",
)


# -- export -----------------------------------------------------------------------------------------------------------------
def test_export(warpdraft, examples, tmp_path):
    out = tmp_path / "gemm.py"
    ended = warpdraft("export", "--target", "ts", examples / "persistent_gemm.warpdraft.json", "-o", out)
    assert ended.code == 0 and "Task Scheduling source of persistent_gemm" in ended.out
    assert "not said for Task Scheduling: what the kernel computes" in ended.err
    compile(out.read_text(), "gemm.py", "exec")
    assert load_annotations(tmp_path / "gemm.annotations.toml").works["acc.mma"].engine == "wgmma"


def test_export_prints(warpdraft, examples):
    ended = warpdraft("export", "--target", "ts", examples / "tma_copy.py", "-o", "-")
    assert ended.code == 0 and "def build(" in ended.out


def test_export_refuses(warpdraft, examples, tmp_path):
    out = tmp_path / "x.py"
    path = examples / "ping_pong.warpdraft.json"
    assert "a second domain loop in load" in warpdraft("export", "--target", "ts", path, "-o", out).refusal
    flagged = warpdraft("export", "--target", "ts", path, "-o", out, "--profile")
    assert flagged.refusal.startswith("--profile is for kernel modules")
    assert not list(tmp_path.iterdir())


# -- annotate ---------------------------------------------------------------------------------------------------------------
def test_annotate_from_a_document(warpdraft, examples, tmp_path):
    out = tmp_path / "gemm.annotations.toml"
    path = examples / "persistent_gemm.warpdraft.json"
    assert warpdraft("annotate", tmp_path / "gemm.py", "--from", path).out.startswith(str(out))
    found = load_annotations(out)
    assert found.works["gmem_c.bulk_store"].warp == 0 and found.barriers["epilogue_barrier"].threads == 256


def test_annotate_replaces_no_file_unasked(warpdraft, examples, tmp_path):
    out = tmp_path / "gemm.annotations.toml"
    out.write_text("mine")
    path = examples / "tma_copy.warpdraft.json"
    refused = warpdraft("annotate", tmp_path / "gemm.py", "--from", path)
    assert "is there already" in refused.refusal and out.read_text() == "mine"
    assert warpdraft("annotate", tmp_path / "gemm.py", "--from", path, "-o", out).code == 0


def test_annotate_refuses(warpdraft, tmp_path):
    assert "no such file" in warpdraft("annotate", tmp_path / "no.py").refusal
    path = tmp_path / "bad.py"
    path.write_text("class (:\n")
    assert "bad.py:1: " in warpdraft("annotate", path).refusal
    assert "cannot be read" in warpdraft("annotate", path, "--from", tmp_path / "no.warpdraft.json").refusal


# -- with Task Scheduling ---------------------------------------------------------------------------------------------------
@pytest.fixture
def script(tmp_path):
    """A user's script, whose consumer stores its stage and gives it back without waiting."""
    path = tmp_path / "store.py"
    path.write_text(SCRIPT.read_text())
    return path


@needs_ts
def test_a_store_without_a_wait_is_found_once_annotated(warpdraft, script):
    before = warpdraft("import-ts", script)
    assert before.code == 0 and "defaults" in before.out
    drafted = warpdraft("annotate", script)
    assert drafted.code == 0
    work = load_annotations(script.with_name("store.annotations.toml")).works["smem.put"]
    assert work.engine == "bulk_store" and [s.op for s in work.sync] == [OpKind.GROUP_COMMIT]
    assert "WD403" in warpdraft("import-ts", script).out
    waits = "        cute.arch.cp_async_bulk_wait_group(0, read=True)\n"
    script.write_text(script.read_text().replace("commit_group()\n", "commit_group()\n" + waits))
    assert warpdraft("annotate", script, "-o", script.with_name("store.annotations.toml")).code == 0
    after = warpdraft("import-ts", script)
    assert after.code == 0 and ": safe" in after.out, after


@needs_ts
def test_patch(warpdraft, script, tmp_path):
    saved = tmp_path / "store.warpdraft.json"
    assert warpdraft("import-ts", script, "-o", saved).code == 0
    before = script.read_text()
    document = load(saved)
    same = warpdraft("patch-ts", script, saved)
    assert same.code == 0 and not same.out and "nothing to change" in same.err
    (op,) = [o for t in document.tasks for o in ops_of(t) if o.kind is OpKind.TRY_ACQUIRE]
    save(DeleteNode(op.id).apply(document), saved)
    shown = warpdraft("patch-ts", script, saved)
    assert shown.code == 0 and "\n-            smem.try_acquire()  # a look first\n" in shown.out
    assert script.read_text() == before
    assert warpdraft("patch-ts", script, saved, "--apply").code == 0
    assert script.read_text() == before.replace("            smem.try_acquire()  # a look first\n", "")
    again = warpdraft("patch-ts", script, saved)
    assert again.code == 0 and "nothing to change" in again.err
    script.write_text(before.replace("acquire()\n", "acquire()\n\n", 1))
    assert "has changed since" in warpdraft("patch-ts", script, saved).refusal
    assert {p.name for p in tmp_path.iterdir()} == {"store.py", "store.warpdraft.json"}
