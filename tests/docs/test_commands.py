"""The page of the command line: its commands exist and print what it shows."""

import argparse
import re
from pathlib import Path

import docs_blocks
import docs_console
import pytest

from warpdraft.app.cli import COMMANDS

PAGE = (Path(__file__).parents[2] / "docs" / "command_line.md").read_text(encoding="utf-8")
BLOCKS = docs_console.console_blocks(PAGE)
RUN = [block for block in BLOCKS if not docs_console.kept(block)]


def parser():
    made = argparse.ArgumentParser(prog="warpdraft")
    commands = made.add_subparsers(required=True)
    for command in COMMANDS:
        command.add(commands)
    return made, commands.choices


@pytest.mark.parametrize("block", RUN, ids=[f"line{b.line}" for b in RUN])
def test_commands_print_what_is_shown(block):
    with docs_console.folder_with_examples():
        for command, printed in docs_console.run_block(block):
            assert docs_blocks.same(command.shown, printed), (
                f"line {block.line}: {command.line}: run scripts/docs_write.py"
            )


def test_every_command_and_option_that_is_shown_exists():
    made, _ = parser()
    for command in (c for b in BLOCKS for c in docs_console.commands(b)):
        if command.words[0] == "warpdraft":
            made.parse_args(command.words[1:])  # ends with SystemExit where it does not


def test_every_command_has_an_example_and_a_section():
    used = {c.words[1] for b in BLOCKS for c in docs_console.commands(b) if c.words[0] == "warpdraft"}
    assert used == set(parser()[1])
    assert {h for h in re.findall(r"^## (\S+)$", PAGE, re.MULTILINE)} == used


def test_every_option_is_mentioned():
    for name, command in parser()[1].items():
        section = PAGE.split(f"\n## {name}\n")[1].split("\n## ")[0]
        for option in (o for a in command._actions for o in a.option_strings):
            assert option in ("-h", "--help") or f"{option}" in section, f"{name} {option}"


def test_blocks_that_are_kept_show_something_that_was_printed():
    for block in BLOCKS:
        if docs_console.kept(block) and "serves" not in block.info:
            assert all(command.shown.strip() for command in docs_console.commands(block)), block.line
