"""What each task of a Hopper GEMM does."""

from dataclasses import dataclass

from warpdraft.assets.examples.hopper.resources import Turn
from warpdraft.core import (
    MemoryResource,
    domain_loop,
    elect_warp,
    fence_proxy_async,
    schedule,
    symbol,
    sync_warp,
    work_tile_loop,
)

k_tiles = symbol(
    "k_tiles", min=1
)  # without a k tile nothing would be waited for and nothing could be released
tiles = symbol("tiles")  # work tiles of a CTA


class Alone:
    """A task that multiplies whenever it can."""

    def take(self, ring): ...
    def give(self): ...
    def end(self, ring): ...


@dataclass(frozen=True)
class Turns:
    """A task that multiplies when it has the ``turn``, which two hand to and fro; ``first``: it fills it, the other empties
    it. The tiles of both come through one ring, in turn: each gives back what the other's needs, too."""

    turn: Turn
    first: bool

    def take(self, ring):
        """Wait for the turn."""
        if self.first:
            self.turn.acquire()
        else:
            self.pass_over(ring)
            self.turn.wait()

    def give(self):
        """Hand it on."""
        self.turn.commit() if self.first else self.turn.release()

    def end(self, ring):
        """Behind one's own tile."""
        if self.first:
            self.pass_over(ring)

    @staticmethod
    def pass_over(ring):
        """Give back the stages of a tile that the other multiplies."""
        with domain_loop(0, k_tiles):
            ring.wait()
            ring.release()


class OneSum:
    """The tensor cores add up all of k, in ``acc``."""

    def __init__(self, acc: MemoryResource):
        self.result = acc

    def begin(self): ...
    def keep(self, k, group): ...
    def end(self): ...


class Promoted:
    """They add up ``period`` k tiles at a time in ``acc``; what these come to is added up in ``result``."""

    def __init__(self, acc: MemoryResource, total: MemoryResource, period: int):
        self.acc, self.result, self.period = acc, total, period

    def begin(self):
        """In front of a tile."""
        self.result.clear()

    def keep(self, k, group):
        """In front of the product that begins a new sum."""
        with k.every(self.period, start=self.period):
            group.wait(0)
            self.end()

    def end(self):
        """Behind the last product."""
        self.result.add(fragment=self.acc.whole())


@dataclass(frozen=True)
class Epilogue:
    """What happens to a fragment of the accumulator before it is stored; None: nothing of the kind."""

    bias: MemoryResource | None = None
    activation: MemoryResource | None = None
    residual: MemoryResource | None = None

    def apply(self, fragment, coord_n):
        """The fragment that is stored."""
        if self.bias:
            fragment = self.bias.add(fragment, coord_n)
        if self.activation:
            fragment = self.activation.apply(fragment)
        if self.residual:
            self.residual.wait()
            fragment = self.residual.add(fragment)
            fence_proxy_async()  # the next copy into the stage must come behind what was read of it
            sync_warp()
            self.residual.release()
        return fragment


@schedule
def load(queue, coords, smem_ab):
    """All that the accumulators need for one step of k, in one stage; ``coords``: for each accumulator."""
    with work_tile_loop(queue):
        with domain_loop(0, k_tiles):
            coord_m, coord_n, coord_k, *matrix = coords[0].coords()
            smem_ab.acquire()
            smem_ab.load_a(coord_m, coord_k, *matrix)
            if len(coords) > 1:
                coord_m, *_ = coords[1].coords()
                smem_ab.load_a1(coord_m, coord_k, *matrix)
            smem_ab.load_b(coord_n, coord_k, *matrix)
            smem_ab.commit()
        queue.get_and_advance_work_tile()


@schedule
def load_in_turn(queue, coords, smem_ab):
    """All that one accumulator needs, then all that the other does."""
    with work_tile_loop(queue):
        for tile in coords:
            with domain_loop(0, k_tiles):
                coord_m, coord_n, coord_k, *matrix = tile.coords()
                smem_ab.acquire()
                smem_ab.load_a(coord_m, coord_k, *matrix)
                smem_ab.load_b(coord_n, coord_k, *matrix)
                smem_ab.commit()
        queue.get_and_advance_work_tile()


@schedule
def math(
    queue,
    coords,
    smem_ab,
    acc,
    sums,
    smem_c,
    gmem_c,
    mma_group,
    store_group,
    barrier,
    turn,
    epilogue,
    subtiles,
):
    with work_tile_loop(queue):
        turn.take(smem_ab)
        sums.begin()
        with domain_loop(0, k_tiles) as k:
            smem_ab.wait()
            sums.keep(k, mma_group)
            acc.mma(tiles=smem_ab.tiles())
            mma_group.commit()
            mma_group.wait(1)  # all but the newest group are done ...
            with k.every(1, start=1):
                smem_ab.release()  # ... so the previous stage may go back
        turn.give()  # the tensor cores are kept busy by the other from here on
        mma_group.wait(0)
        smem_ab.release()
        sums.end()

        coord_m, coord_n, _, *matrix = coords.coords()
        for subtile in range(subtiles):  # plain Python: unrolled at capture
            fragment = epilogue.apply(sums.result.read(subtile=subtile), coord_n)
            with elect_warp(
                0
            ):  # the stage has been read: an odd number of subtiles begins where the last one ended ...
                store_group.wait_read(0 if subtile == 0 and subtiles % 2 else 1)
            barrier.sync()  # ... and now everybody knows
            smem_c.store(fragment=fragment, subtile=subtile, stage=subtile % 2)
            fence_proxy_async()  # by every writer, before the barrier
            barrier.sync()
            with elect_warp(0):
                gmem_c.bulk_store(smem_c.staged(stage=subtile % 2), subtile, coord_m, coord_n, *matrix)
                store_group.commit()
        turn.end(smem_ab)
        queue.get_and_advance_work_tile()
    with elect_warp(0):
        store_group.wait_read(0)  # shared memory must outlive the last copies out of it


@schedule
def load_residual(queue, coords, smem_r, subtiles):
    with work_tile_loop(queue):
        coord_m, coord_n, _, *matrix = coords.coords()
        for subtile in range(subtiles):
            smem_r.acquire()
            smem_r.load(subtile, coord_m, coord_n, *matrix)
            smem_r.commit()
        queue.get_and_advance_work_tile()
