"""Who allocates, uses and frees tensor memory; and tensor maps that are rewritten."""

import pytest
from kit import K, accepted, build, codes, finding, ring, role
from tensor_kit import SM100, Tensor, plain, tensor

from warpdraft.core import (
    MBarrier,
    MemoryResource,
    NamedBarrier,
    ScheduleError,
    TmemAllocation,
    cluster_sync,
    domain_loop,
    elect_warp,
    fence_tensormap,
    producer_work,
    tcgen05_commit,
    tcgen05_wait_ld,
    tcgen05_wait_st,
    tensormap_update,
    tmem_alloc,
    tmem_dealloc,
    tmem_relinquish,
    verify,
)


class TestC25:
    """Tensor memory is freed while an epilogue still loads from it."""

    @staticmethod
    def schedule(wait):
        acc, done = plain("acc2"), MBarrier("done")
        filled = MBarrier("filled")

        def epilogue():
            filled.wait()
            acc.load()
            if wait:
                tcgen05_wait_ld()
            done.arrive()

        def mma():
            tmem_alloc(acc)
            acc.mma()
            tcgen05_commit(filled)
            done.wait()
            tmem_dealloc(acc)

        return build(role("mma", 0, 1, mma, [], [acc]), role("epi", 4, 4, epilogue, [acc]), **SM100)

    def test_the_load_is_in_flight(self):
        found = next(f for f in verify(self.schedule(False)).errors if f.code == "WD406")
        assert found.ops == ("mma.05", "epi.02") and "waited for" in " ".join(found.notes)

    def test_a_wait_before_the_arrive(self):
        assert accepted(self.schedule(True))


class TestC45:
    """The address gets to the others only through the barriers of a loop that may run no time."""

    @staticmethod
    def schedule(meets):
        s, meet, freed = tensor("s"), NamedBarrier(1, 160, "meet"), NamedBarrier(2, 160, "freed")

        def mma():
            tmem_alloc(s)
            if meets:
                meet.sync()
            with domain_loop(0, K):
                s.acquire()
                s.mma()
                s.commit()

        def epilogue():
            if meets:
                meet.sync()
            with domain_loop(0, K):
                s.wait()
                s.load()
                tcgen05_wait_ld()
                s.release()
            freed.sync()
            with elect_warp(0):
                tmem_dealloc(s)

        freed.threads = 128
        return build(role("mma", 0, 1, mma, [], [s]), role("epi", 4, 4, epilogue, [s]), **SM100)

    def test_no_barrier_where_nothing_is_done(self):
        found = finding(self.schedule(False), "WD406")
        assert found.case == (("k", 0),) and found.ops == ("epi.08", "mma.01")

    def test_a_barrier_behind_the_allocation(self):
        report = verify(self.schedule(True))
        assert (report.verdict, report.scope.kind, report.findings) == ("safe", "all", ())
        assert not any("allocated" in reason for reason in report.scope.assumed)


class TestC50:
    """A pair of CTAs allocates and frees together."""

    @staticmethod
    def schedule(*meets, cluster=(2, 1, 1), group=2):
        acc = plain("acc")

        def mma():
            tmem_alloc(acc, cta_group=2)
            for meet in meets:
                meet()
            tmem_dealloc(acc, cta_group=group)

        return build(role("mma", 0, 1, mma, [], [acc]), cluster=cluster, **SM100)

    def test_no_rendezvous(self):
        found = finding(self.schedule(), "WD406")
        assert found.ops[0] == "mma.02" and "other CTA" in found.message

    def test_the_cluster_meets(self):
        assert "WD406" not in codes(self.schedule(cluster_sync))

    def test_no_pair_without_a_cluster(self):
        assert (
            "the cluster has one" in finding(self.schedule(cluster_sync, cluster=(1, 1, 1)), "WD406").message
        )

    def test_one_group_a_kernel(self):
        assert finding(self.schedule(cluster_sync, group=1), "WD406").expected == "one cta_group in a kernel"


class TestLifetime:
    """Allocation, use and freeing in one task or two."""

    @staticmethod
    def schedule(*steps, warps=1):
        acc, other = plain("acc", 64), plain("other", 64)
        calls = {
            "alloc": lambda: tmem_alloc(acc),
            "alloc other": lambda: tmem_alloc(other),
            "all": lambda: tmem_alloc(columns=128),
            "few": lambda: tmem_alloc(columns=32),
            "use": lambda: acc.mma(),
            "free": lambda: tmem_dealloc(acc),
            "free other": lambda: tmem_dealloc(other),
            "free all": lambda: tmem_dealloc(columns=128),
            "free few": lambda: tmem_dealloc(columns=32),
            "relinquish": tmem_relinquish,
        }

        def body():
            for step in steps:
                calls[step]()

        return build(role("mma", 0, warps, body, [], [acc]), resources=[other], **SM100)

    @pytest.mark.parametrize(
        "steps",
        [
            ("alloc", "alloc other", "relinquish", "free", "free other"),
            ("all", "relinquish", "free all"),
            ("alloc", "free", "alloc", "free"),
        ],
    )
    def test_right(self, steps):
        assert not codes(self.schedule(*steps)) & {"WD406", "WD602"}

    @pytest.mark.parametrize(
        ("steps", "words"),
        [
            (("use", "alloc", "free"), "nobody has allocated"),
            (("alloc", "free", "use"), "has freed"),
            (("alloc", "use"), "never freed"),
            (("alloc", "free", "free"), "has freed"),
            (("free",), "nobody has allocated"),
            (("alloc", "alloc", "free"), "allocates columns that"),
            (("alloc", "relinquish", "alloc other", "free", "free other"), "permit"),
            (("few", "use", "free few"), "nobody has allocated"),
            (("alloc", "use", "free"), "may come before the end of the tcgen05 write"),
        ],
    )
    def test_wrong(self, steps, words):
        document = self.schedule(*steps)
        assert words in " ".join(f.message for f in verify(document).errors if f.code == "WD406")

    def test_every_warp_would_allocate(self):
        assert "WD406" in codes(self.schedule("alloc", "free", warps=2))

    def test_sizes_of_stated_allocations(self):
        acc = plain("acc", 48)

        def body(columns):
            def mma():
                tmem_alloc(acc, columns)
                tmem_dealloc(acc, columns)

            return build(role("mma", 0, 1, mma, [], [acc]), **SM100)

        assert codes(body(None)) == codes(body(64)) == set()
        assert finding(body(48), "WD602").expected == "64 columns"
        assert "1024 columns" in finding(body(1024), "WD602").message

    def test_an_allocation_is_given_by_its_resource(self):
        one = Tensor(name="one", tmem=[TmemAllocation("cols", 64)])

        def body():
            tmem_alloc(one.tmem[0])
            tmem_dealloc(one)

        assert build(role("mma", 0, 1, body, [], [one]), **SM100).tasks[0].body[0].target == "one"
        with pytest.raises(ScheduleError, match="only allocation of a resource"):
            build(role("m", 0, 1, lambda: tmem_alloc(TmemAllocation("loose", 32)), []))
        with pytest.raises(ScheduleError, match="cta_group is 1 or 2"):
            build(role("m", 0, 1, lambda: tmem_alloc(one, cta_group=3), []))


class TestLanes:
    """A warp reaches the 32 lanes of its number modulo 4."""

    @staticmethod
    def epilogue(first, warps):
        acc = tensor("acc")

        def mma():
            acc.acquire()
            acc.mma()
            acc.commit()

        def drain():
            acc.wait()
            acc.load()
            tcgen05_wait_ld()
            acc.release()

        return build(role("mma", 0, 1, mma, [], [acc]), role("epi", first, warps, drain, [acc]), **SM100)

    @pytest.mark.parametrize(
        ("first", "warps", "left"), [(4, 2, "lanes 64-95 and lanes 96-127"), (5, 1, "lanes 0-31")]
    )
    def test_rows_that_nobody_loads(self, first, warps, left):
        found = finding(self.epilogue(first, warps), "WD407")
        assert left in found.message and found.ops == ("epi.02",)

    @pytest.mark.parametrize(("first", "warps"), [(4, 4), (1, 4), (4, 8)])
    def test_all_rows(self, first, warps):
        assert accepted(self.epilogue(first, warps))

    @staticmethod
    def statistics(first):
        stat, ready = plain("stat", 32), NamedBarrier(1, 64, "ready")

        def soft():
            stat.store()
            tcgen05_wait_st()
            ready.sync()

        def corr():
            ready.sync()
            stat.load()
            tcgen05_wait_ld()

        return build(role("soft", 0, 1, soft, [], [stat]), role("corr", first, 1, corr, [stat]), **SM100)

    def test_what_a_warp_of_another_number_has_stored(self):
        assert (
            "lanes 32-63 of stat are loaded, but no warp stores them"
            in finding(self.statistics(5), "WD407").message
        )
        assert accepted(self.statistics(4))


class Loaded(MemoryResource):
    """Filled by copies that take their tensor map from memory."""

    @producer_work(engine="tma")
    def load(self, stage_info, tensor_map): ...


class TestC33:
    """A tensor map is rewritten for the next group while copies by the last one are on their way."""

    @staticmethod
    def schedule(drain, fence=True):
        config = ring("ab", 2).pipeline_config
        ab = Loaded(name="ab", pipeline_config=config, smem=ring("ab", 2).smem)
        tmap = MemoryResource(name="tmap", space="gmem")
        seen = MBarrier("seen", stages=1)

        def load():
            with domain_loop(0, 4):
                if drain:
                    seen.wait()
                tensormap_update(tmap)
                if fence:
                    fence_tensormap(tmap)
                with domain_loop(0, K):
                    ab.acquire()
                    ab.load(tensor_map=tmap)
                    ab.commit()

        def use():
            if drain:
                seen.arrive()
            with domain_loop(0, 4):
                with domain_loop(0, K):
                    ab.wait()
                    ab.release()
                if drain:
                    seen.arrive()

        return build(role("load", 0, 1, load, [], [ab]), role("use", 4, 1, use, [ab]))

    def test_the_copies_are_not_drained(self):
        found = finding(self.schedule(False), "WD405")
        assert (
            found.ops == ("load.02", "load.06") and found.resources == ("tmap",) and found.case == (("k", 1),)
        )

    def test_they_are(self):
        assert "WD405" not in codes(self.schedule(True))

    def test_without_a_fence_of_the_map(self):
        found = finding(self.schedule(True, fence=False), "WD405")
        assert "fence_tensormap(tmap)" in found.expected
