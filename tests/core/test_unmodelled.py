"""What the verifier does not model is named, and never called safe."""

from dataclasses import replace

import pytest

from warpdraft.core.document import Pipeline, Resource, Signal, Space
from warpdraft.core.hazards.examples import (
    accumulator,
    acquire,
    commit,
    document,
    fence,
    loop,
    release,
    ring,
    task,
    wait,
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
    "interleave": (copy(interleave=(2, 1, 1, 1)), "(ab: interleave"),
    "target": (copy(fields={"target": "sm_120a"}), "target sm_120a"),
}


@pytest.mark.parametrize("name", FEATURES)
def test_a_feature_that_is_not_modelled_is_never_safe(name):
    schedule, words = FEATURES[name]
    report = verify(schedule)
    assert report.verdict == report.scope.kind == "incomplete" and words in report.scope.reason
    assert not report.errors


ASSUMED = {
    "commit": replace(ring("x"), pipeline=Pipeline(2, consumer_signal=Signal.COMMIT)),
    "tmem": Resource("t", Space.TMEM),
}


@pytest.mark.parametrize("name", ASSUMED)
def test_what_works_do_inside_is_an_assumption_that_the_scope_names(name):
    schedule = copy(resources=(ASSUMED[name],))
    report = verify(schedule)
    assert report.verdict == "safe" and "tcgen05" in report.scope.assumed[0]
    assert "if works fence and wait for tcgen05" in verdict_line(report)


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
