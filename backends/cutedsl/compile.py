"""Compiles a kernel module to PTX and cubin, in a process of its own, without a GPU."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from warpdraft.core.document import Document

from .cubin import Resources, resources
from .export import export_module


class CompileError(Exception):
    """The DSL refused the module, or is not installed; the message holds the end of what it printed."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """What the compiler made."""

    ptx: str
    cubin: bytes
    resources: Resources | None


def compile_module(source: str | Document, dtype: str = "", *, seconds: float = 300) -> Compiled:
    """PTX and cubin of a module (or of a document's), with another element type ("fp16", "bf16") if ``dtype`` is set.

    Raises CompileError, and what `export_module` raises.
    """
    text = source if isinstance(source, str) else export_module(source)
    if importlib.util.find_spec("cutlass") is None:
        raise CompileError("the CuTe DSL is not installed: pip install 'warpdraft[cutedsl]'")
    with tempfile.TemporaryDirectory(prefix="warpdraft-") as folder:
        module = Path(folder, "kernel.py")
        module.write_text(text, encoding="utf-8")
        command = [sys.executable, str(module), "--compile", folder]
        if dtype:
            command += ["--param", f"dtype={dtype}"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
        except subprocess.TimeoutExpired:
            raise CompileError(f"not done after {seconds:g} s") from None
        if done.returncode:
            raise CompileError("\n".join((done.stdout + done.stderr).splitlines()[-20:]))
        cubin = Path(folder, "kernel.cubin").read_bytes()
        ptx = Path(folder, "kernel.ptx").read_text(encoding="utf-8")
    return Compiled(ptx, cubin, resources(cubin))
