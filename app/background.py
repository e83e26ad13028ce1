"""What is computed about a session's document in the background: verdict, graph, timeline, module and source."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from warpdraft.core.document import Document
from warpdraft.core.findings import Report

from .analysis import Analyst, Failed, Unwanted
from .values import Result
from .views.graph import graph_view
from .worker import Stale, Worker

VERDICT_FIRST = 0.6  # seconds that the other results wait for the verdict
REMEMBERED = 32  # reports of earlier documents, for undo and redo

Take = Callable[[str, Result], None]


class Background:
    """``take(name, result)`` gets each result as it comes, with the revision that it is about: a late one is for the
    taker to drop. ``post`` runs a function on the thread that owns the page."""

    def __init__(
        self, analyst: Callable[[], Analyst], post: Callable[[Callable[[], None]], None], take: Take
    ) -> None:
        self._analyst, self._second = analyst(), analyst()
        self._post, self._take = post, take
        self._checker = Worker("warpdraft-check")
        self._writer = Worker("warpdraft-write")
        self._drawer = Worker("warpdraft-graph")
        self._reports: list[tuple[Document, Report]] = []  # the newest last

    def analyse(self, document: Document, revision: int, counts: Mapping[str, int], more: Mapping) -> None:
        """Verify and draw ``document``, then predict it at ``counts`` and make ``more`` (as in `predict`). A report that
        is known, after undo or redo, comes at once."""
        checked = threading.Event()
        known = next((report for other, report in reversed(self._reports) if other == document), None)
        if known is not None:
            self._checker.drop()
            checked.set()
            self._take("report", Result(revision, known))
        else:
            self._checker.submit(lambda stale: self._check(document, revision, checked, stale))
        self.predict(document, revision, counts, more, checked)

        def draw(stale: Stale) -> None:
            self._give("graph", Result(revision, graph_view(document)))

        self._drawer.submit(draw)

    def _check(self, document: Document, revision: int, checked: threading.Event, stale: Stale) -> None:
        def early(report: Report) -> None:
            if not stale():
                self._give("report", Result(revision, report, whole=False))

        result = self._asked(self._analyst, revision, "verify", (document,), stale, early)
        if result is not None:
            self._give("report", result)
            self._remember(document, result.value)
        checked.set()

    def _remember(self, document: Document, report: Report | None) -> None:
        """Keep a report that another check would only repeat: not one that ran out of time."""
        if report is not None and report.scope.kind != "incomplete":
            self._reports = [*self._reports[1 - REMEMBERED :], (document, report)]

    def forget(self) -> None:
        """Another document was opened."""
        self._reports = []

    def predict(
        self,
        document: Document,
        revision: int,
        counts: Mapping[str, int],
        more: Mapping[str, str],
        checked: threading.Event | None = None,
    ) -> None:
        """Timeline and ``more`` (names of results with the functions of `Tools` that make them), in a process of their own,
        since a long check must not hold them up. A short one (``checked``) may come first: drawing the timeline keeps a
        browser busy just when the verdict should be shown."""
        questions = [("timeline", "predict", (document, dict(counts)))]
        questions += [(name, function, (document,)) for name, function in more.items()]

        def write(stale: Stale) -> None:
            if checked is not None:
                checked.wait(VERDICT_FIRST)
            for name, function, arguments in questions:
                result = self._asked(self._second, revision, function, arguments, stale)
                if result is None:
                    return
                self._give(name, result)

        self._writer.submit(write)

    @staticmethod
    def _asked(
        analyst: Analyst,
        revision: int,
        function: str,
        arguments: tuple,
        stale: Stale,
        early: Callable[[Any], None] | None = None,
    ) -> Result | None:
        """The answer, None where nobody wants it any more."""
        try:
            return Result(revision, analyst.ask(function, *arguments, unwanted=stale, early=early))
        except Failed as failure:
            return Result(revision, None, str(failure))
        except Unwanted:
            return None

    def _give(self, name: str, result: Result) -> None:
        self._post(lambda: self._take(name, result))

    def wait(self, timeout: float) -> bool:
        """Wait until nothing is left to do; False where that takes longer than ``timeout`` seconds for one kind."""
        return all(worker.wait(timeout) for worker in (self._checker, self._writer, self._drawer))

    def close(self) -> None:
        """Stop."""
        for work in (self._checker, self._writer, self._drawer, self._analyst, self._second):
            work.close()
