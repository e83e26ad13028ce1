"""The page as one component: Python sends each pane's state, the page sends intents back, both as messages.

Messages, because a parameter of the component would have Panel walk through the whole embedded timeline at each edit. The
script is built from ``js/`` (see its package.json) into ``assets/bundles/editor.js``.
"""

from __future__ import annotations

import hashlib
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import param
from bokeh.document import Document
from panel.custom import Child, JSComponent

BUNDLE = Path(str(files("warpdraft.assets"))) / "bundles" / "editor.js"


class EditorComponent(JSComponent):
    """Draws the panes. ``on_msg`` callbacks receive intents, the first of them "hello" from a page that wants its state."""

    timeline = Child()
    minimap = Child()
    head = Child()
    standalone = param.Boolean(True, doc="Whether the editor fills a page of its own.")

    initial = param.String(
        "{}", doc="Each pane's state when the component was made: a JSON object of JSON texts."
    )

    _bundle = BUNDLE

    def __init__(self, **params: Any) -> None:
        self._panes: dict[str, str] = {}
        super().__init__(**params)

    def _get_properties(self, doc: Document | None) -> dict[str, Any]:
        """The script goes along as text: Panel's server gives out files of a component's own folder only."""
        with param.discard_events(self):
            self.initial = json.dumps(self._panes)
        text = BUNDLE.read_text(encoding="utf-8")
        name = hashlib.sha256(text.encode()).hexdigest()
        return {**super()._get_properties(doc), "esm": text, "bundle": name}

    def send_state(self, panes: dict[str, str]) -> None:
        """Replace the state of ``panes``, each as JSON text."""
        self._panes.update(panes)
        if panes:
            self._send_msg({"type": "state", "panes": panes})

    def send_download(self, name: str, text: str, mime: str) -> None:
        """Have the browser save ``text`` as a file."""
        self.send({"type": "download", "name": name, "text": text, "mime": mime})

    def send(self, message: dict[str, Any]) -> None:
        """Any other message to the script."""
        self._send_msg(message)
