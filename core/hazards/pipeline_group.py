"""WD216  pipeline-group: members that do not go together, or ops of a group on a member and the other way round."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..arrivals import TMA, derived_empty_count, derived_full_count, own_consumer_signal, producer_signal
from ..cursors import CONSUMING, PRODUCING
from ..document import Document, PipelineGroup, PipelineGroupMode, Resource, Signal, Task
from ..findings import Finding
from ..pipeline_groups import OWN_OPS, SHARED, members_of, spelled_out, spoken_for
from ..tree import ops_of
from .base import Hazard, error, listed
from .examples import K, acquire, commit, document, fence, loop, release, ring, task, wait, work

CODE, NAME = "WD216", "pipeline-group"
ALIKE = ("stages", "advance_on_acquire", "advance_on_wait", "interleave", "cta_layout", "multicast")


def check(document: Document) -> Iterator[Finding]:
    """Groups whose members differ where they share, and ops on the wrong one of group and member."""
    spelled = spelled_out(document)
    for group in document.pipeline_groups:
        bare = [n for n in group.members if n not in {m.name for m in members_of(document, group)}]
        for name in bare:
            yield _members(group, (name,), f"{name} has no pipeline", "members with a pipeline", "none")
        if not bare:
            yield from _differences(document, group)
            yield from _declared(document, group)
        for t in spelled.tasks:
            yield from _misdriven(spelled, group, t)


def _differences(document: Document, group: PipelineGroup) -> Iterator[Finding]:
    members = members_of(document, group)
    facts: dict[str, Callable[[Resource], object]] = {
        field.replace("_", " "): lambda r, field=field: getattr(r.pipeline, field) for field in ALIKE
    }
    shared = SHARED[group.mode]
    if "full" in shared:
        facts["producer's leading CTA"] = lambda r: r.pipeline.producer_cta_leader
    if group.mode == PipelineGroupMode.Fork:
        facts["kind of producer"] = lambda r: producer_signal(document, r)
        facts["bytes"] = lambda r: r.pipeline.bytes
        facts["producer count"] = lambda r: r.pipeline.producer_count
    if "empty" in shared:
        facts["consumer's leading CTA"] = lambda r: r.pipeline.consumer_cta_leader
        facts["kind of consumer"] = lambda r: (
            "tensor core" if own_consumer_signal(r) is Signal.COMMIT else "threads"
        )
        kinds = {producer_signal(document, r) == TMA for r in members}
        speaking = [r for r in members if len(kinds) == 1 or producer_signal(document, r) != TMA]
        yield from _one(group, speaking, "consumer count", lambda r: r.pipeline.consumer_count)
    for what, fact in facts.items():
        yield from _one(group, members, what, fact)


def _one(
    group: PipelineGroup, members: list[Resource] | tuple[Resource, ...], what: str, fact: Callable
) -> Iterator[Finding]:
    values = {r.name: fact(r) for r in members}
    if len(set(values.values())) > 1:
        actual = listed(f"{value} ({name})" for name, value in values.items())
        text = f"the members of {group.name} differ in their {what}"
        yield _members(group, tuple(values), text, f"one {what}", actual)


def _declared(document: Document, group: PipelineGroup) -> Iterator[Finding]:
    """A pipeline declared for the group itself says what its members say together."""
    own, members = group.pipeline, members_of(document, group)
    if own is None:
        return
    nbytes = [m.pipeline.bytes or 0 for m in members]
    fork = group.mode == PipelineGroupMode.Fork
    said: dict[str, tuple[object, object]] = {
        "stages": (own.stages, members[0].pipeline.stages),
        "interleave": (own.interleave, members[0].pipeline.interleave),
        "bytes": (own.bytes or 0, max(nbytes) if fork else sum(nbytes)),
    }
    if "full" in SHARED[group.mode] and own.producer_count is not None:
        said["producer count"] = own.producer_count, derived_full_count(document, members[0])
    if "empty" in SHARED[group.mode] and own.consumer_count is not None:
        said["consumer count"] = own.consumer_count, derived_empty_count(document, members[0])
    for what, (declared, together) in said.items():
        if declared != together:
            text = f"{group.name} declares {what} {declared}, its members have {together}"
            yield _members(group, group.members, text, f"{together}", f"{declared}")


def _misdriven(spelled: Document, group: PipelineGroup, t: Task) -> Iterator[Finding]:
    """Ops that belong to the group and name a member, or the other way round: one finding for each kind."""
    whole, targets = set(group.members), spoken_for(spelled, t)
    wrong: dict[tuple[str, bool], dict[str, str]] = {}
    for op in ops_of(t):
        if op.target not in whole or op.kind not in PRODUCING | CONSUMING or len(whole) == 1:
            continue
        of_group = len(targets[op.id]) > 1
        if of_group != (op.kind in OWN_OPS[group.mode]):
            wrong.setdefault((op.kind.value, of_group), {}).setdefault(op.id, op.target)
    for (kind, of_group), ops in wrong.items():
        meant, said = (
            ("each member", group.name) if of_group else (group.name, listed(dict.fromkeys(ops.values())))
        )
        yield error(
            CODE,
            NAME,
            f"{t.name} calls {kind} of {said}, but in a {group.mode.value} group it is that of {meant}",
            ops=tuple(ops),
            resources=(group.name,),
            tasks=(t.name,),
            expected=f"{kind} of {meant}",
            actual=f"of {said}",
        )


def _members(group: PipelineGroup, names: tuple[str, ...], text: str, expected: str, actual: str) -> Finding:
    return error(CODE, NAME, text, resources=(group.name, *names), expected=expected, actual=actual)


def _operands(grouped: bool):
    def load(name: str, warp: int):
        return task(f"load_{name}", warp, 1, loop(acquire(name), work(name, "load"), commit(name)))

    freed = (release("ab"),) if grouped else (release("a"), release("b"))
    read = (wait("a"), wait("b"), work("a", "read"), work("b", "read"), fence(), *freed)
    return document(
        "both operands are given back at once" if grouped else "each operand is given back alone",
        load("a", 0),
        load("b", 1),
        task("use", 4, 4, loop(*read, stop=K)),
        resources=(ring("a"), ring("b")),
        pipeline_groups=(PipelineGroup("ab", PipelineGroupMode.Merge, ("a", "b")),),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="The members of a pipeline group are alike in what they share, and the side that they share is driven on the "
    "group only.",
    why="The shared barrier counts one arrival for all members: one a member completes its phase too early, or never.",
    bad=_operands(False),
    good=_operands(True),
    check=check,
)
