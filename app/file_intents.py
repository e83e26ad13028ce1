"""What the page may ask for about files: new, open, save as, download. Nothing outside the served folder is touched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from warpdraft.core import store

from .files import SUFFIX, OutsideFolder
from .templates import fresh_path, template

if TYPE_CHECKING:
    from .page import Page

Intent = Mapping[str, Any]


def new(page: Page, intent: Intent) -> None:
    """A new document from a template. It has a name at once, so that a crash loses nothing; its file comes with saving."""
    try:
        chosen = template(str(intent.get("template", "empty")))
        document = chosen.document()
    except (KeyError, store.DocumentError) as error:
        page.session.say("error", f"There is no such template: {error}")
        return
    page.session.start(document, fresh_path(page.folder, chosen.name))


def open_document(page: Page, intent: Intent) -> None:
    """Another document."""
    try:
        path = page.folder.allowed(str(intent["name"]))
    except OutsideFolder as error:
        page.session.say("error", str(error))
        return
    page.session.open(path)


def save_as(page: Page, intent: Intent) -> None:
    """The document under another name."""
    name = str(intent["name"])
    name = name if name.endswith(SUFFIX) else name.removesuffix(".json") + SUFFIX
    try:
        path = page.folder.allowed(name)
    except OutsideFolder as error:
        page.session.say("error", str(error))
        return
    page.session.save(path, bool(intent.get("over")))


def download(page: Page, intent: Intent) -> None:
    """The document as a file of the browser."""
    document = page.session.document
    try:
        text = store.dumps(document)
    except store.DocumentError as error:
        page.session.say("error", str(error))
        return
    page.component.send_download(f"{document.name}{SUFFIX}", text, "application/json")


def files(page: Page, intent: Intent) -> None:
    """Look again which documents there are."""
    page.redraw("files")


ACTIONS = {"new": new, "open": open_document, "save_as": save_as, "download": download, "files": files}
