"""Runs a command that ends when the editor does: ``python tied.py PARENT COMMAND...``, as the leader of a process group.

However the editor ends (a crash and a kill included), the command and all that it started go with it. Needs nothing but the
standard library, so that it starts at once.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

WATCH = 0.5  # seconds between looks whether the editor is still there
MISSING = 127  # exit code of a command that is not there, as a shell gives it


def main(parent: int, command: list[str]) -> int:
    """The command's exit code, as a shell gives it."""
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    try:
        code = subprocess.run(command).returncode
    except OSError as error:
        print(error, file=sys.stderr)
        return MISSING
    return code if code >= 0 else 128 - code


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(WATCH)
    end(os.getpid())


def end(leader: int) -> None:
    """Kill the process group of ``leader`` with all descendants, also those that lead groups of their own."""
    for pid in descendants(leader):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def descendants(pid: int) -> list[int]:
    """The processes that ``pid`` started, and those that these did; none where the system does not tell."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, IndexError, ValueError):
            parent = int(entry.read_text().rpartition(")")[2].split()[1])
            parents.setdefault(parent, []).append(int(entry.parent.name))
    found, todo = [], [pid]
    while todo:
        below = parents.get(todo.pop(), [])
        found += below
        todo += below
    return found


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
