"""Print the Chromium that browser tests use; exit with 1 where there is none."""

import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")

# For Playwright's launch(args=...): works as root, opens no connection of its own.
LAUNCH_ARGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def find_browser() -> str | None:
    """The path of the system's Chromium if one works, else of the one that Playwright downloaded."""
    installed = (shutil.which(name) for name in NAMES)
    for path in (*installed, _playwrights_own()):
        if path and _starts(path):
            return path
    return None


def _playwrights_own() -> str | None:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    with sync_playwright() as playwright:
        path = Path(playwright.chromium.executable_path)
    return str(path) if path.is_file() else None


def _starts(path: str) -> bool:
    """A package may be a stub, and a download may lack system libraries: both fail here."""
    try:
        return subprocess.run([path, "--version"], capture_output=True, timeout=60).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


if __name__ == "__main__":
    browser = find_browser()
    if browser is None:
        sys.exit(1)
    print(browser)
