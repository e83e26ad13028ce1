"""One cluster of CTAs (mostly of one): its warps' programs in some legal interleaving, barriers with their true state,
completions that come late."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from warpdraft.core import phases
from warpdraft.core.allocations import allocated
from warpdraft.core.document import Engine, Loop, Op, Space, Token
from warpdraft.core.expressions import evaluate
from warpdraft.core.fencing import judged
from warpdraft.core.program import Event, EventKind, Program, Stream
from warpdraft.core.schedulers import RESPONSE_BYTES, has_slots
from warpdraft.core.tensor_core import COMMITTED
from warpdraft.core.tree import find_task, find_work, placed

from ..vocabulary import StockError, check
from .ahead import Ahead
from .blocked import explain
from .bodies import BODIES
from .call import Body, Call, View, WarpState, name_of
from .launch import Launch
from .memory import SharedMemory, TensorMemory
from .orders import Flight, Order
from .outcome import Blocked, EmulationError

BODILESS = (Space.QUEUE, Space.PDL)  # their works only steer: the emulator knows the tile order by itself
TMEM_LIFE = (EventKind.TMEM_ALLOC, EventKind.TMEM_DEALLOC)
IN_ORDER = (Engine.WGMMA, *COMMITTED)
GROUPED = (Engine.WGMMA, Engine.BULK_STORE, Engine.CP_ASYNC)  # what async groups speak of
MEETINGS = (EventKind.SYNC, EventKind.BAR_ARRIVE)


class Warp:
    """A stream and how far it has come."""

    __slots__ = ("events", "groups", "joined", "meetings", "open", "position", "state", "stream", "task")

    def __init__(self, stream: Stream, task) -> None:
        self.stream, self.task, self.events = stream, task, stream.events
        self.position, self.joined = 0, -1  # joined: the named barrier's generation that it waits for
        self.meetings = 0  # generations of the cluster's barrier that it has joined
        self.state = WarpState()
        self.open: dict[Engine, list[Flight]] = {}
        self.groups: dict[Engine, list[list[Flight]]] = {}


class Cluster:
    """Runs CTAs of ``launch`` from number ``first`` on: as many as the program has; `run` gives who is blocked for ever
    (empty: all ended)."""

    def __init__(
        self, launch: Launch, program: Program, values: dict[str, int], first: int, order: Order
    ) -> None:
        self.launch, self.program, self.values, self.order = launch, program, values, order
        self.first = first
        self.ctas = 1 + max((s.cta for s in program.streams), default=0)
        self.memories = [SharedMemory(launch.smem_bytes, order.adverse) for _ in range(self.ctas)]
        stated = bool(allocated(launch.document))
        self.tensor_memories = [TensorMemory(launch.tmem_columns, stated) for _ in range(self.ctas)]
        self.left: set[int] = set()  # CTAs whose warps have all exited
        self.warps = [Warp(s, find_task(launch.document, s.task)) for s in program.streams]
        fencing = (
            judged(launch.document).after if order.adverse else ()
        )  # tasks that state their tcgen05 fences
        self.ahead = {
            i: Ahead(s, self.tensor_memories) for i, s in enumerate(program.streams) if s.task in fencing
        }
        self.states = [b.start for b in program.barriers]
        self.flights: list[Flight] = []
        self.requests: dict[int, int] = {}  # CTA -> responses on their way to it, or there
        self.steps = 0
        self.notes: dict[str, None] = {}
        self.places = Places(launch)

    def run(self) -> tuple[Blocked, ...]:
        """Steps until every warp has ended or none can move."""
        for index, ahead in self.ahead.items():
            ahead.come(0, self.flights, index)
        while True:
            ready = [i for i, w in enumerate(self.warps) if self._ready(w)]
            flights = self._completable()
            if not ready and not flights:
                break
            if not ready and all(w.position == len(w.events) for w in self.warps):
                break
            if not ready and self.order.adverse:
                self._mark_needed(flights)
            chosen = self.order.pick(ready, flights)
            self.steps += 1
            if isinstance(chosen, Flight):
                self._complete(chosen)
            else:
                self._step(chosen)
        if any(w.position < len(w.events) for w in self.warps):
            return explain(
                self.first, self.program, self.states, [(w.stream, w.position) for w in self.warps]
            )
        while self.flights:
            self._complete(self.flights[0])
        return ()

    def _leave(self, cta: int) -> None:
        """Warps of CTA ``cta`` have exited; if that was the last, what still reads its shared memory reads somebody
        else's."""
        if any(w.stream.cta == cta and w.position < len(w.events) for w in self.warps):
            return
        self.left.add(cta)
        own = [f for f in self.flights if f.call is not None and f.call.memory is self.memories[cta]]
        for flight in (f for f in own if f.engine is Engine.BULK_STORE):
            self.memories[cta].poison()
            self.notes[f"{flight.call.op.id} still read shared memory when the CTA had left"] = None

    # -- what can happen ----------------------------------------------------------------------------------------------
    def _ready(self, warp: Warp) -> bool:
        if warp.position == len(warp.events):
            return False
        event = warp.events[warp.position]
        kind = event.kind
        if kind is EventKind.WAIT:
            parity = event.parity if event.number is None else phases.parity_of(event.number)
            return phases.passes(self.states[event.barrier], parity)
        if kind is EventKind.GROUP_WAIT or kind is EventKind.GROUP_WAIT_READ:
            return all(f.done for f in self._covered(warp, event))
        if kind is EventKind.DRAIN:
            return not self._undrained(warp, event)
        if kind is EventKind.SYNC and warp.joined >= 0:
            return phases.released(self.states[event.barrier], warp.joined)
        if kind is EventKind.REGISTERS:
            return event.bytes <= max(0, self.states[event.barrier].spare)
        if kind is EventKind.CLUSTER_WAIT:
            return all(w.position == len(w.events) or w.meetings > (event.number or 0) for w in self.warps)
        return True

    def _completable(self) -> list[Flight]:
        """Everything in flight, but what a warp's tensor core does only in its order."""
        seen: set[int] = set()
        found = []
        for flight in self.flights:
            if flight.engine in IN_ORDER:
                if flight.warp in seen:
                    continue
                seen.add(flight.warp)
            found.append(flight)
        return found

    def _undrained(self, warp: Warp, event: Event) -> list[Flight]:
        """What the tcgen05.wait ``event`` waits for."""
        index = self.warps.index(warp)
        return [f for f in self.flights if f.warp == index and f.engine is event.engine]

    def _covered(self, warp: Warp, event: Event) -> list[Flight]:
        """What the group wait ``event`` waits for."""
        groups = warp.groups.get(event.engine, ())
        return [f for group in groups[: max(0, len(groups) - (event.number or 0))] for f in group]

    def _mark_needed(self, flights: list[Flight]) -> None:
        """Marks the flights that one of the warps, all of which are blocked, waits for."""
        waiting: set[int] = set()
        for warp in self.warps:
            event = warp.events[warp.position] if warp.position < len(warp.events) else None
            if event is not None and event.kind in (EventKind.GROUP_WAIT, EventKind.GROUP_WAIT_READ):
                waiting.update(id(f) for f in self._covered(warp, event))
            elif event is not None and event.kind is EventKind.DRAIN:
                waiting.update(id(f) for f in self._undrained(warp, event))
            elif event is not None and event.kind is EventKind.WAIT:
                waiting.add(-1 - event.barrier)
        wanted = [f for f in self.flights if id(f) in waiting or any(-1 - b in waiting for b in f.barriers)]
        queues = {
            f.warp for f in wanted if f.engine in IN_ORDER
        }  # what stands before one of them is needed too
        for flight in flights:
            flight.needed = flight in wanted or (flight.engine in IN_ORDER and flight.warp in queues)

    # -- steps --------------------------------------------------------------------------------------------------------
    def _step(self, index: int) -> None:
        warp = self.warps[index]
        event = warp.events[warp.position]
        kind = event.kind
        if kind is EventKind.WORK or kind is EventKind.ASYNC:
            self._work(index, warp, event)
        elif kind in (EventKind.ARRIVE, EventKind.ARRIVE_EXPECT, EventKind.EXPECT):
            self._signal(event.op, event.barriers, event.number or 0, event.bytes)
        elif kind is EventKind.GROUP_COMMIT:
            warp.groups.setdefault(event.engine, []).append(warp.open.pop(event.engine, []))
        elif kind is EventKind.FENCE:
            if not event.lane:  # what all lanes wrote, one lane's fence does not publish
                self.memories[warp.stream.cta].fence(name_of(warp.stream.task, warp.stream.warp))
        elif kind is EventKind.CLUSTER_ARRIVE:
            warp.meetings += 1
        elif kind is EventKind.LIFETIME and event.barrier >= 0 and event.number:
            self.states[event.barrier] = phases.restarted(self.states[event.barrier])
        elif kind is EventKind.REGISTERS:
            self.states[event.barrier] = phases.exchange(self.states[event.barrier], event.bytes)
        elif event.engine is Engine.CP_ASYNC and kind in (EventKind.COMMIT_ARRIVE, EventKind.HELD_ARRIVE):
            raise EmulationError(f"{event.op}: arrivals of cp.async copies are not emulated")
        elif kind is EventKind.COMMIT_ARRIVE:
            commit = Flight(index, Engine.TCGEN05, None, None, event.barriers, arrivals=event.number or 0)
            self.flights.append(commit)
        elif kind in TMEM_LIFE:
            self.order.ready(index)
            for access in event.accesses:
                self.tensor_memories[warp.stream.cta].own(
                    access.low, access.high, kind is EventKind.TMEM_ALLOC
                )
        elif kind is EventKind.TENSORMAP_UPDATE:
            raise EmulationError(f"{event.op}: tensor maps that change are not emulated")
        elif kind in MEETINGS and warp.joined < 0:
            self._join(warp, event)
            if kind is EventKind.SYNC:
                return  # it goes on when its generation is complete
        warp.joined = -1
        warp.position += 1
        if index in self.ahead:
            self.ahead[index].leave()
            self.ahead[index].come(warp.position, self.flights, index)
        if warp.position == len(warp.events):
            self._leave(warp.stream.cta)

    def _join(self, warp: Warp, event: Event) -> None:
        barrier, state = self.program.barriers[event.barrier], self.states[event.barrier]
        warp.joined = state.completed
        try:
            self.states[event.barrier] = phases.join(state, 1, event.number or barrier.count)
        except (phases.CountMismatch, phases.OverArrival):
            self.notes[
                f"{event.op} meets others at {barrier.name} who count differently: undefined, ignored"
            ] = None

    def _signal(self, op: str, barriers: tuple[int, ...], arrivals: int, nbytes: int = 0) -> None:
        for barrier in barriers:
            name, cta = self.program.barriers[barrier].name, self.program.barriers[barrier].cta
            if cta in self.left:
                self.notes[f"{op} arrives on {name} of a CTA that has left: undefined, ignored"] = None
                continue
            try:
                self.states[barrier] = phases.arrive(self.states[barrier], arrivals, nbytes)
            except phases.OverArrival:
                self.notes[f"{op} arrives once too often on {name}: undefined, ignored"] = None

    def _complete(self, flight: Flight) -> None:
        self.flights.remove(flight)
        if flight.engine is Engine.TMA and flight.target in self.left:
            name = flight.call.op.id if flight.call else "a request for a tile"
            note = f"{name} copies into a CTA that has left: undefined, ignored"
            self.notes[note] = None
            return
        flight.done = True
        if flight.arrivals:
            self._signal("a tcgen05.commit", flight.barriers, flight.arrivals)
        elif flight.writes is not None:
            flight.writes()
        else:
            flight.body.run(flight.call)
        for barrier in flight.barriers if not flight.arrivals else ():
            self.states[barrier] = phases.complete_tx(self.states[barrier], flight.bytes)
        if flight.warp in self.ahead:
            self.ahead[flight.warp].come(self.warps[flight.warp].position, self.flights, flight.warp)

    # -- works --------------------------------------------------------------------------------------------------------
    def _work(self, index: int, warp: Warp, event: Event) -> None:
        place = self.places.of(event.op)
        if place.body is None and has_slots(place.resource):
            self._request(index, warp, event) if event.kind is EventKind.ASYNC else self._read(warp, event)
        if place.body is None:  # a view, or a work that only steers
            return
        call = self._call(warp, event, place)
        if event.kind is EventKind.ASYNC:
            if place.body.start is not None:
                call = replace(call, results=place.body.start(call))
                warp.state.values.update(zip(place.op.results, call.results, strict=False))
            flight = Flight(
                index, event.engine, place.body, call, event.barriers, event.bytes, target=call.target
            )
            self.flights.append(flight)
            if event.engine in GROUPED:
                warp.open.setdefault(event.engine, []).append(flight)
            return
        results = place.body.run(call) or ()
        warp.state.values.update(zip(place.op.results, results, strict=False))

    def _request(self, index: int, warp: Warp, event: Event) -> None:
        """A request for a tile: its response goes to each CTA of the cluster, by an event of its own."""
        (written,) = event.accesses
        number = self.requests[written.cta] = self.requests.get(written.cta, 0) + 1
        tiles = self.launch.dealt[self.first // self.launch.size]
        response = np.array([tiles[number] if number < len(tiles) else -1, 0], np.int64)
        memory, offset = self.memories[written.cta], self._slot(event)
        flight = Flight(index, event.engine, None, None, event.barriers, event.bytes, target=written.cta)
        flight.writes = lambda: memory.write_async(offset, response)
        self.flights.append(flight)

    def _read(self, warp: Warp, event: Event) -> None:
        """What the slot holds now: a tile, or -1 where none was left."""
        if event.accesses:  # but `init_work_tile` reads none
            stored = self.memories[warp.stream.cta].read(self._slot(event), 8)
            warp.state.tile = int(stored.view(np.int64)[0])

    def _slot(self, event: Event) -> int:
        name = self.places.of(event.op).resource.name
        return self.launch.responses[name] + RESPONSE_BYTES * event.stage

    def _call(self, warp: Warp, event: Event, place: Place) -> Call:
        views = {parameter: View(resource, stage) for parameter, resource, stage in event.views}
        args = dict(views)
        for name, value in place.op.args:
            if name in views:
                continue
            if isinstance(value, Token):
                value = self._value(warp, value.name, place.op, name)
            args[name] = value
        loops = tuple((loop, i) for loop, (_, i) in zip(place.loops, event.at, strict=True))
        target, window = warp.stream.cta, None
        columns, ahead = self.tensor_memories[target], self.ahead.get(self.warps.index(warp))
        if ahead is not None:  # a load may have run ahead
            columns = ahead.found.pop(warp.position, columns)
        pair = target - target % 2
        if self.ctas > 1 and event.engine is Engine.TMA:  # one event for each CTA that a copy goes to
            written = next((a for a in event.accesses if a.write), None)
            target, window = (written.cta, (written.low, written.high)) if written else (target, None)
        return Call(
            self.launch,
            self.memories[target],
            columns,
            warp.state,
            self.first + warp.stream.cta,
            warp.task,
            warp.stream.warp,
            place.op,
            place.resource,
            place.work,
            event.stage,
            loops,
            self.values,
            args,
            target,
            window,
            tuple(zip(self.memories[pair:][:2], self.tensor_memories[pair:][:2], strict=True)),
        )

    def _value(self, warp: Warp, token: str, op: Op, parameter: str) -> object:
        if token in warp.state.values:
            return warp.state.values[token]
        loops = list(zip(self.places.of(op.id).loops, warp.events[warp.position].at, strict=True))
        for loop, (var, i) in reversed(loops):
            if var == token:
                return evaluate(loop.start, self.values) + i * evaluate(loop.step, self.values)
        raise EmulationError(f"{op.id}: argument {parameter!r}: nothing has made {token!r} before")


@dataclass(frozen=True, slots=True)
class Place:
    """An op with its work, body and the loops around it."""

    op: Op
    resource: object
    work: object
    body: Body | None
    loops: tuple[Loop, ...]


class Places:
    """Looks up the place of each work op, once."""

    def __init__(self, launch: Launch) -> None:
        self._nodes = {p.node.id: p for p in placed(launch.document) if isinstance(p.node, Op)}
        self._launch = launch
        self._places: dict[str, Place] = {}

    def of(self, op_id: str) -> Place:
        """The place of op ``op_id``; EmulationError if its work has no body that can be run here."""
        if op_id not in self._places:
            self._places[op_id] = self._find(op_id)
        return self._places[op_id]

    def _find(self, op_id: str) -> Place:
        node = self._nodes[op_id]
        op = node.node
        resource = self._launch.resources[op.target]
        work = find_work(resource, op.work)
        if work is None:
            raise EmulationError(f"{op_id}: {resource.name} has no work {op.work}")
        loops = tuple(p for p in node.parents if isinstance(p, Loop))
        body = BODIES.get(work.body)
        if body is None and not work.view and not (resource.space in BODILESS and not work.body):
            has = f"has the body {work.body}" if work.body else "has no body"
            stock = ", ".join(BODIES)
            raise EmulationError(
                f"{op_id}: {resource.name}.{work.name} {has}; the emulator runs these: {stock}"
            )
        if body is not None:
            try:
                check(self._launch.document, resource, work)
            except StockError as error:
                raise EmulationError(f"{op_id}: {work.body}: {error}") from None
        return Place(op, resource, work, body, loops)
