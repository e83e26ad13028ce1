"""What the verifier does not model is named, and never called safe."""

from dataclasses import replace

import pytest

from warpdraft.core.document import Engine, OpKind, Work
from warpdraft.core.hazards.examples import (
    accumulator,
    acquire,
    commit,
    document,
    fence,
    fence_before,
    loop,
    op,
    release,
    ring,
    task,
    tensor,
    wait,
    wait_ld,
    work,
)
from warpdraft.core.report import verdict_line
from warpdraft.core.unmodelled import unmodelled
from warpdraft.core.verify import verify


def copy(*extra, resources=(), fields=None, **pipeline):
    """A ring that is right in all that is modelled."""
    return document(
        "copy",
        task("load", 0, 1, *extra, loop(acquire("ab"), work("ab", "load"), commit("ab"))),
        task("use", 4, 1, *extra, loop(wait("ab"), work("ab", "read"), fence(), release("ab"))),
        resources=(ring(**pipeline), *resources),
        **(fields or {}),
    )


FEATURES = {
    "cluster": (copy(fields={"cluster": (4, 4, 2)}), "cluster of 32 CTAs"),
    "layout": (copy(cta_layout=(4, 1, 1, 1), fields={"cluster": (4, 1, 1)}), "(ab: cta_layout"),
    "target": (copy(fields={"target": "sm_120a"}), "target sm_120a"),
}


@pytest.mark.parametrize("name", FEATURES)
def test_a_feature_that_is_not_modelled_is_never_safe(name):
    schedule, words = FEATURES[name]
    report = verify(schedule)
    assert report.verdict == report.scope.kind == "incomplete" and words in report.scope.reason
    assert not report.errors


def blackwell(*waits, load="read", body=""):
    """An MMA warp and an epilogue that says as much of tcgen05 as ``waits`` do."""
    acc = tensor("acc")
    acc = replace(
        acc, works=(*acc.works, Work("read", "consumer"), Work("wgmma", "producer", Engine.WGMMA, body=body))
    )
    return document(
        "blackwell",
        task("mma", 0, 1, loop(acquire("acc"), work("acc", "mma"), commit("acc"))),
        task("epi", 4, 4, loop(wait("acc"), work("acc", load), *waits, release("acc"))),
        resources=(acc,),
        target="sm_100a",
    )


def test_what_works_do_inside_is_an_assumption_that_the_scope_names():
    report = verify(blackwell())
    assert report.verdict == "safe"
    assert [reason.partition(" (")[2] for reason in report.scope.assumed] == [
        "acc.read of epi)",
        "mma, epi)",
        "acc)",
    ]
    assert ", if works wait for tcgen05.ld and .st inside (acc.read of epi)" in verdict_line(report)


def test_what_a_task_states_is_not_assumed_of_it():
    words = " ".join(verify(blackwell(wait_ld())).scope.assumed)
    assert "wait for" not in words and "fence for tcgen05 inside (mma, epi)" in words
    words = " ".join(verify(blackwell(wait_ld(), fence_before())).scope.assumed)
    assert "fence for tcgen05 inside (mma)" in words


@pytest.mark.parametrize(("body", "trusted"), [("", True), ("mine:Acc.mma", True), ("sm90.wgmma", False)])
def test_stock_bodies_fence_for_wgmma(body, trusted):
    mma = replace(accumulator(), works=(Work("mma", "producer", Engine.WGMMA, body=body),))
    plain, stated = (
        document("d", task("math", 0, 4, *first, work("acc", "mma")), resources=(mma,), symbols=())
        for first in ((), (op(OpKind.WGMMA_FENCE),))
    )
    assert any("wgmma" in reason for reason in verify(plain).scope.assumed) is trusted
    assert not any("wgmma" in reason for reason in verify(stated).scope.assumed)


def test_all_features_are_named():
    both = unmodelled(replace(FEATURES["layout"][0], target="sm_120a"))
    assert len(both) == 2 and all(reason in verify(FEATURES["layout"][0]).scope.reason for reason in both[1:])


def test_an_error_outweighs_it():
    broken = replace(FEATURES["cluster"][0], tasks=FEATURES["cluster"][0].tasks[:1], graph=())
    assert verify(broken).verdict == "unsafe"


def test_what_is_modelled_has_no_reason():
    assert unmodelled(copy()) == () and verify(copy()).verdict == "safe"
    assert unmodelled(replace(copy(resources=(accumulator(),)), target="sm_100a")) == ()


def test_a_target_that_does_not_exist_is_an_error():
    report = verify(replace(copy(), target="sm90"))
    assert [f.code for f in report.errors] == ["WD116"] and "'sm90'" in report.errors[0].message


def test_a_work_that_neither_produces_nor_consumes_raises_nothing():
    odd = copy()
    resource = odd.resources[0]
    works = tuple(replace(w, role="both") for w in resource.works)
    assert verify(replace(odd, resources=(replace(resource, works=works),))).document == "copy"
