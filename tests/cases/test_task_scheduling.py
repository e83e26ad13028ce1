"""Schedules that NVIDIA Task Scheduling 4.8.1 accepts although they are unsafe, or rejects although they are safe."""

import pytest
from kit import K, Ring, accepted, buffer, build, channel, codes, drain, fill, finding, ring, role

from warpdraft.core import (
    SmemAllocator,
    domain_loop,
    fence_proxy_async,
    symbol,
    verify,
    when_false,
    when_true,
)


class TestP01:
    """A buffer shared by two tasks with no synchronisation at all."""

    def test_race(self):
        scratch = buffer("scratch")
        found = build(
            role("writer", 0, 1, lambda: scratch.fill(), [], [scratch]),
            role("reader", 4, 1, lambda: scratch.read(), [scratch]),
        )
        assert codes(found) == {"WD401"}
        assert set(finding(found, "WD401").tasks) == {"writer", "reader"}


class TestP02:
    """Two acquires in a row with one cursor: the second is of the same stage."""

    @staticmethod
    def schedule(x):
        def body():
            with domain_loop(0, K):
                x.acquire()
                x.acquire()
                for _ in range(2):
                    x.load() if isinstance(x, Ring) else x.fill()
                x.commit()
                x.commit()

        def read():
            with domain_loop(0, K):
                for _ in range(2):
                    x.wait()
                    x.read()
                    fence_proxy_async()
                    x.release()

        return build(role("load", 0, 1, body, [], [x]), drain(x, body=read))

    def test_threads(self):
        assert "WD105" in codes(self.schedule(channel("x", 2)))

    def test_tma_arms_the_barrier_twice(self):
        assert {"WD105", "WD207"} <= codes(self.schedule(ring("x", 2)))

    def test_a_commit_that_is_left_out(self):
        x = ring("x", 2)

        def load():
            with domain_loop(0, K):
                x.acquire()
                x.load()

        found = finding(build(role("load", 0, 1, load, [], [x]), drain(x)), "WD105")
        assert found.ops[0] == "load.02" and "arms the same stage twice" in found.message


class TestP03:
    """Two waits in a row with one cursor."""

    def test_reads_one_stage_twice_and_releases_one_unwaited(self):
        x = channel("x", 2)

        def body():
            with domain_loop(0, K):
                x.wait()
                x.wait()
                x.read()
                x.read()
                x.release()
                x.release()

        found = codes(build(fill(x, 2 * K), drain(x, body=body)))
        assert "WD105" in found and found & {"WD205", "WD206", "WD401"}


class TestP04:
    """A peek in the first iteration only: its yes lets every later wait pass."""

    @staticmethod
    def schedule(always):
        x = channel("x", 2)

        def body():
            with domain_loop(0, K) as k:
                if always:
                    x.try_wait()
                else:
                    with k.first_iter():
                        x.try_wait()
                x.wait()
                x.read()
                x.release()

        return build(fill(x), drain(x, body=body))

    def test_stale_peek(self):
        assert {"WD105", "WD401"} <= codes(self.schedule(False))

    def test_a_peek_for_every_wait(self):
        assert accepted(self.schedule(True))


class TestRetry:
    """A wait only where the peek before has said no: right; with a token of an earlier iteration: a stale peek (P04)."""

    @staticmethod
    def schedule(always, *inside):
        x = channel("x", 2)

        def body():
            with domain_loop(0, K) as k:
                if always:
                    ready = x.try_wait()
                else:
                    with k.first_iter():
                        ready = x.try_wait()
                with when_false(ready):
                    x.wait()
                    for work in inside:
                        getattr(x, work)()
                x.read()
                x.release()

        return build(fill(x), drain(x, body=body))

    def test_a_wait_in_case_the_peek_fails(self):
        report = verify(self.schedule(True))
        assert report.verdict == "safe" and report.findings == ()
        assert all("ready" not in note for note in report.scope.reason.split(";"))

    def test_a_stale_token(self):
        assert "WD105" in codes(self.schedule(False))

    def test_other_work_in_the_block_is_a_condition(self):
        assert not accepted_quietly(self.schedule(True, "read"))

    def test_an_acquire_that_arms_is_no_mere_wait(self):
        ab = ring("ab", 2)

        def load():
            with domain_loop(0, K):
                free = ab.try_acquire()
                with when_false(free):
                    ab.acquire()
                ab.load()
                ab.commit()

        assert codes(build(role("load", 0, 1, load, [], [ab]), drain(ab)))


def accepted_quietly(document):
    return verify(document).findings == ()


class TestP06:
    """One stage, waited for in each iteration, released only in the last."""

    @staticmethod
    def schedule(cursors=True):
        x = channel("x", 1, advance_on_wait=cursors)

        def body():
            with domain_loop(0, K) as k:
                x.wait()
                x.read()
                with k.last_iter():
                    x.release()

        return build(fill(x), drain(x, body=body))

    def test_two_iterations_hang(self):
        found = finding(self.schedule(), "WD301")
        assert found.case == (("k", 2),) and set(found.tasks) == {"load", "use"}

    def test_one_cursor(self):
        """It waits for the first phase again and again, so that two iterations do not hang: one mistake, one row."""
        (found,) = verify(self.schedule(cursors=False)).findings
        assert found.code == "WD302" and found.case == (("k", 3),) and found.tasks == ("load",)

    def test_one_iteration(self):
        for cursors in (True, False):
            assert verify(self.schedule(cursors), trip_counts={"k": [0, 1]}).verdict == "safe"


class TestP07:
    """Committed in the last iteration, waited for in the tail: with no iteration nobody commits."""

    @staticmethod
    def schedule():
        x, acc = ring("x", 2), channel("acc")

        def mma():
            acc.acquire()
            with domain_loop(0, K) as k:
                x.wait()
                x.read()
                acc.fill()
                fence_proxy_async()
                x.release()
                with k.last_iter():
                    acc.commit()

        def epilogue():
            acc.wait()
            acc.read()
            acc.release()

        return build(fill(x), role("mma", 4, 1, mma, [x], [acc]), role("epilogue", 8, 1, epilogue, [acc]))

    def test_no_iteration(self):
        found = finding(self.schedule(), "WD302")
        assert found.case == (("k", 0),) and found.tasks == ("epilogue",)

    def test_any_iteration(self):
        assert accepted(self.schedule(), trip_counts={"k": range(1, 8)})


class TestP08:
    """Two symbols that nothing makes equal."""

    def test_they_may_differ(self):
        x = ring("x", 2)
        found = build(fill(x, symbol("n_p")), drain(x, symbol("n_c")))
        assert "WD302" in codes(found)
        case = dict(finding(found, "WD302").case)
        assert case["n_p"] != case["n_c"]

    def test_one_symbol(self):
        x = ring("x", 2)
        assert accepted(build(fill(x, symbol("n")), drain(x, symbol("n"))))


class TestP09:
    """One of two aliased buffers is written, as a condition has it."""

    @staticmethod
    def schedule(aliased):
        x, y = ring("x", 1), ring("y", 1)

        def load():
            with domain_loop(0, K):
                with when_true("even", key="even"):
                    x.acquire()
                    x.load()
                    x.commit()
                with when_false("even", key="even"):
                    y.acquire()
                    y.load()
                    y.commit()

        def use():
            with domain_loop(0, K):
                with when_true("even", key="even"):
                    x.wait()
                    x.read()
                    fence_proxy_async()
                    x.release()
                with when_false("even", key="even"):
                    y.wait()
                    y.read()
                    fence_proxy_async()
                    y.release()

        allocator = SmemAllocator()
        if aliased:
            allocator.add_alias_group([[*x.smem], [*y.smem]])
        return build(
            role("load", 0, 1, load, [], [x, y]), role("use", 4, 1, use, [x, y]), smem_allocator=allocator
        )

    def test_the_condition_may_alternate(self):
        found = finding(self.schedule(True), "WD402")
        assert any("even true, even false" in note for note in found.notes)

    def test_without_the_alias(self):
        assert accepted(self.schedule(False))


class TestP11:
    """Two consumers that loop 6 and 2 times over what is produced 4 times."""

    @pytest.mark.parametrize("stages", [1, 2, 3])
    def test_hang(self, stages):
        """Also where the producer has ended: going on, it would wait for the consumer that waits for it."""
        x = ring("x", stages, consumer_group=2)
        found = finding(build(fill(x, 4), drain(x, 6, "long"), drain(x, 2, "short", 8)), "WD301")
        assert set(found.tasks) == {"load", "long"} and found.resources == ("x",)

    @pytest.mark.parametrize("stages", [1, 2, 3])
    def test_a_longer_producer_would_do(self, stages):
        x = ring("x", stages, consumer_group=2)
        found = codes(build(fill(x, 4), drain(x, 6, "long"), drain(x, 6, "short", 8)))
        assert "WD301" not in found and "WD302" in found

    @pytest.mark.parametrize("stages", [1, 2, 3])
    def test_equal_counts(self, stages):
        x = ring("x", stages, consumer_group=2)
        assert accepted(build(fill(x, 4), drain(x, 4, "long"), drain(x, 4, "short", 8)))


class TestP12:
    """A split consumer: one task waits for two buffers, another works on them and releases them."""

    @staticmethod
    def schedule(trips, stages):
        a, b, proxy = channel("a", stages), channel("b", stages), channel("proxy", stages)

        def wait():
            with domain_loop(0, trips):
                a.wait()
                b.wait()
                proxy.acquire()
                proxy.commit()

        def work():
            with domain_loop(0, trips):
                proxy.wait()
                a.read()
                b.read()
                a.release()
                b.release()
                proxy.release()

        return build(
            fill(a, trips, "load_a", 0),
            fill(b, trips, "load_b", 1),
            role("waits", 4, 1, wait, [a, b], [proxy]),
            role("works", 8, 1, work, [a, b, proxy], []),
        )

    @pytest.mark.parametrize(
        ("trips", "stages"), [(3, 1), (4, 1), (8, 2), (8, 3), (symbol("n"), 1), (symbol("n"), 3)]
    )
    def test_accepted(self, trips, stages):
        assert accepted(self.schedule(trips, stages))
