"""What an import refuses; each message is one line for whoever asked."""

from __future__ import annotations


class ImportRefused(ValueError):
    """A script or manager that cannot become a document: what is wrong, where, and what to do."""
