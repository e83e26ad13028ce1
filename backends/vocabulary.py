"""The stock bodies' words, for every backend: which bodies there are, on which engine, with which parameters.

Both backends read parameters through `read`, so that they take and refuse the same documents in the same words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import mul

from warpdraft.core.clusters import cluster_layout, cluster_size
from warpdraft.core.document import Document, Engine, Kernel, Parameters, Resource, Space, Task, Value, Work
from warpdraft.core.expressions import Integer, ceil_div, symbols_of
from warpdraft.core.footprints import engine_of, stage_bytes

HOPPER, BLACKWELL = ("sm_90a",), ("sm_100a",)
TARGETS = (*HOPPER, *BLACKWELL)  # that stock bodies are for
NAME, NAMES, INTEGER, INTEGERS, PLACE, WORD = "name", "names", "integer", "integers", "place", "word"


class StockError(ValueError):
    """A document uses a stock body in a way that no backend takes; the message says what is wrong, not where."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A body's parameter. ``kind``: a name, ``count`` names, a positive integer, ``count`` of them (for a place:
    0 or more), or one of ``words``.

    ``default`` is what it is where the work does not say it; without one it must be said, unless it is ``optional``.
    """

    name: str
    kind: str
    count: int | tuple[int, ...] = 1
    default: Value = None
    optional: bool = False
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Body:
    """A stock body: the engine that a work with it must have, its parameters, the targets that have its instructions.

    Its name starts with the architecture that brought them: "sm90" bodies are for later targets too, unless they say so."""

    engine: Engine
    parameters: tuple[Parameter, ...] = ()
    targets: tuple[str, ...] = TARGETS


MMA = (
    Parameter("a", NAME),
    Parameter("b", NAME),
    Parameter("tile", INTEGERS, 3),
    Parameter("overwrite", WORD, default="never", words=("first_iter", "always", "never")),
    Parameter("period", INTEGER, optional=True),
)
BAND_WITHOUT_QUEUE = 8  # neighbouring CTAs share rows of A and columns of B in the L2 cache
BAND_OF_A_QUEUE = 1  # row after row
COPY = (
    Parameter("tensor", NAME),
    Parameter("tile", INTEGERS, 2),
    Parameter("coords", NAMES, (2, 3)),
    Parameter("part", NAME, default=""),
)
SUBTILES = (Parameter("subtiles", INTEGER, optional=True),)
ACTIVATIONS = ("relu", "gelu", "silu")
BODIES = {
    "sm90.tile_coords": Body(
        Engine.WARP,
        (
            Parameter("band", INTEGER, default=BAND_WITHOUT_QUEUE),
            Parameter("parts", INTEGERS, 2, default=(1, 1)),
            Parameter("part", PLACE, 2, default=(0, 0)),
            Parameter("splits", INTEGER, default=1),
        ),
    ),
    "sm90.tma_load": Body(Engine.TMA, (*COPY, Parameter("split", WORD, default="", words=("", "pair")))),
    "sm90.wgmma": Body(Engine.WGMMA, MMA, HOPPER),
    "sm90.read_fragment": Body(Engine.WARP, SUBTILES, HOPPER),
    "sm90.zero_fragment": Body(Engine.WARP, targets=HOPPER),
    "sm90.add_fragment": Body(Engine.WARP, targets=HOPPER),
    "sm90.add_row": Body(Engine.WARP, (Parameter("tensor", NAME),), HOPPER),
    "sm90.add_tile": Body(Engine.WARP, targets=HOPPER),
    "sm90.activate": Body(Engine.WARP, (Parameter("function", WORD, words=ACTIVATIONS),), HOPPER),
    "sm90.store_fragment": Body(Engine.WARP, targets=HOPPER),
    "sm90.bulk_store": Body(
        Engine.BULK_STORE, (*COPY, Parameter("reduce", WORD, default="", words=("", "add")))
    ),
    "sm100.tcgen05_mma": Body(Engine.TCGEN05, (*MMA, Parameter("cta_group", INTEGER, default=1)), BLACKWELL),
    "sm100.tcgen05_mma_scaled": Body(
        Engine.TCGEN05, (*MMA, Parameter("sfa", NAME), Parameter("sfb", NAME)), BLACKWELL
    ),
    "sm100.tcgen05_cp": Body(
        Engine.TCGEN05_CP, (Parameter("source", NAME), Parameter("rows", INTEGER, default=128)), BLACKWELL
    ),
    "sm100.tmem_load": Body(Engine.TCGEN05_LD, (Parameter("subtiles", INTEGER, default=1),), BLACKWELL),
    "sm100.tmem_store": Body(Engine.TCGEN05_ST, (Parameter("subtiles", INTEGER, default=1),), BLACKWELL),
    "sm100.store_fragment": Body(Engine.WARP, targets=BLACKWELL),
}


UMMAS = ("sm100.tcgen05_mma", "sm100.tcgen05_mma_scaled")
MULTIPLY = ("sm90.wgmma", *UMMAS)  # bodies that read rows of A and B from shared memory
STORE = ("sm90.store_fragment", "sm100.store_fragment")  # bodies that write rows of the accumulator to it


def read(work: Work, name: str) -> Value:
    """Parameter ``name`` of the stock body of ``work``; None for an optional one that is not given. Raises StockError."""
    parameter = next(p for p in BODIES[work.body].parameters if p.name == name)
    value = dict(work.params).get(name, parameter.default)
    if value is None:
        if parameter.optional:
            return None
        raise StockError(f"parameter {name!r} is missing")
    _check(parameter, value)
    return value


def check(document: Document, resource: Resource, work: Work) -> None:
    """The engine of ``work``, all its parameters, and the document's target. Raises StockError."""
    body = BODIES[work.body]
    if document.target not in body.targets:
        raise StockError(f"is for {' and '.join(body.targets)}, not for {document.target}")
    if engine_of(resource, work) is not body.engine:
        raise StockError(f"needs engine {body.engine.value!r}, not {engine_of(resource, work).value!r}")
    known = [p.name for p in body.parameters]
    for name, _ in work.params:
        if name not in known:
            raise StockError(f"has no parameter {name!r}, only {', '.join(known) or 'none'}")
    for name in known:
        read(work, name)


def _check(parameter: Parameter, value: Value) -> None:
    kind, count, name = parameter.kind, parameter.count, parameter.name
    if kind == NAME and not isinstance(value, str):
        raise StockError(f"parameter {name!r} must be a name, not {value!r}")
    if kind == WORD and value not in parameter.words:
        *most, last = (repr(word) for word in parameter.words)
        raise StockError(f"{name}={value!r} is not {', '.join(most)} or {last}")
    if kind == NAMES and not any(_all(value, n, lambda v: isinstance(v, str)) for n in count):
        raise StockError(f"parameter {name!r} must be {' or '.join(map(str, count))} names, not {value!r}")
    if kind == INTEGER and not positive(value):
        raise StockError(f"parameter {name!r} must be a positive integer, not {value!r}")
    if kind == INTEGERS and not _all(value, count, positive):
        raise StockError(f"parameter {name!r} must be {count} positive integers, not {value!r}")
    if kind == PLACE and not _all(value, count, lambda v: type(v) is int and v >= 0):
        raise StockError(f"parameter {name!r} must be {count} integers from 0, not {value!r}")


def _all(value: Value, count: int, fits) -> bool:
    return isinstance(value, tuple) and len(value) == count and all(fits(v) for v in value)


def positive(value: object) -> bool:
    """Whether ``value`` is an integer above 0, and no boolean."""
    return type(value) is int and value > 0


def band_of(work: Work, queue: Resource | None) -> int:
    """The band of the tile order: that of the queue whose loop is around the work, else the work's. Raises StockError."""
    if queue is None:
        return read(work, "band")
    if queue.space is not Space.QUEUE:
        raise StockError(f"the tile loop's queue {queue.name!r} is no work queue")
    band = dict(queue.params).get("band", BAND_OF_A_QUEUE)
    if not positive(band):
        raise StockError(f"band of {queue.name} must be a positive integer, not {band!r}")
    return band


def output_tile(parameters: Parameters) -> tuple[int, int]:
    """Rows and columns of a work tile, by the kernel parameter "tile". Raises StockError."""
    tile = dict(parameters).get("tile")
    if not isinstance(tile, tuple) or len(tile) < 2 or not all(positive(v) for v in tile):
        raise StockError(f"the kernel parameter 'tile' must be two or more positive integers, not {tile!r}")
    return tile[:2]


def splits_of(document: Document) -> int:
    """Into how many parts the sums over k are cut, each a work tile of its own. Raises StockError."""
    works = (work for r in document.resources for work in r.works if work.body == "sm90.tile_coords")
    found = {read(work, "splits") for work in works} or {1}
    if len(found) > 1:
        raise StockError(f"all tile coordinates must have the same splits, not {sorted(found)}")
    return found.pop()


def added_tensors(document: Document) -> tuple[str, ...]:
    """The tensors that tiles are added to: they must be zero at the start. Raises StockError."""
    works = (
        w for r in document.resources for w in r.works if w.body == "sm90.bulk_store" and read(w, "reduce")
    )
    return tuple(dict.fromkeys(read(work, "tensor") for work in works))


def whole_grid(document: Document, kernel: Kernel) -> Integer | None:
    """The CTAs that `sm90.tile_coords` divides the output among: whole clusters. None where nothing uses it."""
    if not any(work.body == "sm90.tile_coords" for r in document.resources for work in r.works):
        return None
    pairs, m, n, _ = cluster_layout(document)
    out = next((t for t in kernel.tensors if t.role == "out"), None)
    if out is None:
        raise StockError("tile coordinates need an output tensor")
    (*batch, rows, columns), (tall, wide) = out.shape, output_tile(kernel.parameters)
    tiles = ceil_div(rows, tall * pairs * m), ceil_div(columns, wide * n)
    factors = *batch, splits_of(document), *tiles, cluster_size(document)
    factors = [factor for factor in factors if factor != 1]
    return reduce(mul, factors) if factors else 1


def accumulator_tile(document: Document) -> tuple[int, int]:
    """Rows and columns of the accumulator tile of the document's products. Raises StockError."""
    found = {read(work, "tile")[:2] for r in document.resources for work in r.works if work.body in MULTIPLY}
    if len(found) != 1:
        raise StockError(f"subtiles need one accumulator tile, the document has {len(found)}")
    return found.pop()


def columns_of_subtile(document: Document, tile: Sequence[int]) -> int:
    """How many tiles of ``tile`` lie side by side in the accumulator tile. Raises StockError."""
    whole = accumulator_tile(document)
    if tile[0] != whole[0] or whole[1] % tile[1]:
        raise StockError(f"tiles of {tuple(tile)} do not cut the accumulator tile {whole} into columns")
    return whole[1] // tile[1]


INSTRUCTION_M = 64
INSTRUCTION_BYTES = (
    32  # of k: PTX ISA, wgmma.mma_async: .m64nNk16 of .f16 and .bf16, .m64nNk32 of .e4m3; N = 8, 16 .. 256
)


def warpgroups_over(warp_idx: int, warps: int, tile: Sequence[int], nbytes: int = 2) -> tuple[int, int]:
    """How many warpgroups share ``tile`` (m, n, k), of elements of ``nbytes``, along m and along n, where m is too short.
    Raises StockError."""
    m, n, k = tile
    if k * nbytes % INSTRUCTION_BYTES:
        raise StockError(f"k = {k} is not a multiple of {INSTRUCTION_BYTES // nbytes}")
    if warp_idx % 4 or warps % 4:
        raise StockError("wgmma needs all warps of whole, aligned warpgroups")
    groups = warps // 4
    down, across = (groups, 1) if m % (INSTRUCTION_M * groups) == 0 else (1, groups)
    wide = n // across
    if m % (INSTRUCTION_M * down) or n % across or wide % 8 or not 8 <= wide <= 256:
        raise StockError(f"{groups} warpgroups cannot share a tile of {m} x {n}")
    return down, across


# PTX ISA, tcgen05.mma, kind::f16: M = 128 by one CTA, 256 by a pair, fill all lanes of each; K is always 16
UMMA_M, UMMA_K = 128, 16


def check_umma(tile: Sequence[int], cta_group: int = 1) -> None:
    """Whether one instruction of ``cta_group`` CTAs makes ``tile`` (m, n) in each, k steps of 16. Raises StockError."""
    if cta_group not in (1, 2):
        raise StockError(f"cta_group is 1 or 2, not {cta_group}")
    m, n, k = tile
    if m != UMMA_M:
        raise StockError(f"m is {m}; a CTA's tile has {UMMA_M} rows, one for each lane of tensor memory")
    if n % 16 or not 16 <= n <= 256:
        raise StockError(f"n = {n} is not a multiple of 16 from 16 to 256")
    if k % UMMA_K:
        raise StockError(f"k = {k} is not a multiple of {UMMA_K}")


# Elements of 4 blocks of 32, whose factors are the 4 bytes of a column (PTX ISA, tcgen05.mma, .block_scale with .block32).
SCALED_K = 128
SCALED_ROWS = 128, 256  # of an operand: tcgen05.cp copies the factors of 128 at a time


def check_scaled(tile: Sequence[int]) -> None:
    """Whether instructions with a scale factor for each 32 elements make ``tile``. Raises StockError."""
    check_umma(tile)
    if tile[1] not in SCALED_ROWS or tile[2] != SCALED_K:
        wide = " or ".join(map(str, SCALED_ROWS))
        raise StockError(f"a scaled tile is {UMMA_M} x {wide}, {SCALED_K} deep, not {tuple(tile)}")


def scales(rows: int) -> tuple[int, int]:
    """The shape of the factors of ``rows`` rows, as they lie in shared memory: byte 4 q + s of row 32 t + r is that of row
    128 t + 32 q + r in block s. Raises StockError."""
    if rows not in SCALED_ROWS:
        raise StockError(f"rows is {' or '.join(map(str, SCALED_ROWS))}, not {rows}")
    return rows // 4, 16


def scale_columns(rows: int) -> int:
    """Columns of tensor memory with the factors of so many rows: row 32 q + r in lane r of column q."""
    return rows // 32


def umma_tile(accumulator: Resource) -> tuple[int, int, int]:
    """The tile of the products that fill ``accumulator`` in tensor memory. Raises StockError."""
    found = {read(work, "tile") for work in accumulator.works if work.body in UMMAS}
    if len(found) != 1:
        raise StockError(f"{accumulator.name} is filled with {len(found)} tiles of tcgen05 MMAs, not one")
    return found.pop()


WIDEST_LOAD = 128  # PTX ISA, tcgen05.ld.32x32b: .x1 to .x128 columns, a power of two
LEAST_LOAD = 16  # columns: of 2 bytes, the narrowest swizzle of a row in shared memory


def loaded_columns(accumulator: Resource, work: Work, subtile: object, task: Task) -> int:
    """Columns that one load of a part of the accumulator brings. Raises StockError."""
    wide, count = umma_tile(accumulator)[1], read(work, "subtiles")
    columns = _part(wide, count, subtile, task)
    if columns & (columns - 1) or not LEAST_LOAD <= columns <= WIDEST_LOAD:
        raise StockError(
            f"{wide} columns in {count} parts: a part must be a power of two from {LEAST_LOAD} to {WIDEST_LOAD} columns"
        )
    return columns


def stored_columns(resource: Resource, work: Work, subtile: object, task: Task) -> int:
    """Columns of a part of a stage that one work stores to. Raises StockError."""
    wide, count = stage_bytes(resource), read(work, "subtiles")
    columns = _part(wide, count, subtile, task)
    if columns % LEAST_LOAD or not columns:
        raise StockError(
            f"{wide} columns in {count} parts: a part must be a multiple of {LEAST_LOAD} columns"
        )
    return columns


def check_stored(accumulator: Resource, subtiles: int, columns: int) -> None:
    """Whether a fragment, one of ``subtiles`` of ``accumulator``, has just so many columns. Raises StockError."""
    wide = umma_tile(accumulator)[1] // subtiles
    if wide != columns:
        raise StockError(other_columns(wide, columns))


def other_columns(held: int, wanted: int) -> str:
    """What is wrong with a fragment of ``held`` columns."""
    return f"the fragment has {held} columns, the part that it is stored to {wanted}"


def _part(wide: int, count: int, subtile: object, task: Task) -> int:
    if task.num_warps != 4:
        raise StockError(
            f"needs four warps, one for each quarter of tensor memory's lanes; task {task.name} has {task.num_warps}"
        )
    if wide % count:
        raise StockError(f"{wide} columns are not cut into {count} equal parts")
    if type(subtile) is not int or not 0 <= subtile < count:
        raise StockError(f"subtile must be a constant from 0 to {count - 1}, not {subtile!r}")
    return wide // count


def minimums(document: Document, kernel: Kernel) -> dict[str, int]:
    """The least value of each symbol of the schedule and of the tensors' sizes, where it has one above 0."""
    sized = [s for t in kernel.tensors for extent in t.shape for s in symbols_of(extent)]
    found: dict[str, int] = {}
    for symbol in (*document.symbols, *sized):
        if symbol.min > 0:
            found[symbol.name] = max(symbol.min, found.get(symbol.name, 0))
    return found
