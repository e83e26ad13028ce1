"""The page as one component: Python sends each pane's state, the page sends intents back, both as messages.

Messages, because a parameter of the component would have Panel walk through the whole embedded timeline at each edit. The
script is built from ``js/`` (see its package.json) into ``assets/bundles/editor.js``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib.resources import files
from pathlib import Path
from typing import Any

import param
from bokeh.document import Document
from panel.custom import Child, JSComponent
from panel.io import push_notebook, state
from panel.io.model import patch_cds_msg

BUNDLE = Path(str(files("warpdraft.assets"))) / "bundles" / "editor.js"


Soon = Callable[[Callable[[], None]], None]


def at_once(function: Callable[[], None]) -> None:
    """Where every message is sent by the thread that makes it."""
    function()


class EditorComponent(JSComponent):
    """Draws the panes. ``on_msg`` callbacks receive intents, the first of them "hello" from a page that wants its state.

    ``lock`` is held by who changes the figure. ``soon`` runs what sends a message: in a notebook on the kernel's own
    thread, since elsewhere Panel drops what is sent before the cell's connection is open.
    """

    timeline = Child()
    minimap = Child()
    head = Child()
    standalone = param.Boolean(True, doc="Whether the editor fills a page of its own.")

    initial = param.String(
        "{}", doc="Each pane's state when the component was made: a JSON object of JSON texts."
    )

    _bundle = BUNDLE

    def __init__(self, lock: AbstractContextManager, soon: Soon = at_once, **params: Any) -> None:
        self._panes: dict[str, str] = {}
        self._lock, self._soon = lock, soon
        super().__init__(**params)

    def _get_properties(self, doc: Document | None) -> dict[str, Any]:
        """The script goes along as text: Panel's server gives out files of a component's own folder only."""
        with param.discard_events(self):
            self.initial = json.dumps(self._panes)
        text = BUNDLE.read_text(encoding="utf-8")
        name = hashlib.sha256(text.encode()).hexdigest()
        return {**super()._get_properties(doc), "esm": text, "bundle": name}

    def _on_msg(self, ref: str, manager: Any, msg: dict[str, Any]) -> None:
        """A message of a notebook's cell. As Panel's own, which at its end drops the changes that wait to be sent, those too
        that other threads, or the message's own callbacks, have made."""
        with self._lock:
            push_notebook(self)
            root, doc, comm = state._views[ref][1:]
            patch_cds_msg(root, msg)
            manager.assemble(msg).apply_to_document(doc, comm.id if comm else None)
            push_notebook(self)

    def send_state(self, panes: dict[str, str]) -> None:
        """Replace the state of ``panes``, each as JSON text."""
        self._panes.update(panes)
        if panes:
            self.send({"type": "state", "panes": panes})

    def send_download(self, name: str, text: str, mime: str) -> None:
        """Have the browser save ``text`` as a file."""
        self.send({"type": "download", "name": name, "text": text, "mime": mime})

    def send(self, message: dict[str, Any]) -> None:
        """Any other message to the script."""
        self._soon(lambda: self._send_msg(message))

    def push(self) -> None:
        """Send the changes of the figure that a notebook's cell has not seen."""
        self._soon(lambda: push_notebook(self))
