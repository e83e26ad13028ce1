"""Runs a kernel module's self-check in a process of its own: a kernel that hangs ends with it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Waiting:
    """``warps`` warps (of all CTAs) that a watchdog build found waiting in ``op``, for this stage and parity of its barrier,
    having passed it ``step`` times."""

    op: str
    stage: int
    parity: int
    step: int
    warps: int


@dataclass(frozen=True, slots=True)
class Measurement:
    """What the self-check found. ``state`` is "right", "wrong", "hung" or "failed" (``message`` then says why).
    ``waiting`` is what a watchdog build reports of a kernel that hung.

    ``error`` is relative (Frobenius norm), ``seconds`` the median of one launch, ``rate`` in ``unit``; ``ratio`` compares
    with the library call ``library`` in the same process (1.0: as fast). ``spread``: the middle half of the times, from
    the first to the third quartile, as a part of ``seconds``.
    """

    state: str
    message: str = ""
    device: str = ""
    dtype: str = ""
    sizes: tuple[tuple[str, int], ...] = ()
    error: float = float("nan")
    limit: float = float("nan")
    seconds: float | None = None
    rate: float | None = None
    unit: str = ""
    library: str = ""
    ratio: float | None = None
    spread: float | None = None
    waiting: tuple[Waiting, ...] = ()


def run_module(
    source: str,
    sizes: Mapping[str, int] | None = None,
    parameters: Mapping[str, str] | None = None,
    *,
    timing: bool = True,
    seconds: float = 120,
    python: str = sys.executable,
) -> Measurement:
    """Check (and time) the module ``source`` on this machine's GPU, for at most ``seconds``.

    ``python`` is the interpreter to use: it needs the DSL and torch.
    """
    asked = [sizes or {}]
    return run_sizes(source, asked, parameters, timing=timing, seconds=seconds, python=python)[-1]


def run_sizes(
    source: str,
    sizes: Sequence[Mapping[str, int]],
    parameters: Mapping[str, str] | None = None,
    *,
    timing: bool = True,
    seconds: float = 120,
    python: str = sys.executable,
) -> tuple[Measurement, ...]:
    """As `run_module`, for several sizes in one process; where it hangs or fails, that comes last."""
    with tempfile.TemporaryDirectory(prefix="warpdraft-") as folder:
        return _run(folder, source, sizes, parameters, timing, seconds, python)


def profile_module(
    source: str,
    sizes: Mapping[str, int] | None = None,
    parameters: Mapping[str, str] | None = None,
    *,
    seconds: float = 120,
    python: str = sys.executable,
) -> tuple[Measurement, dict[str, Any] | None]:
    """Check a profile build once, and what it recorded (see `read_records`); None where it did not come to its end."""
    with tempfile.TemporaryDirectory(prefix="warpdraft-") as folder:
        found = _run(folder, source, [sizes or {}], parameters, False, seconds, python)[-1]
        records = Path(folder, "kernel.profile.json")
        return found, json.loads(records.read_text(encoding="utf-8")) if records.exists() else None


def _run(
    folder: str,
    source: str,
    sizes: Sequence[Mapping[str, int]],
    parameters: Mapping[str, str] | None,
    timing: bool,
    seconds: float,
    python: str,
) -> tuple[Measurement, ...]:
    """`run_sizes`, with the module and what it writes in ``folder``."""
    module = Path(folder, "kernel.py")
    module.write_text(source, encoding="utf-8")
    command = [python, "-u", str(module), "--json", *([] if timing else ["--no-timing"])]
    for option, values in (*(("--size", s) for s in sizes), ("--param", parameters)):
        if values:
            command += [option, ",".join(f"{k}={v}" for k, v in values.items())]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        return (*_parse(out), Measurement("hung", f"no end after {seconds:g} s"))
    found = _parse(out)
    if process.returncode in (0, 1) and found:
        return found
    return (*found, Measurement("failed", telling(err) or f"ended with status {process.returncode}"))


# The last line of a traceback, or argparse's: an error's class or "error", and what it says.
RAISED = re.compile(r"([A-Za-z_][\w.]*\.)?[A-Z]\w*(Error|Exception|Interrupt|Exit|Refused)\b(: .*)?$")
REFUSED = re.compile(r".+: error: .+")
ADVICE = (
    "CUDA kernel errors might",
    "For debugging consider",
    "Compile with",
    "Device-side assertion",
    "During handling",
)


def telling(err: str) -> str:
    """The line of ``err`` that says what went wrong; "" where nothing does.

    What torch adds to a CUDA error ("Compile with `TORCH_USE_CUDA_DSA` ..."), and what the CUDA runtime prints behind it
    when the process ends, says nothing.
    """
    lines = [line.strip() for line in err.splitlines() if line.strip()]
    for pattern in (RAISED, REFUSED):
        if found := [line for line in lines if pattern.match(line)]:
            return found[-1]
    plain = [line for line in lines if not line.startswith(ADVICE)]
    return (plain or lines or [""])[-1]


def _parse(out: str) -> tuple[Measurement, ...]:
    return tuple(_measurement(json.loads(line)) for line in out.splitlines() if line.startswith("{"))


def _measurement(found: dict) -> Measurement:
    if "waiting" in found:
        waiting = tuple(Waiting(**wait) for wait in found["waiting"])
        text = "; ".join(f"{w.warps} warps wait in {w.op}, stage {w.stage}" for w in waiting)
        return Measurement("hung", text, waiting=waiting)
    return Measurement(
        "right" if found["right"] else "wrong",
        message=found.get("message", ""),
        device=found["device"],
        dtype=found["dtype"],
        sizes=tuple(found["sizes"].items()),
        error=found["error"],
        limit=found["limit"],
        seconds=found.get("seconds"),
        rate=found.get("rate"),
        unit=found.get("unit", ""),
        library=found.get("library", ""),
        ratio=found.get("ratio"),
        spread=found.get("spread"),
    )
