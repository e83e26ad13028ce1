"""A draft of the annotation file, from what the scan of the bodies has seen and from the documents of the script."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from warpdraft.core.document import Document, Engine, Op, OpKind, Resource, Source, Space, Task, Token, Work
from warpdraft.core.tree import find_resource, ops_of

from .. import annotations as file
from .instructions import Access, Raw, Sync
from .scan import BodyScan, Seen

BARRIERS = (OpKind.BARRIER_SYNC, OpKind.BARRIER_ARRIVE)
READ_VIEWS = {Engine.TCGEN05, Engine.TCGEN05_CP, Engine.WGMMA, Engine.BULK_STORE}
WAITS = (OpKind.GROUP_WAIT, OpKind.GROUP_WAIT_READ)


@dataclass
class Draft:
    """The annotations, and for each work the lines that say what was seen where."""

    annotations: file.Annotations = field(default_factory=file.Annotations)
    notes: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The annotation file."""
        return file.dump_annotations(self.annotations, self.notes)


def draft(scans: Iterable[BodyScan], documents: Iterable[Document], folder: str = "") -> Draft:
    """What ``scans`` say of the works of ``documents``. Places are written relative to ``folder``."""
    by_name = {(s.cls, s.work): s for s in scans}
    made = Draft()
    for document in documents:
        for resource in document.resources:
            for work in resource.works:
                key = f"{resource.name}.{work.name}"
                body = by_name.get((class_of(resource), work.name))
                if body is not None and key not in made.annotations.works:
                    _Work(made, document, resource, work, body, folder, by_name).write(key)
    return made


@dataclass
class _Work:
    """One work of the draft."""

    made: Draft
    document: Document
    resource: Resource
    work: Work
    body: BodyScan
    folder: str
    bodies: Mapping[tuple[str, str], BodyScan]
    undecided: list[str] = field(default_factory=list)

    def write(self, key: str) -> None:
        """Add the work, if there is anything to say of it."""
        accesses = [s for s in self.body.seen if isinstance(s.what, Access)]
        engine = self.engine(accesses)
        sync = tuple(self.syncs([a for a in accesses if a.what.engine is (engine or Engine.WARP)]))
        self.undecided += [f"{self.place(u.at)}: {u.why}" for u in self.body.undecided]
        self.unknown_bytes(engine)
        notes = (
            f"{self.place(self.body.at)} {self.body.cls}.{self.body.work}",
            *map(self.seen, self.body.seen),
        )
        if self.body.auxiliary and not (sync or accesses or self.undecided):
            return
        view = not accesses and not self.undecided and self.is_view()
        self.made.annotations.works[key] = file.WorkAnnotation(
            engine=None if view else engine,
            sync=sync,
            view=view,
            undecided=tuple(dict.fromkeys(self.undecided)),
        )
        self.made.notes[key] = tuple(dict.fromkeys(notes))

    def is_view(self) -> bool:
        """Whether what it returns goes to tensor cores and bulk stores alone: it stands for the stage, and they read it."""
        if self.work.role != "consumer" or self.work.auxiliary or not self.has_bytes():
            return False
        engines = [self.engines_given(name) for t, o in self.calling() for name in o.results]
        return bool(engines) and all(of and of <= READ_VIEWS for of in engines)

    def engines_given(self, token: str) -> set[Engine]:
        """The engines of the works that are given ``token``."""
        found: set[Engine] = set()
        for op in (o for t in self.document.tasks for o in ops_of(t)):
            if Token(token) not in dict(op.args).values():
                continue
            resource = find_resource(self.document, op.target)
            body = self.bodies.get((class_of(resource), op.work)) if resource else None
            own = {s.what.engine for s in body.seen if isinstance(s.what, Access)} if body else set()
            found |= own or {Engine.WARP}
        return found

    def engine(self, accesses: Sequence[Seen]) -> Engine | None:
        """The engine that executes the body's accesses."""
        found = list(dict.fromkeys(s.what.engine for s in accesses if s.what.engine is not Engine.WARP))
        stores = [s for s in accesses if s.what.stores]
        by_threads = self.resource.pipeline is not None and self.resource.pipeline.type.startswith("Async")
        if found == [Engine.TMA] and by_threads and len(accesses) > 1 and self.work.role == "producer":
            self.undecided.append(
                "bulk copies and accesses of threads, on a pipeline that threads fill: this says warp"
            )
            return Engine.WARP
        if found and stores:
            found.insert(0, Engine.WARP)
        if len(found) > 1:
            names = ", ".join(found)
            self.undecided.append(
                f"accesses by several engines ({names}), and a work has one: this says {found[-1]}; "
                "split the work to state both"
            )
        if found:
            return found[-1]
        doubtful = self.body.auxiliary or self.body.undecided
        return None if doubtful else Engine.WARP

    def unknown_bytes(self, engine: Engine | None) -> None:
        """Say where the default of which bytes are touched may be wrong."""
        ops = self.calling()
        if engine in (Engine.WARP, Engine.CP_ASYNC) and self.work.role == "producer" and self.has_bytes():
            if any(t.num_warps > 1 for t, _ in ops):
                self.undecided.append("which bytes each warp writes (assumed: equal slices of the stage)")
        if engine is Engine.BULK_STORE and self.resource.space is not Space.SMEM:
            if not all(_routed(o) for _, o in ops):
                self.undecided.append(
                    "no operand is routed to it: which memory it reads is unknown; "
                    'say reads = [{ resource = "..." }]'
                )

    def has_bytes(self) -> bool:
        """Whether the resource has memory that the check looks at."""
        return self.resource.space in (Space.SMEM, Space.TMEM) or self.resource.pipeline is not None

    def calling(self) -> list[tuple[Task, Op]]:
        """The ops that call this work, each with its task."""
        called = self.resource.name, self.work.name
        every = ((t, o) for t in self.document.tasks for o in ops_of(t))
        return [(t, o) for t, o in every if o.kind is OpKind.WORK and (o.target, o.work) == called]

    # -- synchronisation --------------------------------------------------------------------------------------------
    def syncs(self, accesses: Sequence[Seen]) -> Iterator[file.Sync]:
        """The synchronisation of the body that certainly happens; the other is undecided."""
        certain = [s.under for s in accesses]
        places = [i for i, s in enumerate(self.body.seen) if any(s is a for a in accesses)]
        for i, seen in enumerate(self.body.seen):
            if not isinstance(seen.what, Sync):
                continue
            at = "after" if places and i > places[0] else "before"
            where = f"{self.place(seen.at)}: {seen.text}{self.via(seen)}"
            if at == "after" and i < places[-1] and seen.what.group is None:
                self.undecided.append(f"{where} stands between accesses; it is drafted after them")
            if seen.under and not any(u[: len(seen.under)] == seen.under for u in certain):
                self.undecided.append(f"{where} happens only if {' and '.join(seen.under)}; it is left out")
                continue
            made = self.sync(seen, at, where)
            if made is not None:
                yield made

    def sync(self, seen: Seen, at: str, where: str) -> file.Sync | None:
        """One synchronisation, or None where its numbers are not known."""
        kind = seen.what.kind
        if kind in WAITS:
            if seen.count is None:
                self.undecided.append(
                    f"{where}: how many groups may stay open is no constant; it is left out"
                )
                return None
            return file.Sync(kind, at, seen.what.group, seen.count or None, lane=seen.elected)
        if kind is OpKind.GROUP_COMMIT:
            return file.Sync(kind, at, seen.what.group, lane=seen.elected)
        if kind in BARRIERS:
            name = self.barrier(seen, where)
            if name and seen.looped:
                self.undecided.append(f"{where} is in a loop of the body; it is drafted once")
            return file.Sync(kind, at, barrier=name) if name else None
        return file.Sync(kind, at, lane=seen.elected)

    def barrier(self, seen: Seen, where: str) -> str:
        """The name of the hardware barrier, which is added to the file."""
        threads = seen.threads
        if seen.count is None:
            self.undecided.append(f"{where}: the barrier's id is no constant; it is left out")
            return ""
        if threads is None:
            if seen.count:
                self.undecided.append(f"{where}: how many threads take part is no constant; it is left out")
                return ""
            threads = 32 * max((t.warp_idx + t.num_warps for t in self.document.tasks), default=0)
            threads = -(-threads // 128) * 128  # whole warpgroups are launched
        known = self.made.annotations.barriers
        name, wanted = f"barrier_{seen.count}", file.Barrier(seen.count, threads)
        if known.setdefault(name, wanted) != wanted:
            name += f"_{threads}"
            known[name] = wanted
        return name

    # -- words ------------------------------------------------------------------------------------------------------
    def place(self, at: Source) -> str:
        """ "gemm.py:12"."""
        path = at.file
        if self.folder:
            path = os.path.relpath(path, self.folder)
        return f"{path}:{at.line}"

    def seen(self, seen: Seen) -> str:
        """One line on an instruction that was seen."""
        what = seen.what
        name = what.engine if isinstance(what, Access) else what.why if isinstance(what, Raw) else what.kind
        under = f", if {' and '.join(seen.under)}" if seen.under else ""
        return f"{self.place(seen.at)} {name}: {seen.text}{under}{self.via(seen)}"

    def via(self, seen: Seen) -> str:
        """The calls that lead to an instruction."""
        return "".join(f", called at {self.place(v)}" for v in seen.via)


def class_of(resource: Resource) -> str:
    """The name of the class of ``resource`` alone."""
    return resource.cls.rpartition(":")[2].rpartition(".")[2]


def _routed(op: Op) -> bool:
    return any(isinstance(value, Token) for _, value in op.args)
