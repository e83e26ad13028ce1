"""A schedule as a part of a kernel of the user's: the DSL traces the lowered functions where `TaskManager.run()` stands."""

from __future__ import annotations

import hashlib
import linecache
from typing import Any

from warpdraft.core.document import Document

from .errors import LoweringError
from .export import export_traced


class Traced:
    """The functions of one document, lowered once. Raises what `export_traced` raises, and LoweringError outside a trace."""

    def __init__(self, document: Document, *, unsafe: bool = False) -> None:
        self.document = document
        self.source = export_traced(document, unsafe=unsafe)
        self._functions = _loaded(self.source)

    def prepare(self, *tensors: Any, sms: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """In the user's `@cute.jit` host function: what `run` needs, and the keywords of the launch.

        ``tensors`` are the kernel's, in its order; ``sms`` is how many multiprocessors the device has.
        """
        _require_trace("prepare")
        names = [t.name for t in self.document.kernel.tensors] if self.document.kernel else []
        if len(tensors) != len(names):
            raise LoweringError(
                f"prepare() takes the tensors {', '.join(names)}: {len(names)}, not {len(tensors)}"
            )
        return self._functions["prepare"](*tensors, sms)

    def run(self, arguments: tuple[Any, ...]) -> None:
        """In the user's `@cute.kernel`, by all threads: shared memory, mbarriers and every task. Warps end it apart."""
        _require_trace("run")
        self._functions["run"](*arguments)


def _loaded(source: str) -> dict[str, Any]:
    """The functions of ``source``. The DSL reads the text of what it traces, so it must be found under its name."""
    name = f"<warpdraft {hashlib.sha256(source.encode()).hexdigest()[:16]}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    functions: dict[str, Any] = {"__name__": name, "__file__": name}
    exec(compile(source, name, "exec"), functions)
    return functions


def _require_trace(method: str) -> None:
    from cutlass._mlir.ir import InsertionPoint

    try:
        assert InsertionPoint.current
    except ValueError:
        where = "@cute.jit function that launches the kernel" if method == "prepare" else "@cute.kernel"
        raise LoweringError(
            f"{method}() belongs inside a {where}: it emits code where the DSL traces"
        ) from None
