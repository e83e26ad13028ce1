"""The editor live in a real JupyterLab, with the outside cut off."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from shutil import copy

import pytest

pytestmark = pytest.mark.browser
EXAMPLE = Path(__file__).parents[2] / "assets" / "examples" / "persistent_gemm.warpdraft.json"
CELLS = (
    "from warpdraft.app.notebook import ScheduleEditor\neditor = ScheduleEditor('persistent_gemm.warpdraft.json')\neditor",
    "first = editor.document.tasks[1].body[0].body[0].body[0]\n"
    "open('said.txt', 'w').write(f'{editor.verify().verdict} {first.id}')",
)
OPTIONS = (
    "--no-browser", "--allow-root", "--ServerApp.port_retries=0", "--IdentityProvider.token=",
    "--ServerApp.disable_check_xsrf=True", "--LabApp.news_url=",
    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
)  # fmt: skip
LANES = """() => {
  const roots = [document, ...[...document.querySelectorAll("*")].map((e) => e.shadowRoot).filter(Boolean)];
  return roots.some((root) => root.querySelector(".warpdraft .figure")?.scrollHeight > 240) }"""


def notebook(cells) -> str:
    """A notebook's file with these cells, none of them executed."""
    cells = [
        {
            "cell_type": "code",
            "execution_count": None,
            "id": f"c{i}",
            "metadata": {},
            "outputs": [],
            "source": text,
        }
        for i, text in enumerate(cells)
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return json.dumps(
        {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    )


@pytest.fixture
def lab(tmp_path):
    """The address of a JupyterLab on a folder with the example and a notebook on it."""
    copy(EXAMPLE, tmp_path)
    (tmp_path / "try.ipynb").write_text(notebook(CELLS))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    names = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    homes = {name: str(tmp_path / "home" / name) for name in names}
    command = [
        sys.executable,
        "-m",
        "jupyterlab",
        f"--port={port}",
        f"--ServerApp.root_dir={tmp_path}",
        *OPTIONS,
    ]
    with (tmp_path / "lab.log").open("w") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, **homes})
    address = f"http://localhost:{port}"
    try:
        deadline = time.monotonic() + 200
        while True:
            try:
                urllib.request.urlopen(f"{address}/api", timeout=5).close()
                break
            except OSError:
                assert time.monotonic() < deadline and server.poll() is None, (
                    tmp_path / "lab.log"
                ).read_text()
                time.sleep(0.1)
        yield address
    finally:
        server.terminate()
        server.wait(20)


def execute(page, cell) -> None:
    """Execute a cell, as soon as its kernel listens: before that, the key only goes on to the next cell."""
    for _ in range(60):
        cell.locator(".cm-content").click()
        page.keyboard.press("Shift+Enter")
        page.wait_for_timeout(500)
        if cell.locator(".jp-InputPrompt").inner_text() != "[ ]:":
            return
    pytest.fail("the kernel does not execute the cell")


@pytest.mark.timeout(400)  # a busy machine imports slowly
def test_a_cell_shows_a_live_editor_and_edits_reach_the_kernel(lab, page, tmp_path):
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.route(lambda url: not url.startswith((lab, "data:", "blob:")), lambda route: route.abort())
    page.goto(f"{lab}/lab/tree/try.ipynb")
    cells = page.locator(".jp-Notebook .jp-CodeCell")
    execute(page, cells.nth(0))
    page.locator(".warpdraft .verdict b", has_text="Safe").wait_for(timeout=120_000)
    # the timeline came too, though it was predicted before the cell was connected
    page.wait_for_function(LANES)
    page.locator(".warpdraft .op", has_text="acc.mma").first.click()
    math = page.locator(".warpdraft .column[data-task=math] .op")
    for place in (1, 0):
        page.keyboard.press("Alt+ArrowUp")
        math.nth(place).filter(has_text="acc.mma").wait_for()
    page.locator(".warpdraft .verdict b", has_text="Unsafe").wait_for()
    frame = page.locator(".warpdraft").bounding_box()
    last = page.locator(".warpdraft .toolbar .button:visible").last.bounding_box()
    assert last["x"] + last["width"] <= frame["x"] + frame["width"]  # though the cell is narrow
    execute(page, cells.nth(1))
    said = tmp_path / "said.txt"  # an output may not be drawn while it is out of sight
    for _ in range(600):
        if said.exists() and said.read_text():
            break
        page.wait_for_timeout(100)
    assert said.read_text().split() == ["unsafe", "math.05"]
    assert not [url for url in asked if not url.startswith((lab, "data:", "blob:"))]
