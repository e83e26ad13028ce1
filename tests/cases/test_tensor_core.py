"""Blackwell's tensor core: its waits, its memory's lanes and columns, and who may overwrite them."""

import pytest
from kit import K, Output, Ring, accepted, build, codes, finding, ring, role
from tensor_kit import SM100, Tensor, plain, producer, tensor

from warpdraft.core import (
    MBarrier,
    MemoryResource,
    NamedBarrier,
    PipelineConfig,
    Storage,
    TmemAllocation,
    consumer_work,
    domain_loop,
    producer_work,
    symbol,
    tcgen05_commit,
    tcgen05_fence_after,
    tcgen05_fence_before,
    tcgen05_wait_ld,
    tcgen05_wait_st,
    verify,
)


class TestC24:
    """An accumulator is released while it is still being loaded."""

    @staticmethod
    def schedule(*waits, store=False, engine=True):
        acc, p = tensor("acc"), plain("p", 64)

        def epilogue():
            with domain_loop(0, K):
                acc.wait()
                acc.load() if engine else acc.read()
                if store:
                    p.store()
                for wait in waits:
                    wait()
                acc.release()

        return build(producer(acc), role("epi", 4, 4, epilogue, [acc], [p] if store else []), **SM100)

    def test_no_wait(self):
        found = finding(self.schedule(), "WD502")
        assert found.ops[:2] == ("mma.03", "epi.03") and found.case == (("k", 2),)
        assert codes(self.schedule()) == {"WD502"}

    def test_a_wait_between(self):
        assert accepted(self.schedule(tcgen05_wait_ld))
        assert verify(self.schedule(tcgen05_wait_ld)).scope.kind == "all"

    def test_a_later_wait_for_stores_drains_the_load(self):
        assert accepted(self.schedule(tcgen05_wait_st, store=True))

    def test_a_wait_for_stores_with_no_store_drains_nothing(self):
        assert codes(self.schedule(tcgen05_wait_st)) == {"WD502"}

    def test_a_work_that_names_no_engine_waits_inside(self):
        report = verify(self.schedule(engine=False))
        assert report.verdict == "safe" and any("epi" in reason for reason in report.scope.assumed)

    def test_but_not_in_a_task_that_states_its_waits(self):
        assert codes(self.schedule(tcgen05_wait_st, engine=False)) == {"WD502"}
        assert accepted(self.schedule(tcgen05_wait_ld, engine=False))


class TestC40:
    """Row statistics are handed on before their stores are complete."""

    @staticmethod
    def schedule(wait):
        stat = tensor("stat", 2, 32, "AsyncAsync")

        def soft():
            with domain_loop(0, K):
                stat.acquire()
                stat.store()
                if wait:
                    tcgen05_wait_st()
                stat.commit()

        def corr():
            with domain_loop(0, K):
                stat.wait()
                stat.load()
                tcgen05_wait_ld()
                stat.release()

        stat.space = "tmem"
        return build(role("soft", 0, 4, soft, [], [stat]), role("corr", 4, 4, corr, [stat]), **SM100)

    def test_no_wait(self):
        found = finding(self.schedule(False), "WD502")
        assert found.ops == ("corr.03", "soft.03") and found.case == (("k", 1),)

    def test_a_wait_before_the_commit(self):
        assert accepted(self.schedule(True))


class TestC32:
    """P lies over half of S: warps of one task store where others of them may not have loaded yet."""

    @staticmethod
    def schedule(maps, wait=True, meet=False):
        s, p = plain("s", 128, 0), plain("p", 64, 64)
        between = NamedBarrier(1, 256, "between")
        load, store = maps

        def comp():
            s.load(footprint=load) if load else s.load()
            if wait:
                tcgen05_wait_ld()
            if meet:
                between.sync()
            p.store(footprint=store) if store else p.store()
            tcgen05_wait_st()

        return build(role("comp", 0, 8, comp, [s], [p]), **SM100)

    HALVES = [(0, 64)] * 4 + [(64, 64)] * 4
    SAME = [(0, 0)] * 4 + [(0, 64)] * 4  # in columns of P: those that the same warps have loaded
    OTHER = [(0, 32)] * 4 + [(32, 32)] * 4

    def test_other_columns_than_were_loaded(self):
        found = finding(self.schedule((self.HALVES, self.OTHER)), "WD402")
        assert set(found.ops) == {"comp.01", "comp.03"} and found.tasks == ("comp",)

    def test_a_barrier_between(self):
        assert accepted(self.schedule((self.HALVES, self.OTHER), meet=True))

    def test_the_same_columns(self):
        assert accepted(self.schedule((self.HALVES, self.SAME)))

    def test_the_same_columns_without_a_wait(self):
        assert codes(self.schedule((self.HALVES, self.SAME), wait=False)) == {"WD502"}

    def test_lanes_keep_the_warps_of_a_warpgroup_apart(self):
        s, p = plain("s", 128, 0), plain("p", 64, 64)

        def comp():
            s.load()
            tcgen05_wait_ld()
            p.store()
            tcgen05_wait_st()

        assert accepted(build(role("comp", 0, 4, comp, [s], [p]), **SM100))


class TestC35:
    """Scalars live in spare columns of an accumulator: an MMA that clears all of it must wait for their last reader."""

    @staticmethod
    def schedule(fixed):
        tiles = symbol("tiles")
        qk = tensor("qk", 1, 128)
        qk.storage, qk.tmem = Storage(128, 1, 1, offset=0), ()
        alpha = plain("alpha", 1, 64)
        read = MBarrier("read")

        def mma():
            with domain_loop(0, tiles) as t:
                if fixed:
                    with t.every(1, start=1):
                        read.wait()
                with domain_loop(0, 2):
                    qk.acquire()
                    qk.mma()
                    qk.commit()

        def corr():
            with domain_loop(0, tiles):
                with domain_loop(0, 2):
                    qk.wait()
                    qk.load()
                    tcgen05_wait_ld()
                    qk.release()
                alpha.load()
                tcgen05_wait_ld()
                read.arrive()

        return build(role("mma", 0, 1, mma, [], [qk]), role("corr", 4, 4, corr, [qk, alpha]), **SM100)

    def test_no_edge_to_the_sibling(self):
        found = finding(self.schedule(False), "WD402")
        assert set(found.resources) == {"qk", "alpha"} and set(found.ops) == {"mma.04", "corr.07"}

    def test_the_mma_waits_for_the_last_reader(self):
        assert accepted(self.schedule(True))


class TestPipelinedPairs:
    """Which works of one warp keep their order by themselves (PTX ISA, pipelined tcgen05 instructions)."""

    @staticmethod
    def schedule(*steps):
        parts = {"d": plain("d", 128, 0), "half": plain("half", 64, 64), "sf": plain("sf", 32, 128)}
        staged = Ring(name="staged", space="smem", storage=1024)

        def mma():
            for name, method in steps:
                target = parts[name]
                if method == "copy":
                    target.copy(tile=staged.tile())
                elif method == "mma":
                    target.mma()
                else:
                    target.mma_from(tile=parts[method].view())

        return build(role("mma", 0, 1, mma, [staged, *parts.values()], list(parts.values())), **SM100)

    @pytest.mark.parametrize(
        "steps",
        [
            [("d", "mma"), ("d", "mma")],
            [("sf", "copy"), ("d", "sf")],
            [("sf", "copy"), ("d", "sf"), ("sf", "copy"), ("d", "sf")],
            [("half", "mma"), ("half", "mma")],
        ],
    )
    def test_in_order(self, steps):
        assert not codes(self.schedule(*steps)) & {"WD401", "WD402", "WD408"}

    @pytest.mark.parametrize(
        ("steps", "code"),
        [
            ([("d", "mma"), ("half", "mma")], "WD402"),  # another accumulator
            ([("d", "mma"), ("sf", "d")], "WD408"),  # a result as an operand, with no wait
            ([("sf", "copy"), ("sf", "copy")], "WD408"),  # nothing between
        ],
    )
    def test_in_no_order(self, steps, code):
        assert code in codes(self.schedule(*steps))


class TestRawCommit:
    """tcgen05.commit arrives on an mbarrier when the MMAs are done."""

    @staticmethod
    def schedule(commit):
        acc, done = plain("acc"), MBarrier("done")

        def mma():
            acc.mma()
            tcgen05_commit(done) if commit else done.arrive()

        def epilogue():
            done.wait()
            acc.load()
            tcgen05_wait_ld()

        return build(role("mma", 0, 1, mma, [], [acc]), role("epi", 4, 4, epilogue, [acc]), **SM100)

    def test_commit(self):
        assert accepted(self.schedule(True))

    def test_an_arrival_says_nothing_of_the_mma(self):
        found = finding(self.schedule(False), "WD408")
        assert found.ops == ("epi.02", "mma.01")


class TestGemm:
    """A usual Blackwell kernel: TMA loads, MMAs into two accumulator stages, four epilogue warps."""

    @staticmethod
    def schedule(fences=True, wait=True, scales=False):
        tiles, k_tiles = symbol("tiles"), symbol("k_tiles", min=1)
        ab = Ring(name="ab", pipeline_config=PipelineConfig(4, pipeline_type="TmaUmma"), smem=ring().smem)
        acc = tensor("acc", 2, 128)
        sf = plain("sf", 32, 256)
        out = Output(name="out", space="gmem")

        def load():
            with domain_loop(0, tiles), domain_loop(0, k_tiles):
                ab.acquire()
                ab.load()
                ab.commit()

        def mma():
            with domain_loop(0, tiles):
                acc.acquire()
                if fences:
                    tcgen05_fence_after()
                with domain_loop(0, k_tiles):
                    ab.wait()
                    if fences:
                        tcgen05_fence_after()
                    tile = ab.tile()
                    if scales:
                        sf.copy(tile=tile)
                        acc.mma_from(tile=sf.view())
                    acc.mma_from(tile=tile)
                    ab.release()
                acc.commit()

        def epilogue():
            with domain_loop(0, tiles):
                acc.wait()
                if fences:
                    tcgen05_fence_after()
                acc.load()
                if wait:
                    tcgen05_wait_ld()
                if fences:
                    tcgen05_fence_before()
                acc.release()

        return build(
            role("load", 0, 1, load, [], [ab]),
            role("mma", 1, 1, mma, [ab, sf] if scales else [ab], [acc, sf] if scales else [acc]),
            role("epi", 4, 4, epilogue, [acc]),
            resources=[out],
            **SM100,
        )

    @pytest.mark.parametrize("scales", [False, True])
    @pytest.mark.parametrize("fences", [False, True])
    def test_proved_for_all_trip_counts(self, fences, scales):
        report = verify(self.schedule(fences, scales=scales))
        assert (report.verdict, report.scope.kind) == ("safe", "all"), report.findings

    def test_without_the_wait(self):
        assert codes(self.schedule(wait=False)) == {"WD502"}


class Fragments(Tensor):
    """An accumulator whose load returns its values."""

    @consumer_work(engine="tcgen05_ld", returns="values")
    def get(self, stage_info): ...


class Sink(MemoryResource):
    """Somewhere that values go."""

    @producer_work
    def put(self, stage_info, values): ...


class TestLoadedValues:
    """What a tcgen05.ld returns is in its registers only after the warp has waited for its loads."""

    @staticmethod
    def schedule(*between, behind=(tcgen05_wait_ld,), ahead=False):
        config = PipelineConfig(2, pipeline_type="UmmaAsync")
        acc = Fragments(name="acc", pipeline_config=config, tmem=[TmemAllocation("acc", 128)])
        out = Sink(name="out", space="gmem")

        def epilogue():
            with domain_loop(0, K):
                acc.wait()
                values = acc.get()
                if ahead:
                    tcgen05_wait_ld()
                    values = acc.get()
                for step in between:
                    step()
                out.put(values=values)
                for step in behind:
                    step()
                acc.release()

        return build(producer(acc), role("epi", 4, 4, epilogue, [acc], [out]), **SM100)

    def test_used_before_the_wait(self):
        found = finding(self.schedule(), "WD502")
        assert found.ops == ("epi.04", "epi.03") and "uses values, which epi.03 loads" in found.message
        assert codes(self.schedule()) == {"WD502"}

    def test_a_wait_between(self):
        assert accepted(self.schedule(tcgen05_wait_ld, behind=()))

    def test_a_wait_for_an_earlier_load(self):
        assert codes(self.schedule(ahead=True)) == {"WD502"}
