"""Files stay small: one job each."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LIMIT = 400
# A file may be longer only for the reason that stands here.
LONGER: dict[str, str] = {}


@pytest.mark.parametrize("folder", ["core", "app", "backends", "tests", "scripts", "benchmarks"])
def test_no_python_file_outgrows_one_job(folder):
    long = {
        str(path.relative_to(ROOT)): lines
        for path in (ROOT / folder).rglob("*.py")
        if (lines := len(path.read_text().splitlines())) > LIMIT and str(path.relative_to(ROOT)) not in LONGER
    }
    assert not long, f"split these, or say in LONGER why not: {long}"
