"""Barriers, groups and fences: synchronisation that belongs to no resource."""

from __future__ import annotations

import sys
from typing import Any

from ..document import SCOPES, Engine, OpKind
from ..expressions import Integer
from ..limits import MAX_STAGES
from .ctas import ctas
from .errors import refuse
from .frames import caller, stored_as
from .given import flag
from .given import name as checked_name
from .integers import integer, optional_integer
from .recording import CapturedOp, active, recorder
from .runtime import RunTimeInteger, run_time_integer
from .tokens import DataFlowToken, Tokens, named_results

MAX_COUNT = (
    1 << 20
) - 1  # arrivals of one phase (PTX ISA, "Parallel Synchronization and Communication: mbarrier")
Place = Integer | RunTimeInteger | None  # a stage or parity


class Named:
    """An object with a place in the document's namespace. Without a name it gets that of the schedule's parameter."""

    document_name = True

    def __init__(self, name: str | None, fallback: str) -> None:
        self.name = None if name is None else checked_name("name of a barrier or group", name)
        self.parameter: str | None = None  # of the schedule function that it was first passed to
        self.fallback = fallback
        self.source = caller().source

    @property
    def wanted_name(self) -> str:
        """The name to use if nobody else has it."""
        return self.name or self.parameter or self.fallback

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or active() is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        raise refuse(
            f"a {type(self).__name__} has no {name}(); are the arguments of the schedule in the order of its parameters?"
        )

    def _record(self, kind: OpKind, stage: Any = None, cta: Any = None, **fields: int | None) -> CapturedOp:
        at = recorder(f"{kind.value}()")
        numbers = {key: optional_integer(f"{kind.value}(): {key}", value, 0) for key, value in fields.items()}
        chosen = run_time_integer(f"{kind.value}(): stage", stage, at)
        return at.op(kind, self, stage=chosen, ctas=ctas(f"{kind.value}(): cta", cta), **numbers)


class NamedBarrier(Named):
    """Hardware barrier ``id`` (0..15): a generation completes when ``threads`` threads have synced or arrived."""

    def __init__(self, id: int, threads: int, name: str | None = None) -> None:
        super().__init__(name, f"barrier_{id}")
        self.id = integer("id of a named barrier", id)
        self.threads = integer("threads of a named barrier", threads)

    def sync(self) -> None:
        """Arrive, and wait for the generation to complete."""
        self._record(OpKind.BARRIER_SYNC)

    def arrive(self) -> None:
        """Arrive and go on."""
        self._record(OpKind.BARRIER_ARRIVE)


class AsyncGroup(Named):
    """The groups of one asynchronous channel of each warp: "wgmma", "bulk_store" or "cp_async"."""

    def __init__(self, kind: Engine | str, name: str | None = None) -> None:
        if kind not in (Engine.WGMMA, Engine.BULK_STORE, Engine.CP_ASYNC):
            raise refuse(f'AsyncGroup kind must be "wgmma", "bulk_store" or "cp_async", not {kind!r}')
        self.kind = Engine(kind)
        super().__init__(name, f"{self.kind.value}_group")

    def commit(self) -> None:
        """Close the group of what was started since the last commit."""
        self._record(OpKind.GROUP_COMMIT)

    def wait(self, n: int | None = 0) -> None:
        """Wait until all but the newest ``n`` groups are complete."""
        self._record(OpKind.GROUP_WAIT, count=n)

    def wait_read(self, n: int | None = 0) -> None:
        """Wait until all but the newest ``n`` groups have read their sources."""
        self._record(OpKind.GROUP_WAIT_READ, count=n)


class MBarrier(Named):
    """A raw mbarrier of ``count`` arrivals (None: derived), or an array of ``stages``, in each CTA of a cluster; its init
    needs no call. ``scope``: "cta" or "cluster", whom its arrivals and waits order; None: as far as it is used.
    ``address``: where its 8 bytes a stage lie in shared memory, if it shares them with something else."""

    def __init__(
        self,
        name: str | None = None,
        count: int | None = None,
        stages: int = 1,
        scope: str | None = None,
        address: int | None = None,
    ) -> None:
        if name is not None and not isinstance(name, str):
            raise refuse(f"MBarrier's first argument is its name; write MBarrier(count={name!r})")
        super().__init__(name, "mbarrier")
        self.count = optional_integer("count of an mbarrier", count)
        self.stages = integer("stages of an mbarrier", stages, 1, MAX_STAGES)
        if scope not in (None, *SCOPES):
            raise refuse(f"scope of an mbarrier is {' or '.join(map(repr, SCOPES))}, not {scope!r}")
        self.scope = scope
        self.address = optional_integer("address of an mbarrier", address)

    def init(self, stage: int | None = None) -> None:
        """mbarrier.init by one lane of each warp that gets here, of all stages or of one. Others need a barrier behind it
        and `fence_mbarrier_init` before that. Left out everywhere, the kernel's prologue does all this."""
        self._record(OpKind.MBARRIER_INIT, stage=stage)

    def inval(self, stage: int | None = None) -> None:
        """mbarrier.inval, after which its bytes may be used again: of all stages or of one."""
        self._record(OpKind.MBARRIER_INVAL, stage=stage)

    def arrive(self, count: int | None = 1, stage: Place = None, cta: Any = None) -> None:
        """``count`` arrivals by each warp that gets here (32: every lane arrives). ``cta``: on the mbarrier of that CTA
        of the cluster (a rank or several, "peer", "all")."""
        optional_integer("mbarrier_arrive(): count", count, 1, MAX_COUNT)
        self._record(OpKind.MBARRIER_ARRIVE, stage, cta, count=count)

    def expect_tx(self, bytes: int | None, stage: Place = None, cta: Any = None) -> None:
        """Expect ``bytes`` more in this phase. ``cta`` as for `arrive`."""
        self._record(OpKind.MBARRIER_EXPECT, stage, cta, count=bytes)

    def arrive_expect_tx(self, bytes: int | None, stage: Place = None, cta: Any = None) -> None:
        """One arrival that expects ``bytes`` more. ``cta`` as for `arrive`."""
        self._record(OpKind.MBARRIER_ARRIVE_EXPECT, stage, cta, count=bytes)

    def cp_async_arrive(self, noinc: bool = False, stage: Place = None) -> None:
        """``cp.async.mbarrier.arrive`` by every lane: the phase does not end before the cp.async copies that this warp has
        started so far. Plain, it adds to the pending count what it takes away; with ``noinc`` each lane is one arrival of
        the count (32 a warp)."""
        kind = OpKind.CP_ASYNC_ARRIVE_NOINC if flag("noinc", noinc) else OpKind.CP_ASYNC_ARRIVE
        self._record(kind, stage)

    def wait(self, parity: Place = None, stage: Place = None, *, phase: Place = None) -> None:
        """Wait for the phase of ``parity``, also called ``phase``; None follows the phases in turn, one for each wait.

        Parity and stage may be computed with the variables of the loops around: ``wait(phase=k // 3 % 2, stage=k % 3)``.
        """
        self._await(OpKind.MBARRIER_WAIT, parity, stage, phase)

    def try_wait(
        self,
        parity: Place = None,
        stage: Place = None,
        *,
        phase: Place = None,
        results: str | tuple[str] | None = None,
    ) -> DataFlowToken | Tokens:
        """Whether that phase is over, as a token for `when_true` and `when_false`; it does not wait, and turns nothing.

        ``results`` names the token, where it is not the variable that takes it.
        """
        variable = stored_as(sys._getframe(1))
        op = self._await(OpKind.MBARRIER_TRY_WAIT, parity, stage, phase)
        if results is not None:
            return named_results(recorder("try_wait()"), op, results)
        return DataFlowToken(recorder("try_wait()"), op, variable or "try_wait_result")

    def _await(self, kind: OpKind, parity: Place, stage: Place, phase: Place) -> CapturedOp:
        if parity is not None and phase is not None:
            raise refuse("parity= and phase= are the same; give one of them")
        op = self._record(kind, stage)
        named = "parity" if phase is None else "phase"
        op.count = run_time_integer(f"{named}=", parity if phase is None else phase, recorder("wait()"))
        return op


def fence_mbarrier_init() -> None:
    """Make this thread's `MBarrier.init` visible to the cluster and to the async proxy, behind the barrier that follows."""
    recorder("fence_mbarrier_init()").op(OpKind.FENCE_MBARRIER_INIT)


def fence_proxy_async() -> None:
    """Order this thread's generic accesses to shared memory before later accesses through the async proxy."""
    recorder("fence_proxy_async()").op(OpKind.FENCE_PROXY_ASYNC)


def wgmma_fence() -> None:
    """Order this warp's accesses to the registers of wgmma (accumulators, an operand in registers) before the next wgmma."""
    recorder("wgmma_fence()").op(OpKind.WGMMA_FENCE)


def sync_warp() -> None:
    """Converge the lanes of a warp."""
    recorder("sync_warp()").op(OpKind.SYNC_WARP)


def setmaxregister_decrease(count: int | None) -> None:
    """``setmaxnreg.dec``: each thread of the task's warpgroups keeps ``count`` registers, the others go back to the CTA."""
    _registers(OpKind.REGISTERS_DECREASE, count)


def setmaxregister_increase(count: int | None) -> None:
    """``setmaxnreg.inc``: wait until the CTA has registers to spare, so that each thread has ``count``."""
    _registers(OpKind.REGISTERS_INCREASE, count)


def _registers(kind: OpKind, count: Any) -> None:
    call = f"{kind.value}()"
    recorder(call).op(kind, count=optional_integer(f"{call}: count", count, 0))


def cluster_sync() -> None:
    """Arrive at the cluster barrier and wait for it."""
    recorder("cluster_sync()").op(OpKind.CLUSTER_SYNC)


def cluster_arrive() -> None:
    """Arrive at the cluster barrier and go on."""
    recorder("cluster_arrive()").op(OpKind.CLUSTER_ARRIVE)


def cluster_wait() -> None:
    """Wait for the cluster barrier after `cluster_arrive`."""
    recorder("cluster_wait()").op(OpKind.CLUSTER_WAIT)
