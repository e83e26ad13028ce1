"""Runs an exported kernel as plain Python, one warp after another, with stand-ins for the DSL, and notes what each op does.

Barriers are numbered as they lie in the shared memory of a CTA, which is how `core.machine` numbers them, one CTA after the
other.
"""

import sys
import types
from copy import copy
from itertools import product
from unittest import mock

from warpdraft.core.clusters import cluster_size, looked_at
from warpdraft.core.document import Document
from warpdraft.core.machine import Machine
from warpdraft.core.phases import parity_of
from warpdraft.core.program import EventKind, Program, in_cta

MODULES = (
    "cuda",
    "cuda.bindings",
    "cuda.bindings.driver",
    "cutlass",
    "cutlass.cute",
    "cutlass.cute.nvgpu",
    "cutlass.pipeline",
)


class Anything:
    """Takes part in everything; an index remembers its last number, as the stage of a tensor."""

    def __init__(self, stage=None):
        self.stage = stage

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()

    def __call__(self, *arguments, **keywords):
        return Anything()

    def __getitem__(self, items):
        last = items[-1] if isinstance(items, tuple) else items
        return Anything(last if isinstance(last, int) else None)

    def __iter__(self):
        return iter((Anything(), Anything()))

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        return None

    def __rdivmod__(self, other):
        return 0, other

    def _same(self, *other):
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _same
    __lshift__ = __rlshift__ = __or__ = _same


class Cursor:
    """`cutlass.pipeline.PipelineState`: a producer begins with phase 1."""

    def __init__(self, user, stages):
        self.stages, self.index, self.phase = stages, 0, 1 if user == "Producer" else 0

    def clone(self):
        return copy(self)

    def advance(self):
        self.index += 1
        if self.index == self.stages:
            self.index, self.phase = 0, self.phase ^ 1


class Log:
    """Takes the place of `op` in CTA ``rank``: notes (op, what, barrier, number) as `expected` gives it."""

    def __init__(self, rank, barriers):
        self.lines, self.rank, self.barriers = [], rank, barriers

    def note(self, op, what, barrier, number, cta=None):
        first = (self.rank if cta is None else cta) * self.barriers
        self.lines.append((op, what, barrier if barrier < 0 else first + barrier, number))

    def acquire(self, op, ring, cursor, step):
        self.note(op, "wait", ring.empty + cursor.index, cursor.phase)

    def wait(self, op, ring, cursor, step):
        self.note(op, "wait", ring.full + cursor.index, cursor.phase)

    def try_acquire(self, op, ring, cursor, step):
        self.note(op, "try", ring.empty + cursor.index, cursor.phase)

    def try_wait(self, op, ring, cursor, step):
        self.note(op, "try", ring.full + cursor.index, cursor.phase)

    def wait_parity(self, op, barrier, parity, step):
        self.note(op, "wait", barrier, parity)

    def arm(self, op, barrier, nbytes, step):
        self.note(op, "arrive", barrier, (1, nbytes))

    def expect(self, op, barrier, nbytes, step):
        self.note(op, "arrive", barrier, (1, nbytes))

    def expect_only(self, op, barrier, nbytes, step):
        self.note(op, "arrive", barrier, (0, nbytes))

    def arrive(self, op, barrier, step):
        self.note(op, "arrive", barrier, (1, 0))

    def arrive_threads(self, op, barrier, step):
        self.note(op, "arrive", barrier, (32, 0))

    def arrive_count(self, op, barrier, count, step):
        self.note(op, "arrive", barrier, (count, 0))

    def arrive_ctas(self, op, barrier, ctas, count, step):
        for cta in bits(ctas):
            self.note(op, "arrive", barrier, (count, 0), cta)

    def tma_multicast(self, op, atom, source, target, barrier, ctas, step):
        for cta in bits(ctas):
            self.note(op, "load", barrier, target.stage, cta)

    def tma_load(self, op, atom, source, target, barrier, step):
        self.note(op, "load", barrier, target.stage)

    def wgmma(self, op, instruction, warpgroups, acc, a, b, accumulate, step):
        self.note(op, "mma", -1, (a.stage, b.stage))

    def __getattr__(self, name):
        return lambda *arguments: Anything()


def bits(mask: int) -> list[int]:
    """The places of the ones in ``mask``."""
    return [i for i in range(mask.bit_length()) if mask >> i & 1]


def _stand_ins(warp: int, rank: int, size: int, inits: list, kernels: list) -> dict[str, types.ModuleType]:
    found = {}
    for name in MODULES:
        module = types.ModuleType(name)
        module.__getattr__ = lambda attribute: Anything()
        found[name] = module
    arch = mock.Mock(wraps=Anything())
    arch.warp_idx = lambda: warp
    arch.make_warp_uniform = lambda value: value
    arch.block_idx, arch.block_idx_in_cluster = lambda: (rank, 0, 0), lambda: rank
    arch.grid_dim = lambda: (size, 1, 1)
    arch.thread_idx = lambda: (32 * warp, 0, 0)
    arch.mbarrier_init = lambda barrier, count: inits.append((barrier, count))
    arch.elect_one = lambda: Anything()
    cute, cutlass, pipeline = (found[f"cutlass{p}"] for p in (".cute", "", ".pipeline"))
    cute.arch, cute.Pointer = arch, object
    cute.jit = lambda function: function
    cute.kernel = kernels.append
    cute.recast_ptr = lambda *arguments, **keywords: 0
    cute.ceil_div = lambda a, b: -(-a // b)
    cutlass.cute, cutlass.Int32 = cute, int
    cutlass.range = lambda stop, unroll=1: range(stop)
    cutlass.range_constexpr = range
    pipeline.make_pipeline_state = Cursor
    pipeline.PipelineUserType = types.SimpleNamespace(Producer="Producer", Consumer="Consumer")
    found["cuda"].bindings = found["cuda.bindings"]
    return found


def traced(source: str, document: Document, values: dict[str, int]) -> tuple[dict[str, list], list]:
    """What each warp of the module's kernel does, by "task.wN", and the mbarriers with their counts."""
    lines, inits = {}, []
    size, ctas = cluster_size(document), looked_at(document)
    every = [b for b in Machine(document).barriers if b.cta == 0 and b.side != "cluster"]
    for rank, task in product(range(ctas), document.tasks):
        for warp in range(task.num_warps):
            log = Log(rank, len(every))
            kernels = []
            with mock.patch.dict(sys.modules, _stand_ins(task.warp_idx + warp, rank, size, inits, kernels)):
                scope = {"__name__": "kernel"}
                exec(compile(source, "kernel.py", "exec"), scope)
                scope |= {"Ops": lambda log=log: log, "partition": lambda *a: (Anything(), Anything())}
                scope |= {"tile_at": lambda *a: (0, 0), "stages_at": lambda *a: Anything()}
                scope |= {"swizzled": lambda *a: Anything(), "plain": lambda *a: Anything()}
                (kernel,) = kernels
                names = kernel.__code__.co_varnames[: kernel.__code__.co_argcount]
                kernel(*(values.get(name, Anything()) for name in names))
            lines[f"{in_cta(task.name, rank)}.w{warp}"] = log.lines
    return lines, sorted(set(inits))


def expected(program: Program) -> dict[str, list]:
    """The same of `core.unroll`'s program."""
    return {s.name: [line for e in s.events for line in _lines(e)] for s in program.streams}


def _lines(event):
    found = _line(event)
    return [(*found[:2], b, found[3]) for b in event.barriers or (-1,)] if found else []


def _line(event):
    if event.kind in (EventKind.WAIT, EventKind.TRY):
        parity = event.parity if event.number is None else parity_of(event.number)
        return event.op, "wait" if event.kind is EventKind.WAIT else "try", event.barrier, parity
    if event.kind in (EventKind.ARRIVE, EventKind.ARRIVE_EXPECT, EventKind.EXPECT):
        return event.op, "arrive", event.barrier, (event.number or 0, event.bytes)
    if event.kind is EventKind.ASYNC and event.engine == "tma":
        return event.op, "load", event.barrier, event.stage
    if event.kind is EventKind.ASYNC and event.engine == "wgmma":
        stage = event.views[0][2]
        return event.op, "mma", -1, (stage, stage)
    return None
