"""What can go wrong between a document and a kernel module."""

from __future__ import annotations

from warpdraft.core.findings import Finding


class LoweringError(Exception):
    """The document asks for something that this backend cannot write. ``op`` is the id of the op concerned ("" if none)."""

    def __init__(self, message: str, op: str = "") -> None:
        super().__init__(f"{op}: {message}" if op else message)
        self.op = op


class ExportRefused(Exception):
    """The verifier found errors, or did not finish; ``findings`` are the errors."""

    def __init__(self, message: str, findings: tuple[Finding, ...] = ()) -> None:
        super().__init__(message)
        self.findings = findings
