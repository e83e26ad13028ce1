"""A schedule in a kernel of the user's becomes the instructions that its exported module has."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

import warpdraft.assets.examples
from warpdraft.assets.examples import broken_deadlock, persistent_gemm
from warpdraft.backends.cutedsl import ExportRefused, LoweringError, compile_module, export_module
from warpdraft.backends.cutedsl.cubin import register_requests, resources
from warpdraft.backends.cutedsl.tracing import Traced
from warpdraft.core import ScheduleError

EXAMPLES = Path(warpdraft.assets.examples.__path__[0])
SCRIPT = Path(__file__).with_name("own_kernel.py")
needs_dsl = pytest.mark.skipif(
    importlib.util.find_spec("cutlass") is None, reason="the CuTe DSL is not installed"
)


def instructions(ptx):
    """Opcodes in order: everything that is done, without the registers' names."""
    return re.findall(r"^\s*(?:@!?%p\d+ )?([a-z][\w.:]*)\s", ptx, re.MULTILINE)


@needs_dsl
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "example", ["persistent_gemm", "gemm", "tma_copy", "hopper_gemm", "ping_pong_gemm", "residual_gemm"]
)
def test_the_instructions_and_registers_of_the_exported_module(example, document, tmp_path):
    command = [sys.executable, str(SCRIPT), str(EXAMPLES / f"{example}.py"), str(tmp_path / "own")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    own, cubin = (tmp_path / "own.ptx").read_text(), (tmp_path / "own.cubin").read_bytes()
    exported = compile_module(export_module(document(example)))
    assert instructions(own) == instructions(exported.ptx)
    assert "cp.async.bulk.tensor" in own and "mbarrier.try_wait.parity" in own
    asked = {task.num_registers for task in document(example).tasks} - {0, None}
    assert set(register_requests(cubin)) == set(register_requests(exported.cubin)) == asked
    assert resources(cubin) == exported.resources
    assert resources(cubin).stack_bytes == 0  # nothing is spilled


def test_an_unsafe_schedule_is_refused():
    with pytest.raises(ExportRefused):
        Traced(broken_deadlock.build().document)
    assert "UNSAFE" in Traced(broken_deadlock.build().document, unsafe=True).source


def test_run_wants_what_prepare_gave():
    with pytest.raises(ScheduleError, match=r"test_tracing.py:\d+: run\(\) takes what prepare\(\) gave"):
        persistent_gemm.build().run(())


@needs_dsl
def test_outside_of_a_trace():
    manager = persistent_gemm.build()
    with pytest.raises(LoweringError, match=r"inside a @cute\.jit function"):
        manager.prepare(1, 2, 3, sms=1)
    with pytest.raises(LoweringError, match=r"inside a @cute\.kernel"):
        manager.run(())


@pytest.mark.gpu
@pytest.mark.timeout(300)
def test_it_is_right_on_a_gpu():
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(EXAMPLES / "persistent_gemm.py")], capture_output=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
