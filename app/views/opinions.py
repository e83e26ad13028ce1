"""What Task Scheduling's own check says beside ours, in lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def opinion_lines(said: Mapping[str, Any]) -> list[str]:
    """``verdict``, ``states``, ``seconds``, ``reason`` and ``difference`` in one line, or two where they differ."""
    took = f"{said['seconds']:.2f} s"
    how = f"{said['states']} states, {took}" if said["states"] else took
    gave_up = " at its limit of states, and prints SAFE" if said["verdict"] == "gave up" else ""
    reason = f": {said['reason']}" if said["reason"] else ""
    lines = [f"Task Scheduling: {said['verdict']}{gave_up} ({how}){reason}"]
    return lines + ([f"they differ: {said['difference']}"] if said["difference"] else [])
