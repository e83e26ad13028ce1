"""The editor in a notebook cell."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import panel as pn
from bokeh.models import UIElement
from panel.io.notebook import patch_inline_stylesheets

from warpdraft.core import TaskManager
from warpdraft.core.document import Document

from .components.editor import Soon, at_once
from .files import Folder
from .page import Page
from .server import poster
from .session import Session, open_session
from .snapshot import Snapshot, snapshot


class ScheduleEditor(pn.viewable.Viewer):
    """An editor for a task manager, a document, or a document's file; as the last line of a cell it shows itself.

    ``document`` is always the present, edited one; ``verify()`` waits for its report.

    Example: ``editor = ScheduleEditor(task_manager)``, and after some edits ``editor.document``.
    """

    def __init__(self, schedule: TaskManager | Document | str | Path, **params: Any) -> None:
        if not isinstance(schedule, TaskManager | Document | str | Path):
            raise TypeError(
                f"ScheduleEditor takes a TaskManager, a Document or a file's path, not {type(schedule).__name__}"
            )
        pn.extension(inline=True)  # a notebook may have no way outside
        super().__init__(**params)
        post = poster(pn.state.curdoc) if pn.state.curdoc else None
        if isinstance(schedule, str | Path):
            path = Path(schedule).resolve()
            self.session = open_session(path, post=post)
            folder = Folder(path.parent, path)
        else:
            document = schedule if isinstance(schedule, Document) else schedule.document
            self.session = Session(document, post=post)
            folder = Folder(Path.cwd())
        self.page = Page(self.session, folder, standalone=False, hooks=[_inline], soon=_soon(self.session))

    @property
    def document(self) -> Document:
        """The document as it is now."""
        return self.session.document

    def verify(self, timeout: float = 60.0) -> Any:
        """The report about the document as it is now, None where the check takes longer than ``timeout`` seconds."""
        self.session.settle(timeout)
        return None if self.session.checking else self.session.report.value

    def snapshot(self, path: str | Path | None = None, timeout: float = 60.0) -> Snapshot:
        """The document as it is now, as an HTML page that needs nothing else: for reports, and for notebooks that are read
        without a kernel. Written to ``path``, if given; as the last line of a cell it shows itself."""
        page = snapshot(self.document, self.verify(timeout), self.session.trip_counts)
        if path is not None:
            Path(path).write_text(page, encoding="utf-8")
        return page

    def __panel__(self) -> pn.viewable.Viewable:
        return self.page.component


def _inline(viewable: pn.viewable.Viewable, root: Any) -> None:
    """Panel's own style sheets are part of the page: one that is saved, too, asks for nothing outside."""
    for model in root.select({"type": UIElement}):
        patch_inline_stylesheets(model)


def _soon(session: Session) -> Soon:
    """Runs functions on the loop of the kernel that executes this cell, at once where there is none. Never while the session
    is changed elsewhere (results come in threads of their own, messages of JupyterLab in a subshell's): Bokeh forgets
    changes that are made while it collects them."""

    def run(function: Callable[[], None]) -> None:
        with session.lock:
            function()

    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return at_once
    return lambda function: loop.call_soon_threadsafe(run, function)
