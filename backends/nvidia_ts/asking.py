"""Asks Task Scheduling's own check about a document: the document is written as a script, which runs in a process of its
own."""

from __future__ import annotations

import os
import tempfile

from warpdraft.core.document import Document, Op
from warpdraft.core.findings import Report
from warpdraft.core.tree import ops_of

from .importing import import_script
from .opinion import Opinion, difference
from .version import installed
from .writing.bounds import counted
from .writing.module import to_task_scheduling


def is_theirs(document: Document) -> bool:
    """Whether ``document`` came from Task Scheduling: what its run time adds is marked, or its works are assumed."""
    added = any(isinstance(o, Op) and o.implicit for t in document.tasks for o in ops_of(t))
    return added or any(w.assumed for r in document.resources for w in r.works)


def ask_task_scheduling(document: Document, report: Report, time_limit: float) -> tuple[Opinion, str]:
    """What Task Scheduling says of ``document`` as it is now, and why that differs from ``report``.

    ``time_limit``: seconds for all of it. Raises NotExpressible for what it has no words for, and ImportRefused where it is
    not installed, or not done in time.
    """
    installed()
    written = to_task_scheduling(counted(document))
    with tempfile.TemporaryDirectory(prefix="warpdraft_ask_") as folder:
        script = os.path.join(folder, "schedule.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write(f"{written.text}\n\nbuild()\n")
        (found, *_) = import_script(
            script, annotations=written.annotations, second_opinion=True, time_limit=time_limit
        )
    assert found.opinion is not None
    symbols = tuple(s.name for s in document.symbols)
    return found.opinion, difference(report, found.opinion, symbols)
