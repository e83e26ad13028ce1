"""Pipeline groups as Task Scheduling is told of them: members and mode, and a pipeline of the group's own."""

from __future__ import annotations

from dataclasses import replace

from warpdraft.core import PipelineConfig, SignalingThreads
from warpdraft.core.document import Document, Pipeline, PipelineGroup, PipelineGroupMode
from warpdraft.core.pipeline_groups import members_of

from .errors import NotExpressible


def stated_groups(document: Document, left_out: list[str]) -> Document:
    """``document`` with groups whose pipelines say all, or follow from the members. Raises NotExpressible."""

    def group(of: PipelineGroup) -> PipelineGroup:
        members = [r.pipeline for r in members_of(document, of)]
        if of.pipeline is None or _follows(of, members):
            return replace(of, pipeline=None)
        record = own_config(document, of).record()
        _check(of, record, members)
        return replace(of, pipeline=record)

    return replace(document, pipeline_groups=tuple(group(g) for g in document.pipeline_groups))


def own_config(document: Document, of: PipelineGroup) -> PipelineConfig:
    """The pipeline of the group's own, with counts and bytes from the members where it leaves them out."""
    own, members = of.pipeline, [r.pipeline for r in members_of(document, of)]
    total = sum(m.bytes or 0 for m in members)
    shares = of.mode is PipelineGroupMode.Fork
    producers, consumers = (
        [getattr(m, f"{side}_count") for m in members] for side in ("producer", "consumer")
    )
    return PipelineConfig(
        num_stages=own.stages,
        num_bytes=total if own.bytes is None else own.bytes,
        producer_group=_count(of, own.producer_count, producers, shares),
        consumer_group=_count(of, own.consumer_count, consumers, not shares),
        pipeline_type=own.type or members[0].type,
        cta_layout_vmnk=own.cta_layout or None,
        producer_signaling_threads=_threads(own.producer_cta_leader),
        consumer_signaling_threads=_threads(own.consumer_cta_leader),
        advance_on_wait=own.advance_on_wait,
        advance_on_acquire=own.advance_on_acquire,
        mcast_mode_mn=own.multicast,
        interleave_stride=own.interleave,
    )


def _follows(of: PipelineGroup, members: list[Pipeline]) -> bool:
    """Whether Task Scheduling derives the same pipeline from members of one type."""
    own = of.pipeline
    return (
        of.mode is PipelineGroupMode.Merge
        and {(own.stages, own.type, own.consumer_count)}
        == {(m.stages, m.type, m.consumer_count) for m in members}
        and (own.bytes, own.producer_count)
        == (sum(m.bytes or 0 for m in members) or None, sum(m.producer_count or 0 for m in members))
    )


def _check(of: PipelineGroup, record: Pipeline, members: list[Pipeline]) -> None:
    """Refuse what Task Scheduling refuses when the group is made."""
    types = {m.type for m in members}
    for what, said, needed in (
        ("stages", record.stages, {m.stages for m in members}),
        ("bytes", record.bytes or 0, {sum(m.bytes or 0 for m in members)}),
        ("type", record.type, types if len(types) == 1 else {record.type}),
        ("interleave", record.interleave, {m.interleave for m in members}),
    ):
        if needed != {said}:
            found = " and ".join(sorted(map(str, needed)))
            raise NotExpressible(
                f"{of.name}: the {what} of its own pipeline, {said}, do not go with its members ({found}); leave the "
                "pipeline out: it follows from the members"
            )


def _count(of: PipelineGroup, said: int | None, members: list[int | None], shared: bool) -> int:
    """A count: as it is said, else that of the members, which share one side and add up on the other."""
    known = [n for n in members if n is not None]
    found = said if said is not None else max(known, default=0) if shared else sum(known)
    if not found:
        raise NotExpressible(
            f"{of.name}: its own pipeline and its members leave out who arrives; give the counts"
        )
    return found


def _threads(leader: bool) -> SignalingThreads:
    return SignalingThreads.CtaLeader if leader else SignalingThreads.All
