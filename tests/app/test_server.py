"""Serving: bad ports and files are told before anything is served."""

import socket

import pytest
from bokeh.document import Document as BokehDocument
from bokeh.models import ImportedStyleSheet
from panel.io.state import set_curdoc

from warpdraft.app.files import Folder
from warpdraft.app.server import PortBusy, check_port, editor, first_document, folder_of, free_port, serve
from warpdraft.app.templates import TEMPLATES
from warpdraft.app.tools import TOOLS
from warpdraft.core.store import DocumentError


def test_a_busy_port_gets_one_line():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(PortBusy, match=f"port {port} is in use") as error:
            serve(None, port, show=False)
        assert "\n" not in str(error.value)
    check_port(free_port())


def test_a_bad_file_is_told_before_serving(tmp_path):
    bad = tmp_path / "bad.warpdraft.json"
    bad.write_text("{")
    with pytest.raises(DocumentError):
        serve(bad, free_port(), show=False)


def test_a_session_that_the_websocket_makes_asks_for_nothing_outside(tmp_path):
    """The page of a slow browser connects after its first session has been given up."""
    file = tmp_path / "a.warpdraft.json"
    TOOLS.save(TEMPLATES[0].document(), file)
    document = BokehDocument()
    with set_curdoc(document):
        root = editor(Folder(tmp_path, file)).get_root(document)
        urls = [sheet.url for sheet in root.select({"type": ImportedStyleSheet})]
    document.callbacks.session_destroyed_callbacks.pop()(None)
    assert urls and all(url.startswith("static/") for url in urls)


def test_the_folder_of_a_document_bounds_what_may_be_opened(tmp_path):
    folder = folder_of(tmp_path / "a.warpdraft.json")
    assert folder.root == tmp_path and folder.start == tmp_path / "a.warpdraft.json"
    assert folder_of(None).start == first_document()
    assert first_document().name == "persistent_gemm.warpdraft.json"
