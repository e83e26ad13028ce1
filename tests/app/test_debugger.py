"""The debugger: forward, back, to a wait, to an op, along a witness, and what it says of each state."""

from pathlib import Path

import pytest

from warpdraft.app.breakpoints import Breakpoints
from warpdraft.app.debug_intents import ACTIONS, carry_out
from warpdraft.app.debugger import Debugger
from warpdraft.app.views.debugger import debugger_view
from warpdraft.core.document import OpKind
from warpdraft.core.store import load
from warpdraft.core.tree import ops_of
from warpdraft.core.verify import verify

EXAMPLES = Path(__file__).parents[2] / "assets" / "examples"


def debugger(name="gemm", **values):
    return Debugger(load(EXAMPLES / f"{name}.warpdraft.json"), values)


def view_of(walk):
    return debugger_view(walk, walk.breakpoints)


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
    view = view_of(debugger())
    math = next(warp for warp in view["warps"] if warp["name"].startswith("math"))
    assert math["state"] == "blocked" and any("load.w0 owes" in why for why in math["why"])
    awaited = next(barrier for barrier in view["barriers"] if barrier["waiting"])
    assert "full" in awaited["name"]
    assert view["cursors"] and view["open"]


def test_to_a_wait_and_to_an_op():
    walk = debugger()
    op = next(warp["op"] for warp in view_of(walk)["warps"] if warp["state"] == "blocked")
    stream = next(warp["index"] for warp in view_of(walk)["warps"] if warp["op"] == op)
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
    assert walk.note == "every warp has ended" and view_of(walk)["ended"]
    walk = debugger("broken_deadlock", k_tiles=5, tiles=1)
    walk.to_end()
    assert "stuck" in walk.note and view_of(walk)["stuck"]


@pytest.mark.parametrize("name", ["broken_deadlock", "broken_early_release", "broken_arrival_count"])
def test_each_witness_can_be_replayed(name):
    document = load(EXAMPLES / f"{name}.warpdraft.json")
    for finding in verify(document).findings:
        if finding.witness:
            walk = Debugger(document, dict(finding.case))
            carry_out(walk, {"do": "replay"}, finding)
            assert walk.note.startswith("after the"), (finding.code, walk.note)
            assert view_of(walk)["history"]


@pytest.mark.parametrize("action", sorted(ACTIONS))
def test_nonsense_becomes_a_note(action):
    walk = debugger()
    carry_out(walk, {"do": action, "stream": "x", "position": None, "event": -5, "read": 1, "op": 3})
    assert walk.position <= len(walk.moves)
    carry_out(walk, {"do": "dance"})


def test_a_walk_stops_where_a_warp_comes_to_an_op():
    walk = debugger(k_tiles=3)
    op = next(o.id for task in walk.document.tasks for o in ops_of(task) if o.kind is OpKind.RELEASE)
    walk.breakpoints.toggle("op", op)
    stops = 0
    while True:
        walk.to_end()
        if not walk.hit:
            break
        stops += 1
        assert op in walk.note
        assert any(e and e.op == op for e in (walk.stepper.next_event(walk.state, w) for w in range(len(walk.streams))))
    assert stops >= 3 and walk.note == "every warp has ended"
    walk.go(0)
    walk.forward()
    assert not walk.hit  # going back and on again stops at the same places
    walk.to_end()
    assert walk.hit
    walk.breakpoints.toggle("op", op)
    walk.to_end()
    assert walk.note == "every warp has ended"


def test_a_walk_stops_when_a_barrier_flips():
    walk = debugger("persistent_gemm", k_tiles=6, tiles=1)
    view = view_of(walk)
    name = next(b["name"] for b in view["barriers"] if b["name"].startswith("full"))
    carry_out(walk, {"do": "break", "kind": "barrier", "name": name})
    assert view_of(walk)["breaks"]["barriers"] == [name]
    phases = []
    for _ in range(2):
        carry_out(walk, {"do": "run"})
        assert walk.hit and walk.note == f"break: {name} completes phase {len(phases)}"
        phases.append(next(b["phase"] for b in view_of(walk)["barriers"] if b["name"] == name))
    assert phases == [1, 2]
    carry_out(walk, {"do": "break", "kind": "warp", "name": name})
    assert "no breakpoint can be set at a warp" in walk.note


def test_breakpoints_outlive_the_walk_and_what_is_gone_does_nothing():
    kept = Breakpoints({"no such op"}, {"no such barrier"})
    walk = Debugger(load(EXAMPLES / "gemm.warpdraft.json"), {}, kept)
    walk.to_end()
    assert walk.note == "every warp has ended" and walk.breakpoints is kept
