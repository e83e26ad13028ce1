"""The editor in a process of its own, and a page on it that notes what it asked for outside."""

from pathlib import Path
from shutil import copy

import pytest
from served import served

EXAMPLES = Path(__file__).parents[2] / "assets" / "examples"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Where the documents of the tests lie."""
    folder = tmp_path_factory.mktemp("served")
    for name in ("persistent_gemm", "broken_deadlock", "broken_arrival_count", "tma_copy", "blackwell_pair_gemm"):
        copy(EXAMPLES / f"{name}.warpdraft.json", folder)
    copy(EXAMPLES / "persistent_gemm.py", folder)
    return folder


@pytest.fixture(scope="module")
def address(folder, chromium):
    """The address of an editor on the persistent GEMM."""
    with served(folder / "persistent_gemm.warpdraft.json") as server:
        yield server.address


class Editor:
    """A page on the editor, in the words of a person who uses it."""

    def __init__(self, page, folder: Path) -> None:
        self.page, self.folder = page, folder
        self.outside: list[str] = []
        self.errors: list[str] = []
        page.on("request", self._noted)
        page.on("pageerror", lambda error: self.errors.append(str(error)))

    def _noted(self, request) -> None:
        if not request.url.startswith(("http://localhost", "http://127.0.0.1", "data:", "blob:")):
            self.outside.append(request.url)

    def open(self, address: str) -> "Editor":
        self.page.goto(address)
        self.page.locator(".warpdraft .op").first.wait_for()
        return self.settled()

    def settled(self) -> "Editor":
        """Wait until the newest edit is verified."""
        self.page.wait_for_function(
            """() => {
                const find = (root) => root.querySelector?.('.warpdraft') ?? [...root.querySelectorAll('*')]
                    .map((e) => e.shadowRoot && find(e.shadowRoot)).find(Boolean);
                const data = find(document)?.dataset;
                return data && data.revision !== '' && data.revision === data.checked;
            }"""
        )
        return self

    def choose(self, name: str, task: str) -> "Editor":
        """Open the document of that file name, in which ``task`` tells it from the one before, and wait until it is
        verified."""
        self.page.get_by_label("Open document").select_option(f"{name}.warpdraft.json")
        self.page.locator(f".warpdraft .column[data-task='{task}']").wait_for()
        return self.settled()

    def edited(self, act) -> "Editor":
        """Do ``act`` and wait until the edit that it makes is verified."""
        before = int(self.root.get_attribute("data-revision"))
        act()
        self.page.locator(f".warpdraft[data-revision='{before + 1}']").wait_for()
        return self.settled()

    @property
    def root(self):
        return self.page.locator(".warpdraft")

    def op(self, text: str, task: str = "", nth: int = 0):
        column = self.page.locator(
            f".warpdraft .column[data-task='{task}']" if task else ".warpdraft .columns"
        )
        return column.locator(".op", has_text=text).nth(nth)

    def ops(self, task: str) -> list[str]:
        """What the task does, in order."""
        calls = self.page.locator(f".warpdraft .column[data-task='{task}'] .op .call")
        return [text.strip() for text in calls.all_inner_texts()]

    def press(self, key: str) -> None:
        self.page.keyboard.press(key)

    @property
    def verdict(self) -> str:
        return self.page.locator(".warpdraft .verdict b").inner_text()

    def codes(self) -> list[str]:
        return self.page.locator(".warpdraft .finding .code").all_inner_texts()

    def drag(self, source, target) -> None:
        """In many small steps, as a hand does."""
        mouse, start, end = self.page.mouse, source.bounding_box(), target.bounding_box()
        x, y0, y1 = start["x"] + 60, start["y"] + start["height"] / 2, end["y"] + 4
        mouse.move(x, y0)
        mouse.down()
        for step in range(1, 21):
            mouse.move(x, y0 + (y1 - y0) * step / 20)
            self.page.wait_for_timeout(15)
        self.page.wait_for_timeout(120)
        mouse.up()


@pytest.fixture
def editor(page, address, folder):
    """A fresh session; the test fails where the page raised an error or asked for something outside."""
    for kept in folder.glob("*.autosave*"):
        kept.unlink()
    copy(EXAMPLES / "persistent_gemm.warpdraft.json", folder)
    editor = Editor(page, folder).open(address)
    yield editor
    assert not editor.errors
    assert not editor.outside


@pytest.fixture
def opened(folder):
    """Opens a page on a server of the test's own, which may end."""
    return lambda page, server: Editor(page, server.document.parent).open(server.address)
