"""What the export to Task Scheduling refuses."""

from __future__ import annotations


class NotExpressible(ValueError):
    """A schedule that Task Scheduling has no words for; the message is one line: where, what, and what to do."""
