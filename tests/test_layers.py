"""What may import what."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# Imports every module below a package in a process where GPU libraries cannot be imported.
WITHOUT_GPU_LIBRARIES = """
import importlib, pkgutil, sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"torch", "cutlass", "cuda"}:
            raise ImportError(f"{name} must not be needed here")

sys.meta_path.insert(0, Blocker())
package = importlib.import_module(sys.argv[1])
for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
    if module.name.rpartition(".")[2] not in {"main", "__main__"}:  # scripts: they run when imported
        importlib.import_module(module.name)
"""


def _run(*command: str) -> None:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_import_contracts_hold():
    _run(str(Path(sys.executable).with_name("lint-imports")), "--no-cache")


@pytest.mark.parametrize("package", ["warpdraft.core", "warpdraft.backends.emulator", "warpdraft.app"])
def test_every_module_imports_without_gpu_libraries(package):
    _run(sys.executable, "-c", WITHOUT_GPU_LIBRARIES, package)
