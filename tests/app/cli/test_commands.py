"""What each command prints, writes and returns."""

import json
import subprocess
import sys

import pytest

from warpdraft.backends.cutedsl import Measurement


def test_trace_writes_what_perfetto_reads(warpdraft, examples, tmp_path):
    out = tmp_path / "trace.json"
    ended = warpdraft(
        "trace", examples / "persistent_gemm.warpdraft.json", "-o", out, "--set", "k_tiles=12,tiles=1"
    )
    assert ended.code == 0 and not ended.err
    trace = json.loads(out.read_text())
    assert trace["otherData"]["values"] == {"k_tiles": 12, "tiles": 1} and trace["otherData"]["ended"]
    assert f"{trace['otherData']['total_cycles']} cycles" in ended.out and "tensor core busy" in ended.out


def test_trace_to_standard_output_is_nothing_but_the_trace(warpdraft, examples):
    ended = warpdraft("trace", examples / "tma_copy.py", "-o", "-")
    assert ended.code == 0 and json.loads(ended.out)["traceEvents"]


def test_trace_of_a_deadlock_shows_it_and_says_so(warpdraft, examples, tmp_path):
    ended = warpdraft("trace", examples / "broken_deadlock.warpdraft.json", "-o", tmp_path / "t.json")
    assert ended.code == 0
    assert "blocked: load.w0 at load.04 waits empty smem_ab[0], owed 8 of 8 arrivals" in ended.err
    assert not json.loads((tmp_path / "t.json").read_text())["otherData"]["ended"]


def test_trace_refuses_values_below_the_least_and_measured_traces(warpdraft, examples):
    path = examples / "persistent_gemm.warpdraft.json"
    assert "k_tiles=0: at least 1" in warpdraft("trace", path, "-o", "-", "--set", "k_tiles=0").refusal


@pytest.mark.parametrize("name", ["tma_copy", "gemm", "persistent_gemm"])
def test_run_in_the_emulator_is_right(warpdraft, examples, name):
    ended = warpdraft("run", examples / f"{name}.warpdraft.json", "--emulate")
    assert ended.code == 0 and f"{name}: right in the emulator" in ended.out and "in every order" in ended.out
    assert ended.out.splitlines()[0].endswith(
        "in every order: random, late-reads, late-writes, eager (seed 0)"
    )


def test_run_chooses_the_fastest_of_several(warpdraft, examples):
    paths = [examples / f"{name}.warpdraft.json" for name in ("gemm", "persistent_gemm")]
    for order in (paths, paths[::-1]):
        ended = warpdraft("run", *order, "--emulate", "--size", "M=256,N=512,K=128")
        assert ended.code == 0 and "of 2, predicted" in ended.err
    refused = warpdraft("run", paths[0], examples / "ping_pong.warpdraft.json", "--emulate").refusal
    assert "ping_pong has no kernel" in refused


def test_run_takes_sizes_and_parameters(warpdraft, examples):
    path = examples / "persistent_gemm.py"
    ended = warpdraft(
        "run", path, "--emulate", "--size", "M=200,N=264", "--size", "K=72", "--param", "dtype=bf16", "--json"
    )
    result = json.loads(ended.out)
    assert ended.code == 0 and result["verdict"] == "right" and result["where"] == "emulator"
    assert result["sizes"] == {"M": 200, "N": 264, "K": 72} and result["tiles"] == 4
    assert 5e-4 < result["relative_error"] < 2e-3  # bf16 rounds more coarsely than fp16


@pytest.mark.parametrize(
    "name, verdict",
    [
        ("broken_early_release", "wrong"),
        ("broken_deadlock", "deadlock"),
        ("broken_arrival_count", "deadlock"),
    ],
)
def test_run_of_a_broken_schedule_ends_with_1(warpdraft, examples, name, verdict):
    ended = warpdraft("run", examples / f"{name}.warpdraft.json", "--emulate")
    assert ended.code == 1 and f"{name}: {verdict} in the emulator" in ended.out
    result = json.loads(warpdraft("run", examples / f"{name}.warpdraft.json", "--emulate", "--json").out)
    assert result["verdict"] == verdict
    assert (result["relative_error"] is None) is (verdict == "deadlock")
    assert bool(result["blocked"]) is (verdict == "deadlock")


def test_export_writes_a_module_that_python_can_parse(warpdraft, examples, tmp_path):
    out = tmp_path / "kernel.py"
    ended = warpdraft("export", examples / "persistent_gemm.warpdraft.json", "-o", out)
    assert ended.code == 0 and "persistent_gemm for sm_90a" in ended.out
    compile(out.read_text(), "kernel.py", "exec")
    printed = warpdraft("export", examples / "persistent_gemm.py", "-o", "-")
    assert printed.out == out.read_text()


def test_export_of_an_unsafe_schedule_needs_unsafe(warpdraft, examples, tmp_path):
    path, out = examples / "broken_early_release.warpdraft.json", tmp_path / "kernel.py"
    out.write_text("mine")
    ended = warpdraft("export", path, "-o", out)
    assert ended.code == 1 and "error[WD403]" in ended.err and "--unsafe overrides" in ended.err
    assert out.read_text() == "mine"
    assert warpdraft("export", path, "-o", out, "--unsafe").code == 0
    assert "UNSAFE" in out.read_text() and "WD403" in out.read_text()


def test_compile_of_an_unsafe_schedule_is_refused(warpdraft, examples):
    assert warpdraft("compile", examples / "broken_deadlock.warpdraft.json").code == 1


def test_compile_makes_ptx_and_cubin_without_a_gpu(warpdraft, examples, tmp_path):
    pytest.importorskip("cutlass", reason="the CuTe DSL is not installed (pip install 'warpdraft[cutedsl]')")
    ended = warpdraft("compile", examples / "tma_copy.warpdraft.json", "-o", tmp_path / "copy")
    assert ended.code == 0 and "registers" in ended.out
    assert "mbarrier" in (tmp_path / "copy.ptx").read_text()
    assert (tmp_path / "copy.cubin").read_bytes().startswith(b"\x7fELF")


def test_the_installed_command_runs(examples):
    command = [
        sys.executable,
        "-m",
        "warpdraft.app.cli",
        "run",
        str(examples / "tma_copy.warpdraft.json"),
        "--emulate",
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and "right" in done.stdout and not done.stderr


def test_importing_the_command_line_loads_no_heavy_library():
    code = (
        "import sys, warpdraft.app.cli\n"
        "heavy = {'panel', 'bokeh', 'torch', 'cutlass', 'numpy', 'param'} & set(sys.modules)\n"
        "sys.exit(f'loaded {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("state, code", [("right", 0), ("wrong", 1), ("hung", 1), ("failed", 2)])
def test_run_on_a_gpu_reports_what_was_measured(warpdraft, examples, monkeypatch, state, code):
    asked = {}

    def measure(source, sizes, texts):
        asked.update(sizes=sizes, texts=texts, lines=len(source.splitlines()))
        if state in ("hung", "failed"):
            return Measurement(state, "no end after 120 s")
        numbers = {"error": 2e-4, "limit": 1e-3, "seconds": 2e-4, "spread": 0.012, "rate": 640.0, "unit": "TFLOP/s"}
        sizes = tuple(sizes.items())
        return Measurement(
            state, device="H", dtype="bf16", sizes=sizes, library="torch.mm", ratio=1.01, **numbers
        )

    monkeypatch.setattr("warpdraft.app.cli.run.gpu_name", lambda: "H")
    monkeypatch.setattr("warpdraft.backends.cutedsl.run_module", measure)
    arguments = ("run", examples / "gemm.warpdraft.json", "--size", "M=64", "--param", "dtype=bf16")
    ended = warpdraft(*arguments)
    assert ended.code == code
    assert asked["sizes"] == {"M": 64} and asked["texts"] == {"dtype": "bf16"} and asked["lines"] > 100
    if state == "failed":
        assert ended.err.endswith("warpdraft: gemm: no end after 120 s\n")
        return
    assert f"gemm: {state}" in ended.out
    result = json.loads(warpdraft(*arguments, "--json").out)
    assert result["verdict"] == state and result["where"] == "gpu" and result["document"] == "gemm"
    if state != "hung":
        assert "(spread 1.2%), 640.0 TFLOP/s" in ended.out and "1.010 of torch.mm" in ended.out and result["rate"] == 640.0


def test_run_refuses_an_unsafe_schedule_on_a_gpu(warpdraft, examples, monkeypatch):
    monkeypatch.setattr("warpdraft.app.cli.run.gpu_name", lambda: "H")
    monkeypatch.setattr("warpdraft.backends.cutedsl.run_module", lambda *_: pytest.fail("was run"))
    ended = warpdraft("run", examples / "broken_early_release.warpdraft.json")
    assert ended.code == 1 and "error[WD403]" in ended.err and not ended.out


def test_an_unsafe_schedule_is_run_with_bounded_waits(warpdraft, examples, monkeypatch):
    sources = []
    stuck = Measurement("hung", "8 warps wait in math.03, stage 0")
    monkeypatch.setattr("warpdraft.app.cli.run.gpu_name", lambda: "H")
    monkeypatch.setattr(
        "warpdraft.backends.cutedsl.run_module", lambda source, *_: sources.append(source) or stuck
    )
    ended = warpdraft("run", examples / "broken_deadlock.warpdraft.json", "--unsafe")
    assert ended.code == 1 and "broken_deadlock: hung" in ended.out and "8 warps wait in math.03" in ended.out
    assert "watchdog" in sources[0] and "UNSAFE" in sources[0]


@pytest.mark.gpu
def test_run_on_this_machines_gpu(warpdraft, examples):
    pytest.importorskip("cutlass", reason="the CuTe DSL is not installed (pip install 'warpdraft[cutedsl]')")
    result = json.loads(warpdraft("run", examples / "persistent_gemm.warpdraft.json", "--json").out)
    assert result["verdict"] == "right" and result["where"] == "gpu"


def test_trace_of_a_gpu(warpdraft, examples, tmp_path, monkeypatch):
    path, target = examples / "persistent_gemm.warpdraft.json", tmp_path / "trace.json"
    warp = {"cta": 0, "warp": 0, "globaltimer": [0, 1], "clock": [100, 900], "ops": {"load.04": [[110, 130]]}}
    records = {"sizes": {"M": 256, "N": 256, "K": 64}, "steps": 64, "sms": 132, "warps": [warp]}
    right = Measurement("right", error=1e-4)
    monkeypatch.setattr("warpdraft.app.cli.trace.has_gpu", lambda: True)
    monkeypatch.setattr("warpdraft.backends.cutedsl.profile_module", lambda *_: (right, records))
    ended = warpdraft("trace", path, "-o", target, "--gpu")
    assert ended.code == 0 and "30 cycles (k_tiles 1, tiles 1)" in ended.out
    (event,) = (e for e in json.loads(target.read_text())["traceEvents"] if e["ph"] == "X")
    assert (event["name"], event["ts"], event["dur"], event["args"]["at"]) == (
        "load.04",
        10,
        20,
        "tile 0, k 0",
    )
    assert "CTA 3 left no records" in warpdraft("trace", path, "-o", "-", "--gpu", "--cta", "3").err
    monkeypatch.setattr(
        "warpdraft.backends.cutedsl.profile_module",
        lambda *_: (Measurement("hung", "no end after 120 s"), None),
    )
    assert "hung: no end after 120 s" in warpdraft("trace", path, "-o", "-", "--gpu").err


def test_trace_says_what_goes_with_a_gpu(warpdraft, examples, monkeypatch):
    monkeypatch.setattr("warpdraft.app.cli.trace.has_gpu", lambda: False)
    gemm = examples / "gemm.warpdraft.json"
    for options, message in (
        (("--gpu",), "no GPU here"),
        (("--gpu", "--set", "k_tiles=4"), "--set is for a prediction"),
        (("--size", "M=8"), "are for --gpu"),
    ):
        ended = warpdraft("trace", gemm, "-o", "-", *options)
        assert ended.code == 2 and message in ended.err and not ended.out
