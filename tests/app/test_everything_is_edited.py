"""Everything that a document holds can be edited: each kind of operation and guard, each field of each record."""

import importlib.util
import re
from dataclasses import fields, is_dataclass, replace
from pathlib import Path

import pytest

from warpdraft.app.analysis import Here
from warpdraft.app.intents import carry_out
from warpdraft.app.session import Session
from warpdraft.app.tools import TOOLS
from warpdraft.app.views import words
from warpdraft.app.views.details import details_view
from warpdraft.app.views.node_forms import GUARD_FIELDS
from warpdraft.app.views.offers import offers
from warpdraft.app.views.schedule import schedule_view
from warpdraft.core import document as records
from warpdraft.core import store
from warpdraft.core.consistency import problem
from warpdraft.core.document import (
    Engine,
    Footprint,
    Guard,
    GuardKind,
    OpKind,
    Part,
    Pipeline,
    PipelineGroupMode,
    Signal,
    Space,
    Storage,
    Token,
)
from warpdraft.core.expressions import LoopVariable, Operation, Symbol
from warpdraft.core.findings import Report, Scope
from warpdraft.core.to_python import to_python
from warpdraft.core.tree import find_node, find_resource, find_target, find_task, find_work

_spec = importlib.util.spec_from_file_location("everything", Path(__file__).parent / "everything.py")
everything = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(everything)
ALL = everything.ALL
N, M = everything.N, everything.M
QUICK = replace(
    TOOLS,
    verify=lambda document: Report(document.name, "safe", Scope("all")),
    predict=lambda *_: None,
    lower=lambda *_: None,
    to_python=lambda *_: None,
)
FOUND = {
    "op": lambda d, name: find_node(d, name).node,
    "resource": find_target,
    "pipeline": lambda d, name: find_resource(d, name).pipeline,
    "storage": lambda d, name: find_resource(d, name).storage,
    "work": lambda d, name: find_work(find_resource(d, name.split(".")[0]), name.split(".")[1]),
    "task": find_task,
    "symbol": lambda d, name: next(s for s in d.symbols if s.name == name),
    "document": lambda d, name: d,
    "kernel": lambda d, name: d.kernel,
    "tensor": lambda d, name: next(t for t in d.kernel.tensors if t.name == name),
}
AT = "where it was captured; an editor's change does not move the author's line"
GIVEN = "given when it is made: what is selected, moved and pointed at goes by it"
TREE = "by inserting, moving, wrapping and deleting"

# Each field: a text for its form field and what it means, or why there is none.
# (kind of selection, its name, key of the field, text, what the field then holds)
EDITED = {
    "Op.kind": ("op", "t.01", "kind", "try_wait", OpKind.TRY_WAIT),
    "Op.target": ("op", "t.06", "target", "mmas", "mmas"),
    "Op.work": ("op", "t.02", "work", "slice", "slice"),
    "Op.args": ("op", "t.02", "arg:x", "got", (("x", Token("got")),)),
    "Op.results": ("op", "t.02", "results", "a, b", ("a", "b")),
    "Op.stage": ("op", "t.04", "stage", "k % 2", Operation("%", LoopVariable("k"), 2)),
    "Op.count": ("op", "t.07", "count", "128", 128),
    "Op.tx": ("op", "t.02", "tx", "64", 64),
    "Op.footprint": ("op", "t.03", "footprint", "warp_slice", Footprint("warp_slice")),
    "Op.ctas": ("op", "t.05", "ctas", "0, 1", (0, 1)),
    "Footprint.kind": ("op", "t.02", "footprint", "whole", Footprint()),
    "Footprint.offset": ("op", "t.02", "footprint.offset", "64", Footprint("range", 64, 64)),
    "Footprint.bytes": ("work", "ring.fill", "footprint.bytes", "128", Footprint("range", 0, 128)),
    "Footprint.ranges": (
        "op",
        "t.03",
        "footprint.ranges",
        "0+4, 4+4",
        Footprint("ranges", ranges=((0, 4), (4, 4))),
    ),
    "Loop.kind": ("op", "t.00", "kind", "tile", "tile"),
    "Loop.var": ("op", "t.00", "var", "j", "j"),
    "Loop.start": ("op", "t.00", "start", "1", 1),
    "Loop.stop": ("op", "t.00", "stop", "n + 1", N + 1),
    "Loop.step": ("op", "t.00", "step", "2", 2),
    "Loop.queue": ("op", "t.08", "queue", "queue", "queue"),
    "Loop.skip_if": ("op", "t.08", "skip_if", "empty", "empty"),
    "Loop.unroll": ("op", "t.00", "unroll", "2", 2),
    "Guard.kind": ("op", "t.09", "kind", "last_iter", GuardKind.LAST_ITER),
    "Guard.loop": ("op", "t.09", "loop", "tile", "tile"),
    "Guard.warp": ("op", "t.10", "warp", "1", 1),
    "Guard.period": ("op", "t.09", "period", "2", 2),
    "Guard.start": ("op", "t.09", "start", "1", 1),
    "Guard.key": ("op", "t.11", "key", "last", "last"),
    "Guard.token": ("op", "t.11", "token", "got", "got"),
    "Guard.cta": ("op", "t.12", "cta", "1", 1),
    "Work.name": ("work", "ring.slice", "name", "part", "part"),
    "Work.role": ("work", "ring.fill", "role", "consumer", "consumer"),
    "Work.engine": ("work", "ring.fill", "engine", "cp_async", Engine.CP_ASYNC),
    "Work.view": ("work", "ring.slice", "view", True, True),
    "Work.parameters": ("work", "ring.fill", "parameters", "x, y", ("x", "y")),
    "Work.returns": ("work", "ring.fill", "returns", "z", ("z",)),
    "Work.auxiliary": ("work", "ring.fill", "auxiliary", True, True),
    "Work.footprint": ("work", "ring.slice", "footprint", "whole", Footprint()),
    "Work.tx": ("work", "ring.fill", "tx", "64", 64),
    "Work.body": ("work", "ring.fill", "body", "sm90.tma_load", "sm90.tma_load"),
    "Work.params": ("work", "ring.fill", "params", "box=(1, 2), mode='x'", (("box", (1, 2)), ("mode", "x"))),
    "Work.code": "source text of the authoring file, which is where it is edited; here only its name and facts are",
    "Work.assumed": ("work", "ring.fill", "assumed", True, True),
    "Work.ctas": ("work", "ring.fill", "ctas", "m", "m"),
    "Pipeline.stages": ("pipeline", "ring", "stages", "3", 3),
    "Pipeline.type": ("pipeline", "ring", "type", "TmaAsync", "TmaAsync"),
    "Pipeline.bytes": ("pipeline", "ring", "bytes", "512", 512),
    "Pipeline.producer_count": ("pipeline", "ring", "producer_count", "2", 2),
    "Pipeline.consumer_count": ("pipeline", "ring", "consumer_count", "4", 4),
    "Pipeline.producer_signal": ("pipeline", "ring", "producer_signal", "leader", Signal.LEADER),
    "Pipeline.consumer_signal": ("pipeline", "ring", "consumer_signal", "thread", Signal.THREAD),
    "Pipeline.advance_on_acquire": ("pipeline", "ring", "advance_on_acquire", True, True),
    "Pipeline.advance_on_wait": ("pipeline", "ring", "advance_on_wait", True, True),
    "Pipeline.producer_cta_leader": ("pipeline", "ring", "producer_cta_leader", True, True),
    "Pipeline.consumer_cta_leader": ("pipeline", "ring", "consumer_cta_leader", True, True),
    "Pipeline.interleave": ("pipeline", "ring", "interleave", "2, 2, 1, 1", (2, 2, 1, 1)),
    "Pipeline.multicast": ("pipeline", "ring", "multicast", "0, 1", (0, 1)),
    "Pipeline.cta_layout": ("pipeline", "ring", "cta_layout", "2, 1, 1, 1", (2, 1, 1, 1)),
    "Part.place": "where an allocator put what an import found; a stage that is edited here is laid out anew",
    "Part.name": ("storage", "ring", "parts", "a: 0+64", (Part("a", 0, 64),)),
    "Part.offset": ("storage", "ring", "parts", "a: 8+64", (Part("a", 8, 64),)),
    "Part.bytes": ("storage", "ring", "parts", "a: 0+32, b: 32+32", (Part("a", 0, 32), Part("b", 32, 32))),
    "Storage.bytes": ("storage", "ring", "bytes", "1 KiB", 1024),
    "Storage.stages": ("storage", "acc", "stages", "2", 2),
    "Storage.alignment": ("storage", "ring", "alignment", "1024", 1024),
    "Storage.parts": ("storage", "ring", "parts", "", ()),
    "Storage.alias": ("storage", "ring", "alias", "shared", "shared"),
    "Storage.phase": ("storage", "ring", "phase", "1", 1),
    "Storage.offset": ("storage", "ring", "offset", "2048", 2048),
    "Resource.name": ("resource", "out", "name", "result", "result"),
    "Resource.space": ("resource", "out", "space", "smem", Space.SMEM),
    "Resource.pipeline": ("resource", "acc", "pipeline", True, Pipeline(1)),
    "Resource.storage": ("resource", "out", "storage", True, Storage(128)),
    "Resource.works": "each work has a form of its own; added and removed in the resource's",
    "Resource.params": ("resource", "queue", "params", "band=8", (("band", 8),)),
    "Resource.cls": "the class of the authoring source: " + AT,
    "NamedBarrier.name": ("resource", "meet", "name", "turn", "turn"),
    "NamedBarrier.id": ("resource", "meet", "id", "2", 2),
    "NamedBarrier.threads": ("resource", "meet", "threads", "128", 128),
    "Mbarrier.name": ("resource", "go", "name", "start", "start"),
    "Mbarrier.count": ("resource", "go", "count", "2", 2),
    "Mbarrier.stages": ("resource", "go", "stages", "4", 4),
    "Mbarrier.scope": ("resource", "go", "scope", "cluster", "cluster"),
    "Mbarrier.address": ("resource", "go", "address", "0x400", 1024),
    "AsyncGroup.name": ("resource", "mmas", "name", "products", "products"),
    "AsyncGroup.kind": ("resource", "mmas", "kind", "cp_async", Engine.CP_ASYNC),
    "PipelineGroup.name": ("resource", "rings", "name", "both", "both"),
    "PipelineGroup.mode": ("resource", "rings", "mode", "FusedMerge", PipelineGroupMode.FusedMerge),
    "PipelineGroup.members": ("resource", "rings", "members", "second", ("second",)),
    "PipelineGroup.pipeline": ("resource", "rings", "pipeline.stages", "3", Pipeline(3)),
    "Task.name": ("task", "t", "name", "u", "u"),
    "Task.warp_idx": ("task", "t", "warp_idx", "4", 4),
    "Task.num_warps": ("task", "t", "num_warps", "8", 8),
    "Task.body": TREE,
    "Task.src": ("task", "t", "src", "ring", ("ring",)),
    "Task.dst": ("task", "t", "dst", "", ()),
    "Task.num_registers": ("task", "t", "num_registers", "64", 64),
    "Edge.upstream": "drawn from node to node; added and removed as a whole",
    "Edge.downstream": "drawn from node to node; added and removed as a whole",
    "Tensor.name": ("tensor", "a", "name", "x", "x"),
    "Tensor.shape": ("tensor", "a", "shape", "ceil_div(M, 2)", (Operation("ceil_div", M, 2),)),
    "Tensor.dtype": ("tensor", "a", "dtype", "fp8", "fp8"),
    "Tensor.order": ("tensor", "b", "order", "1, 0", (1, 0)),
    "Tensor.role": ("tensor", "a", "role", "out", "out"),
    "Kernel.name": ("kernel", "kernel", "name", "copy", "copy"),
    "Kernel.tensors": "each tensor has a form of its own; added and removed in the list",
    "Kernel.parameters": ("kernel", "kernel", "parameters", "tile=(64, 64)", (("tile", (64, 64)),)),
    "Kernel.trip_counts": ("kernel", "kernel", "trip_counts", "n=M // 64", (("n", M // 64),)),
    "Kernel.grid": ("kernel", "kernel", "grid", "M + 1", M + 1),
    "Kernel.reference": ("kernel", "kernel", "reference", "gemm", "gemm"),
    "Kernel.sizes": ("kernel", "kernel", "sizes", "M=64", (("M", 64),)),
    "Kernel.small_sizes": ("kernel", "kernel", "small_sizes", "M=8", (("M", 8),)),
    "Document.name": ("document", "document", "name", "other", "other"),
    "Document.target": ("document", "document", "target", "sm_100a", "sm_100a"),
    "Document.cluster": ("document", "document", "cluster", "2, 2, 1", (2, 2, 1)),
    "Document.symbols": "each symbol has a form of its own; added and removed in the list",
    "Document.resources": "each has a form of its own; added and removed in the list",
    "Document.barriers": "each has a form of its own; added and removed in the list",
    "Document.mbarriers": "each has a form of its own; added and removed in the list",
    "Document.groups": "each has a form of its own; added and removed in the list",
    "Document.pipeline_groups": "each has a form of its own; added and removed in the list",
    "Document.graph": "drawn from node to node, and removed one by one",
    "Document.tasks": "each has a form of its own; added, split and removed",
    "Document.kernel": "has a form of its own; added and removed in the list",
    "Document.smem_capacity": ("document", "document", "smem_capacity", "100KiB", 102400),
    "Document.tmem_capacity": ("document", "document", "tmem_capacity", "256", 256),
    "Document.roots": ("document", "document", "roots", "queue, acc", ("queue", "acc")),
    "Document.gaps": "what an import could not represent; no edit can make it known",
    "Document.ctas_per_sm": ("document", "document", "ctas_per_sm", "2", 2),
    "Symbol.name": ("symbol", "n", "name", "count", "count"),
    "Symbol.min": ("symbol", "n", "min", "2", 2),
    "Symbol.per_cta": ("symbol", "n", "per_cta", True, True),
    "Symbol.per_tile": ("symbol", "n", "per_tile", True, True),
    **{f"{cls}.body": TREE for cls in ("Loop", "Guard")},
    **{f"{cls}.id": GIVEN for cls in ("Op", "Loop", "Guard")},
    "Op.implicit": "what a run time adds is no line of anybody's; deleted and inserted as other ops",
    "Op.copy_of": "which line an op was unrolled from; edits of all copies keep it",
    **{
        f"{cls}.source": AT
        for cls in (
            "Op",
            "Loop",
            "Guard",
            "Resource",
            "NamedBarrier",
            "Mbarrier",
            "AsyncGroup",
            "PipelineGroup",
            "Task",
        )
    },
    "Source.file": AT,
    "Source.line": AT,
    "Token.name": "typed as an argument",
}
RECORDS = [
    cls
    for cls in (*vars(records).values(), Symbol)
    if isinstance(cls, type) and is_dataclass(cls) and cls not in (Operation, LoopVariable)
]
ALL_FIELDS = sorted({f"{cls.__name__}.{field.name}" for cls in RECORDS for field in fields(cls)})


@pytest.fixture
def session():
    session = Session(ALL, None, QUICK, analyst=lambda: Here(QUICK))
    yield session
    session.close()


def test_the_document_of_these_tests_is_consistent():
    assert problem(ALL) is None and store.loads(store.dumps(ALL)) == ALL


@pytest.mark.parametrize("name", ALL_FIELDS)
def test_every_field_has_an_editor_or_a_reason(session, name):
    entry = EDITED.get(name)
    assert entry is not None, f"{name} can be stored but not edited: give it a form field, or a reason here"
    if isinstance(entry, str):
        assert len(entry) > 10
        return
    kind, called, key, text, value = entry
    of = "resource" if kind in ("pipeline", "storage") else kind
    path = f"{kind}.{key}" if kind in ("pipeline", "storage") else key
    offered = {field["key"] for field in details_view(session.document, None, of, (called,))["fields"]}
    before = session.document
    carry_out(session, {"type": "set", "kind": of, "name": called, "key": path, "value": text, "revision": 0})
    assert session.notice is None, session.notice
    assert path in offered
    field = name.split(".")[1] if not name.startswith(("Part.", "Footprint.")) else key.partition(".")[0]
    new = called
    if key == "name":
        new = f"ring.{text}" if kind == "work" else text
    assert getattr(FOUND[kind](session.document, new), field) == value
    assert (session.document != before) == bool(session.history.past)
    assert (
        problem(session.document) is None and store.loads(store.dumps(session.document)) == session.document
    )
    shown(session.document)
    session.undo()
    assert session.document == before


def test_no_reason_is_left_over():
    assert set(EDITED) <= set(ALL_FIELDS)


def shown(document):
    """It is drawn, and written back as Python, or refused in words."""
    schedule_view(document)
    try:
        to_python(document)
    except Exception as error:
        assert type(error).__name__ in ("ScheduleError", "DocumentError", "ValueError"), error


@pytest.mark.parametrize("kind", OpKind)
def test_every_kind_of_operation_has_words_an_offer_and_a_form(kind):
    assert kind is OpKind.WORK or kind in words.VERBS, f"{kind.name}: a verb for the schedule's column"
    made = [offer for offer in offers(ALL, ALL.tasks[0]) if getattr(offer.node, "kind", None) is kind]
    assert made, f"{kind.name} is offered nowhere"
    for offer in made:
        session = Session(ALL, None, QUICK, analyst=lambda: Here(QUICK))
        carry_out(
            session,
            {"type": "insert", "task": "t", "offer": offer.key, "parent": "t", "index": 0, "revision": 0},
        )
        assert session.notice is None, session.notice
        op = FOUND["op"](session.document, session.selection.first)
        assert op.kind is kind and problem(session.document) is None
        assert re.match(r"[\w.= ]+\(", words.op_text(op)), words.op_text(op)
        assert words.role(op) in ("work", "wait", "order", "signal")
        assert details_view(session.document, None, "op", (op.id,))["kind"] == "form"
        session.undo()
        assert session.document == ALL
        session.close()


@pytest.mark.parametrize("kind", GuardKind)
def test_every_kind_of_guard_has_words_an_offer_and_its_fields(kind):
    made = [offer for offer in offers(ALL, ALL.tasks[0]) if isinstance(offer.node, Guard)]
    assert any(offer.node.kind is kind for offer in made), f"{kind.name} is offered nowhere"
    texts = {words.guard_text(Guard("", other, (), "k", key="key")) for other in GuardKind}
    assert len(texts) == len(GuardKind), "two kinds of guard read alike"
    for key in GUARD_FIELDS.get(kind, ()):
        assert any(key == name.split(".")[1] for name in EDITED if name.startswith("Guard."))
