"""The set-up of outside programs takes the right path, and says so in one line, on machines of every kind.

Each test builds a machine: a PATH with a few ordinary tools and stand-ins for what is there or fails.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "setup_system.sh"
ORDINARY = ("sh", "id", "dirname", "grep", "tail", "mktemp", "rm", "env", "cat", "chmod", "true")


@pytest.fixture
def machine(tmp_path):
    """A function that adds a program, and one that runs the set-up; nothing is installed at first."""
    return Machine(tmp_path)


class Machine:
    def __init__(self, folder: Path):
        self.path, self.venv = folder / "path", folder / "venv"
        (self.venv / "bin").mkdir(parents=True)
        self.path.mkdir()
        for tool in ORDINARY:
            (self.path / tool).symlink_to(shutil.which(tool))
        self.without_password("no")
        self.add("venv/bin/pip", "exit 1")
        self.add("venv/bin/playwright", "echo 'Error: download failed'; exit 1")
        self.add("venv/bin/python", f"cat {self.venv}/browser 2>/dev/null")  # find_browser.py

    def add(self, name: str, script: str) -> None:
        file = self.path.parent / name
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)

    def without_password(self, answer: str) -> None:
        """Whether this user can become root; `id` says that we are not root already."""
        (self.path / "id").unlink(missing_ok=True)
        self.add("path/id", "echo 1000")
        self.add("path/sudo", '[ "$1" = -n ] && shift && exec "$@"' if answer == "yes" else "exit 1")

    def set_up(self, program: str) -> str:
        command = ["/bin/sh", SCRIPT, self.venv, program]
        done = subprocess.run(
            command, env={**os.environ, "PATH": str(self.path)}, capture_output=True, text=True
        )
        assert done.returncode == 0
        assert not done.stdout
        return done.stderr


def write(path: Path, script: str) -> str:
    """Shell code that makes an executable."""
    return f"printf '#!/bin/sh\\n{script}\\n' > {path}; chmod +x {path}"


def test_graphviz_that_is_there_is_used(machine):
    machine.add("path/dot", "exit 0")
    assert "already installed" in machine.set_up("graphviz")


def test_graphviz_that_does_not_start_is_not_used(machine):
    machine.add("path/dot", "exit 127")
    assert "already installed" not in machine.set_up("graphviz")


def test_graphviz_comes_from_apt_get_with_sudo(machine):
    machine.without_password("yes")
    machine.add("path/apt-get", write(machine.path / "dot", "exit 0"))
    assert machine.set_up("graphviz") == f"setup: graphviz: {machine.path}/dot (installed with apt-get)\n"


@pytest.mark.parametrize("apt_get", [None, "exit 0"])
def test_graphviz_comes_from_pypi_without_root(machine, apt_get):
    if apt_get:
        machine.add("path/apt-get", apt_get)
    machine.add("venv/bin/pip", write(machine.venv / "bin" / "graphviz-pure", "exit 0"))
    why = "no root and no sudo without a password" if apt_get else "no apt-get here"
    line = f"{machine.venv}/bin/graphviz-pure (from PyPI: no dot on the PATH, {why})"
    assert machine.set_up("graphviz") == f"setup: graphviz: {line}\n"
    assert "installed earlier" in machine.set_up("graphviz")


def test_missing_graphviz_is_said(machine):
    assert "graphviz: NONE (no dot on the PATH, no apt-get here" in machine.set_up("graphviz")


def test_chromium_comes_from_apt_get_with_sudo(machine):
    machine.without_password("yes")
    machine.add("venv/bin/python", f"[ -e {machine.path}/chromium ] && echo {machine.path}/chromium")
    machine.add("path/apt-get", write(machine.path / "chromium", "exit 0"))
    assert (
        machine.set_up("chromium") == f"setup: chromium: {machine.path}/chromium (installed with apt-get)\n"
    )


def test_chromium_comes_from_playwright_without_root(machine):
    machine.add("venv/bin/playwright", f"echo /cache/chrome > {machine.venv}/browser")
    line = "/cache/chrome (downloaded by Playwright: none found, no apt-get here)"
    assert machine.set_up("chromium") == f"setup: chromium: {line}\n"
    assert "already installed" in machine.set_up("chromium")


def test_downloaded_chromium_gets_its_libraries_with_sudo(machine):
    """Ubuntu's package is only a pointer to a snap, so apt-get succeeds and brings no browser."""
    machine.without_password("yes")
    machine.add("path/apt-get", "exit 0")
    machine.add(
        "venv/bin/playwright", f'[ "$2" = --with-deps ] && echo /cache/chrome > {machine.venv}/browser'
    )
    line = "/cache/chrome (downloaded by Playwright: apt-get brought no Chromium that starts)"
    assert machine.set_up("chromium") == f"setup: chromium: {line}\n"


def test_missing_chromium_is_said(machine):
    said = machine.set_up("chromium")
    assert "chromium: NONE (none found, no apt-get here" in said
    assert "Error: download failed" in said
    assert "Browser tests will be skipped" in said


def test_make_app_takes_a_name_with_blanks():
    if not shutil.which("make"):
        pytest.skip("make is not installed")
    command = ["make", "--no-print-directory", "-n", "app", "OPEN=my file.warpdraft.json"]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True)
    assert 'show "my file.warpdraft.json"' in done.stdout, done.stderr
