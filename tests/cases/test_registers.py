"""C57 with setmaxnreg in the middle of schedules: who shrinks before whom grows, warpgroup by warpgroup."""

import pytest
from kit import accepted, build, channel, codes, finding, ring, role

from warpdraft.core import (
    MBarrier,
    NamedBarrier,
    domain_loop,
    elect_lane,
    elect_warp,
    fence_proxy_async,
    setmaxregister_decrease,
    setmaxregister_increase,
    symbol,
    verify,
)

K = symbol("k")
LESS, MORE = setmaxregister_decrease, setmaxregister_increase


def ring_roles(shrink_at="first", grow_at="first", less=24, more=240, consumers=2, stages=1, trips=K):
    """A producer that shrinks and consumers that grow: first, behind the first stage, in the loop's first pass, or last."""
    x = channel("x", stages)

    def fill():
        LESS(less) if shrink_at == "first" else None
        with domain_loop(0, trips) as k:
            x.acquire()
            if shrink_at == "second":
                with k.every(1 << 20, start=stages):
                    LESS(less)
            x.share()
            x.commit()
        LESS(less) if shrink_at == "last" else None

    def read():
        MORE(more) if grow_at == "first" else None
        with domain_loop(0, trips) as k:
            x.wait()
            if grow_at == "loop":
                with k.first_iter():
                    MORE(more)
            x.read()
            x.release()
        MORE(more) if grow_at == "last" else None

    roles = [role(f"c{i}", 4 + 4 * i, 4, read, [x]) for i in range(consumers)]
    return build(role("prod", 0, 4, fill, [], [x]), *roles)


class TestC57InMidSchedule:
    @pytest.mark.parametrize(
        ("less", "more", "consumers"), [(40, 240, 2), (24, 248, 2), (24, 240, 3), (96, 168, 3)]
    )
    def test_the_sum_never_fits(self, less, more, consumers):
        assert "WD303" in codes(ring_roles(less=less, more=more, consumers=consumers))

    @pytest.mark.parametrize(("less", "more", "consumers"), [(24, 240, 2), (40, 232, 2), (32, 160, 3)])
    def test_it_fits(self, less, more, consumers):
        document = ring_roles(less=less, more=more, consumers=consumers)
        assert accepted(document) and verify(document).scope.kind == "all"

    def test_once_in_the_first_iteration_of_a_loop(self):
        document = ring_roles("first", "loop")
        assert accepted(document) and verify(document).scope.kind == "all"
        assert "WD303" in codes(ring_roles("first", "loop", less=40))

    @pytest.mark.parametrize("grow_at", ["first", "loop"])
    def test_who_shrinks_waits_for_who_grows(self, grow_at):
        """The producer gives back once its stage was released, by consumers that ask before they release it."""
        found = finding(ring_roles("second", grow_at), "WD303", trip_counts={"k": [3]})
        assert {"prod", "c0"} <= set(found.tasks) or {"prod", "c1"} <= set(found.tasks)
        assert found.message.startswith("a cycle of waits: ") and "empty x" in found.message

    def test_at_the_end_everything_was_released(self):
        assert accepted(ring_roles("last", "last"))

    def test_the_producer_shrinks_at_its_end_for_consumers_that_ask_at_their_start(self):
        document = ring_roles("last", "first")  # one stage: the second acquire waits for a consumer
        assert "WD303" in codes(document, trip_counts={"k": [2]})
        assert codes(document, trip_counts={"k": [0, 1]}) == set()

    @pytest.mark.parametrize(("start", "right"), [(40, True), (24, True), (48, False), (None, False)])
    def test_idle_warps_of_a_warpgroup_take_part_in_what_its_task_asks_for_at_its_start(self, start, right):
        x = channel("x", 2)

        def fill():
            with domain_loop(0, K):
                x.acquire()
                x.share()
                x.commit()

        def read():
            MORE(232)
            with domain_loop(0, K):
                x.wait()
                x.read()
                x.release()

        document = build(role("load", 0, 1, fill, [], [x], start), role("use", 4, 8, read, [x]))
        assert accepted(document) if right else "WD303" in codes(document)
        assert not right or verify(document).scope.kind == "all"

    def test_in_turns_on_one_pool(self):
        """Each takes what the other has given back: right with a barrier between, and only then."""

        def schedule(ordered, swapped=False):
            turn = MBarrier("turn", count=4)

            def first():
                MORE(232)
                NamedBarrier(1, 128, name="a").sync()
                LESS(168)
                turn.arrive(1)

            def second():
                turn.wait(0) if ordered and not swapped else None
                MORE(232)
                NamedBarrier(2, 128, name="b").sync()
                LESS(168)
                turn.wait(0) if swapped or not ordered else None

            return build(
                role("a", 0, 4, first), role("b", 4, 4, second), role("low", 8, 4, lambda: LESS(104))
            )

        assert accepted(schedule(True))
        unordered = finding(schedule(False), "WD303")  # two warps of each have theirs
        assert any("warp by warp" in note for note in unordered.notes)
        assert "WD303" in codes(schedule(True, swapped=True))

    def test_a_cycle_through_two_requests(self):
        """Each grows by what the other gives back only behind its own increase."""

        def schedule(shrinks):
            def left():
                LESS(96) if shrinks else MORE(240)
                NamedBarrier(1, 128, name="a").sync()
                LESS(96)

            def right():
                MORE(240)
                NamedBarrier(2, 128, name="b").sync()
                LESS(96)

            return build(
                role("left", 0, 4, left), role("right", 4, 4, right), role("rest", 8, 4, lambda: None)
            )

        assert "WD303" in codes(schedule(False))
        assert accepted(schedule(True))

    def test_it_wants_back_what_another_may_have_taken(self):
        """Warp by warp, either may get a part of what both need."""

        def schedule(waits):
            done = MBarrier("done", count=4)

            def left():
                LESS(96)
                NamedBarrier(1, 128, name="a").sync()
                done.wait(0) if waits else None
                MORE(168)

            def right():
                MORE(240)
                NamedBarrier(2, 128, name="b").sync()
                LESS(168)
                done.arrive(1)

            return build(
                role("left", 0, 4, left), role("right", 4, 4, right), role("rest", 8, 4, lambda: None)
            )

        assert "WD303" in codes(schedule(False))
        assert accepted(schedule(True))

    def test_one_task_of_two_warpgroups(self):
        def schedule(more):
            return build(role("low", 0, 4, lambda: LESS(24)), role("both", 4, 8, lambda: MORE(more)))

        assert accepted(schedule(240)) and codes(schedule(248)) == {"WD303"}

    def test_beside_counts_of_the_task(self):
        def schedule(start, less):
            def low():
                LESS(less)

            return build(role("low", 0, 4, low), role("high", 4, 8, lambda: None, registers=start))

        assert accepted(schedule(240, 24)) and "WD303" in codes(schedule(240, 40))

    @pytest.mark.parametrize("turns", [True, False])
    def test_in_a_loop(self, turns):
        """Two warpgroups grow for a part of each pass: in turns, or as they come."""
        ping, pong = MBarrier("ping", count=4), MBarrier("pong", count=4)

        def part(number, mine, other):
            def body():
                with domain_loop(0, K):
                    mine.wait() if turns and number else None
                    MORE(232)
                    NamedBarrier(2 * number + 1, 128, name=f"in{number}").sync()
                    LESS(168)
                    other.arrive(1)
                    mine.wait() if not turns or not number else None
                    NamedBarrier(2 * number + 2, 128, name=f"out{number}").sync()

            return role(f"part{number}", 4 + 4 * number, 4, body)

        document = build(role("low", 0, 4, lambda: LESS(104)), part(0, pong, ping), part(1, ping, pong))
        if not turns:
            assert "WD303" in codes(document)
            return
        report = verify(document)
        assert report.findings == () and report.verdict == "safe"
        assert report.scope.kind == "listed" and "registers are requested in loops" in report.scope.reason

    @pytest.mark.parametrize("count", [8, 20, 260, None])
    def test_counts_that_do_not_exist(self, count):
        assert codes(build(role("a", 0, 4, lambda: LESS(count)))) == {"WD603"}

    def test_the_wrong_direction(self):
        def schedule(first, second):
            def body():
                first()
                NamedBarrier(1, 128, name="meet").sync()
                second()

            return build(role("a", 0, 4, body), role("b", 4, 8, lambda: None))

        assert accepted(schedule(lambda: LESS(24), lambda: MORE(168)))
        assert accepted(schedule(lambda: LESS(24), lambda: LESS(24)))
        assert codes(schedule(lambda: LESS(176), lambda: None)) >= {"WD603"}
        assert codes(schedule(lambda: LESS(24), lambda: LESS(40))) == {"WD603"}
        assert codes(schedule(lambda: LESS(40), lambda: MORE(24))) == {"WD603"}

    @pytest.mark.parametrize("threads", [128, None])
    def test_a_warpgroup_meets_between_two_requests(self, threads):
        def body():
            LESS(40)
            NamedBarrier(1, threads, name="meet").sync() if threads else None
            LESS(24)

        document = build(role("a", 0, 4, body), role("b", 4, 4, lambda: None))
        assert accepted(document) if threads else codes(document) == {"WD603"}

    def test_a_ring_is_no_meeting_of_the_warpgroup(self):
        x = channel("x", 1)

        def body():
            LESS(40)
            x.acquire()
            x.share()
            x.commit()
            LESS(24)

        def read():
            x.wait()
            x.read()
            x.release()

        assert codes(build(role("a", 0, 4, body, [], [x]), role("b", 4, 4, read, [x]))) == {"WD603"}

    @pytest.mark.parametrize(("first", "warps"), [(0, 2), (2, 4), (0, 6), (1, 1)])
    def test_part_of_a_warpgroup(self, first, warps):
        document = build(role("a", first, warps, lambda: LESS(24)), role("b", 8, 4, lambda: None))
        assert "WD604" in codes(document)

    def test_elected(self):
        def one_warp():
            with elect_warp(0):
                LESS(24)

        def one_lane():
            with elect_lane():
                LESS(24)

        assert codes(build(role("a", 0, 4, one_warp))) == {"WD604"}
        assert codes(build(role("a", 0, 4, one_lane))) == {"WD220"}

    def test_every_cta_has_its_own_pool(self):
        def schedule(less):
            return build(
                role("low", 0, 4, lambda: LESS(less)),
                role("high", 4, 8, lambda: MORE(240)),
                cluster=(2, 1, 1),
            )

        assert accepted(schedule(24)) and codes(schedule(40)) == {"WD303"}

    def test_two_ctas_on_a_multiprocessor_share_its_registers(self):
        def schedule(ctas, more):
            return build(
                role("low", 0, 4, lambda: LESS(24)), role("high", 4, 4, lambda: MORE(more)), ctas_per_sm=ctas
            )

        assert accepted(schedule(2, 232)) and codes(schedule(2, 240)) == {"WD303"}


@pytest.mark.parametrize("all_acquire", [True, False])
def test_a_warpgroup_that_gives_registers_back_and_copies(all_acquire):
    """C57's twin with a lap: the witness tells who gave the registers that the consumers take before it can show it."""
    ab = ring("ab", 2)

    def load():
        LESS(24)
        with domain_loop(0, K):
            ab.acquire()
            if all_acquire:
                with elect_warp(0):
                    ab.load()
            else:
                ab.load()
            ab.commit()

    def use():
        MORE(240)
        with domain_loop(0, K):
            ab.wait()
            ab.read()
            fence_proxy_async()
            ab.release()

    uses = [role(f"use{g}", 4 * g, 4, use, [ab]) for g in (1, 2)]
    document = build(role("load", 0, 4, load, [], [ab]), *uses)
    assert codes(document) == {"WD205"} if all_acquire else accepted(document)
