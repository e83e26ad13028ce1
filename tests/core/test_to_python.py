"""Source written from a document, captured again, gives an equal schedule."""

import ast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from warpdraft.core.document import Document, Op, OpKind, Resource, Task, Work
from warpdraft.core.equality import equal_schedules, without_positions
from warpdraft.core.to_python import to_python


def recapture(document):
    source = to_python(document)
    scope = {"__name__": "written"}
    exec(compile(source, "written.py", "exec"), scope)
    return scope["build"]().document


@pytest.mark.timeout(400)
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(data=st.data())
def test_random_documents(documents, data):
    document = data.draw(documents)
    assert without_positions(recapture(document)) == without_positions(document)


def test_what_has_no_python_name_is_refused():
    document = Document(
        "d",
        resources=(Resource("r"),),
        tasks=(Task("t", 0, 1, (Op("t.01", OpKind.WORK, "r", "two words"),)),),
    )
    with pytest.raises(ValueError, match=r"t\.01: no work can be called 'two words'"):
        to_python(document)


def test_source_is_valid_and_names_what_it_needs():
    tree = ast.parse(to_python(Document("d")))
    assert ast.get_docstring(tree)
    assert {n.name for n in tree.body if isinstance(n, ast.FunctionDef)} == {"build"}


def test_ids_and_positions_do_not_count():
    one = Document("d", tasks=(Task("t", 0, 1, (Op("t.01", OpKind.SYNC_WARP),)),))
    other = Document("d", tasks=(Task("t", 0, 1, (Op("t.99", OpKind.SYNC_WARP, copy_of="t.01"),)),))
    assert equal_schedules(one, other)
    assert not equal_schedules(one, Document("d"))


def test_keywords_that_python_would_spell_otherwise_keep_their_letters():
    works = (Work("a", "producer", params=(("\u00aa", 1),)),)  # an ordinal indicator, normalised to "a"
    document = Document("d", resources=(Resource("r"), Resource("s", works=works)))
    assert without_positions(recapture(document)) == without_positions(document)
