"""What a profile build records, as a timeline."""

import pytest

from warpdraft.backends.cutedsl import read_records

SIZES = {"M": 4096, "N": 4096, "K": 256}  # 4 k tiles; 512 tiles: CTA 0 has 4 of them


def records(warps, sms=132):
    return {"kernel": "k", "sizes": SIZES, "steps": 64, "sms": sms, "warps": warps}


def warp(number, ops, clock=(100, 9000), cta=0):
    return {"cta": cta, "warp": number, "globaltimer": [0, 1], "clock": list(clock), "ops": ops}


def bars(timeline):
    lanes = [lane.name for lane in timeline.lanes]
    return [(lanes[b.lane], b.op, b.at, b.start, b.end, b.kind) for b in timeline.bars]


def test_ops_in_their_iterations(document):
    """`load.04` acquires in the k loop, `math.10` waits for all products behind it."""
    found = read_records(
        document("persistent_gemm"),
        records(
            [
                warp(0, {"load.04": [[110, 130]] * 3 + [[400, 900], [910, 930]]}),
                warp(5, {"math.10": [[500, 700], [2000, 2010]]}, clock=(90, 8000)),
            ]
        ),
    )
    assert bars(found) == [
        ("load.w0", "load.04", (("tile", 0), ("k", 0)), 20, 40, "issue"),
        ("load.w0", "load.04", (("tile", 0), ("k", 1)), 20, 40, "issue"),
        ("load.w0", "load.04", (("tile", 0), ("k", 2)), 20, 40, "issue"),
        ("load.w0", "load.04", (("tile", 0), ("k", 3)), 310, 810, "wait"),
        ("load.w0", "load.04", (("tile", 1), ("k", 0)), 820, 840, "issue"),
        ("math.w1", "math.10", (("tile", 0),), 410, 610, "wait"),
        ("math.w1", "math.10", (("tile", 1),), 1910, 1920, "issue"),
    ]
    assert dict(found.values) == {"k_tiles": 4, "tiles": 4} and found.total == 1920 and not found.truncated


def test_the_clock_wraps_and_iterations_may_be_left_out(document):
    high = 2**32
    stamps = [[0, 0], [high - 50, 120]]
    found = read_records(
        document("persistent_gemm"), records([warp(0, {"load.04": stamps}, clock=(high - 100, 500))])
    )
    assert bars(found) == [("load.w0", "load.04", (("tile", 0), ("k", 1)), 50, 220, "wait")]


def test_full_records_say_so(document):
    stamps = [[200 + i, 210 + i] for i in range(64)]
    found = read_records(document("persistent_gemm"), records([warp(0, {"load.04": stamps})]))
    assert found.truncated and "first 64 times" in found.notes[0]


def test_what_is_not_there(document):
    with pytest.raises(ValueError, match="CTA 7 left no records; 1 CTAs did"):
        read_records(document("persistent_gemm"), records([warp(0, {"load.04": [[1, 2]]})]), cta=7)
    with pytest.raises(ValueError, match="no record is of an op"):
        read_records(document("persistent_gemm"), records([warp(0, {"other.01": [[1, 2]]})]))
