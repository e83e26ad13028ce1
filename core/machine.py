"""What all warps of a schedule share: numbered barriers, storage places, arming bytes, classes of identical warps."""

from __future__ import annotations

from functools import cached_property

from .allocations import column_accesses
from .arrivals import (
    TMA,
    armed_bytes,
    consumer_signal,
    empty_count,
    full_count,
    producer_signal,
    routes,
)
from .clusters import looked_at, ops_of_warp
from .conditions import condition_keys, decided_in
from .cursors import moved_cursor, opening_cursor, passed_over, pipeline_ops
from .document import Document, Engine, Guard, GuardKind, Loop, Op, OpKind, Resource, Signal, Task
from .fencing import Judged, judged
from .footprints import engine_of
from .grid_dependency import GridDependency, grid_dependency
from .implied import implied_reads
from .interleave import CURSORS, PLAIN, first_use, warps_are_lanes
from .layout import layout
from .leading import led_pipelines
from .live_views import live_at
from .pipeline_groups import done_once, group_of, sharers, spelled_out
from .program import Access, Barrier, BarrierKind, in_cta
from .raw_counts import derived_raw_count
from .register_requests import given_by_idle_warps, registers_at_start, requests
from .retries import retries
from .routes import Routes
from .schedulers import requests_and_reads
from .tensor_core import COMMITTED
from .tensor_maps import descriptors
from .tensor_memory import divided
from .tile_kinds import TileKinds, tile_kinds
from .tree import ops_of, walk, without_idle_loops

# Issued by one thread of the task (PTX ISA, cp.async.bulk.tensor, tcgen05.mma, .cp, .shift and .commit).
LEADER_ENGINES = (Engine.TMA, *COMMITTED)


SIDES = (("full", full_count), ("empty", empty_count))  # of a pipeline, with their counts


class Machine:
    """The parts of a document that do not depend on trip counts, looked up once."""

    def __init__(self, document: Document, *, terse: bool = False) -> None:
        """``terse``: without what decides nothing, works that touch no memory and loops that no op is in."""
        self.terse, document = terse, spelled_out(document)
        self.document = document = without_idle_loops(document) if terse else document
        self.resources = {r.name: r for r in document.resources}
        self.works = {(r.name, w.name): w for r in document.resources for w in r.works}
        self.groups = {g.name: g.kind for g in document.groups}
        self.offsets = layout(document).offsets
        self.ctas = looked_at(document)
        self.descriptors = descriptors(document)
        self.lanes = divided(document)  # whether the lanes of tensor memory must be told apart
        self.barriers: list[Barrier] = []
        self.first: dict[tuple[str, str], int] = {}  # (name, side) -> number of its stage 0, in CTA 0
        self.producer: dict[str, str] = {}
        self.consumer: dict[str, Signal] = {}
        self._armed: dict[tuple[str, int], int] = {}
        self.routes: dict[str, Routes] = {}
        self.per_cta = 0  # barriers of one CTA
        self.asked = {o.id: o for o in requests(document)}  # for registers
        self.entry = registers_at_start(document) if self.asked else 0
        self.work_events: dict[tuple, dict] = {}  # of `core.accesses`: (task, warps) -> situation -> event
        self.view_ranges: dict[tuple, dict] = {}
        self.inputs: dict[str, dict] = {}  # task -> op -> the views that it may read
        self.steps: dict[tuple, dict] = {}  # of `core.pipeline_steps`: (task, warps, CTA) -> op -> step
        self.reached: dict[tuple, dict] = {}  # of `core.hazards.cluster_exit`: the same -> ops -> CTAs
        self.stretches: dict[tuple, dict] = {}  # of `core.stretches`: the same -> loop or guard -> parts
        self._shared: dict[tuple, tuple] = {}
        self._drains: dict[tuple[str, int, int], tuple[Op, ...]] = {}
        self._classes: dict[str, list[tuple[int, ...]]] = {}
        self._own: dict[str, frozenset[tuple[str, str]]] = {}
        self._used: dict[str, set[tuple[str, str]]] = {}
        self._retries: dict[str, frozenset[str]] = {}
        self._implied: dict[str, dict[str, tuple[str, ...]]] = {}
        self._opening: dict[tuple[str, str, str], str] = {}
        self._moved: dict[tuple[str, str, OpKind], str] = {}
        self._passed: dict[str, frozenset[tuple[str, str]]] = {}
        self._live: dict[str, frozenset[str]] = {}
        self._stages = {m.name: max(1, m.stages) for m in document.mbarriers}
        for r in document.resources:
            if r.pipeline:
                self._stages[r.name] = max(1, r.pipeline.stages)
                self.producer[r.name] = producer_signal(document, r)
                self.consumer[r.name] = consumer_signal(document, r)
                self.routes[r.name] = routes(document, r)
        self.meeting = {
            b.name: max(1, b.threads // 32) for b in document.barriers
        }  # named barrier -> warps that it counts
        for cta in range(self.ctas):
            self._add_barriers(cta)
            self.per_cta = self.per_cta or len(self.barriers)
        self.cluster = len(self.barriers)  # the one barrier of all CTAs
        warps = self.ctas * sum(t.num_warps for t in document.tasks)
        self.barriers.append(Barrier("cluster", BarrierKind.CLUSTER, max(1, warps), "", "cluster"))

    def _add_barriers(self, cta: int) -> None:
        document = self.document
        for r in document.resources:
            for side, count in SIDES if r.pipeline else ():
                share = sharers(document, r, side)
                if share[0] is r:
                    self._add(r.name, side, count(document, r, cta), cta, tuple(m.name for m in share))
                    place = self.first[r.name, side]
                    self.first |= {(m.name, side): place for m in share}
        for m in document.mbarriers:
            self._add(
                m.name, "raw", derived_raw_count(document, m.name, cta) if m.count is None else m.count, cta
            )
        ids: dict[int, int] = {}
        for b in document.barriers:
            if b.id in ids:  # two names of one hardware barrier
                self.first[b.name, "named"] = ids[b.id]
                continue
            ids[b.id] = self.first.setdefault((b.name, "named"), len(self.barriers))
            label = in_cta(b.name, cta)
            self.barriers.append(
                Barrier(label, BarrierKind.NAMED, self.meeting[b.name], b.name, "named", cta=cta)
            )
        if self.entry:
            self.first.setdefault(("", "pool"), len(self.barriers))
            label = in_cta("the pool of registers", cta)
            self.barriers.append(
                Barrier(label, BarrierKind.POOL, given_by_idle_warps(document), "", "pool", cta=cta)
            )

    def _add(self, name: str, side: str, count: int, cta: int, share: tuple[str, ...] = ()) -> None:
        self.first.setdefault((name, side), len(self.barriers))
        shared, group = share if len(share) > 1 else (), group_of(self.document, name)
        called = group.name if shared and group else name
        for stage in range(max(self._stages[n] for n in share or (name,))):
            place = f"{in_cta(called, cta)}[{stage}]"
            label = place if side == "raw" else f"{side} {place}"
            self.barriers.append(Barrier(label, BarrierKind.MBARRIER, count, name, side, stage, cta, shared))

    def armed_by(self, resource: Resource, task: Task, op: Op, cta: int = 0) -> int:
        """Transaction bytes that the acquire ``op`` arms on the full barrier of CTA ``cta``."""
        key = op.id, cta
        if key not in self._armed:
            self._armed[key] = armed_bytes(self.document, resource, task, op, cta)
        return self._armed[key]

    @cached_property
    def done_once(self) -> frozenset[tuple[str, str]]:
        """The (pipeline, op) that another member of its group does for it: here they only move cursors."""
        return done_once(self.document)

    @cached_property
    def judged(self) -> Judged:
        """What the rules on proxies and fences look at."""
        return judged(self.document)

    @cached_property
    def together(self) -> tuple[frozenset[tuple[str, int]], ...]:
        """The (pipeline, CTA) that move on by the same number of stages: those that share or reach each other's barriers."""
        found: list[frozenset[tuple[str, int]]] = []
        grouped = [g.members for g in self.document.pipeline_groups]
        for names in (*grouped, *((n,) for n in self.routes if not group_of(self.document, n))):
            known = [n for n in names if n in self.routes]
            everywhere = self.crossing.intersection(known)
            ranks = [range(self.ctas)] if everywhere else [(cta,) for cta in range(self.ctas)]
            found += [frozenset((n, cta) for n in known for cta in of) for of in ranks]
        return tuple(of for of in found if len(of) > 1)

    @cached_property
    def crossing(self) -> frozenset[str]:
        """The pipelines whose barriers or bytes one CTA reaches in another."""
        named = {o.target for t in self.document.tasks for o in ops_of(t) if o.ctas}
        named |= {r.name for r in self.document.resources if any(w.ctas for w in r.works)}
        return frozenset(n for n, found in self.routes.items() if found.crossing or n in named)

    @cached_property
    def grid(self) -> GridDependency:
        """What dependent launches wait for and touch."""
        return grid_dependency(self.document)

    def mends(self) -> bool:
        """Whether the schedule is right with the counts that its tasks make; who checks it gives an answer of its own."""
        return False

    @cached_property
    def scheduled(self) -> dict[str, tuple[str, bool]]:
        """The ops that request responses of dynamic schedulers, or read them: rules compare who knows of which."""
        return requests_and_reads(self.document)

    @cached_property
    def noted(self) -> frozenset[str]:
        """Ops whose works rules look at one by one: an execution keeps their clocks."""
        return self.grid.ops | self.scheduled.keys()

    def shared(self, accesses: tuple) -> tuple:
        """One object for equal ``accesses``: executions look them up by identity."""
        return self._shared.setdefault(accesses, accesses)

    def columns(self, op: Op, cta: int) -> tuple[Access, ...]:
        """What an allocation or freeing of tensor memory covers in CTA ``cta``."""
        return self.shared(column_accesses(self.document, op, cta, self.lanes))

    @cached_property
    def lifetimes(self) -> bool:
        """Whether anything about the life of an mbarrier is stated (`core.lifetimes`)."""
        kinds = (OpKind.MBARRIER_INIT, OpKind.MBARRIER_INVAL, OpKind.FENCE_MBARRIER_INIT)
        document = self.document
        stated = any(m.address is not None for m in document.mbarriers)
        return stated or any(o.kind in kinds for t in document.tasks for o in ops_of(t))

    @cached_property
    def tile_kinds(self) -> TileKinds:
        """What is decided anew for each tile."""
        return tile_kinds(self.document)

    @cached_property
    def peeks(self) -> bool:
        """Whether any task peeks at a pipeline."""
        return any(self.peeked.values())

    @cached_property
    def peeked(self) -> dict[str, int]:
        """At how many sides of pipelines each task peeks."""
        kinds = (OpKind.TRY_ACQUIRE, OpKind.TRY_WAIT)
        return {
            t.name: len({(o.target, o.kind) for o in ops_of(t) if o.kind in kinds})
            for t in self.document.tasks
        }

    @cached_property
    def usual(self) -> dict[str, bool]:
        """How each run-time condition usually comes out."""
        return condition_keys(self.document)

    @cached_property
    def decided(self) -> dict[str, int]:
        """How many loops are around the place where each run-time condition is decided."""
        return decided_in(self.document)

    def barrier(self, name: str, side: str, stage: int = 0, cta: int = 0) -> int:
        """The number of one barrier of CTA ``cta``."""
        return self.first[name, side] + stage + cta * self.per_cta

    def raw_barrier(self, name: str, stage: int, cta: int = 0) -> int:
        """The number of a raw mbarrier; a stage that it does not have wraps around (WD109 says so)."""
        return self.barrier(name, "raw", stage % self._stages[name], cta)

    def raw_stages(self, name: str) -> int:
        """How many stages a raw mbarrier has."""
        return self._stages[name]

    def pipeline_ops(self, task: Task) -> set[tuple[str, str]]:
        """The (resource, kind) of every op of ``task`` that could belong to a pipeline."""
        if task.name not in self._used:
            self._used[task.name] = pipeline_ops(task)
        return self._used[task.name]

    def opening(self, task: Task, resource: Resource, opens: str) -> str:
        """`core.cursors.opening_cursor` in ``task``."""
        key = task.name, resource.name, opens
        if key not in self._opening:
            self._opening[key] = opening_cursor(resource, opens, self.pipeline_ops(task))
        return self._opening[key]

    def moved(self, task: Task, op: Op) -> str:
        """`core.cursors.moved_cursor` of ``op`` in ``task``; "" where it is about no pipeline."""
        key = task.name, op.target, op.kind
        if key not in self._moved:
            resource = self.resources.get(op.target)
            piped = resource is not None and resource.pipeline
            self._moved[key] = moved_cursor(resource, op.kind, self.pipeline_ops(task)) if piped else ""
        return self._moved[key]

    def retries(self, task: Task) -> frozenset[str]:
        """The blocks of ``task`` that are waits in case a peek fails."""
        if task.name not in self._retries:
            self._retries[task.name] = retries(self.document, task)
        return self._retries[task.name]

    def passed_over(self, task: Task, elected: Guard) -> frozenset[tuple[str, str]]:
        """The sides of pipelines whose cursors the other warps of ``task`` move past the block ``elected``."""
        if elected.id not in self._passed:
            self._passed[elected.id] = passed_over(self.document, task, elected)
        return self._passed[elected.id]

    def live(self, task: Task, loop: Loop) -> frozenset[str]:
        """The views that matter between iterations of ``loop`` (`core.live_views`)."""
        if loop.id not in self._live:
            self._live[loop.id] = live_at(task, loop)
        return self._live[loop.id]

    @cached_property
    def idle(self) -> frozenset[int]:
        """The barriers of pipelines that no CTA ever arrives on, such as full of those that lead no pair."""
        found = []
        for name, of in self.routes.items():
            for side, reached, active in (("full", of.full, of.produces), ("empty", of.empty, of.consumes)):
                used = (to for to, does in zip(reached, active, strict=True) if does)
                unused = set(range(self.ctas)).difference(*used)
                found += [self.barrier(name, side, s, c) for c in unused for s in range(self._stages[name])]
        return frozenset(found)

    def drains(self, task: Task, warp: int, cta: int) -> tuple[Op, ...]:
        """The last commit of ``warp`` on each pipeline that it fills and other CTAs arrive on: it drains these at its
        end, where no schedule says when."""
        key = task.name, warp, cta
        if self.ctas > 1 and key not in self._drains:
            last: dict[str, Op] = {}
            led = (n for t, n in led_pipelines(self.document) if warp and t == task.name)
            passed = self.drained.union(led)
            for op in ops_of_warp(task.body, warp, cta):
                found = self.routes.get(op.target) if op.kind is OpKind.COMMIT else None
                if found and found.crossing and found.produces[cta] and op.target not in passed:
                    last[op.target] = op
            self._drains[key] = tuple(last.values())
        return self._drains.get(key, ())

    @cached_property
    def drained(self) -> frozenset[str]:
        """The pipelines that some schedule drains by itself."""
        ops = (o for t in self.document.tasks for o in ops_of(t))
        return frozenset(o.target for o in ops if o.kind is OpKind.PRODUCER_TAIL)

    def implied(self, task: Task) -> dict[str, tuple[str, ...]]:
        """By op, the pipelines whose stage in hand it reads without a view (`core.implied`)."""
        if task.name not in self._implied:
            self._implied[task.name] = implied_reads(self.document, task)
        return self._implied[task.name]

    def classes(self, task: Task) -> list[tuple[int, ...]]:
        """Warps of ``task`` by identical behaviour: those that differ alone, then one of the others, then the rest."""
        if task.name not in self._classes:
            self._classes[task.name] = self._found_classes(task)
        return self._classes[task.name]

    def own_lanes(self, task: Task) -> frozenset[tuple[str, str]]:
        """The (resource, cursor) for which each warp of ``task`` is a lane of its own."""
        if task.name not in self._own:
            self._own[task.name] = frozenset(
                (r.name, cursor)
                for r in self._interleaved(task)
                for cursor in CURSORS
                if warps_are_lanes(task, r, cursor)
            )
        return self._own[task.name]

    def first_uses(self, task: Task, warp: int) -> dict[tuple[str, str], int]:
        """Where the cursors of interleaved pipelines begin for one warp of ``task``; all others begin at 0."""
        return {
            (r.name, cursor): first_use(task, r, cursor, warp)
            for r in self._interleaved(task)
            for cursor in CURSORS
        }

    def _interleaved(self, task: Task) -> list[Resource]:
        used = {name for name, _ in self.pipeline_ops(task)}
        return [
            r
            for r in self.document.resources
            if r.name in used and r.pipeline and r.pipeline.interleave != PLAIN
        ]

    def _found_classes(self, task: Task) -> list[tuple[int, ...]]:
        if self.own_lanes(task):
            return [(w,) for w in range(task.num_warps)]
        special: set[int] = set()
        for node in walk(task.body):
            if isinstance(node, Guard) and node.kind is GuardKind.ELECT_WARP:
                special.add(node.warp)
            if isinstance(node, Op):
                if self._has_own_ranges(node):
                    return [(w,) for w in range(task.num_warps)]
                if self._led(node):
                    special.add(0)
        rest = [w for w in range(task.num_warps) if w not in special]
        alone = [(w,) for w in sorted(special) if w < task.num_warps]
        return alone + ([(rest[0],)] if rest else []) + ([tuple(rest[1:])] if len(rest) > 1 else [])

    def _has_own_ranges(self, op: Op) -> bool:
        work = self.works.get((op.target, op.work))
        return any(f and f.kind == "ranges" for f in (op.footprint, work.footprint if work else None))

    def _led(self, op: Op) -> bool:
        """Whether the task's first warp does something in ``op`` that the others do not."""
        each = (Signal.WARP, Signal.THREAD, Signal.CP_ASYNC)
        if op.kind is OpKind.TCGEN05_COMMIT:
            return True
        if op.kind is OpKind.ACQUIRE:
            return self.producer.get(op.target) == TMA
        if op.kind is OpKind.COMMIT:
            return self.producer.get(op.target) not in (TMA, None, *each)
        if op.kind is OpKind.RELEASE:
            return self.consumer.get(op.target) not in (None, *each)
        work = self.works.get((op.target, op.work)) if op.kind is OpKind.WORK else None
        return bool(work) and engine_of(self.resources[op.target], work) in LEADER_ENGINES
