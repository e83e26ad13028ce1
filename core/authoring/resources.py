"""Resources: what the tasks of a schedule hand on to one another."""

from __future__ import annotations

import functools
import keyword
from collections.abc import Callable, Sequence
from dataclasses import Field, dataclass, field
from typing import Any, ClassVar

from ..document import OpKind, Pipeline, Source, Space, Storage
from ..limits import MAX_BYTES, MAX_STAGES
from .calls import call_work, pipeline_op
from .errors import refuse
from .frames import caller
from .given import listed, mapping, shown, text
from .given import name as checked_name
from .integers import integer, optional_integer
from .memory import SmemAllocation, TmemAllocation
from .pipelines import PipelineConfig
from .recording import active
from .works import plain, works_of

PIPELINE_OPS = {
    kind.value: kind
    for kind in (
        OpKind.ACQUIRE,
        OpKind.TRY_ACQUIRE,
        OpKind.COMMIT,
        OpKind.PRODUCER_TAIL,
        OpKind.WAIT,
        OpKind.TRY_WAIT,
        OpKind.RELEASE,
    )
}
# Task Scheduling's unnamed works, one of each role and kind: (role, auxiliary).
UNNAMED_WORKS = {
    "producer_work": ("producer", False),
    "consumer_work": ("consumer", False),
    "producer_aux_work": ("producer", True),
    "consumer_aux_work": ("consumer", True),
}


class ResourceType(type):
    """Lets a subclass name an inherited field: ``@consumer_work(returns=Base.item)``."""

    def __getattr__(cls, name: str) -> Field[Any]:
        for base in cls.__mro__:
            fields = vars(base).get("__dataclass_fields__", {})
            if name in fields:
                return fields[name]
        raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")


@dataclass(kw_only=True, eq=False)
class MemoryResource(metaclass=ResourceType):
    """A resource: subclass it and decorate its works. An instance of this class itself has no storage.

    ``storage`` (or ``smem``/``tmem``: allocations whose sizes are those of one stage, or `get_smem_requirements` /
    `get_tmem_requirements`, whose sizes are totals) gives it bytes; several allocations become named parts of each stage.
    ``stages``: how many stages a resource without a pipeline has. ``alias`` with ``alias_phase``: storages of one alias
    group and different phases share their bytes. ``space`` overrides where the bytes live: "rmem" for accumulators in
    registers. ``params`` are parameters of stock bodies.

    Inside a schedule function, `acquire`, `commit`, `try_acquire`, `wait`, `release`, `try_wait` and every work record an
    op. A method that is no work is recorded all the same, under its name: the verifier reports it (WD109).
    """

    document_name: ClassVar[bool] = True

    name: str = ""
    pipeline_config: PipelineConfig | Pipeline | None = None
    space: Space | str | None = None
    storage: Storage | int | None = None
    smem: Sequence[SmemAllocation] = ()
    tmem: Sequence[TmemAllocation] = ()
    stages: int | None = None
    alias: str = ""
    alias_phase: int = 0
    params: dict[str, Any] = field(default_factory=dict)
    is_barrier: bool = False
    consumer_wait_signaling_threads: Any = None
    pipeline_group: Any = field(init=False, default=None, repr=False)
    source: Source | None = field(init=False, default=None, repr=False)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name in works_of(cls):
            if not is_work_name(name):
                raise refuse(
                    f"{cls.__name__}.{name}: a work cannot have this name; it means something else here"
                )
        cls.__hash__ = object.__hash__  # type: ignore[method-assign]  # identity, also under a plain @dataclass
        cls.__eq__ = object.__eq__  # type: ignore[method-assign]
        if "__post_init__" in vars(cls):
            cls.__post_init__ = _after_base(vars(cls)["__post_init__"])  # type: ignore[method-assign]

    def __post_init__(self) -> None:
        if self.source is None:
            self.source = caller().source
        self._check_given()
        self._check_sizes()
        for allocation in (*self.smem, *self.tmem):
            allocation.copies = self.stage_count
        for allocation in self.tmem:
            allocation.owner = self

    def _check_given(self) -> None:
        checked_name("name of a resource", self.name)
        of = f" of {self.name!r}" if self.name else ""
        config = self.pipeline_config
        if config is not None and not isinstance(config, PipelineConfig | Pipeline):
            raise refuse(f"pipeline_config{of} must be a PipelineConfig, not {shown(config)}")
        if self.space is not None and self.space not in list(Space):
            raise refuse(f"space{of} must be one of {', '.join(Space)}, not {shown(self.space)}")
        if isinstance(self.storage, SmemAllocation | TmemAllocation):
            side = "smem" if isinstance(self.storage, SmemAllocation) else "tmem"
            raise refuse(
                f"storage{of} takes bytes or a Storage; write {side}=[{self.storage.name}] for allocations"
            )
        self.smem = listed(f"smem{of}", self.smem, SmemAllocation, "SmemAllocations")
        self.tmem = listed(f"tmem{of}", self.tmem, TmemAllocation, "TmemAllocations")
        self.alias = text(f"alias{of}", self.alias)
        self.alias_phase = integer(f"alias_phase{of}", self.alias_phase, 0)
        self.params = mapping(f"params{of}", self.params)
        for key, value in self.params.items():
            try:
                plain(value)
            except ValueError as error:
                raise refuse(f"params{of}, {key}: {error}") from None

    def _check_sizes(self) -> None:
        of = f" of {self.name!r}" if self.name else ""
        self.stages = optional_integer(f"stages{of}", self.stages, 1, MAX_STAGES)
        if isinstance(self.pipeline_config, Pipeline):
            integer(f"stages of the pipeline{of}", self.pipeline_config.stages, 1, MAX_STAGES)
        if isinstance(self.storage, Storage):
            integer(f"stages of the storage{of}", self.storage.stages, 1, MAX_STAGES)
            integer(f"bytes of the storage{of}", self.storage.bytes, 0, MAX_BYTES)
        else:
            self.storage = optional_integer(f"storage{of}", self.storage, 0, MAX_BYTES)

    def __getattribute__(self, name: str) -> Any:
        recorder = None if name.startswith("_") else active()
        if recorder is None:
            return super().__getattribute__(name)
        if name in PIPELINE_OPS:
            return functools.partial(pipeline_op, recorder, self, PIPELINE_OPS[name])
        cls = type(self)
        if name in UNNAMED_WORKS or name in works_of(cls):
            return functools.partial(call_work, recorder, self, name)
        if callable(getattr(cls, name, None)) and name not in vars(MemoryResource):
            return functools.partial(call_work, recorder, self, name)
        return super().__getattribute__(name)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        recorder = None if name.startswith("_") else active()
        if recorder is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return functools.partial(call_work, recorder, self, name)

    @property
    def stage_count(self) -> int:
        """Stages of the storage: the pipeline's, else ``stages``, else 1."""
        config = self.pipeline_config
        if config is None:
            return self.stages or 1
        return config.stages if isinstance(config, Pipeline) else config.num_stages

    def get_smem_requirements(self) -> Sequence[SmemAllocation]:
        """Override to allocate shared memory as Task Scheduling does: sizes are totals over all stages."""
        return ()

    def get_tmem_requirements(self) -> Sequence[TmemAllocation]:
        """Override to allocate tensor memory: columns are totals over all stages."""
        return ()

    def smem_allocations(self) -> list[SmemAllocation]:
        """What it allocates in shared memory, by either way."""
        return list(self.smem) or list(self._required("get_smem_requirements"))

    def tmem_allocations(self) -> list[TmemAllocation]:
        """What it allocates in tensor memory, by either way."""
        return list(self.tmem) or list(self._required("get_tmem_requirements"))

    def _required(self, hook: str) -> Sequence[Any]:
        kept = self.__dict__.setdefault("_kept", {})  # asked once: an alias group names these very objects
        if hook not in kept:
            kept[hook] = getattr(self, hook)()
        return kept[hook]

    # Recorded by __getattribute__; written out for readers and type checkers.
    def acquire(self) -> Any:
        """Producer: wait until the stage is empty."""
        raise refuse("acquire() belongs inside a function decorated with @schedule")

    def try_acquire(self) -> Any:
        """Producer: test whether the stage is empty; the next `acquire` then need not."""
        raise refuse("try_acquire() belongs inside a function decorated with @schedule")

    def commit(self) -> Any:
        """Producer: the stage is full."""
        raise refuse("commit() belongs inside a function decorated with @schedule")

    def producer_tail(self) -> Any:
        """Producer: wait until every stage that the task has filled is empty again (CUTLASS producer_tail)."""
        raise refuse("producer_tail() belongs inside a function decorated with @schedule")

    def wait(self) -> Any:
        """Consumer: wait until the stage is full."""
        raise refuse("wait() belongs inside a function decorated with @schedule")

    def try_wait(self) -> Any:
        """Consumer: test whether the stage is full; the next `wait` then need not."""
        raise refuse("try_wait() belongs inside a function decorated with @schedule")

    def release(self) -> Any:
        """Consumer: the stage is empty again."""
        raise refuse("release() belongs inside a function decorated with @schedule")


def is_work_name(name: str) -> bool:
    """Whether a work may be called ``name``: a plain identifier that has no other meaning for a resource."""
    taken = name in vars(MemoryResource) or name in MemoryResource.__dataclass_fields__
    return name.isidentifier() and not keyword.iskeyword(name) and not name.startswith("_") and not taken


def _after_base(own: Callable[[Any], None]) -> Callable[[Any], None]:
    """A subclass's ``__post_init__`` that need not call ours."""

    @functools.wraps(own)
    def both(self: Any) -> None:
        MemoryResource.__post_init__(self)
        own(self)

    return both
