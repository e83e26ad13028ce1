"""The fenced blocks of a documentation page: finds them, runs the Python of a page, and compares what it printed.

A page's ``python`` blocks are run from top to bottom in one namespace. A word behind ``python`` may be ``raises``: the
block must then end in an exception; or ``slow``: it is run only where that is asked for. A ``text`` block right behind a
``python`` block is what it printed.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from types import ModuleType

FENCE = re.compile(
    r"^(?P<fence>```+)(?P<info>[^`\n]*)\n(?P<body>.*?)^(?P=fence)[ ]*$", re.MULTILINE | re.DOTALL
)
# What differs from run to run, or from one linear algebra library to the next.
MEASURED = re.compile(r"\b\d+\.\d+(?= s\b)|(?<=\"seconds\": )\d+\.\d+|\b\d\.\d+e-\d+")
FILE = "kernel.py"  # the name under which the code of a page knows itself


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: ``info`` are the words behind the fence, ``start`` and ``end`` enclose ``body`` in the page."""

    info: tuple[str, ...]
    body: str
    start: int
    end: int
    line: int

    @property
    def language(self) -> str:
        """The first word behind the fence."""
        return self.info[0] if self.info else ""


def blocks(page: str) -> list[Block]:
    """The fenced blocks of ``page``, in order."""
    return [
        Block(
            tuple(found["info"].split()),
            found["body"],
            found.start("body"),
            found.end("body"),
            page.count("\n", 0, found.start("body")) + 1,
        )
        for found in FENCE.finditer(page)
    ]


def output_blocks(page: str) -> Iterator[tuple[Block, Block | None]]:
    """Each ``python`` block with the ``text`` block right behind it, if there is one."""
    found = blocks(page)
    for block, following in zip_longest(found, found[1:]):
        if block.language == "python":
            yield block, following if following and _adjacent(page, block, following) else None


def _adjacent(page: str, block: Block, following: Block) -> bool:
    between = page[block.end : following.start].split("\n")
    return following.language == "text" and not "".join(between[1:-2]).strip()


def run_page(page: str, *, slow: bool = False) -> Iterator[tuple[Block, Block | None, str]]:
    """Runs a page's Python; gives each block, the block of its output, and what it really printed.

    Raises AssertionError where a block raises that should not, or the other way round.
    """
    module = ModuleType("documentation")
    sys.modules[module.__name__] = module  # where dataclasses look for the names in annotations
    try:
        for block, expected in output_blocks(page):
            if "slow" in block.info and not slow:
                continue
            yield block, expected, _run(block, vars(module))
    finally:
        del sys.modules[module.__name__]


def _run(block: Block, namespace: dict[str, object]) -> str:
    raises, printed = "raises" in block.info, io.StringIO()
    code = compile(block.body, str(Path.cwd() / FILE), "exec", dont_inherit=True)
    try:
        with contextlib.redirect_stdout(printed):
            exec(code, namespace)
    except Exception as error:
        if not raises:
            raise AssertionError(f"line {block.line}: {type(error).__name__}: {error}") from error
        print(f"{type(error).__name__}: {error}", file=printed)
    else:
        if raises:
            raise AssertionError(f"line {block.line}: raises nothing")
    return tidy(printed.getvalue())


def tidy(text: str) -> str:
    """Output as a page shows it: no folders before `FILE`, no blanks at the ends of lines."""
    text = text.replace(str(Path.cwd()) + os.sep, "")
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def same(shown: str, printed: str) -> bool:
    """Whether two outputs differ in nothing but what was measured."""
    return MEASURED.sub("0", shown).rstrip() == MEASURED.sub("0", printed).rstrip()


def replaced(page: str, changes: Sequence[tuple[Block, str]]) -> str:
    """``page`` with new bodies for some blocks."""
    for block, body in sorted(changes, key=lambda change: -change[0].start):
        page = page[: block.start] + body + page[block.end :]
    return page


def refreshed(page: str, *, slow: bool = False) -> str:
    """``page`` with every output of its Python as it is now."""
    changes = [
        (expected, printed)
        for _, expected, printed in run_page(page, slow=slow)
        if expected is not None and not same(expected.body, printed)
    ]
    return replaced(page, changes)
