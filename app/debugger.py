"""A walk through one interleaving: forward and back, warp by warp, to a wait, to an op, or along a finding's witness."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from warpdraft.core.describe import iteration, words
from warpdraft.core.document import Document
from warpdraft.core.findings import Finding, Step
from warpdraft.core.limits import too_large
from warpdraft.core.program import EventKind, Stream
from warpdraft.core.simulate import default_values
from warpdraft.core.stepper import Move, State, Stepper
from warpdraft.core.tree import find_node
from warpdraft.core.unroll import unroll

from .breakpoints import Breakpoints
from .views.words import node_text

PLAIN = "works"  # what is said of an event that touches no bytes
MOST_STEPS = 30_000  # of one walk
DEADLOCKS = ("WD301", "WD302")
Ops = frozenset[tuple[int | None, str]]  # (stream, op)
WAITS = (
    EventKind.WAIT,
    EventKind.GROUP_WAIT,
    EventKind.GROUP_WAIT_READ,
    EventKind.DRAIN,
    EventKind.SYNC,
    EventKind.CLUSTER_WAIT,
)


@dataclass
class Debugger:
    """States and moves so far; ``position`` is the state that is shown. ``note`` says why the last walk ended, ``hit``
    whether that was one of the ``breakpoints``, which a play in the page stops at too."""

    document: Document
    values: dict[str, int]
    breakpoints: Breakpoints = field(default_factory=Breakpoints)
    stepper: Stepper = field(init=False)
    states: list[State] = field(init=False)
    moves: list[Move] = field(init=False, default_factory=list)
    position: int = 0
    note: str = ""
    hit: bool = False

    def __post_init__(self) -> None:
        if reason := too_large(self.document):
            raise ValueError(reason)
        values = {**default_values(self.document), **self.values}
        self.stepper = Stepper(unroll(self.document, values, representatives=True))
        self.states = [self.stepper.start]

    @property
    def state(self) -> State:
        """The state that is shown."""
        return self.states[self.position]

    @property
    def streams(self) -> tuple[Stream, ...]:
        """The warps, identical ones together."""
        return self.stepper.program.streams

    # Moving

    def go(self, position: int) -> None:
        """Show another state of the walk."""
        self.position, self.note = max(0, min(position, len(self.states) - 1)), ""
        self.hit = False

    def take(self, move: Move) -> None:
        """Do ``move``; what came after the shown state in an earlier walk is forgotten, unless it was the same move."""
        self.note, self.hit = "", False
        if move not in self.stepper.moves(self.state):
            self.note = "that cannot happen here"
            return
        if self.position < len(self.moves) and self.moves[self.position] == move:
            self.position += 1
            return
        del self.states[self.position + 1 :], self.moves[self.position :]
        self.states.append(self.stepper.step(self.state, move))
        self.moves.append(move)
        self.position += 1

    def forward(self) -> None:
        """One step: as walked before, else a fair one."""
        move = self.moves[self.position] if self.position < len(self.moves) else self._fair()
        if move is None:
            self.note = self._ending()
            return
        self.take(move)
        if why := self.breakpoints.hit(self.stepper, self.states[self.position - 1], self.state):
            self.note, self.hit = why, True

    def run_until(self, reached: Callable[[State], bool], what: str) -> None:
        """Steps until ``reached`` holds for the state or a breakpoint is hit, at least one."""
        for _ in range(MOST_STEPS):
            before = self.position
            self.forward()
            if self.position == before or self.hit or reached(self.state):
                return
        self.note = f"{what} was not reached in {MOST_STEPS} steps"

    def to_op(self, op: str) -> None:
        """Until some warp is about to do ``op``."""
        streams = range(len(self.streams))

        def reached(state: State) -> bool:
            events = (self.stepper.next_event(state, w) for w in streams)
            before = self.states[self.position - 1].at
            return any(
                e is not None and e.op == op and state.at[w] != before[w]
                for w, e in zip(streams, events, strict=True)
            )

        self.run_until(reached, op)

    def to_wait(self, stream: int) -> None:
        """Until ``stream`` comes to its next wait."""
        start = self.state.at[stream]

        def reached(state: State) -> bool:
            event = self.stepper.next_event(state, stream)
            return state.at[stream] > start and (event is None or event.kind in WAITS)

        self.run_until(reached, "the next wait")

    def to_end(self) -> None:
        """As far as it goes, or to the next breakpoint."""
        self.run_until(lambda state: False, "the end")

    def replay(self, finding: Finding) -> None:
        """Along the witness: each of its steps in order. A long witness leaves out how it began, so others move where a
        step waits for them, but none past its own last step."""
        self.go(0)
        named = [(self._stream_named(step.agent.partition("/")[0]), step) for step in finding.witness]
        last: dict[int, int] = {}
        kept = frozenset((w, step.op) for w, step in named if step.marked)  # that are to be on their way
        for stream, step in named:
            if stream is not None and (found := self._find(stream, step.op, step.at)):
                last[stream] = max(last.get(stream, 0), found[-1])
        for number, (stream, step) in enumerate(named, 1):
            if finding.code in DEADLOCKS:
                self._land()
            if stream is None or not self._reach(stream, step, last, kept):
                self.note = (
                    f"step {number} of {len(named)} cannot be taken this way: {step.agent} {step.text}"
                )
                return
        self.note = f"after the {len(named)} steps of {finding.code}"

    def _land(self) -> None:
        """End all that flies: a wait may pass before that and hang after it."""
        while flights := [m for m in self.stepper.moves(self.state) if m.flight]:
            self.take(flights[0])

    def _find(self, stream: int, op: str, at: str) -> list[int]:
        """The events of ``op`` at iteration ``at``, by their place in the stream."""
        events = self.streams[stream].events
        return [i for i, event in enumerate(events) if event.op == op and iteration(event) == at]

    def _reach(self, stream: int, step: Step, last: dict[int, int], kept: Ops) -> bool:
        """Move ``stream`` past the next event of ``step``; False where it is not there, or what it needs cannot happen.
        Operations of ``kept`` end only where nothing else helps."""
        places = self._find(stream, step.op, step.at)
        target = next((i for i in places if i >= self.state.at[stream]), None)
        if target is None:
            return bool(places)
        for _ in range(MOST_STEPS):
            if self.state.at[stream] > target:
                return True
            moves = self.stepper.moves(self.state)
            helpers = [m for m in moves if m.flight or self.state.at[m.stream] <= last.get(m.stream, -1)]
            helpers.sort(key=lambda m: (self._is_of(m, kept), m.flight is None, self.state.at[m.stream]))
            if Move(stream) in moves:
                self.take(Move(stream))
            elif helpers:
                self.take(helpers[0])
            else:
                return self.state.at[stream] == target  # the witness ends in front of what blocks
        return False

    def _is_of(self, move: Move, ops: Ops) -> bool:
        flight = move.flight
        return flight is not None and (flight.stream, self.stepper.event_of(flight).op) in ops

    def _fair(self) -> Move | None:
        """The next agent's move, in turn: warps and engines alike."""
        moves = self.stepper.moves(self.state)
        if not moves:
            return None
        last = self.moves[self.position - 1].stream if self.position else -1
        ends = [m for m in moves if m.flight]
        if ends and self.position % 3 == 2:  # engines get every third turn
            return ends[0]
        warps = [m for m in moves if not m.flight]
        return next((m for m in warps if m.stream > last), warps[0] if warps else ends[0])

    def _ending(self) -> str:
        if self.state.wrong:
            return f"undefined behaviour: {self.state.wrong}"
        return "every warp has ended" if self.stepper.ended(self.state) else "stuck: nobody can go on"

    # Naming

    def name(self, stream: int) -> str:
        """ "math.w1", or "math.w2-7" for a stream of several warps, as witnesses say it."""
        return self.streams[stream].all_names

    def _stream_named(self, name: str) -> int | None:
        return next((w for w in range(len(self.streams)) if self.name(w) == name), None)

    def text(self, move: Move) -> tuple[str, str, str, str]:
        """A move in words: who, what, which op, and its iteration. For a move of the walk or one that could come next."""
        if move.flight is not None:
            event = self.stepper.event_of(move.flight)
            stage = (
                "has read its source" if event.engine == "bulk_store" and not move.flight.read else "is done"
            )
            return (
                f"{self.name(move.stream)}/{event.engine}",
                f"{event.op} {stage}",
                event.op,
                iteration(event),
            )
        event = self.stepper.next_event(self.state, move.stream)
        assert event is not None
        said = words(event, self.streams[move.stream], self.stepper.program.barriers)
        if said == PLAIN and (placed := find_node(self.document, event.op)):
            said = node_text(placed.node)
        return self.name(move.stream), said, event.op, iteration(event)

    def history(self, number: int) -> Iterator[tuple[int, str, str, str, str]]:
        """The latest ``number`` moves before the shown state, newest first: position after it, and its words."""
        shown = self.position
        try:
            for place in range(shown - 1, max(-1, shown - 1 - number), -1):
                self.position = place
                yield (place + 1, *self.text(self.moves[place]))
        finally:
            self.position = shown
