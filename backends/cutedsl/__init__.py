"""Lowers a document to a CuTe DSL kernel module. Importing this needs neither the DSL nor torch."""

from .compile import Compiled, CompileError, compile_module
from .cubin import Resources
from .errors import ExportRefused, LoweringError
from .export import export_module
from .lower import lower
from .printer import op_lines
from .records import read_records
from .run import Measurement, Waiting, profile_module, run_module, run_sizes

__all__ = [
    "CompileError",
    "Compiled",
    "ExportRefused",
    "LoweringError",
    "Measurement",
    "Resources",
    "Waiting",
    "compile_module",
    "export_module",
    "lower",
    "op_lines",
    "profile_module",
    "read_records",
    "run_module",
    "run_sizes",
]
