"""Which tests run where, and the browser that some of them drive."""

import os
import shutil
import subprocess
from functools import cache

import pytest
from find_browser import LAUNCH_ARGS, find_browser


@cache
def has_cuda_device() -> bool:
    """Asks the driver's own tool, so that no GPU library is loaded into the test process."""
    if not shutil.which("nvidia-smi"):
        return False
    try:
        listing = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return listing.returncode == 0 and "GPU " in listing.stdout


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("gpu") and not has_cuda_device():
            item.add_marker(pytest.mark.skip(reason="no CUDA device here (nvidia-smi lists none)"))
        if item.get_closest_marker("slow") and not os.environ.get("WARPDRAFT_LONG"):
            item.add_marker(pytest.mark.skip(reason="slow: set WARPDRAFT_LONG=1, or make test-long"))
        if item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.xdist_group("browser"))  # one browser at a time


@pytest.fixture(scope="session")
def chromium() -> str:
    """Path of the browser; skips the test where there is none."""
    path = find_browser()
    if path is None:
        pytest.skip("no Chromium found: run make dev, which installs one or says why it cannot")
    return path


@pytest.fixture(scope="module")  # while it is open, no asyncio loop of another test can run in this process
def browser(chromium: str):
    """A running headless browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(LAUNCH_ARGS))
        yield browser
        browser.close()


@pytest.fixture
def page(browser):
    """A fresh page with its own storage, as tall and wide as a laptop's screen."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    yield context.new_page()
    context.close()
