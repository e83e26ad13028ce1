"""Resources that lie over the same bytes, whose uses do not go on together."""

from dataclasses import replace

from warpdraft.core.document import GuardKind
from warpdraft.core.expressions import Symbol
from warpdraft.core.hazards.examples import (
    acquire,
    channel,
    commit,
    document,
    guard,
    release,
    task,
    tiles,
    wait,
    work,
)
from warpdraft.core.verify import verify


def when(*body):
    return guard(GuardKind.WHEN_FALSE, *body, key="c")


def over(name, phase):
    """A pipeline of one stage over bytes that another one has too."""
    made = channel(name, 1)
    return replace(made, storage=replace(made.storage, alias="shared", phase=phase))


def handed_on(load, more_load, use, more_use):
    """Tiles of which some have a second part; after each part the loader waits until its bytes are free."""
    told, heard = (acquire("done"), commit("done")), (wait("done"), release("done"))
    return document(
        "two names for the same bytes",
        task("load", 0, 1, tiles(*load, *heard, when(*more_load, *heard), queue="", stop=Symbol("tiles"))),
        task("use", 4, 1, tiles(*use, *told, when(*more_use, *told), queue="", stop=Symbol("tiles"))),
        resources=(over("x", 0), over("y", 1), channel("done", 1)),
        symbols=(Symbol("tiles"),),
    )


def put(name):
    return acquire(name), work(name, "fill"), commit(name)


def take(name):
    return wait(name), work(name, "read"), release(name)


def test_each_is_read_as_what_it_was_written_as():
    """How often each was used differs more and more, and nothing asks."""
    report = verify(handed_on(put("x"), put("y"), take("x"), take("y")))
    assert (report.verdict, report.scope.kind) == ("safe", "all"), report.scope.reason


def test_one_is_read_as_the_other():
    """As long as both are used as often, that finds the bytes that are meant: no state stands for one where they are not."""
    both = acquire("x"), acquire("y"), work("x", "fill"), commit("x"), commit("y")
    read = wait("x"), wait("y"), work("y", "read"), release("x"), release("y")
    report = verify(handed_on(both, (acquire("y"), commit("y")), read, (wait("y"), release("y"))))
    assert (report.verdict, {f.code for f in report.findings}) == ("unsafe", {"WD411"})
