"""Code that a document brings along: never run by opening, checking or drawing it; exporting or running asks first."""

from __future__ import annotations

from warpdraft.core.document import Document


def own_code(document: Document) -> tuple[str, ...]:
    """What of ``document`` is neither stock nor schedule: embedded sources, and the functions of other modules."""
    found = []
    for resource in document.resources:
        for work in resource.works:
            if work.code:
                found.append(f"{resource.name}.{work.name} (embedded source)")
            elif ":" in work.body:
                found.append(f"{resource.name}.{work.name} ({work.body})")
    if document.kernel and ":" in document.kernel.reference:
        found.append(f"the reference ({document.kernel.reference})")
    return tuple(found)


class Consent:
    """What the person has agreed to, in this session: the same code is asked about once."""

    def __init__(self) -> None:
        self._agreed: set[tuple] = set()

    def question(self, document: Document, what: str) -> str:
        """The question to ask before ``what`` ("Run", "Export"), or "" where nothing needs one."""
        if not own_code(document) or self._key(document) in self._agreed:
            return ""
        names = own_code(document)
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        return f"{what}: this document brings code of its own, {', '.join(names[:3])}{more}"

    def agree(self, document: Document) -> None:
        """The person has agreed to the code of ``document`` as it is now."""
        self._agreed.add(self._key(document))

    @staticmethod
    def _key(document: Document) -> tuple:
        works = (
            (r.name, w.name, w.body, w.code)
            for r in document.resources
            for w in r.works
            if w.code or ":" in w.body
        )
        return (*works, document.kernel.reference if document.kernel else "")
