"""What happens when a schedule function calls a method of a resource."""

from __future__ import annotations

from typing import Any

from ..document import OpKind, Token
from .errors import refuse
from .recording import CapturedOp, Recorder
from .tokens import DataFlowToken, Tokens, declared
from .works import WorkSpec, plain, return_names, works_of

RESERVED = ("stage", "footprint", "tx", "results")  # of the op, unless the work has a parameter of that name


def pipeline_op(recorder: Recorder, resource: Any, kind: OpKind) -> DataFlowToken:
    """Record an op of the resource's pipeline."""
    _refuse_group(resource)
    op = recorder.op(kind, resource)
    return DataFlowToken(recorder, op, f"{kind.value}_result")


def call_work(
    recorder: Recorder, resource: Any, name: str, /, *positional: Any, **keywords: Any
) -> DataFlowToken | Tokens:
    """Record a call of work ``name``; arguments bind as to the method itself, constants and tokens alike.

    Besides the work's own parameters: ``stage`` (of a resource without pipeline), ``footprint`` and ``tx`` of this op alone,
    ``results`` to name what it returns. Raises ScheduleError for an argument that no document can hold.
    """
    _refuse_group(resource)
    spec = works_of(type(resource)).get(name)
    parameters = list(spec.parameters) if spec else []
    reserved = {key: keywords.pop(key) for key in RESERVED if key in keywords and key not in parameters}
    bound = dict(zip(parameters, positional, strict=False))
    bound |= {
        f"argument_{i}": v for i, v in enumerate(positional) if i >= len(parameters)
    }  # too many: kept, WD110
    bound |= keywords
    op = recorder.op(OpKind.WORK, resource, work=name)
    op.args = tuple(
        (key, argument(f"{name}({key}=)", value, recorder)) for key, value in _ordered(bound, spec)
    )
    op.stage, op.tx, op.footprint = reserved.get("stage"), reserved.get("tx"), reserved.get("footprint")
    if op.stage is not None and type(op.stage) is not int:
        raise refuse(f"{name}(stage=) must be an integer known at capture, not {op.stage!r}")
    names = return_names(spec, type(resource)) if spec else ()
    if "results" not in reserved:
        return declared(recorder, op, name, names)
    return named_results(recorder, op, name, reserved["results"])


def named_results(recorder: Recorder, op: CapturedOp, base: str, names: Any) -> DataFlowToken | Tokens:
    """Tokens called exactly ``names``."""
    op.results = (names,) if isinstance(names, str) else tuple(names)
    tokens = Tokens(DataFlowToken(recorder, op, base, n) for n in op.results)
    return tuple.__getitem__(tokens, 0) if len(op.results) == 1 else tokens


def argument(where: str, value: Any, recorder: Recorder) -> Any:
    """An argument as a captured op keeps it: a `document.Token`, a plain value, or an object that has a name."""
    if isinstance(value, DataFlowToken):
        return Token(value.name_for(recorder))
    if hasattr(value, "loop_variable"):
        return Token(value.loop_variable(recorder))
    if isinstance(value, Token) or hasattr(type(value), "document_name"):
        return value
    try:
        return plain(value)
    except ValueError as error:
        raise refuse(f"{where}: {error}") from None


def _ordered(bound: dict[str, Any], spec: WorkSpec | None) -> list[tuple[str, Any]]:
    """Arguments in the order of the signature, defaults filled in, unknown ones last."""
    known = []
    for name, parameter in spec.parameters.items() if spec else ():
        if name in bound:
            known.append((name, bound.pop(name)))
        elif parameter.default is not parameter.empty:
            known.append((name, parameter.default))
    return known + list(bound.items())


def _refuse_group(resource: Any) -> None:
    if getattr(type(resource), "is_pipeline_group", False) or resource.pipeline_group is not None:
        raise refuse(
            f"{resource.name!r} belongs to a PipelineGroup: driving grouped pipelines is not supported yet"
        )
