"""A run of the kernel in a process of its own: its output as it comes, a time limit, and a stop that always works."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from warpdraft.core import store
from warpdraft.core.document import Document

from .tied import MISSING, end

TIED = Path(__file__).with_name("tied.py")  # starts without the package: -I leaves its folder out of the path
LIMIT = 300.0  # seconds; compiling takes a few, a hang would take for ever
MOST_LINES = 2000


@dataclass(frozen=True, slots=True)
class RunState:
    """What is known of the latest run. ``state``: "idle", "running", "done", "failed", "stopped" or "late"."""

    state: str = "idle"
    lines: tuple[str, ...] = ()
    result: Mapping[str, Any] = field(default_factory=dict)
    summary: str = ""


class Runner:
    """Runs one command at a time and tells ``changed`` of each new state, from a thread of its own."""

    def __init__(self, changed: Callable[[RunState], None], limit: float = LIMIT) -> None:
        self._changed = changed
        self._limit = limit
        self._process: subprocess.Popen | None = None
        self._ending = ""
        self._lock = threading.Lock()
        self.state = RunState()

    @property
    def running(self) -> bool:
        """Whether a run is going on."""
        return self.state.state == "running"

    def run_document(self, document: Document) -> None:
        """Run ``document`` on the GPU, or in the emulator where the driver lists none."""
        where = [] if has_gpu() else ["--emulate"]
        note = "on the GPU" if not where else "in the emulator: no GPU here"
        self._start_on(document, f"running {document.name} {note}", "run", *where, "--json")

    def profile_document(self, document: Document) -> None:
        """Run the profile build of ``document`` on the GPU; the result is a trace."""
        self._start_on(document, f"profiling {document.name} on the GPU", "trace", "--gpu", "-o", "-")

    def _start_on(self, document: Document, title: str, command: str, *options: str) -> None:
        """Start a command of ours on a copy of ``document``."""
        folder = Path(tempfile.mkdtemp(prefix="warpdraft-run-"))
        path = folder / f"{document.name}.warpdraft.json"
        try:
            store.save(document, path)
        except store.DocumentError as error:
            shutil.rmtree(folder, ignore_errors=True)
            self._tell(RunState("failed", (str(error),), summary="not started"))
            return
        line = [sys.executable, "-m", "warpdraft.app.cli", command, str(path), *options]
        self.start(line, title, lambda: shutil.rmtree(folder, ignore_errors=True))

    def start(self, command: list[str], title: str, after: Callable[[], None] = lambda: None) -> None:
        """Start ``command`` unless one is running; ``after`` is called when it has ended."""
        with self._lock:
            if self.running:
                return
            self._ending = ""
            self._tell(RunState("running", (title,), summary=title))
        threading.Thread(
            target=self._follow, args=(command, after), name="warpdraft-run", daemon=True
        ).start()

    def forget(self) -> None:
        """Another document is shown: end what runs for the former one, and clear its result."""
        with self._lock:
            if self.running:
                self.cancel("forgotten")
            self.state = RunState(self.state.state) if self.running else RunState()

    def cancel(self, why: str = "stopped") -> None:
        """End the run with everything that it started."""
        self._ending = self._ending or why
        process = self._process
        if process is not None and process.poll() is None:
            end(process.pid)

    def _follow(self, command: list[str], after: Callable[[], None]) -> None:
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", str(TIED), str(os.getpid()), *command],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                start_new_session=True,
            )
        except OSError as error:
            self._tell(RunState("failed", (*self.state.lines, str(error)), summary="not started"))
            after()
            return
        if self._ending:  # cancelled between the start and here
            self.cancel()
        timer = threading.Timer(self._limit, self.cancel, ("late",))
        timer.start()
        try:
            output = self._read(self._process)
            code = self._process.wait()
        finally:
            timer.cancel()
            after()
        self._tell(self._ended(code, output))

    def _read(self, process: subprocess.Popen) -> str:
        """Standard error line by line into the log; standard output, which is the result, as a whole."""
        kept: list[str] = []
        reader = threading.Thread(target=lambda: kept.append(process.stdout.read()), daemon=True)
        reader.start()
        for line in process.stderr:
            lines = (*self.state.lines, line.rstrip("\n"))[-MOST_LINES:]
            self._tell(replace(self.state, lines=lines))
        reader.join()
        return kept[0] if kept else ""

    def _ended(self, code: int, output: str) -> RunState:
        lines = self.state.lines
        if self._ending == "forgotten":
            return RunState()
        if self._ending == "late":
            return RunState(
                "late", (*lines, f"stopped after {self._limit:.0f} s"), summary="stopped: time limit"
            )
        if self._ending:
            return RunState("stopped", (*lines, "stopped"), summary="stopped")
        try:
            result = json.loads(output) if output.strip() else {}
        except ValueError:
            result, lines = {}, (*lines, *output.splitlines())
        result = result if isinstance(result, dict) else {}
        words = {0: "right", 1: "wrong, hung or deadlocked", 2: "could not run", MISSING: "not started"}.get(
            code, f"ended with code {code}"
        )
        state = "done" if code in (0, 1) else "failed"
        return RunState(state, (*lines, words), result, words)

    def _tell(self, state: RunState) -> None:
        self.state = state
        self._changed(state)


def has_gpu() -> bool:
    """Whether NVIDIA's driver lists a device."""
    return bool(gpu_name())


def gpu_name() -> str:
    """The first device that NVIDIA's driver lists, or ""; asks its own tool, so that no GPU library is loaded here."""
    if not shutil.which("nvidia-smi"):
        return ""
    try:
        listing = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = re.search(r"GPU \d+: (.+?)(?: \(UUID|$)", listing.stdout, re.MULTILINE)
    return found.group(1) if found and listing.returncode == 0 else ""


def log_view(state: RunState) -> dict[str, Any]:
    """The run log as the page shows it."""
    facts = list(_facts(state.result))
    return {"state": state.state, "lines": list(state.lines), "facts": facts, "summary": state.summary}


WORDS = {
    "error": "relative error",
    "relative_error": "relative error",
    "seconds": "median time",
    "ratio": "of the library's speed",
    "dtype": "values",
}


def _facts(result: Mapping[str, Any]) -> Iterator[list[str]]:
    """The result in words, as the command says it; ``ran``: the orders and seeds of the emulator."""
    for name, value in result.items():
        if name == "sizes" and isinstance(value, dict):
            yield ["sizes", ", ".join(f"{size} = {number}" for size, number in value.items())]
        elif name == "ran" and value:
            orders = ", ".join(dict.fromkeys(str(order) for order, _ in value))
            seeds = ", ".join(dict.fromkeys(str(seed) for _, seed in value))
            if result.get("verdict") == "right":
                yield ["in every order", f"{orders} (seed {seeds})"]
        elif name in ("order", "seed") and result.get("verdict") == "right":
            continue
        elif not isinstance(value, dict | list) and value not in (None, ""):
            text = f"{value * 1e6:.1f} us" if name == "seconds" else _short(value)
            yield [WORDS.get(name, name.replace("_", " ")), text]


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
