"""The command line. Importing this loads neither the editor's libraries nor a GPU's."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version

from . import annotate, check, compile, explain, export, import_ts, patch_ts, run, show, trace
from .errors import BadInput

COMMANDS = (check, explain, show, export, compile, run, trace, import_ts, annotate, patch_ts)
BAD_INPUT = 2
INTERRUPTED, UNREAD = 130, 141  # 128 + SIGINT, 128 + SIGPIPE, as shells report them
TRACEBACK = "WARPDRAFT_TRACEBACK"  # set: an unexpected error shows where it came from


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; returns its exit code. Bad input is one line on standard error and code 2."""
    parser = argparse.ArgumentParser(
        prog="warpdraft", description="Schedules of warp-specialised GPU kernels."
    )
    parser.add_argument("--version", action="version", version=f"warpdraft {version('warpdraft')}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add(commands)
    options = parser.parse_args(arguments)
    try:
        code = options.command(options)
        sys.stdout.flush()
        return code
    except BadInput as error:
        print(f"warpdraft: {_one_line(str(error))}", file=sys.stderr)
        return BAD_INPUT
    except BrokenPipeError:  # the reader (head, less) has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return UNREAD
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        if os.environ.get(TRACEBACK):
            raise
        text = _one_line(f"{type(error).__name__}: {error}")
        print(f"warpdraft: internal error, {text} ({TRACEBACK}=1 shows where)", file=sys.stderr)
        return BAD_INPUT


def _one_line(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in " ".join(text.split()))
