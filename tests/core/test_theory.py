"""One minimal program for each way to be wrong, and for each that only looks so: what the verifier says, and the truth."""

import pytest
from against_explorer import disagreement
from explorer import explore
from programs import (
    arm,
    arrive,
    bar_arrive,
    expect,
    group_commit,
    group_wait,
    ld,
    mma_commit,
    program,
    ring,
    st,
    start,
    sync,
    tma,
    wait,
)

from warpdraft.core.clocks import Execution
from warpdraft.core.document import Engine
from warpdraft.core.program import EventKind

WGMMA, STORE = Engine.WGMMA, Engine.BULK_STORE


def ring_program(stages=2, trips=4, consumers=1, kind="tma", full=1, empty=None, change=None):
    streams = ring(stages, trips, consumers, kind)
    if change:
        streams = change(streams)
    return program(streams, [full] * stages + [consumers if empty is None else empty] * stages)


def shifted(by, who):
    """The waits of stream ``who`` moved by ``by`` generations."""

    def change(streams):
        streams[who] = [
            e._replace(number=e.number + by) if e.kind is EventKind.WAIT and e.number + by >= -1 else e
            for e in streams[who]
        ]
        return streams

    return change


def without(kind, who):
    """Stream ``who`` without its events of that kind."""

    def change(streams):
        streams[who] = [e for e in streams[who] if e.kind is not kind]
        return streams

    return change


def lagging(lag):
    """A consumer that releases ``lag`` stages late."""

    def change(streams):
        events = []
        for i in range(4):
            events += [wait(i % 2, i // 2), start(WGMMA, i % 2), group_commit(WGMMA), group_wait(WGMMA, lag)]
            if i >= lag:
                events.append(arrive(2 + (i - lag) % 2))
        events.append(group_wait(WGMMA))
        events += [arrive(2 + i % 2) for i in range(4 - lag, 4)]
        return [streams[0], events]

    return change


def bytes_of(events, nbytes):
    return [e._replace(bytes=nbytes) if e.kind is EventKind.ASYNC else e for e in events]


def one_copy(*producer):
    """A producer's events on full (barrier 0), and one consumer that reads both halves."""
    return program([[*producer], [wait(0, 0), ld(0)]], [1])


CLEAN, DEADLOCK, RACE, NOT_WS = "clean", "deadlock", "race", "not well synchronised"
DATA = (tma(0, 1, 0, 0), tma(0, 1, 0, 1))
ROWS = {
    "ok ring": (ring_program(consumers=2), {CLEAN}),
    "count too large": (ring_program(consumers=2, empty=3), {DEADLOCK}),
    "count too small": (ring_program(consumers=2, empty=1), {NOT_WS}),
    "wait-only consumer": (
        ring_program(consumers=2, empty=1, change=without(EventKind.ARRIVE, 2)),
        {NOT_WS},
    ),
    "producer forgets the empty wait": (ring_program(change=without(EventKind.WAIT, 0)), {NOT_WS}),
    "producer waits a phase late": (ring_program(change=shifted(1, 0)), {DEADLOCK}),
    "consumer waits a phase early": (ring_program(change=shifted(-1, 1)), {NOT_WS}),
    "consumer skips a phase": (
        program([[st(0), arrive(0)], [wait(0, 1), ld(0)]], [1]),
        {NOT_WS},
    ),
    "late fresh wait": (program([[arrive(0), wait(1, 0)], [wait(0, -1), arrive(1)]], [1, 1]), {NOT_WS}),
    "release before the async read completes": (
        ring_program(kind="wgmma", change=without(EventKind.GROUP_WAIT, 1)),
        {RACE},
    ),
    "release one stage late": (ring_program(change=lagging(1)), {CLEAN}),
    "release as many late as there are stages": (ring_program(change=lagging(2)), {DEADLOCK}),
    "group wait too weak by one": (
        ring_program(
            kind="wgmma",
            change=lambda s: [
                s[0],
                [e._replace(number=1) if e.kind is EventKind.GROUP_WAIT else e for e in s[1]],
            ],
        ),
        {RACE},
    ),
    "mma commit releases the stage": (ring_program(kind="mma"), {CLEAN}),
    "plain arrive instead of mma commit": (
        ring_program(
            kind="mma",
            change=lambda s: [
                s[0],
                [e._replace(kind=EventKind.ARRIVE) if e.kind is EventKind.COMMIT_ARRIVE else e for e in s[1]],
            ],
        ),
        {RACE},
    ),
    "bytes too small": (
        ring_program(
            change=lambda s: [
                [e._replace(bytes=1) if e.kind is EventKind.ARRIVE_EXPECT else e for e in s[0]],
                s[1],
            ]
        ),
        {NOT_WS},
    ),
    "bytes too large": (
        ring_program(
            change=lambda s: [
                [e._replace(bytes=3) if e.kind is EventKind.ARRIVE_EXPECT else e for e in s[0]],
                s[1],
            ]
        ),
        {DEADLOCK},
    ),
    "copies before expect, same phase": (one_copy(expect(0, 2), *DATA, arrive(0)), {CLEAN}),
    "arrive before expect": (one_copy(arrive(0), expect(0, 2), *DATA), {RACE}),
    "no expect at all": (one_copy(arrive(0), *DATA), {RACE}),
    "second arrival while bytes are pending": (
        program([[arm(0, 2), arrive(0), *DATA], [wait(0, 0), ld(0)]], [1]),
        {NOT_WS},
    ),
    "two producers, separate expects": (
        program(
            [
                [expect(0, 1), tma(0, 1, 0, 0), arrive(0)],
                [expect(0, 1), tma(0, 1, 0, 1), arrive(0)],
                [wait(0, 0), ld(0)],
            ],
            [2],
        ),
        {CLEAN},
    ),
    "stage counts differ": (
        program([ring(2, 3, 1, "threads")[0], ring(1, 3, 1, "threads")[1]], [1, 1, 1, 1]),
        {DEADLOCK, NOT_WS},
    ),
    "store source reused": (
        program([[st(0), start(STORE, 0), group_commit(STORE), st(0)]], []),
        {RACE},
    ),
    "store source reused after the wait by another warp": (
        program(
            [
                [st(0), start(STORE, 0), group_commit(STORE), group_wait(STORE, 0, True), sync(0)],
                [sync(0), st(0)],
            ],
            [],
            [2],
        ),
        {CLEAN},
    ),
    "group wait by the wrong warp": (
        program(
            [[st(0), start(STORE, 0), group_commit(STORE), sync(0)], [sync(0), group_wait(STORE), st(0)]],
            [],
            [2],
        ),
        {RACE},
    ),
    "a late arriver may join the earlier generation": (
        program([[bar_arrive(0), st(0), sync(0)], [sync(0)], [bar_arrive(0)]], [], [2]),
        {NOT_WS},
    ),
    "two free arrivals, no waiter": (program([[arrive(0)], [arrive(0)]], [1]), {NOT_WS}),
    "crossed acquire order": (
        program([[wait(0, 0), arrive(1)], [wait(1, 0), arrive(0)]], [1, 1]),
        {DEADLOCK},
    ),
    "accumulator read without waiting for the commit": (
        program([[start(Engine.TCGEN05, 0, True), mma_commit(0)], [ld(0)]], [1]),
        {RACE},
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_the_table(name):
    found, expected = ROWS[name]
    run = Execution(found).run()
    said = {NOT_WS} if run.incidents else set()
    if not said:
        said |= {DEADLOCK} if run.blocked else set()
        said |= {RACE} if run.races.found else set()
    assert said <= expected and (said or expected == {CLEAN})
    assert disagreement(found) == ""


def test_the_explorer_visits_every_interleaving():
    outcome = explore(ROWS["ok ring"][0], every=True)
    assert outcome.states > 100 and not outcome.deadlock and not outcome.races and not outcome.undetermined
