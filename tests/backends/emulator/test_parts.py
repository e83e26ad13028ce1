"""Types, memory and the order of tiles."""

import numpy as np
import pytest

from warpdraft.backends.emulator.bodies.tile_coords import tile_at
from warpdraft.backends.emulator.bodies.wgmma import rows_of
from warpdraft.backends.emulator.dtypes import BF16, FP16, decode, encode
from warpdraft.backends.emulator.memory import SharedMemory


def test_bf16_rounds_to_nearest_even():
    values = np.array([1.0, 1.00390625, 1.01171875, 1.005, -2.5, 0.0, np.inf, np.nan, 3.4e38], np.float32)
    back = decode(encode(values, BF16), BF16)
    assert back[:7].tolist() == [1.0, 1.0, 1.015625, 1.0078125, -2.5, 0.0, np.inf]
    assert np.isnan(back[7]) and np.isinf(back[8])


def test_bf16_keeps_what_it_can_represent():
    stored = np.arange(0x7F80, dtype=np.uint16)  # every finite non-negative number
    assert (encode(decode(stored, BF16), BF16) == stored).all()


def test_shared_memory_starts_as_not_a_number():
    memory = SharedMemory(64, strict=False)
    assert np.isnan(memory.read(0, 64).view(np.float16)).all()
    assert np.isnan(decode(memory.read(0, 64).view(np.uint16), BF16)).all()
    assert np.isnan(memory.read(0, 64).view(np.float32)).all()


def test_what_is_not_fenced_stays_hidden_from_the_async_proxy():
    memory = SharedMemory(8, strict=True)
    memory.write("math.w0", 0, encode(np.array([1, 2], np.float32), FP16))
    memory.write("math.w1", 4, encode(np.array([3, 4], np.float32), FP16))
    memory.fence("math.w1")
    seen = memory.read_async(0, 8).view(np.float16)
    assert np.isnan(seen[:2]).all() and seen[2:].tolist() == [3, 4]
    assert memory.read(0, 8).view(np.float16).tolist() == [1, 2, 3, 4]
    memory.write_async(0, encode(np.array([9], np.float32), FP16))
    assert memory.read(0, 2).view(np.float16)[0] == memory.read_async(0, 2).view(np.float16)[0] == 9


@pytest.mark.parametrize(
    "rows, columns, band", [(1, 1, 1), (5, 3, 1), (5, 3, 2), (16, 7, 8), (9, 4, 8), (3, 5, 8)]
)
def test_every_tile_order_visits_each_tile_once(rows, columns, band):
    visited = [tile_at(t, rows, columns, band) for t in range(rows * columns)]
    assert sorted(visited) == [(m, n) for m in range(rows) for n in range(columns)]
    if band == 1:
        assert visited == sorted(visited)
    past = tile_at(rows * columns, rows, columns, band)
    assert past[0] >= rows and past[1] >= columns


@pytest.mark.parametrize("warps, m", [(4, 64), (8, 128), (4, 128), (8, 256), (8, 384)])
def test_warps_share_the_rows_of_an_accumulator(warps, m):
    rows = np.concatenate([rows_of(w, warps // 4, m) for w in range(warps)])
    assert sorted(rows.tolist()) == list(range(m))
