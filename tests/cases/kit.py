"""What the cases are built from, on top of the public authoring interface: few resources, short roles."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from witnesses import check_witnesses

from warpdraft.core import (
    Document,
    Finding,
    MemoryResource,
    PipelineConfig,
    Report,
    SmemAllocation,
    Task,
    TaskManager,
    consumer_work,
    domain_loop,
    fence_proxy_async,
    producer_work,
    schedule,
    symbol,
    verify,
)
from warpdraft.core.unmodelled import unmodelled

K = symbol("k")


class Ring(MemoryResource):
    """Filled by TMA copies; read by threads (``value``: into registers), or through a view."""

    @producer_work(engine="tma")
    def load(self, stage_info): ...

    @consumer_work
    def read(self, stage_info): ...

    @consumer_work(engine="warp")
    def value(self, stage_info): ...

    @consumer_work(view=True, returns="tile")
    def tile(self, stage_info): ...


class Buffer(MemoryResource):
    """Written and read by threads; ``share`` is a warp's slice, ``tile`` a view."""

    @producer_work(footprint="whole")
    def fill(self, stage_info): ...

    @producer_work(footprint="warp_slice")
    def share(self, stage_info): ...

    @consumer_work
    def read(self, stage_info): ...

    @consumer_work(view=True, returns="tile")
    def tile(self, stage_info): ...


class Accumulator(MemoryResource):
    """Registers that wgmma writes."""

    @producer_work(engine="wgmma")
    def mma(self, stage_info, tile): ...

    @consumer_work
    def read(self, stage_info): ...


class TensorAccumulator(MemoryResource):
    """Columns that a tensor core writes by itself."""

    @producer_work(engine="tcgen05")
    def mma(self, stage_info, tile): ...

    @consumer_work
    def read(self, stage_info): ...


class Output(MemoryResource):
    """Global memory, written by bulk stores."""

    @producer_work(engine="bulk_store")
    def store(self, stage_info, tile): ...


def ring(name: str = "ab", stages: int = 3, size: int = 1024, **pipeline) -> Ring:
    """A TMA pipeline."""
    config = PipelineConfig(stages, pipeline_type="TmaAsync", **pipeline)
    return Ring(name=name, pipeline_config=config, smem=[SmemAllocation(name, size)])


def channel(name: str, stages: int = 1, size: int = 1024, **pipeline) -> Buffer:
    """A pipeline between threads; one arrival a warp unless told otherwise."""
    return Buffer(
        name=name, pipeline_config=PipelineConfig(stages, **pipeline), smem=[SmemAllocation(name, size)]
    )


def buffer(name: str, size: int = 1024, **options) -> Buffer:
    """Shared memory without a pipeline."""
    return Buffer(name=name, smem=[SmemAllocation(name, size)], **options)


def accumulator(name: str = "acc") -> Accumulator:
    """A tile of registers."""
    return Accumulator(name=name, space="rmem")


def output(name: str = "out") -> Output:
    """A global tensor."""
    return Output(name=name, space="gmem")


def role(
    name: str, first: int, warps: int, body: Callable[[], None], src=(), dst=(), registers: int | None = None
) -> Task:
    """A task whose schedule is ``body``."""
    return Task(
        list(src), list(dst), first, warps, schedule=schedule(body)(), num_registers=registers, name=name
    )


def build(*tasks: Task, name: str = "case", **options) -> Document:
    """The document of ``tasks``; each destination is made from the sources of its tasks."""
    graph: dict = {}
    for task in tasks:
        for downstream in task.dst_resources:
            ups = graph.setdefault(downstream, [])
            ups.extend(u for u in task.src_resources if u is not downstream and u not in ups)
    return TaskManager(list(tasks), graph, name=name, **options).document


def checked(document: Document, **options) -> Report:
    """The report; each witness in it is short, and can be followed."""
    report = verify(document, **options)
    check_witnesses(document, report)
    return report


def codes(document: Document, **options) -> set[str]:
    """The codes of all errors."""
    return {f.code for f in checked(document, **options).errors}


def finding(document: Document, code: str, **options) -> Finding:
    """The first finding of that code."""
    found = checked(document, **options).findings
    return next(f for f in found if f.code == code)


def accepted(document: Document, **options) -> bool:
    """Whether nothing at all is found."""
    report = verify(document, **options)
    assert report.findings == (), [(f.code, f.message) for f in report.findings]
    return report.verdict == ("incomplete" if unmodelled(document) else "safe")


def fill(x, trips=K, name="load", first=0) -> Task:
    """A producer of one warp."""

    def body():
        with domain_loop(0, trips):
            x.acquire()
            x.load() if isinstance(x, Ring) else x.fill()
            x.commit()

    return role(name, first, 1, body, [], [x])


def drain(x, trips=K, name="use", first=4, body=None) -> Task:
    """A consumer of one warp that reads, or does ``body``."""

    def read():
        with domain_loop(0, trips):
            x.wait()
            x.read()
            fence_proxy_async()
            x.release()

    return role(name, first, 1, body or read, [x])


def do(x, names: str) -> None:
    """Ops of ``x``, one after the other."""
    for name in names.split():
        getattr(x, name)()


def times(trips, x, names: str):
    """A body that does them ``trips`` times."""

    def body():
        with domain_loop(0, trips):
            do(x, names)

    return body


def tests_of(name: str) -> ModuleType:
    """The module ``test_<name>`` of this folder, whose schedules other tests use too; another folder may have one, too."""
    spec = spec_from_file_location(f"cases_{name}", Path(__file__).with_name(f"test_{name}.py"))
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
