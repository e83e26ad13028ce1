"""The page as one component: each pane's state is a parameter that holds JSON text, and the page sends intents back.

Text, because the bridge then passes it on untouched. The script is built from ``js/`` (see its package.json) into
``assets/bundles/editor.js``.
"""

from __future__ import annotations

import hashlib
from importlib.resources import files
from pathlib import Path
from typing import Any

import param
from bokeh.document import Document
from panel.custom import Child, JSComponent

BUNDLE = Path(str(files("warpdraft.assets"))) / "bundles" / "editor.js"
PANES = (
    "chrome",
    "resources",
    "graph",
    "schedule",
    "offers",
    "findings",
    "marks",
    "selection",
    "details",
    "timeline_facts",
    "code",
    "source",
    "log",
)


class EditorComponent(JSComponent):
    """Draws the panes. ``on_msg`` callbacks receive intents; `_send_msg` sends downloads."""

    timeline = Child()
    standalone = param.Boolean(True, doc="Whether the editor fills a page of its own.")

    chrome = param.String("")
    resources = param.String("")
    graph = param.String("")
    schedule = param.String("")
    offers = param.String("")
    findings = param.String("")
    marks = param.String("")
    selection = param.String("")
    details = param.String("")
    timeline_facts = param.String("")
    code = param.String("")
    source = param.String("")
    log = param.String("")

    _bundle = BUNDLE

    def _get_properties(self, doc: Document | None) -> dict[str, Any]:
        """The script goes along as text: Panel's server gives out files of a component's own folder only."""
        text = BUNDLE.read_text(encoding="utf-8")
        name = hashlib.sha256(text.encode()).hexdigest()
        return {**super()._get_properties(doc), "esm": text, "bundle": name}
