"""What a command refuses."""

from __future__ import annotations


class BadInput(Exception):
    """The command cannot do what it was asked; the message is one line for the person who asked. Exit code 2."""
