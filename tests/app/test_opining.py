"""The second opinion on a document that came from Task Scheduling, asked on demand."""

from dataclasses import replace

from warpdraft.app.analysis import Here
from warpdraft.app.opining import Opining
from warpdraft.app.session import Session
from warpdraft.app.tools import TOOLS
from warpdraft.core import edits
from warpdraft.core.document import Op
from warpdraft.core.tree import walk

from . import sample


def assumed(document):
    """``document`` as an import leaves it: nobody has said what its works do."""
    resources = (
        replace(r, works=tuple(replace(w, assumed=True) for w in r.works)) for r in document.resources
    )
    return replace(document, resources=tuple(resources))


def opened(document, **tools):
    made = replace(TOOLS, **tools)
    session, drawn = Session(document, tools=made, analyst=lambda: Here(made)), []
    opining = Opining(session, lambda: drawn.append(opining.view()))
    assert session.settle()
    return session, opining, drawn


def test_a_schedule_of_our_own_is_not_asked_about():
    session, opining, _ = opened(sample.gemm())
    assert opining.view() is None
    session.close()


def test_its_lines_stay_until_the_next_edit():
    session, opining, drawn = opened(
        assumed(sample.gemm()), opinion=lambda document, report: ["accepted", report.verdict]
    )
    opining.ask()
    assert session.settle()
    verdict = session.report.value.verdict
    assert drawn == [{"state": "asking", "notes": []}, {"state": "given", "notes": ["accepted", verdict]}]
    op = next(n for t in session.document.tasks for n in walk(t.body) if isinstance(n, Op))
    session.do(edits.DeleteNode(op.id))
    opining.forget()
    assert opining.view() == {"state": "none", "notes": []}
    session.close()


def test_why_it_cannot_be_asked_is_said():
    def missing(document, report):
        raise ValueError("the CuTe DSL is not installed (pip install 'warpdraft[cutedsl]')")

    session, opining, _ = opened(assumed(sample.gemm()), opinion=missing)
    opining.ask()
    assert session.settle()
    state = opining.view()
    assert state["state"] == "failed" and "is not installed" in state["notes"][0]
    session.close()
