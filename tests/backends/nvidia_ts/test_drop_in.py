"""A script whose imports name warpdraft.core instead builds the document that importing it gives."""

import dataclasses

import pytest

from warpdraft.core.equality import without_positions

pytestmark = [pytest.mark.xdist_group("nvidia_ts")]
NAMES = (
    "aliases async_async async_umma clc_queue conditions gemm leader_bytes pdl ping_pong skipped_tiles "
    "split_consumer tma_async"
).split()


@pytest.mark.parametrize("name", NAMES)
def test_the_same_document(built, moved, name):
    theirs, ours = (without_positions(d) for d in (built(name).documents[0], moved(name)))
    for field in (
        f for f in dataclasses.fields(ours) if f.name != "name"
    ):  # of the file that calls TaskManager
        assert getattr(theirs, field.name) == getattr(ours, field.name), field.name
