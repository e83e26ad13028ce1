"""`warpdraft compile`: a document down to PTX and cubin, without a GPU."""

from __future__ import annotations

import argparse

from .errors import BadInput
from .export import REFUSED, module_of
from .inputs import TARGETS, one_document
from .output import refuse_overwriting, write


def add(commands: argparse._SubParsersAction) -> None:
    """Adds the command to the parser."""
    parser = commands.add_parser("compile", help="lower to PTX and cubin; needs no GPU")
    parser.add_argument("path", metavar="PATH", help="a .warpdraft.json, or a .py that builds one schedule")
    parser.add_argument("-o", dest="output", metavar="PREFIX", help="also write PREFIX.ptx and PREFIX.cubin")
    parser.add_argument("--target", choices=TARGETS, help="instead of the document's own")
    parser.add_argument("--unsafe", action="store_true", help="compile although the check finds errors")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Exit code 0, or 1 if the check finds errors."""
    for ending in ("ptx", "cubin") if options.output else ():
        refuse_overwriting(f"{options.output}.{ending}", options.path)
    document = one_document(options.path, options.target or "")
    source = module_of(document, options.unsafe)
    if source is None:
        return REFUSED
    from warpdraft.backends.cutedsl import CompileError, compile_module

    try:
        compiled = compile_module(source)
    except CompileError as error:
        raise BadInput(f"{document.name} does not compile: {error}") from None
    if options.output:
        write(f"{options.output}.ptx", compiled.ptx)
        write(f"{options.output}.cubin", compiled.cubin)
    print(
        f"{document.name}: {len(compiled.ptx.splitlines())} lines of PTX, {len(compiled.cubin)} bytes of cubin"
    )
    if compiled.resources:
        used = compiled.resources
        print(f"  {used.registers} registers a thread at launch, {used.stack_bytes} bytes of stack (spills)")
    return 0
