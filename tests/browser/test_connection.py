"""The server stops, and is started again, under an open page."""

import json
import random
from dataclasses import replace
from pathlib import Path
from shutil import copy

import pytest
from served import Server

from warpdraft.app.analysis import Here
from warpdraft.app.intents import carry_out
from warpdraft.app.session import Session
from warpdraft.app.tools import TOOLS
from warpdraft.core import store
from warpdraft.core.findings import Report, Scope
from warpdraft.core.tree import ops_of

pytestmark = pytest.mark.browser
EXAMPLES = Path(__file__).parents[2] / "assets" / "examples"
QUICK = replace(TOOLS, verify=lambda d, early: Report(d.name, "safe", Scope("all")), predict=lambda *_: None)


@pytest.fixture
def server(tmp_path, chromium):
    """A server of one test, on a copy of the persistent GEMM."""
    copy(EXAMPLES / "persistent_gemm.warpdraft.json", tmp_path)
    server = Server(tmp_path / "persistent_gemm.warpdraft.json")
    server.document = tmp_path / "persistent_gemm.warpdraft.json"
    yield server
    if server.process.poll() is None:
        server.stop()


def test_a_stopped_server_is_told_and_a_new_one_offers_the_changes(page, server, opened):
    editor = opened(page, server)
    editor.op("smem_ab.release", nth=0).click()
    editor.edited(lambda: editor.press("Delete"))
    page.locator(".warpdraft[data-kept='1']").wait_for()
    shown = editor.ops("math")
    server.stop()
    page.locator(".warpdraft .connection.gone", has_text="Disconnected").wait_for()
    editor.press("Control+z")  # nobody is there to do it: the page shows what was acknowledged
    assert editor.ops("math") == shown
    again = Server(server.document, server.port)
    try:
        page.locator(".warpdraft .connection.back").wait_for(timeout=60_000)
        page.get_by_role("button", name="Reload").click()
        page.get_by_role("button", name="Restore").wait_for()
        editor.settled()
        editor.edited(lambda: page.get_by_role("button", name="Restore").click())
        assert editor.ops("math") == shown
    finally:
        again.stop()


@pytest.mark.timeout(400)
def test_a_killed_server_loses_no_acknowledged_edit(page, server, opened):
    """In the middle of the last of fifty edits, made as fast as the page takes them.

    What the page sent, carried out by a session of the test's own, says what the document was at each revision.
    """
    sent: list[dict] = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: sent.extend(_intents(frame))))
    editor = opened(page, server)
    chance = random.Random(7)
    for _ in range(50):
        editor.op("", chance.choice(["load", "math"]), chance.randint(0, 5)).click()
        editor.press(chance.choice(["Alt+ArrowUp", "Alt+ArrowDown", "Control+d"]))
    page.wait_for_timeout(chance.randint(0, 100))
    kept = int(editor.root.get_attribute("data-kept"))
    server.kill()
    states = _replayed(store.load(server.document), sent)
    assert len(states) >= 35 and kept >= len(states) // 3
    [file] = server.document.parent.glob("*.autosave*")
    left = store.load(file)
    assert left in states[kept:] and file.suffix == ".autosave"
    page.locator(".warpdraft .connection.gone").wait_for()
    again = Server(server.document, server.port)
    try:
        editor.open(again.address)
        editor.edited(lambda: page.get_by_role("button", name="Restore").click())
        shown = page.locator(".warpdraft .columns .node:has(> .op)")
        assert [node.get_attribute("data-id") for node in shown.all()] == _ids(left)
        # Once more, after some work on what was taken up: the newest is offered, and nothing beside it.
        editor.edited(lambda: (editor.op("", "math", 3).click(), editor.press("Control+d")))
        kept = int(editor.root.get_attribute("data-revision"))
        page.locator(f".warpdraft[data-kept='{kept}']").wait_for()
        again.kill()
        [file] = server.document.parent.glob("*.autosave*")
        left = store.load(file)
        again = Server(server.document, server.port)
        editor.open(again.address)
        assert page.locator(".warpdraft .others").count() == 0  # nobody else: a check of the port is no tab
        editor.edited(lambda: page.get_by_role("button", name="Restore").click())
        assert [node.get_attribute("data-id") for node in shown.all()] == _ids(left)
        assert page.get_by_role("button", name="Restore").count() == 0
    finally:
        again.stop()


def _ids(document) -> list[str]:
    return [op.id for task in document.tasks for op in ops_of(task)]


def _intents(frame) -> list[dict]:
    """What a frame of the page's websocket asks for."""
    if not isinstance(frame, str) or '"data_event"' not in frame:
        return []
    sent = [event["msg_data"]["values"] for event in json.loads(frame)["events"] if "msg_data" in event]
    return [_plain(values)["data"] for values in sent]


def _plain(value):
    """Bokeh's form of a value, as it was."""
    if isinstance(value, dict) and value.get("type") == "map":
        return {key: _plain(inner) for key, inner in value["entries"]}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


def _replayed(document, sent: list[dict]) -> list:
    """The document at each revision."""
    session = Session(document, None, QUICK, analyst=lambda: Here(QUICK))
    states = [document]
    for intent in sent:
        if intent["type"] in ("select", "shift", "duplicate"):
            carry_out(session, intent)
            states += [session.document] * (session.revision - len(states) + 1)
    session.close()
    return states
