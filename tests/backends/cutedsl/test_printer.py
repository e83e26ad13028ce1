"""Statements are printed as the formatter would: wrapped at the width, tagged with their op."""

import ast
import shutil
import subprocess
import sys

import pytest

from warpdraft.backends.cutedsl import op_lines
from warpdraft.backends.cutedsl.names import Names
from warpdraft.backends.cutedsl.printer import WIDTH, print_source
from warpdraft.backends.cutedsl.syntax import (
    Blank,
    Comment,
    For,
    Function,
    If,
    Line,
    Verbatim,
    With,
    assign,
    binary,
    call,
    compare,
    expression,
    index,
    run,
    text,
)

LONG = [f"argument_number_{i}" for i in range(8)]


def test_every_statement():
    loop = For(expression("k"), call("range", 4), (run("step", "k", op="load.03", note="moves"),), "of four")
    choice = If(((compare("k", ">=", 1), (Comment("nothing"),)), (None, (assign("x", binary("k", "+", 0)),))))
    body = (loop, With(call("elect"), (choice,)), Blank(), Verbatim("y = 1"))
    source = print_source([Function("f", (("k", expression("Int32")),), body, expression("jit"), "Doc.")])
    assert source == (
        "@jit\n"
        "def f(k: Int32):\n"
        '    """Doc."""\n'
        "    for k in range(4):  # of four\n"
        "        step(k)  # op load.03: moves\n"
        "    with elect():\n"
        "        if k >= 1:\n"
        "            # nothing\n"
        "            pass\n"
        "        else:\n"
        "            x = k\n"
        "\n"
        "    y = 1\n"
    )


def test_long_calls_are_opened_up():
    short = print_source([run("f", *LONG[:4], op="a.01")])
    middle = print_source([run("some_function", *LONG[:5], op="a.02")])
    long = print_source([assign("x", call("some_function", *LONG, key=call("g", *LONG)))])
    assert short.count("\n") == 1
    assert middle.splitlines() == [
        "some_function(  # op a.02",
        "    " + ", ".join(LONG[:5]),
        ")",
    ]
    assert long.splitlines()[:2] == ["x = some_function(", "    argument_number_0,"]
    assert max(map(len, long.splitlines())) <= WIDTH
    ast.parse(short + middle + long)


@pytest.mark.skipif(not shutil.which("ruff", path=sys.prefix + "/bin"), reason="ruff is not installed")
def test_output_is_what_the_formatter_makes(any_document, tmp_path):
    from warpdraft.backends.cutedsl import lower

    module = tmp_path / "kernel.py"
    module.write_text(lower(any_document))
    # both tests of every(period, start) are run-time conditions: each has an `if` of its own
    for command in ("check --ignore=SIM102", "format --check"):
        arguments = [sys.prefix + "/bin/ruff", *command.split(), "--isolated", f"--line-length={WIDTH}"]
        done = subprocess.run([*arguments, str(module)], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def test_tuples_strings_and_indices():
    assert print_source([assign(("a", "b"), ("m", 1))]) == "a, b = m, 1\n"
    assert print_source([Line(expression((text('say "x"'),)))]) == '("say \\"x\\"",)\n'
    assert print_source([Line(index("x", None, (None, "i")))]) == "x[None, (None, i)]\n"


def test_a_string_that_is_no_name_is_refused():
    with pytest.raises(ValueError, match="not a dotted name"):
        expression("f(x)")


def test_op_lines():
    assert op_lines("a  # op load.01\nb\nc  # op load.01\n# op math.02: stage 0\n") == {
        "load.01": (1, 3),
        "math.02": (4,),
    }


def test_names_are_unique_below_but_not_beside():
    names = Names({"op"})
    assert [names.new("a"), names.new("a"), names.new("class"), names.new("1 b"), names.new("op")] == [
        "a",
        "a_2",
        "_class",
        "_1_b",
        "op_2",
    ]
    left, right = names.child(), names.child()
    assert (left.new("k"), right.new("k"), left.new("a")) == ("k", "k", "a_3")
