"""Brings the pages in ``docs`` into step with the code: ``python scripts/docs_write.py [--slow]``.

Writes the catalogue of rules, and what the Python and the commands on the other pages print; with ``--slow`` also what takes
long, such as compiling. What needs a GPU, and what does not end, stays as it is.
"""

from __future__ import annotations

import sys
from pathlib import Path

import docs_blocks
import docs_console
import docs_hazards

DOCS = Path(__file__).parents[1] / "docs"


def written(path: Path, slow: bool = False) -> str:
    """The page at ``path`` as it should be."""
    if path.name == "hazards.md":
        return docs_hazards.page()
    page = path.read_text(encoding="utf-8")
    return docs_console.refreshed(docs_blocks.refreshed(page, slow=slow), slow=slow)


def main() -> int:
    """Rewrite every page that is out of step."""
    for path in sorted(DOCS.glob("*.md")):
        page = written(path, slow="--slow" in sys.argv[1:])
        if not path.exists() or path.read_text(encoding="utf-8") != page:
            path.write_text(page, encoding="utf-8")
            print(f"wrote {path.relative_to(DOCS.parent)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
