"""Documents as files: exact round trips, one-line errors, nothing half-written."""

import json
import os
import stat

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from warpdraft.core.document import Document, Footprint, Op, OpKind, Resource, Task, Token
from warpdraft.core.expressions import symbol
from warpdraft.core.store import DocumentError, dumps, load, loads, save

SLOW = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


@SLOW
@given(data=st.data())
def test_a_document_comes_back_exactly(documents, data):
    document = data.draw(documents)
    assert loads(dumps(document)) == document


@pytest.mark.parametrize("value", [(), ((), (1.0, True)), -0.5, "", None, 2**80, ("a", ("b",))])
def test_values_of_every_shape(value):
    op = Op(
        "t.01",
        OpKind.WORK,
        "r",
        "w",
        (("a", value), ("b", Token("x"))),
        footprint=Footprint("ranges", ranges=((1, 2),)),
    )
    document = Document(
        "d", resources=(Resource("r", params=(("a", value), ("a", 1))),), tasks=(Task("t", 0, 1, (op,)),)
    )
    back = loads(dumps(document))
    assert back == document
    assert repr(back) == repr(document)  # 1, 1.0 and True are equal


def test_saved_and_loaded(tmp_path):
    document = Document("d", resources=(Resource("r"),), symbols=(symbol("k", min=1),))
    path = tmp_path / "d.warpdraft.json"
    save(document, path)
    assert load(path) == document
    assert json.loads(path.read_text())["warpdraft"] == 1
    assert [p.name for p in tmp_path.iterdir()] == ["d.warpdraft.json"]


def test_defaults_are_left_out():
    assert json.loads(dumps(Document("d"))) == {"warpdraft": 1, "name": "d"}


def text(**changes):
    return json.dumps({"warpdraft": 1, "name": "d", **changes})


KERNEL = {"name": "k"}
TASK = {"name": "t", "warp_idx": 0, "num_warps": 1}


def op(**fields):
    return {"is": "op", "id": "t.01", "kind": "sync_warp", **fields}


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ("{", "line 1 column 2: not JSON"),
        ("[]", "not a warpdraft document"),
        ('{"name": "d"}', "not a warpdraft document"),
        ('{"warpdraft": 2, "name": "d"}', "version 2 is not 1"),
        ('{"warpdraft": true, "name": "d"}', "version True is not 1"),
        ('{"warpdraft": 1}', "Document needs the field 'name'"),
        ('{"warpdraft": 1, "name": "d", "name": "e"}', "'name' appears twice"),
        ("[" * 100_000, "nested too deeply"),
        (text(colour="red"), "colour: Document has no field 'colour'"),
        (text(name=3), "name: expected a string, found 3"),
        (text(cluster=[1, 1]), "cluster: expected 3 values, found 2"),
        (text(cluster=[2, 0, 1]), "cluster[1]: there is at least 1 CTA, not 0"),
        (text(resources=[{"name": "r", "storage": {"bytes": -8}}]), "resources[0].storage.bytes: a stage has 0 bytes"),
        (text(resources=[{"name": "r", "storage": {"bytes": 8, "alignment": 0}}]), "alignment is at least 1, not 0"),
        (text(resources=[{"name": "r", "storage": {"bytes": 8, "parts": [{"name": "a", "offset": -4, "bytes": 8}]}}]),
         "storage.parts[0]: offset and bytes are 0 or more, not -4 and 8"),
        (text(groups=[{"name": "g", "kind": "wgmma"}], tasks=[{**TASK, "body": [op(kind="group_wait", target="g",
                                                                                     count=-1)]}]),
         "tasks[0].body[0].count: the count of group_wait is 0 or more, not -1"),
        (text(mbarriers=[{"name": "b"}], tasks=[{**TASK, "body": [op(kind="mbarrier_arrive", target="b", count=0)]}]),
         "tasks[0].body[0].count: the count of mbarrier_arrive is 1 or more, not 0"),
        (text(resources=[{"name": "r", "works": [{"name": "w", "role": "producer", "tx": -1}]}]),
         "resources[0].works[0].tx: a copy delivers 0 bytes or more, not -1"),
        (text(name="a\x1bb"), "name: a name has no line breaks and control characters; rename 'a\\x1bb'"),
        (text(tasks=[{**TASK, "name": "a\nb"}]), "tasks[0].name: a name has no line breaks"),
        (text(resources=[{"name": "a\tb"}]), "resources[0].name: a name has no line breaks"),
        (text(tasks=[{**TASK, "body": [op(id="a\nb")]}]), "tasks[0].body[0].id: a name has no line breaks"),
        (text(tasks=[{**TASK, "num_warps": True}]), "tasks[0].num_warps: expected an integer, found True"),
        (text(tasks=[{**TASK, "body": [{"is": "goto"}]}]), "tasks[0].body[0].is: unknown kind 'goto'; kinds: op, loop"),
        (text(tasks=[{**TASK, "body": [{"is": ["op"]}]}]), "tasks[0].body[0].is: unknown kind a list; kinds: op, loop"),
        (text(tasks=[{**TASK, "body": [{"is": {}}]}]), "tasks[0].body[0].is: unknown kind an object; kinds: op"),
        (text(resources=[{"name": "r", "works": [{"name": "w", "role": "both"}]}]), "works[0].role: a role is"),
        (text(tasks=[{**TASK, "body": [op(kind="jump")]}]), "tasks[0].body[0].kind: 'jump' is no OpKind; use one of acq"),
        (text(tasks=[{**TASK, "body": [op(source="x")]}]), "tasks[0].body[0].source: expected a source line"),
        (text(tasks=[{**TASK, "body": [op(), op()]}]), "tasks[0].body[1].id: 't.01' is already the id"),
        (text(tasks=[{**TASK, "body": [op(kind="wait", target="r")]}]), "target: nothing is called 'r'; declare it"),
        (text(tasks=[{**TASK, "src": ["r"]}]), "tasks[0].src[0]: nothing is called 'r'"),
        (text(resources=[{"name": "r", "pipeline": {"stages": -8}}]), "resources[0].pipeline.stages: there is at least 1"),
        (text(resources=[{"name": "r", "storage": {"bytes": 8, "stages": 0}}]), "resources[0].storage.stages: there is"),
        (text(kernel={**KERNEL, "trip_counts": {"k": {"is": "operation", "operator": "**", "left": 2, "right": 3}}}),
         "kernel.trip_counts.k: operator '**' is not one of"),
        (text(kernel={**KERNEL, "trip_counts": {"k": {"is": {}}}}), "kernel.trip_counts.k.is: unknown kind an object"),
        (text(tasks=[TASK, TASK]), "tasks[1].name: two tasks are called 't'"),
        (text(graph=[{"upstream": "r", "downstream": "r"}]), "graph[0].upstream: nothing is called 'r'"),
        (text(resources=[{"name": "r"}], groups=[{"name": "r", "kind": "wgmma"}]), "'r' is already the name of a resource"),
        (text(resources=[{"name": "r", "params": {"x": {}}}]), "resources[0].params.x: expected a number, a string"),
        (text(resources=[{"name": "r", "params": {"x": float("nan")}}]), "NaN is no number"),
        (
            text(tasks=[{**TASK, "body": [{"is": "loop", "id": "l", "kind": "domain", "var": "k", "body": [],
                                           "stop": {"is": "symbol", "name": "n"}}]}]),
            "tasks[0].body[0].stop: symbol 'n' (min 0) is not declared",
        ),
    ],
)  # fmt: skip
def test_bad_input_gets_one_line(bad, says):
    with pytest.raises(DocumentError) as error:
        loads(bad, "d.warpdraft.json")
    message = str(error.value)
    assert message.startswith("d.warpdraft.json: ")
    assert says in message
    assert "\n" not in message


def test_missing_and_unreadable_files(tmp_path):
    with pytest.raises(DocumentError, match="cannot be read: No such file"):
        load(tmp_path / "absent.json")
    binary = tmp_path / "binary.json"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DocumentError, match="not UTF-8"):
        load(binary)
    with pytest.raises(DocumentError, match="cannot be read"):
        load(tmp_path)


def test_what_cannot_be_read_back_is_not_written(tmp_path):
    path = tmp_path / "d.json"
    path.write_text("precious")
    dangling = Document("d", tasks=(Task("t", 0, 1, (Op("t.01", OpKind.WAIT, "absent"),)),))
    wrong_type = Document("d", tasks=(Task("t", "0", 1),))  # type: ignore[arg-type]
    for document in (
        dangling,
        wrong_type,
        Document("d", resources=(Resource("r", params=(("x", float("inf")),)),)),
    ):
        with pytest.raises(DocumentError):
            save(document, path)
    assert path.read_text() == "precious"


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path, monkeypatch):
    path = tmp_path / "d.json"
    save(Document("old"), path)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DocumentError, match="No space left"):
        save(Document("new"), path)
    assert load(path).name == "old"
    assert os.listdir(tmp_path) == ["d.json"]


def test_permissions_and_links_are_kept(tmp_path):
    path, link = tmp_path / "d.json", tmp_path / "link.json"
    save(Document("old"), path)
    path.chmod(0o640)
    link.symlink_to(path)
    save(Document("new"), link)
    assert link.is_symlink()
    assert load(path).name == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
