"""A schedule cut into pieces, at the ends of the iterations of its joint loops (`core.joints`).

A piece of a stream is walked from where its unroller was left, so that pieces can be put together in any way. Conditions are
decided when the first stream asks for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

from .cuts import Mark, MarkingWalk
from .document import Guard, Loop, Node, Task
from .growth import Growth
from .joints import Joint, Joints
from .machine import Machine
from .program import Program, Stream
from .stretches import Stretch
from .unroll import streams_of

CHANGING = ("cursor", "raw", "turns", "loops", "numbers", "stack")  # what a walk changes in place
ALL = 4  # conditions of which all combinations are shown beforehand


class Frame(NamedTuple):
    """A block that a walk is in and what comes next there: a joint ``loop``, at whose ends of iterations it pauses, or
    another, with the context around it."""

    nodes: Sequence[Node | Stretch]
    place: int
    loop: Loop | None
    around: tuple = ()


class PieceWalk(MarkingWalk):
    """The unroller of one stream, a piece at a time."""

    def __init__(
        self,
        joints: Joints,
        growth: Growth,
        machine: Machine,
        task: Task,
        stream: Stream,
        values: dict[str, int],
    ) -> None:
        super().__init__(growth, False, machine, task, stream, values, {})
        self.joints = joints
        self.choice: dict[str, bool] = {}
        self.stack = [Frame(self.parts(task), 0, None, self.context)]

    def on(self, stream: Stream, choice: dict[str, bool]) -> PieceWalk:
        """A copy that goes on in ``stream``, a copy of this one's, with outcomes as in ``choice``."""
        made = object.__new__(PieceWalk)
        made.__dict__ = known = dict(self.__dict__)
        for name in CHANGING:
            known[name] = known[name].copy()
        made.works = self.works.on(stream)
        made.stream, made.choice = stream, choice
        made.marks, made.short = {}, set()
        return made

    def outcome(self, key: str) -> bool:
        return self.choice.setdefault(key, self.machine.usual.get(key, True))

    @property
    def pauses_at(self) -> Joint | None:
        """The joint loop at one of whose ends of iterations it is; None before its start and behind its end."""
        loop = self.stack[-1].loop if self.stack else None
        return self.joints.by_loop[loop.id] if loop else None

    @property
    def ended(self) -> bool:
        """Whether it has come to its end."""
        return not self.stack

    def start(self) -> None:
        """From the beginning to the first pause."""
        self.begins()
        self.advance()

    def iterate(self, i: int, trips: int) -> None:
        """Iteration ``i`` of the loop where it pauses, and on to the next pause."""
        nodes, _, loop, around = self.stack[-1]
        self.loops.append((loop, i, trips))
        self.at = (*self.at, (loop.var, i))
        self.stack[-1] = Frame(nodes, 0, loop, around)
        self.advance()

    def leave(self) -> None:
        """Past the loop where it pauses, and on to the next pause."""
        self.stack.pop()
        self.advance()

    def advance(self) -> None:
        """On to the next pause, or to the end."""
        while self.stack:
            nodes, place, loop, around = self.stack[-1]
            joint = place
            while joint < len(nodes) and not self._is_joint(nodes[joint]):
                joint += 1
            self.block(nodes[place:joint])
            if joint < len(nodes):
                self.stack[-1] = Frame(nodes, joint + 1, loop, around)
                if self._enter_joint(nodes[joint]):
                    return
            elif loop is not None:
                self.loops.pop()
                self.at = self.at[:-1]
                return
            else:
                self.stack.pop()
                self.context = around
        self.drains()

    def _is_joint(self, node: Node | Stretch) -> bool:
        """Whether joint loops are inside ``node``, or it is one."""
        return type(node) is not Stretch and node.id in self.joints.around

    def _enter_joint(self, node: Loop | Guard) -> bool:
        """Enters ``node``, in which joint loops are; whether it is one."""
        if isinstance(node, Loop):
            nodes = self.parts(node)
            self.stack.append(Frame(nodes, len(nodes), node))
            return True
        context = self.context
        if self.enter(node):
            self.stack.append(Frame(self.parts(node), 0, None, context))
        return False

    def mark(self) -> Mark:
        """Where it is now."""
        return self.mark_at(self.stack[-1].loop)


def samples(machine: Machine, joints: Joints, growth: Growth, values: dict[str, int]) -> Iterator[Program]:
    """Programs that show every op of the schedule that may be executed at all."""
    for choice in _choices(machine, joints.keys):
        streams = []
        for task, stream in streams_of(machine):
            walk = PieceWalk(joints, growth, machine, task, stream, values)
            walk.choice = dict(choice)
            _through(walk)
            streams.append(stream)
        yield Program(tuple(streams), tuple(machine.barriers), (), machine.noted)


def _choices(machine: Machine, keys: tuple[str, ...]) -> Iterator[dict[str, bool]]:
    """All outcomes of a few conditions; of many, all alike, and all but one alike."""
    if len(keys) <= ALL:
        yield from (dict(zip(keys, c, strict=True)) for c in product((True, False), repeat=len(keys)))
        return
    for outcome in (True, False):
        alike = dict.fromkeys(keys, outcome)
        yield alike
        yield from (alike | {key: not outcome} for key in keys)


def _through(walk: PieceWalk) -> None:
    """Goes through the whole task, with a few iterations of each joint loop."""
    done: list[int] = []  # iterations of the loops that it is in
    walk.start()
    while (joint := walk.pauses_at) is not None:
        depth = sum(frame.loop is not None for frame in walk.stack)
        del done[depth:]
        if len(done) < depth:
            done.append(0)
        trips = joint.head + 2 if joint.symbol else min(joint.head + 2, joint.least)
        done[-1] += 1
        if done[-1] > trips:
            done.pop()
            walk.leave()
        else:
            walk.iterate(done[-1] - 1, trips)
