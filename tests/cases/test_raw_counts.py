"""C01 and C07 with raw mbarriers: counts that are never met, in whatever pattern the arrivals come."""

import pytest
from kit import K, accepted, buffer, build, channel, codes, finding, role

from warpdraft.core import MBarrier, domain_loop


class TestCountsThatAreNeverMet:
    """Raw mbarriers that wait for more arrivals than ever come in one phase, in whatever pattern they come."""

    @staticmethod
    def ring(count, arrives=1, consumers=8):
        """A ring of raw mbarriers, on which each consumer arrives so often in each pass."""
        x = buffer("x")
        full, empty = MBarrier("full", 1), MBarrier("empty", count)

        def produce():
            with domain_loop(0, K) as k:
                with k.every(1, start=1):
                    empty.wait()
                x.fill()
                full.arrive()

        def consume():
            with domain_loop(0, K):
                full.wait()
                x.read()
                for _ in range(arrives):
                    empty.arrive()

        return build(role("produce", 0, 1, produce, [], [x]), role("consume", 4, consumers, consume, [x]))

    @pytest.mark.parametrize(
        ("count", "made", "pattern"),
        [(16, 8, {}), (9, 8, {}), (128, 8, {}), (5, 4, {"consumers": 4}), (24, 16, {"arrives": 2})],
    )
    def test_a_ring(self, count, made, pattern):
        found = finding(self.ring(count, **pattern), "WD201")
        assert (found.actual, found.expected) == (str(count), str(made))
        assert codes(self.ring(count, **pattern)) <= {"WD201", "WD301", "WD302"}
        assert accepted(self.ring(made, **pattern))

    @pytest.mark.parametrize(("count", "made"), [(16, 8), (3, 2)])
    def test_once(self, count, made):
        def schedule(n):
            go = MBarrier("go", n)
            return build(role("a", 0, made, go.arrive), role("b", 12, 1, go.wait))

        assert finding(schedule(count), "WD201").expected == str(made)
        assert accepted(schedule(made))

    @pytest.mark.parametrize(("count", "code"), [(3, "WD201"), (2, None)])
    def test_two_tasks_arrive(self, count, code):
        go = MBarrier("go", count)
        document = build(role("a", 0, 1, go.arrive), role("b", 1, 1, go.arrive), role("c", 4, 1, go.wait))
        assert codes(document) == {code, "WD302"} if code else accepted(document)

    @pytest.mark.parametrize(("count", "right"), [(3, False), (4, True)])
    def test_a_phase_of_two_passes(self, count, right):
        """Two warps arrive in each pass, and every second pass waits."""
        go, x = MBarrier("go", count), channel("x", 1)

        def arrive():
            with domain_loop(0, 2 * K):
                go.arrive()
                x.wait()
                x.release()

        def wait():
            with domain_loop(0, K):
                for _ in range(2):
                    x.acquire()
                    x.commit()
                go.wait()

        document = build(role("wait", 0, 1, wait, [], [x]), role("arrive", 4, 2, arrive, [x]))
        assert ("WD201" in codes(document)) is (not right) or right

    def test_a_cycle_is_no_wrong_count(self):
        """Half of the arrivals come behind a wait that they themselves would end."""
        go, other = MBarrier("go", 2), MBarrier("other", 1)

        def late():
            other.wait()
            go.arrive()

        def last():
            go.wait()
            other.arrive()

        found = codes(build(role("a", 0, 1, go.arrive), role("b", 1, 1, late), role("c", 4, 1, last)))
        assert found == {"WD301"}
