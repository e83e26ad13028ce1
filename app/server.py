"""Serving the editor: to this machine only, one process, one session a tab."""

from __future__ import annotations

import errno
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue

import panel as pn
from bokeh.document import Document as BokehDocument
from panel.io.resources import LOCAL_DIST

from .analysis import SPARES
from .autosave import Autosave
from .files import Folder, example_documents
from .page import Page
from .session import Post, open_session
from .tools import TOOLS

START = "persistent_gemm.warpdraft.json"
LINGER = 8000  # milliseconds that the session of a closed tab stays; its page could not come back to it
LIMIT = 256 * 1024 * 1024  # bytes of one message: a large schedule must not drop the connection


class PortBusy(OSError):
    """Another program listens on the port; the message is one line that says so."""


def serve(path: Path | None = None, port: int = 5006, show: bool = True) -> None:
    """Serve the editor on ``path`` (the example, if not given) until interrupted.

    What may be opened lies under the folder of ``path``. Port 0 takes any free one. Raises PortBusy where the port is
    taken, `core.store.DocumentError` where ``path`` is no document.
    """
    folder = folder_of(path)
    if folder.start is not None:
        Autosave.read(folder.start, TOOLS.load)  # a bad file is told before anything is served
    port = port or free_port()
    check_port(port)
    SPARES.keep(2)  # a session has two
    print(f"warpdraft: http://localhost:{port}/ (stop with Ctrl+C)", flush=True)
    server = pn.serve(
        {"/": lambda: editor(folder)},
        address="127.0.0.1",
        port=port,
        show=show,
        start=False,
        title="warpdraft",
        threaded=False,
        websocket_max_message_size=LIMIT,
        unused_session_lifetime_milliseconds=LINGER,
        check_unused_sessions_milliseconds=LINGER // 4,
        allow_websocket_origin=[f"localhost:{port}", f"127.0.0.1:{port}"],
        verbose=False,
    )
    server.start()
    try:
        server.io_loop.start()
    except KeyboardInterrupt:
        pass
    finally:
        server.stop()


def folder_of(path: Path | None) -> Folder:
    """What may be opened: the folder of ``path`` (which is opened first), else the working directory and an example."""
    if path is None:
        return Folder(Path.cwd(), first_document())
    return Folder(path.resolve().parent, path.resolve())


def first_document() -> Path | None:
    """The example that is shown where none was named."""
    found = example_documents()
    return next((p for p in found if p.name == START), found[0] if found else None)


def editor(folder: Folder) -> pn.viewable.Viewable:
    """A page of its own for the visitor: a new session on the folder's first document, ended with the visit."""
    if folder.start is None:
        raise FileNotFoundError("there is no document to open")
    document = pn.state.curdoc
    session = open_session(
        folder.start,
        post=poster(document) if document else None,
        living=living(document) if document else lambda: False,
    )
    page = Page(session, folder)
    if document is not None:
        # The page tells of a lost connection itself, and is loaded anew by the person: its session may be gone.
        document.config.update(reconnect_session=False, notifications=None, notify_connection_status=False)
        # Panel says so only where the page is given out; a slow browser's session may be made anew after that, and its style
        # sheets would be asked for outside.
        document.template_variables["dist_url"] = LOCAL_DIST
        document.on_session_destroyed(lambda context: page.close())
    return page.component


def living(document: BokehDocument) -> Callable[[], bool]:
    """Tells whether the tab of ``document`` is connected. Who asks for the page only, as a check of the port does, is no
    tab; who leaves never comes back."""

    def alive() -> bool:
        context = document.session_context
        session = getattr(context, "session", None)
        return (
            context is not None
            and not context.destroyed
            and session is not None
            and session.connection_count > 0
        )

    return alive


def poster(document: BokehDocument) -> Post:
    """Runs functions on the thread that owns ``document``: at once there, else at its next tick.

    Ticks asked for while the document is still being made can get lost, so what waits is also run when the page has loaded.
    """
    owner = threading.get_ident()
    waiting: SimpleQueue[Callable[[], None]] = SimpleQueue()

    def drain() -> None:
        while not waiting.empty():
            waiting.get()()

    def post(function: Callable[[], None]) -> None:
        if threading.get_ident() == owner:
            function()
        else:
            waiting.put(function)
            document.add_next_tick_callback(drain)

    pn.state.onload(drain)
    return post


def check_port(port: int) -> None:
    """Raises PortBusy where something listens on ``port`` of this machine."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            if error.errno in (errno.EADDRINUSE, errno.EACCES):
                why = "is in use" if error.errno == errno.EADDRINUSE else "may not be used"
                raise PortBusy(
                    f"port {port} {why}: choose another with --port, or 0 for any free one"
                ) from None
            raise


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
