"""The debugger: forward, back, to a wait, to an op, along a witness, and what it says of each state."""

from pathlib import Path

import pytest

from warpdraft.app.debug_intents import ACTIONS, carry_out
from warpdraft.app.debugger import Debugger
from warpdraft.app.views.debugger import debugger_view
from warpdraft.core.store import load
from warpdraft.core.verify import verify

EXAMPLES = Path(__file__).parents[2] / "assets" / "examples"


def debugger(name="gemm", **values):
    return Debugger(load(EXAMPLES / f"{name}.warpdraft.json"), values)


def test_forward_and_back_are_inverse():
    walk = debugger()
    seen = [walk.state]
    for _ in range(60):
        walk.forward()
        seen.append(walk.state)
    for state in reversed(seen):
        assert walk.state == state
        walk.go(walk.position - 1)
    walk.go(60)
    assert walk.state == seen[60]


def test_another_move_starts_another_walk():
    walk = debugger()
    for _ in range(5):
        walk.forward()
    walk.go(0)
    other = (
        next(m for m in walk.stepper.moves(walk.state) if m != walk.moves[0])
        if len(walk.stepper.moves(walk.state)) > 1
        else walk.moves[0]
    )
    walk.take(other)
    assert walk.position == 1 and walk.moves[0] == other


def test_a_blocked_warp_says_who_owes():
    view = debugger_view(debugger())
    math = next(warp for warp in view["warps"] if warp["name"].startswith("math"))
    assert math["state"] == "blocked" and any("load.w0 owes" in why for why in math["why"])
    awaited = next(barrier for barrier in view["barriers"] if barrier["waiting"])
    assert "full" in awaited["name"]
    assert view["cursors"] and view["open"]


def test_to_a_wait_and_to_an_op():
    walk = debugger()
    op = next(warp["op"] for warp in debugger_view(walk)["warps"] if warp["state"] == "blocked")
    stream = next(warp["index"] for warp in debugger_view(walk)["warps"] if warp["op"] == op)
    walk.to_wait(stream)
    assert walk.state.at[stream] > 0 and not walk.note
    last = walk.streams[0].events[-1].op
    walk.to_op(last)
    assert any(
        (e := walk.stepper.next_event(walk.state, w)) and e.op == last for w in range(len(walk.streams))
    )


def test_a_safe_schedule_ends_and_a_deadlock_is_told():
    walk = debugger()
    walk.to_end()
    assert walk.note == "every warp has ended" and debugger_view(walk)["ended"]
    walk = debugger("broken_deadlock", k_tiles=5, tiles=1)
    walk.to_end()
    assert "stuck" in walk.note and debugger_view(walk)["stuck"]


@pytest.mark.parametrize("name", ["broken_deadlock", "broken_early_release", "broken_arrival_count"])
def test_each_witness_can_be_replayed(name):
    document = load(EXAMPLES / f"{name}.warpdraft.json")
    for finding in verify(document).findings:
        if finding.witness:
            walk = Debugger(document, dict(finding.case))
            carry_out(walk, {"do": "replay"}, finding)
            assert walk.note.startswith("after the"), (finding.code, walk.note)
            assert debugger_view(walk)["history"]


@pytest.mark.parametrize("action", sorted(ACTIONS))
def test_nonsense_becomes_a_note(action):
    walk = debugger()
    carry_out(walk, {"do": action, "stream": "x", "position": None, "event": -5, "read": 1, "op": 3})
    assert walk.position <= len(walk.moves)
    carry_out(walk, {"do": "dance"})
