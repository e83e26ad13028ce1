"""Places in shared memory: barriers first, alignment, alias groups, fixed offsets."""

from warpdraft.core.document import Document, Mbarrier, Pipeline, Resource, Space, Storage
from warpdraft.core.layout import layout


def smem(name, bytes, stages=1, **storage):
    return Resource(name, Space.SMEM, storage=Storage(bytes, stages, **storage))


def test_barriers_come_first_and_resources_are_aligned():
    piped = Resource("ab", Space.SMEM, Pipeline(3), Storage(1000, 3, 1024))
    placed = layout(Document("d", resources=(piped, smem("c", 10)), mbarriers=(Mbarrier("gate", 1, 2),)))
    assert placed.barrier_bytes == (3 + 3 + 2) * 8
    assert placed.offsets == {"ab": 1024, "c": 4096}
    assert placed.smem_bytes == 4106


def test_phases_of_an_alias_group_overlap_and_members_of_a_phase_follow_one_another():
    resources = (
        smem("first", 256, alias="x", phase=0),
        smem("second", 256, alias="x", phase=0),
        smem("other", 128, alias="x", phase=1),
        smem("after", 16),
    )
    placed = layout(Document("d", resources=resources))
    assert placed.offsets == {"first": 0, "second": 256, "other": 0, "after": 512}
    assert placed.smem_bytes == 528


def test_a_fixed_place_does_not_move_what_follows_but_counts_in_the_total():
    placed = layout(Document("d", resources=(smem("a", 128, offset=4096), smem("b", 128))))
    assert placed.offsets == {"a": 4096, "b": 0}
    assert placed.smem_bytes == 4224


def test_tensor_memory_is_counted_in_columns():
    tmem = Resource("acc", Space.TMEM, storage=Storage(128, 2, alignment=1))
    assert layout(Document("d", resources=(tmem,))).tmem_columns == 256
