"""Fences of the tensor cores, in tasks that state them."""

import pytest
from kit import K, accepted, accumulator, build, finding, ring, role
from tensor_kit import SM100, plain, tensor

from warpdraft.core import (
    AsyncGroup,
    MBarrier,
    domain_loop,
    symbol,
    tcgen05_commit,
    tcgen05_fence_after,
    tcgen05_fence_before,
    tcgen05_wait_ld,
    verify,
    wgmma_fence,
)


class TestFences:
    """tcgen05.fence on both sides of a barrier, in tasks that state it at all."""

    @staticmethod
    def schedule(mma=(), epilogue=(), release=(), early=(), k=K):
        acc = tensor("acc")

        def fill():
            for fence in early:
                fence()
            with domain_loop(0, k):
                acc.acquire()
                for fence in mma:
                    fence()
                acc.mma()
                acc.commit()

        def drain():
            for fence in early:
                fence()
            with domain_loop(0, k):
                acc.wait()
                for fence in epilogue:
                    fence()
                acc.load()
                tcgen05_wait_ld()
                for fence in release:
                    fence()
                acc.release()

        return build(role("mma", 0, 1, fill, [], [acc]), role("epi", 4, 4, drain, [acc]), **SM100)

    AFTER, BEFORE = (tcgen05_fence_after,), (tcgen05_fence_before,)

    def test_none_at_all_is_trusted(self):
        report = verify(self.schedule())
        assert report.verdict == "safe" and "fence for tcgen05 inside (mma, epi)" in " ".join(
            report.scope.assumed
        )

    def test_all(self):
        report = verify(self.schedule(self.AFTER, self.AFTER, self.BEFORE))
        assert (report.verdict, report.scope.kind) == ("safe", "all")
        assert "fence for tcgen05" not in " ".join(report.scope.assumed)

    @pytest.mark.parametrize("sides", [("mma",), ("epilogue",), ("release",), ("mma", "epilogue")])
    def test_a_task_that_states_its_side_is_right_alone(self, sides):
        given = {side: self.BEFORE if side == "release" else self.AFTER for side in sides}
        assert accepted(self.schedule(**given))

    def test_the_mma_runs_ahead_of_its_wait(self):
        found = finding(self.schedule((), self.AFTER, self.BEFORE, early=self.AFTER), "WD506")
        assert found.tasks[0] == "mma" and found.ops[0] == "mma.04" and found.case == (("k", 2),)

    def test_the_load_runs_ahead_of_its_wait(self):
        found = finding(self.schedule(self.AFTER, (), early=self.AFTER), "WD506")
        assert found.tasks[0] == "epi" and found.ops[:2] == ("epi.04", "mma.05") and found.case == (("k", 1),)

    def test_a_fence_before_the_load_is_complete(self):
        found = finding(self.schedule(self.AFTER, (*self.AFTER, *self.BEFORE)), "WD506")
        assert found.tasks[0] == "epi" and "before epi.07" in found.expected

    def test_a_fence_in_a_loop_that_runs_no_time(self):
        acc, done, n = plain("acc"), MBarrier("done"), symbol("n")

        def mma():
            acc.mma()
            tcgen05_commit(done)

        def drain():
            done.wait()
            with domain_loop(0, n):
                tcgen05_fence_after()
            acc.load()
            tcgen05_wait_ld()

        document = build(role("mma", 0, 1, mma, [], [acc]), role("epi", 4, 4, drain, [acc]), **SM100)
        assert finding(document, "WD506").case == (("n", 0),)


class TestWgmmaFence:
    """wgmma.fence between the warp's own accesses to registers and the next wgmma that uses them."""

    @staticmethod
    def schedule(before, inside):
        tiles = symbol("tiles")
        ab, acc, group = ring(), accumulator(), AsyncGroup("wgmma")

        def load():
            with domain_loop(0, tiles), domain_loop(0, 3):
                ab.acquire()
                ab.load()
                ab.commit()

        def math():
            if before:
                wgmma_fence()
            with domain_loop(0, tiles):
                if inside:
                    wgmma_fence()
                with domain_loop(0, 3):
                    ab.wait()
                    acc.mma(tile=ab.tile())
                    group.commit()
                    group.wait(0)
                    ab.release()
                acc.read()

        return build(role("load", 0, 1, load, [], [ab]), role("math", 4, 4, math, [ab, acc], [acc]))

    def test_none_is_trusted(self):
        report = verify(self.schedule(False, False))
        assert report.verdict == "safe" and "works fence for wgmma inside (acc.mma)" in report.scope.assumed

    def test_only_before_the_first_tile(self):
        found = finding(self.schedule(True, False), "WD505")
        assert found.ops == ("math.06", "math.10") and found.case == (("tiles", 2),)

    def test_before_each_tile(self):
        report = verify(self.schedule(False, True))
        assert (report.verdict, report.scope.kind, report.scope.assumed) == ("safe", "all", ())
