"""Reads of the same bytes in a row: for the verifier they are one."""

from warpdraft.core.hazards.examples import (
    acquire,
    channel,
    commit,
    document,
    loop,
    release,
    task,
    wait,
    work,
)
from warpdraft.core.machine import Machine
from warpdraft.core.unroll import unroll
from warpdraft.core.verify import verify


def ring(*use):
    load = loop(acquire("x"), work("x", "fill"), commit("x"))
    return document(
        "reads", task("load", 0, 1, load), task("use", 4, 1, loop(*use)), resources=(channel("x"),)
    )


def events(found, terse):
    program = unroll(Machine(found, terse=terse), {"k_tiles": 3})
    return [e.op for s in program.streams for e in s.events if s.task == "use"]


def test_reads_in_a_row_are_one():
    found = ring(wait("x"), work("x", "read"), work("x", "read"), work("x", "read"), release("x"))
    assert len(events(found, terse=False)) == 15 and len(events(found, terse=True)) == 9
    assert verify(found).verdict == "safe"


def test_what_comes_between_counts():
    """The second read is of a stage that was given back."""
    found = ring(wait("x"), work("x", "read"), release("x"), work("x", "read"))
    assert len(events(found, terse=True)) == 12
    assert verify(found).verdict == "unsafe"
