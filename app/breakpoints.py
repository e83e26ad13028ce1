"""Where a walk of the debugger stops: when a warp comes to an op, or when a barrier's phase flips."""

from __future__ import annotations

from dataclasses import dataclass, field

from warpdraft.core.stepper import State, Stepper


@dataclass
class Breakpoints:
    """``ops`` by their id, ``barriers`` by their name ("full smem_ab[1]"). They outlive an edit; those whose op or barrier
    is gone do nothing."""

    ops: set[str] = field(default_factory=set)
    barriers: set[str] = field(default_factory=set)

    def toggle(self, kind: str, name: str) -> None:
        """Set the breakpoint ("op" or "barrier") that is not there, or take it away. Raises ValueError for another kind."""
        if kind not in ("op", "barrier"):
            raise ValueError(f"no breakpoint can be set at a {kind}")
        (self.ops if kind == "op" else self.barriers).symmetric_difference_update((name,))

    def hit(self, stepper: Stepper, before: State, after: State) -> str:
        """Why the move from ``before`` to ``after`` is one to stop at; "" if it is not."""
        for w, stream in enumerate(stepper.program.streams):
            event = stepper.next_event(after, w)
            if event is None or event.op not in self.ops or after.at[w] == before.at[w]:
                continue
            previous = stepper.next_event(before, w)
            if previous is None or previous.op != event.op or previous.at != event.at:
                return f"break: {stream.all_names} comes to {event.op}"
        for barrier, was, now in zip(stepper.program.barriers, before.barriers, after.barriers, strict=True):
            if barrier.name in self.barriers and was.completed != now.completed:
                return f"break: {barrier.name} completes phase {now.completed - 1}"
        return ""
