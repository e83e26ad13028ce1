"""More schedules that NVIDIA Task Scheduling 4.8.1 judges wrongly, with overlapping memory; and long loops."""

from dataclasses import replace

import pytest
from kit import (
    Buffer,
    K,
    Output,
    accepted,
    accumulator,
    buffer,
    build,
    channel,
    codes,
    drain,
    fill,
    finding,
    ring,
    role,
)

from warpdraft.core import (
    AsyncGroup,
    NamedBarrier,
    SmemAllocation,
    SmemAllocator,
    consumer_work,
    domain_loop,
    fence_proxy_async,
    producer_work,
    symbol,
    verify,
)


class TestP14:
    """Four loads feed an MMA; a scratch buffer lies over the last stage of one of them."""

    @staticmethod
    def schedule(ordered):
        rings = [ring(name, 3) for name in "abcd"]
        scratch, acc, group = buffer("scratch"), accumulator(), AsyncGroup("wgmma")
        done = NamedBarrier(1, 160, "done")

        def mma():
            with domain_loop(0, 8):
                for r in rings:
                    r.wait()
                    acc.mma(tile=r.tile())
                group.commit()
                group.wait(0)
                for r in rings:
                    r.release()
            if ordered:
                done.arrive()

        def tail():
            if ordered:
                done.sync()
            scratch.fill()

        loads = [fill(r, 8, f"load_{r.name}", i) for i, r in enumerate(rings)]
        found = build(*loads, role("mma", 4, 4, mma, rings, [acc]), role("tail", 8, 1, tail, [], [scratch]))
        last = sum(3 * 1024 for _ in rings)
        place = 1024
        resources = []
        for r in found.resources:
            if r.name in "abcd":
                r = replace(r, storage=replace(r.storage, offset=place))
                place += 3 * 1024
            elif r.name == "scratch":
                r = replace(r, storage=replace(r.storage, offset=1024 + last - 1024))
            resources.append(r)
        return replace(found, resources=tuple(resources))

    def test_not_ordered_after_the_last_read(self):
        found = verify(self.schedule(False))
        assert {f.code for f in found.errors} == {"WD402"} and found.seconds < 5

    def test_ordered(self):
        assert accepted(self.schedule(True))


class TestP17:
    """Each warp writes its slice and reads its neighbour's."""

    class Slices(Buffer):
        @producer_work(footprint=[(256 * w, 256) for w in range(4)])
        def mine(self, stage_info): ...

        @consumer_work(footprint=[(256 * ((w + 1) % 4), 256) for w in range(4)])
        def neighbours(self, stage_info): ...

    def schedule(self, meets):
        s = self.Slices(name="s", smem=[SmemAllocation("s", 1024)])
        meet = NamedBarrier(1, 128, "meet")

        def body():
            s.mine()
            if meets:
                meet.sync()
            s.neighbours()

        return build(role("warps", 0, 4, body, [s], [s]))

    def test_race_inside_one_task(self):
        assert codes(self.schedule(False)) == {"WD401"}

    def test_meeting(self):
        assert accepted(self.schedule(True))


class TestP19:
    """Two tasks on the same warps."""

    def test_overlap(self):
        x = ring("x", 2)
        found = build(fill(x), drain(x, first=0))
        assert finding(found, "WD112").tasks == ("load", "use")


class TestP21:
    """The last release is left out, and nothing uses the stage afterwards."""

    @pytest.mark.parametrize("make", [ring, channel])
    def test_accepted(self, make):
        x = make("x", 2)

        def body():
            with domain_loop(0, 4) as k:
                x.wait()
                x.read()
                fence_proxy_async()
                with k.every(4, start=0):
                    x.release()
                with k.every(4, start=1):
                    x.release()
                with k.every(4, start=2):
                    x.release()

        assert accepted(build(fill(x, 4), drain(x, body=body)))


class TestP22:
    """Two read-only views of one buffer, read by two tasks at once."""

    def test_accepted(self):
        x, acc, other = ring("x", 2, consumer_group=None), accumulator("acc"), accumulator("other")

        def math(target):
            group = AsyncGroup("wgmma")

            def body():
                with domain_loop(0, K):
                    x.wait()
                    target.mma(tile=x.tile())
                    group.commit()
                    group.wait(0)
                    x.release()

            return body

        found = build(
            fill(x), role("one", 4, 4, math(acc), [x], [acc]), role("two", 8, 4, math(other), [x], [other])
        )
        assert accepted(found)

    def test_static_data(self):
        table, meet = buffer("table"), NamedBarrier(1, 96, "meet")

        def writer():
            table.fill()
            meet.sync()

        def reader():
            meet.sync()
            with domain_loop(0, K):
                table.read()

        readers = [role(f"reader{i}", 4 * i, 1, reader, [table]) for i in (1, 2)]
        assert accepted(build(role("writer", 0, 1, writer, [], [table]), *readers))


class TestP23:
    """An MMA reads a stage, whose bytes an alias overwrites before the MMA is known complete."""

    @staticmethod
    def schedule(waits):
        ab, acc, over, group = ring("ab", 1), accumulator(), buffer("over"), AsyncGroup("wgmma")
        meet = NamedBarrier(1, 128, "meet")

        def math():
            ab.wait()
            acc.mma(tile=ab.tile())
            group.commit()
            if waits:
                group.wait(0)
                meet.sync()
            over.share()
            group.wait(0)

        allocator = SmemAllocator()
        allocator.add_alias_group([[*ab.smem], [*over.smem]])
        return build(fill(ab, 1), role("math", 4, 4, math, [ab], [acc, over]), smem_allocator=allocator)

    def test_overwritten(self):
        assert codes(self.schedule(False)) & {"WD402", "WD404"}

    def test_waited_for(self):
        assert accepted(self.schedule(True))


class TestP24:
    """Two buffers that share bytes, with a named barrier that both tasks sync between their uses."""

    @pytest.mark.parametrize("meets", [True, False])
    def test_accepted_only_with_the_barrier(self, meets):
        x, y, meet = buffer("x"), buffer("y"), NamedBarrier(1, 64, "meet")

        def first():
            x.fill()
            x.read()
            if meets:
                meet.sync()

        def second():
            if meets:
                meet.sync()
            y.fill()
            y.read()

        allocator = SmemAllocator()
        allocator.add_alias_group([[*x.smem], [*y.smem]])
        found = build(
            role("first", 0, 1, first, [x], [x]),
            role("second", 4, 1, second, [y], [y]),
            smem_allocator=allocator,
        )
        assert accepted(found) if meets else codes(found) == {"WD402"}


class TestP28:
    """A loop from 1 to a run-time end over aliased writes: one iteration is safe, two are not."""

    @staticmethod
    def schedule():
        x, y, out, group = (
            buffer("x"),
            buffer("y"),
            Output(name="out", space="gmem"),
            AsyncGroup("bulk_store"),
        )

        def body():
            with domain_loop(1, symbol("end")):
                x.fill()
                fence_proxy_async()
                out.store(tile=x.tile())
                group.commit()
                group.wait_read(0)
                y.fill()
                fence_proxy_async()
                out.store(tile=y.tile())
                group.commit()
            group.wait_read(0)

        allocator = SmemAllocator()
        allocator.add_alias_group([[*x.smem], [*y.smem]])
        return build(role("store", 0, 1, body, [x, y], [x, y, out]), smem_allocator=allocator)

    def test_two_iterations(self):
        found = finding(self.schedule(), "WD402")
        assert found.case == (("end", 3),)

    def test_one_iteration(self):
        assert accepted(self.schedule(), trip_counts={"end": [0, 1, 2]})


class TestLongLoops:
    """Constant bounds far beyond what any period needs."""

    def test_accepted(self):
        x = ring("x", 3)
        assert accepted(build(fill(x, 2000), drain(x, 2000)))

    def test_too_long_for_the_budget_is_never_safe(self):
        x = ring("x", 3)
        report = verify(build(fill(x, 2000), drain(x, 2000)), budget=0.0)
        assert report.verdict == "incomplete" and report.scope.kind == "incomplete" and report.scope.reason

    def test_any_length(self):
        x = ring("x", 3)
        assert accepted(build(fill(x, 10**9), drain(x, 10**9)))

    def test_one_iteration_too_many(self):
        x = ring("x", 3)
        report = verify(build(fill(x, 10**6 + 1), drain(x, 10**6)))
        assert report.verdict == "unsafe" and report.seconds < 5
