"""The process that checks, predicts and generates: it reads questions from standard input and answers on standard output.

`analysis.Child` runs it with ``python -m warpdraft.app.analyst``. A frame is a length of eight bytes and a pickle; this
program is at both ends, and nothing else writes to the pipe.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import sys
import threading
import time
from typing import Any, BinaryIO

from .tools import TOOLS

LENGTH = 8  # bytes
MEMORY = 8 << 30  # bytes of address space
WATCH = 0.5  # seconds between looks whether the editor is still there


def main() -> None:
    """Answer until the other end closes."""
    questions, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints must not come between the frames
    while (question := read_frame(questions)) is not None:
        name, arguments, early = question
        more = {"early": lambda value: write_frame(answers, ("early", value))} if early else {}
        try:
            reply: tuple[str, Any] = ("value", getattr(TOOLS, name)(*arguments, **more))
        except Exception as error:  # told to the person by the other end
            reply = ("problem", problem_of(error))
        write_frame(answers, reply)


def end_with(parent: int) -> None:
    """End this process when ``parent`` is no longer its parent, also in the middle of a computation."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(WATCH)
        os._exit(1)

    threading.Thread(target=watch, name="warpdraft-parent", daemon=True).start()


def limit_memory() -> None:
    """Sizes that no machine has must end in a message, not in a machine without memory."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        most = MEMORY if hard == resource.RLIM_INFINITY else min(MEMORY, hard)
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))


def problem_of(error: Exception) -> str:
    """An analysis' failure in words: expected ones say what they mean themselves."""
    if isinstance(error, MemoryError):
        return f"it needs more than {MEMORY >> 30} GiB of memory"
    expected = type(error).__name__ in ("LoweringError", "DocumentError", "EditError", "TraceError")
    return str(error) if expected else f"{type(error).__name__}: {error}"


def read_frame(stream: BinaryIO) -> Any:
    """The next frame, None at the end."""
    head = stream.read(LENGTH)
    if len(head) < LENGTH:
        return None
    body = stream.read(int.from_bytes(head, "little"))
    return pickle.loads(body)


def write_frame(stream: BinaryIO, value: Any) -> None:
    """Write one frame."""
    body = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    stream.write(len(body).to_bytes(LENGTH, "little") + body)
    stream.flush()


if __name__ == "__main__":
    limit_memory()
    if len(sys.argv) > 1:
        end_with(int(sys.argv[1]))
    with contextlib.suppress(BrokenPipeError):  # the editor has ended, or been killed
        main()
