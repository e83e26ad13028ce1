"""Runs the command line in this process."""

from dataclasses import dataclass
from pathlib import Path

import pytest

import warpdraft.assets
from warpdraft.app.cli import main

EXAMPLES = Path(warpdraft.assets.__file__).parent / "examples"


@dataclass(frozen=True)
class Ended:
    """A command's exit code and what it printed."""

    code: int
    out: str
    err: str

    @property
    def refusal(self) -> str:
        """The one line of a refused command."""
        assert self.code == 2 and not self.out, self
        assert self.err.startswith("warpdraft: ") and self.err.count("\n") == 1, self.err
        assert "Traceback" not in self.err and "internal error" not in self.err
        return self.err.removeprefix("warpdraft: ").strip()


@pytest.fixture
def warpdraft(capfd):
    """``warpdraft("check", path)``."""

    def call(*arguments: object) -> Ended:
        try:
            code = main([str(a) for a in arguments])
        except SystemExit as leaving:  # argparse
            code = leaving.code
        captured = capfd.readouterr()
        return Ended(code, captured.out, captured.err)

    return call


@pytest.fixture(scope="session")
def examples() -> Path:
    """The folder of the examples."""
    return EXAMPLES
