"""The ``console`` blocks of a page: runs their commands in a folder with the examples, and compares what they print.

A block holds command lines behind ``$ `` and, below each, what it prints. ``warpdraft`` runs in this process; any other
command goes to the shell. A second word behind ``console`` says what a command needs that is not always there: ``gpu``, or
``slow``, ``serves`` for one that does not end, or ``script`` for a reader's own script; such blocks are kept as they are,
and only their options are checked.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from docs_blocks import Block, blocks, replaced, same

import warpdraft.assets
from warpdraft.app.cli import main

PROMPT = "$ "
KEPT = ("gpu", "slow", "serves", "script")
EXAMPLES = Path(warpdraft.assets.__file__).parent / "examples"
SUFFIXES = (".warpdraft.json", ".py")


@dataclass(frozen=True, slots=True)
class Command:
    """A command line of a block, with the output shown below it."""

    line: str
    shown: str

    @property
    def words(self) -> list[str]:
        """The command and its arguments."""
        return shlex.split(self.line)


def console_blocks(page: str) -> list[Block]:
    """The blocks with commands."""
    return [block for block in blocks(page) if block.language == "console"]


def commands(block: Block) -> list[Command]:
    """The commands of ``block``, in order."""
    found = re.split(rf"^{re.escape(PROMPT)}", block.body, flags=re.MULTILINE)
    if found[0].strip():
        raise AssertionError(f"line {block.line}: output before the first command")
    return [Command(line, shown) for line, _, shown in (part.partition("\n") for part in found[1:])]


def kept(block: Block, slow: bool = False) -> bool:
    """Whether the block is not run here; with ``slow``, those that only take long are."""
    return any(word in KEPT and not (slow and word == "slow") for word in block.info)


@contextlib.contextmanager
def folder_with_examples() -> Iterator[Path]:
    """A new folder with the example documents and sources in it, as the present one."""
    with tempfile.TemporaryDirectory(prefix="docs-") as name:
        for path in EXAMPLES.iterdir():
            if path.name.endswith(SUFFIXES):
                shutil.copy(path, name)
        with contextlib.chdir(name):
            yield Path(name)


class Shell:
    """Runs commands one after another; ``$ echo $?`` prints the exit code of the one before."""

    def __init__(self) -> None:
        self.code = 0

    def run(self, command: Command) -> str:
        """What ``command`` prints, on both outputs."""
        if command.line == "echo $?":
            return f"{self.code}\n"
        if command.words[0] == "warpdraft":
            return self._own(command.words[1:])
        done = subprocess.run(["bash", "-c", command.line], capture_output=True, text=True, timeout=60)
        self.code = done.returncode
        return done.stdout + done.stderr

    def _own(self, arguments: list[str]) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            try:
                self.code = main(arguments)
            except SystemExit as leaving:  # argparse
                self.code = int(leaving.code or 0)
        return "".join(f"{line.rstrip()}\n" for line in printed.getvalue().splitlines())


def run_block(block: Block) -> Iterator[tuple[Command, str]]:
    """Each command of ``block`` with what it prints now; the present folder is used."""
    shell = Shell()
    for command in commands(block):
        yield command, shell.run(command)


def refreshed(page: str, *, slow: bool = False) -> str:
    """``page`` with the output of every command that is run here as it is now."""
    changes = []
    with folder_with_examples():
        for block in console_blocks(page):
            if kept(block, slow):
                continue
            pairs = list(run_block(block))
            if not all(same(command.shown, printed) for command, printed in pairs):
                changes.append((block, "".join(f"{PROMPT}{c.line}\n{printed}" for c, printed in pairs)))
    return replaced(page, changes)
