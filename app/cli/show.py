"""`warpdraft show`: the editor on a document."""

from __future__ import annotations

import argparse
import errno
import socket
from pathlib import Path

from warpdraft.core.store import DocumentError, load, save

from .errors import BadInput
from .inputs import existing, is_script, one_document, read_document

PORT = 5006  # Panel's own
ANY = 0


def add(commands: argparse._SubParsersAction) -> None:
    """Adds the command to the parser."""
    parser = commands.add_parser("show", help="open the editor")
    parser.add_argument("path", metavar="PATH", help="a .warpdraft.json, or a .py that builds one schedule")
    parser.add_argument(
        "--port", type=int, metavar="N", help=f"default: {PORT}, or any free one (0) if that is taken"
    )
    parser.add_argument("--no-browser", action="store_true", help="only print the address")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Serves until it is interrupted; exit code 0."""
    port = usable_port(options.port)  # first: where it is refused, no document is written either
    path = document_file(options.path)
    from ..server import PortBusy, serve

    try:
        serve(path, port, show=not options.no_browser)
    except (PortBusy, DocumentError) as error:
        raise BadInput(str(error)) from None
    return 0


def document_file(path: str) -> Path:
    """The document to open: ``path``, or beside a script the document that it builds, written there if it is new.

    Raises BadInput where another document has that name: nothing is overwritten.
    """
    existing(path)
    if not is_script(path):
        read_document(path)
        return Path(path)
    document, target = one_document(path), Path(path).with_suffix(".warpdraft.json")
    try:
        if not target.exists():
            save(document, target)
        elif load(target) != document:
            raise BadInput(f"{target} is there and differs from what {path} builds: open it, or move it away")
    except DocumentError as error:
        raise BadInput(str(error)) from None
    return target


def usable_port(wanted: int | None) -> int:
    """``wanted``, or where none is: `PORT`, else any. Raises BadInput for a port that is taken."""
    if wanted is None:
        return ANY if _problem(PORT) else PORT
    if not 0 <= wanted <= 65535:
        raise BadInput(f"--port {wanted}: ports are 1 to 65535, or 0 for any free one")
    problem = _problem(wanted) if wanted else ""
    if problem:
        raise BadInput(
            f"port {wanted} {problem}: choose another with --port (make app: PORT=), or 0 for any free one"
        )
    return wanted


def _problem(port: int) -> str:
    """Why ``port`` cannot be used ("": it can)."""
    with socket.socket() as probe:
        probe.setsockopt(
            socket.SOL_SOCKET, socket.SO_REUSEADDR, 1
        )  # a port that was just left counts as free
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            return "is in use" if error.errno == errno.EADDRINUSE else "may not be used"
    return ""
