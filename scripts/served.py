"""The editor in a process of its own: for screenshots, benchmarks and tests."""

import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CODE = """
import sys
from pathlib import Path
from warpdraft.app.server import serve
serve(Path(sys.argv[1]), int(sys.argv[2]), False)
"""


class Server:
    """An editor on ``document``; ``port`` 0 takes any free one."""

    def __init__(self, document: Path, port: int = 0) -> None:
        command = [sys.executable, "-c", CODE, str(document), str(port)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        words = self.process.stdout.readline().split()
        self.address = next(word for word in words if word.startswith("http"))
        self.port = int(self.address.rstrip("/").rpartition(":")[2])
        try:
            self._wait()
        except OSError:
            self.kill()
            raise

    def _wait(self, patience: float = 120.0) -> None:
        """Until the page is given out, which takes some imports. Asked once, with patience: each answer is some work."""
        deadline = time.monotonic() + patience
        while True:
            try:
                urllib.request.urlopen(self.address, timeout=max(1.0, deadline - time.monotonic())).close()
                return
            except OSError:
                if time.monotonic() > deadline or self.process.poll() is not None:
                    raise
                time.sleep(0.05)

    def stop(self) -> None:
        """As Ctrl+C does."""
        self.process.terminate()
        self.process.wait(10)

    def kill(self) -> None:
        """As a crash does."""
        self.process.kill()
        self.process.wait(10)


@contextmanager
def served(document: Path) -> Iterator[Server]:
    """A server that is stopped at the end."""
    server = Server(document)
    try:
        yield server
    finally:
        server.stop()


# Finds the editor's root element through shadow roots, for scripts that run in the page.
FIND_EDITOR = """(() => {
  const find = (root) => root.querySelector?.('.warpdraft') ?? [...root.querySelectorAll('*')]
    .map((e) => e.shadowRoot && find(e.shadowRoot)).find(Boolean);
  return find(document);
})()"""
