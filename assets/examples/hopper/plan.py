"""What the members of the family of Hopper GEMMs differ in, and what follows from it."""

from dataclasses import dataclass

SHARED_MEMORY = 232_448  # bytes that a CTA may use on sm_90
RESERVED = 1024  # for mbarriers, up to the first multiple of what 128-byte swizzled tiles are aligned to
MOST_PROMOTED = 96  # registers of a thread for an accumulator that is kept twice; 128 spill
PROMOTE = 2  # k tiles of 128 of e4m3 after which sums are right to 2e-3 even where all terms are positive
BYTES = {"fp16": 2, "bf16": 2, "e4m3": 1, "fp32": 4}  # of an element


@dataclass(frozen=True)
class Plan:
    """What the family's members differ in. ``tile``: rows, columns and depth of what one accumulator holds."""

    tile: tuple[int, int, int] = (128, 256, 64)
    cluster: tuple[int, int] = (2, 1)  # CTAs along M, which share B, and along N, which share A
    ping_pong: bool = False  # two accumulators, whose tiles are multiplied in turn
    apart: bool = False  # two accumulators, whose tiles, one above the other, are multiplied side by side
    band: int = 8  # cluster tiles along M that are worked on column by column
    subtile: int = 64  # columns of C that are stored at a time
    dtype: str = "fp16"  # of A and B
    out: str = ""  # of C, where it is another
    orders: str = "kk"  # what is contiguous in A and in B: "k", or "m" in A, "n" in B
    splits: int = (
        1  # parts that the sums over k are cut into; they are added up in C, which must be zero at the start
    )
    promote: int = (
        0  # k tiles whose sum is added up outside of the tensor cores, in as many registers again; 0: none
    )
    batched: bool = False  # A, B and C are batches of matrices
    bias: bool = False  # a row vector is added to every row,
    activation: str = ""  # then a function is applied ("relu", "gelu", "silu"),
    residual: bool = False  # then another matrix is added

    def __post_init__(self) -> None:
        """Raises ValueError where promoted sums leave a thread too few registers for the rest."""
        if self.promote and self.accumulator_registers > MOST_PROMOTED:
            m, n, _ = self.tile
            raise ValueError(
                f"promote={self.promote}: an accumulator of {m} x {n} takes {self.accumulator_registers} registers of a "
                f"thread, and its sum as many; at most {MOST_PROMOTED} leave room: use a smaller tile"
            )

    @property
    def accumulator_registers(self) -> int:
        """Of a thread, for its part of one accumulator."""
        return self.tile[0] * self.tile[1] // (32 * self.warps)

    @property
    def warps(self) -> int:
        """Warps that share an accumulator: a warpgroup for each 64 rows, two at most."""
        return 4 if self.parts > 1 or self.tile[0] == 64 else 8

    @property
    def subtiles(self) -> int:
        return self.tile[1] // self.subtile

    @property
    def parts(self) -> int:
        """Accumulators of a CTA, each a task's: the work tile is as many tiles, one above the other."""
        return 2 if self.ping_pong or self.apart else 1

    @property
    def a(self) -> tuple[str, ...]:
        """The parts of a stage that hold tiles of A: side by side, each accumulator needs its own."""
        return ("a", "a1") if self.apart else ("a",)

    @property
    def stage_bytes(self) -> int:
        m, n, k = self.tile
        return (m * len(self.a) + n) * k * BYTES[self.dtype]

    @property
    def subtile_bytes(self) -> int:
        return self.tile[0] * self.subtile * BYTES[self.out or self.dtype]

    @property
    def batch(self) -> tuple[str, ...]:
        """The name of the coordinate that says which matrix is meant."""
        return ("coord_l",) if self.batched else ()

    @property
    def stages(self) -> int:
        """As many stages in the ring as shared memory has room for."""
        staging = 2 * self.parts * self.subtile_bytes * (2 if self.residual else 1)
        return (SHARED_MEMORY - RESERVED - staging) // self.stage_bytes

    @property
    def registers(self) -> tuple[int, int]:
        """Of a thread that loads, and of one that multiplies."""
        return (40, 232) if self.warps * self.parts == 8 else (24, 240)
