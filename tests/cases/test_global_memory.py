"""Workspaces in global memory: written by threads or bulk stores, and read back by the same CTA (WD401, WD408, C43)."""

import pytest
from kit import K, accepted, buffer, build, codes, role

from warpdraft.core import (
    AsyncGroup,
    MBarrier,
    MemoryResource,
    NamedBarrier,
    SmemAllocation,
    Storage,
    consumer_work,
    domain_loop,
    fence_proxy_async,
    producer_work,
    verify,
)


class Workspace(MemoryResource):
    """Bytes of global memory."""

    @producer_work(engine="bulk_store")
    def store(self, stage_info, tile): ...

    @producer_work(footprint="whole")
    def fill(self, stage_info): ...

    @consumer_work(engine="warp")
    def read(self, stage_info): ...

    @consumer_work(view=True, returns="region")
    def region(self, stage_info): ...


class Copied(MemoryResource):
    """Shared memory that a copy fills from somewhere."""

    @producer_work(engine="tma")
    def load(self, stage_info, region, barrier): ...

    @consumer_work
    def read(self, stage_info): ...


BYTES = Storage(1024)


def workspace(storage=BYTES):
    return Workspace(name="ws", space="gmem", storage=storage)


def stored(full_wait, *, other=False, meets=True, storage=BYTES):
    """A tile that a bulk store writes, read back by the same warp or by another."""
    ws, tile, group, meet = (
        workspace(storage),
        buffer("tile"),
        AsyncGroup("bulk_store"),
        NamedBarrier(1, 64, "meet"),
    )

    def write():
        tile.fill()
        fence_proxy_async()
        ws.store(tile=tile.tile())
        group.commit()
        group.wait(0) if full_wait else group.wait_read(0)

    def first():
        write()
        ws.read() if not other else None
        meet.sync() if other and meets else None
        group.wait(0)

    def second():
        meet.sync() if meets else None
        ws.read()

    tasks = [role("first", 0, 1, first, [tile] if other else [tile, ws], [tile, ws])]
    tasks += [role("second", 1, 1, second, [ws])] if other else []
    return build(*tasks)


class TestDestinationOfABulkStore:
    @pytest.mark.parametrize("other", [False, True])
    def test_read_behind_the_wait_for_reads_only(self, other):
        assert "WD408" in codes(stored(False, other=other))

    @pytest.mark.parametrize("other", [False, True])
    def test_read_behind_the_full_wait(self, other):
        assert accepted(stored(True, other=other))

    def test_nothing_orders_the_two(self):
        assert codes(stored(True, other=True, meets=False)) & {"WD401", "WD408"}

    def test_a_tensor_without_a_storage_is_not_looked_at_and_the_scope_says_so(self):
        report = verify(stored(False, storage=None))
        assert report.verdict == "safe" and any("ws" in text for text in report.scope.assumed)
        assert not any("ws" in text for text in verify(stored(True)).scope.assumed)


class TestThreads:
    @pytest.mark.parametrize("meets", [False, True])
    def test_one_task_writes_another_reads(self, meets):
        ws, meet = workspace(), NamedBarrier(1, 64, "meet")
        write = role("write", 0, 1, lambda: (ws.fill(), meet.sync() if meets else None), [], [ws])
        read = role("read", 1, 1, lambda: (meet.sync() if meets else None, ws.read()), [ws])
        document = build(write, read)
        assert accepted(document) if meets else codes(document) == {"WD401"}

    def test_what_another_kernel_wrote_may_be_read(self):
        ws = workspace()
        assert accepted(build(role("read", 0, 2, lambda: ws.read(), [ws])))

    def test_over_the_back_edge(self):
        """The next pass overwrites what the other task may still read."""

        def schedule(back):
            ws, there, here = workspace(), NamedBarrier(1, 64, "there"), NamedBarrier(2, 64, "here")

            def write():
                with domain_loop(0, K):
                    ws.fill()
                    there.sync()
                    here.sync() if back else None

            def read():
                with domain_loop(0, K):
                    there.sync()
                    ws.read()
                    here.sync() if back else None

            return build(role("write", 0, 1, write, [], [ws]), role("read", 1, 1, read, [ws]))

        assert codes(schedule(False)) == {"WD401"}
        assert accepted(schedule(True)) and verify(schedule(True)).scope.kind == "all"


class TestC43:
    """Threads write the workspace, a copy reads it: a fence of the proxy, on either side."""

    @staticmethod
    def schedule(*, writer=False, reader=False, before=False):
        ws, meet, full = workspace(), NamedBarrier(1, 64, "meet"), MBarrier("full", 1)
        x = Copied(name="x", smem=[SmemAllocation("x", 1024)])

        def write():
            ws.fill()
            fence_proxy_async() if writer else None
            meet.sync()

        def load():
            fence_proxy_async() if before else None
            meet.sync()
            fence_proxy_async() if reader else None
            full.arrive_expect_tx(1024)
            x.load(region=ws.region(), barrier=full)
            full.wait()
            x.read()

        return build(role("write", 0, 1, write, [], [ws]), role("load", 1, 1, load, [ws, x], [x]))

    @pytest.mark.parametrize("where", ["writer", "reader"])
    def test_a_fence(self, where):
        assert accepted(self.schedule(**{where: True}))

    def test_no_fence(self):
        assert "WD501" in codes(self.schedule())

    def test_a_fence_of_the_reader_before_it_knows(self):
        assert "WD501" in codes(self.schedule(before=True))
