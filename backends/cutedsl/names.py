"""One allocator for every name in a generated module."""

from __future__ import annotations

import keyword
import re

RESERVED = frozenset(
    """
    argparse barriers bind block blocks build check check_sizes compile_to cpasync cuda cute cutlass dataclass
    dtype_name json launch library main make_pipeline_state make_tensors math measure op os pairs partition plain
    reference report shapes smem sms stage stages_at stream swizzled sys tempfile tile_at tile_count turns warp
    warp_idx warpgroup work ARCH DTYPE DTYPES INPUTS Int32 LIBRARY LIMITS NAME OUTPUTS OperandMajorMode Ops
    PipelineUserType Ring SIZES
    """.split()
)


class Names:
    """Hands out identifiers; a child knows its parent's names, and siblings may use the same ones."""

    def __init__(self, parent: Names | None = None) -> None:
        self._parent = parent
        self._taken: set[str] = set() if parent else set(RESERVED)

    def child(self) -> Names:
        """A scope inside this one."""
        return Names(self)

    def taken(self, name: str) -> bool:
        """Whether ``name`` is used here or further out."""
        return name in self._taken or (self._parent is not None and self._parent.taken(name))

    def new(self, wish: str) -> str:
        """``wish`` as an identifier that nothing else uses: numbered from 2 where it is taken."""
        base = re.sub(r"\W", "_", wish) or "value"
        if base[0].isdigit() or keyword.iskeyword(base):
            base = f"_{base}"
        name, number = base, 2
        while self.taken(name):
            name, number = f"{base}_{number}", number + 1
        self._taken.add(name)
        return name
