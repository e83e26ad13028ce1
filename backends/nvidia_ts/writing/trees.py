"""Changes of all ops of a task."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from warpdraft.core.document import Node, Op


def with_ops(nodes: Sequence[Node], change: Callable[[Op], Op]) -> tuple[Node, ...]:
    """``nodes`` with each op changed."""
    return tuple(change(n) if isinstance(n, Op) else replace(n, body=with_ops(n.body, change)) for n in nodes)
