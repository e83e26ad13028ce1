"""Half-finished documents, as they arise while somebody edits: a timeline in any case, never an exception."""

import random
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from pathlib import Path

import pytest

import warpdraft.assets
from warpdraft.core.simulate import simulate, to_perfetto
from warpdraft.core.store import load

EXAMPLE = load(Path(warpdraft.assets.__file__).parent / "examples" / "persistent_gemm.warpdraft.json")
NAMES = ["", "nope", "smem_ab", "acc", "queue", "mma_group", "epilogue_barrier", "k", "tile", "fragment"]


def damaged(record, chance: random.Random):
    """``record`` with one value somewhere inside replaced by another of its type."""
    field = chance.choice(fields(record))
    value = getattr(record, field.name)
    if is_dataclass(value):
        return replace(record, **{field.name: damaged(value, chance)})
    if isinstance(value, tuple) and value and chance.random() < 0.9:
        i = chance.randrange(len(value))
        item = damaged(value[i], chance) if is_dataclass(value[i]) else value[i]
        kept = () if chance.random() < 0.1 else (item,)  # sometimes the item is lost
        return replace(record, **{field.name: (*value[:i], *kept, *value[i + 1 :])})
    return replace(record, **{field.name: other(value, str(field.type), chance)})


def other(value, type_: str, chance: random.Random):
    """Some value of the same type."""
    if isinstance(value, Enum):
        return chance.choice(list(type(value)))
    if isinstance(value, bool):
        return not value
    if isinstance(value, int) or (value is None and type_.startswith("int")):
        return chance.choice([0, -1, 1, 2, 3, 7, 64, 1 << 20])
    return chance.choice(NAMES) if isinstance(value, str) else value


@pytest.mark.parametrize("seed", range(100))
def test_a_damaged_document_still_has_a_timeline(seed):
    chance = random.Random(seed)
    document = EXAMPLE
    for _ in range(chance.choice((1, 2, 4))):
        document = damaged(document, chance)
    timeline = simulate(document, max_steps=5000)
    assert timeline.ended or timeline.blocked or timeline.truncated
    assert all(b.start <= b.end <= timeline.total for b in timeline.bars)
    assert to_perfetto(timeline)["traceEvents"]
