"""Bad input: one clear line, exit code 2, nothing overwritten."""

import json
import socket

import pytest

COMMANDS = {
    "check": (),
    "trace": ("-o", "OUT"),
    "export": ("-o", "OUT"),
    "compile": (),
    "run": ("--emulate",),
    "show": (),
}


def arguments(command, path, tmp_path):
    return (command, path, *(tmp_path / "out" if a == "OUT" else a for a in COMMANDS[command]))


BAD_FILES = {
    "missing.warpdraft.json": (None, "o such file"),
    "broken.warpdraft.json": ('{"warpdraft": 1,', "line 1 column"),
    "list.warpdraft.json": ("[]", "not a warpdraft document"),
    "other.warpdraft.json": ('{"name": "x"}', "not a warpdraft document"),
    "future.warpdraft.json": ('{"warpdraft": 99, "name": "x"}', "version 99 is not 1"),
    "field.warpdraft.json": ('{"warpdraft": 1, "name": "x", "colour": 1}', "colour"),
    "binary.warpdraft.json": (b"\xff\xfe\x00", "not UTF-8"),
    "deep.warpdraft.json": ("[" * 100_000, "nested too deeply"),
    "missing.py": (None, "no such file"),
    "raises.py": (
        "x = 1\nprint('hello')\nraise RuntimeError('no luck\\ntoday')",
        ":3: RuntimeError: no luck today",
    ),
    "syntax.py": ("def f(:\n", ":1: SyntaxError"),
    "imports.py": ("import not_a_module_at_all", ":1: ModuleNotFoundError"),
    "exits.py": ("import sys; sys.exit(3)", "ended itself with status 3"),
    "empty.py": ("", "builds no TaskManager"),
    "asks.py": ("def build(size): ...", "build(size) needs arguments"),
    "base.py": ("class Odd(BaseException): pass\n\nraise Odd('no')", ":3: Odd: no"),
    "vanishes.py": ("import os\nos._exit(0)", "os._exit"),
    "caught.py": ("import os\ntry:\n    os._exit(0)\nexcept BaseException:\n    pass", "os._exit"),
    "replaced.py": ("import os\nos.execl('/bin/true', 'true')", "os.execv"),
    "build.py": ("def build():\n    return 1 / 0", ":2: ZeroDivisionError"),
}


@pytest.mark.parametrize("name", BAD_FILES)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_bad_file_gets_one_line_and_code_2(warpdraft, tmp_path, command, name):
    content, expected = BAD_FILES[name]
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    (tmp_path / "out").write_text("precious")
    ended = warpdraft(*arguments(command, path, tmp_path))
    if name == "raises.py":  # what the script printed goes to standard error, before the line
        assert ended.code == 2 and not ended.out and ended.err.startswith("hello\n")
        ended = type(ended)(2, "", ended.err.removeprefix("hello\n"))
    assert expected in ended.refusal and name in ended.refusal
    assert (tmp_path / "out").read_text() == "precious"


def test_a_folder_is_no_document(warpdraft, tmp_path):
    (tmp_path / "d.py").mkdir()
    assert "is a folder" in warpdraft("check", tmp_path / "d.py").refusal
    assert warpdraft("check", tmp_path).refusal


@pytest.mark.parametrize(
    "option, expected",
    [
        ("k_tiles", "not NAME=VALUE"),
        ("k_tiles=", "not NAME=VALUE"),
        ("k_tiles=many", "'many' is not an integer"),
        ("k_tiles=8:2", "smaller to a larger"),
        ("k_tiles=-1", "at least 0"),
        ("k_tiles=1:9999999", "more than"),
        ("k_tiles=1,k_tiles=2", "twice"),
        ("colour=1", "no such symbol; there are k_tiles"),
    ],
)
def test_bad_trip_counts(warpdraft, examples, option, expected):
    assert expected in warpdraft("check", examples / "gemm.warpdraft.json", "--set", option).refusal


@pytest.mark.parametrize(
    "options, expected",
    [
        (("--size", "M"), "not NAME=VALUE"),
        (("--size", "M=big"), "'big' is not an integer"),
        (("--size", "Q=4"), "no size Q"),
        (("--size", "M=0"), "shape (0, "),
        (("--param", "colour=red"), "no such parameter"),
        (("--param", "dtype=fp3"), "fp3 is not emulated"),
        (("--param", "tile=4"), "only texts and integers"),
    ],
)
def test_bad_sizes_and_parameters(warpdraft, examples, options, expected):
    path = examples / "gemm.warpdraft.json"
    assert expected in warpdraft("run", path, "--emulate", *options).refusal


def test_no_gpu_is_said_and_the_emulator_named(warpdraft, examples, monkeypatch):
    monkeypatch.setattr("warpdraft.app.cli.run.gpu_name", lambda: "")
    assert warpdraft("run", examples / "gemm.warpdraft.json").refusal == (
        "no GPU here (nvidia-smi lists none): use --emulate"
    )


def test_a_busy_port_is_named(warpdraft, examples, tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        refusal = warpdraft("show", examples / "gemm.warpdraft.json", "--port", port).refusal
        assert f"port {port} is in use" in refusal and "PORT=" in refusal
        script = tmp_path / "mine.py"
        script.write_text("from warpdraft.assets.examples.gemm import build\n")
        assert "is in use" in warpdraft("show", script, "--port", port).refusal
        assert list(tmp_path.iterdir()) == [script]  # no document was written
    assert (
        "ports are 1 to 65535" in warpdraft("show", examples / "gemm.warpdraft.json", "--port", 70000).refusal
    )


@pytest.mark.parametrize("command", ["trace", "export"])
@pytest.mark.parametrize("ending", [".py", ".warpdraft.json"])
def test_no_command_overwrites_its_input(warpdraft, examples, tmp_path, command, ending):
    path = tmp_path / f"tma_copy{ending}"
    path.write_bytes(before := (examples / path.name).read_bytes())
    (tmp_path / "folder").mkdir()
    (tmp_path / "soft").symlink_to(path)
    (tmp_path / "hard").hardlink_to(path)
    for out in (path, tmp_path / "folder" / ".." / path.name, tmp_path / "soft", tmp_path / "hard"):
        assert "is the input itself" in warpdraft(command, path, "-o", out).refusal
    assert path.read_bytes() == before


@pytest.mark.parametrize("command", ["trace", "export"])
def test_no_command_overwrites_a_document(warpdraft, examples, tmp_path, command):
    other, link = tmp_path / "other.warpdraft.json", tmp_path / "link"
    other.write_text("precious")
    link.symlink_to(other)
    for out in (other, link):
        assert "is a document" in warpdraft(command, examples / "gemm.warpdraft.json", "-o", out).refusal
    assert other.read_text() == "precious"
    new = tmp_path / "new.warpdraft.json"
    assert "the ending of documents" in warpdraft(command, other, "-o", new).refusal and not new.exists()


@pytest.mark.parametrize("command", ["trace", "export"])
def test_an_output_that_cannot_be_written(warpdraft, examples, tmp_path, command):
    path = examples / "gemm.warpdraft.json"
    assert "cannot be written" in warpdraft(command, path, "-o", tmp_path / "no" / "out").refusal
    assert "is a folder" in warpdraft(command, path, "-o", tmp_path).refusal
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("options", [("export", "-o", "-"), ("run", "--emulate")], ids=["export", "run"])
def test_what_says_nothing_of_a_kernel_is_told_how_to(warpdraft, examples, tmp_path, options):
    values = json.loads((examples / "gemm.warpdraft.json").read_text())
    del values["kernel"]
    (tmp_path / "bare.warpdraft.json").write_text(json.dumps(values))
    refusal = warpdraft(options[0], tmp_path / "bare.warpdraft.json", *options[1:]).refusal
    assert "kernel=Kernel(...)" in refusal and refusal.count("gemm") == 1


def test_processes_that_a_script_forks_may_end(warpdraft, tmp_path):
    script = tmp_path / "forks.py"
    script.write_text(
        "import os\nfrom warpdraft.assets.examples.gemm import build\n"
        "child = os.fork()\nif not child:\n    os._exit(7)\n"
        "assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7\n"
    )
    assert warpdraft("check", script).code == 0


def test_a_script_that_builds_several_schedules_is_refused_where_one_is_meant(warpdraft, tmp_path, examples):
    text = "from warpdraft.assets.examples import gemm, tma_copy\ngemm.build()\ntma_copy.build()\n"
    (tmp_path / "two.py").write_text(text)
    assert "builds 2 schedules (gemm, tma_copy)" in warpdraft("trace", tmp_path / "two.py", "-o", "-").refusal


def test_show_writes_a_scripts_document_once_and_never_over_another(warpdraft, tmp_path, monkeypatch):
    served = []
    monkeypatch.setattr("warpdraft.app.server.serve", lambda path, port, show: served.append((path, show)))
    script, document = tmp_path / "mine.py", tmp_path / "mine.warpdraft.json"
    script.write_text("from warpdraft.assets.examples.gemm import build\n")
    assert warpdraft("show", script, "--no-browser").code == 0
    assert warpdraft("show", script).code == 0
    assert served == [(document, False), (document, True)]
    values = json.loads(document.read_text())
    document.write_text(json.dumps(values | {"name": "changed"}))
    assert "differs from what" in warpdraft("show", script).refusal
    assert json.loads(document.read_text())["name"] == "changed"


def test_unknown_commands_and_missing_options_end_with_2(warpdraft):
    assert warpdraft().code == 2
    assert warpdraft("fly").code == 2
    assert warpdraft("export", "x.warpdraft.json").code == 2
    assert "commands" in warpdraft("--help").out
    assert warpdraft("--version").out.startswith("warpdraft 0.")


def test_an_unexpected_error_is_one_line_too(warpdraft, examples, monkeypatch):
    def broken(*_):
        raise RuntimeError("a bug\nof ours")

    monkeypatch.setattr("warpdraft.app.cli.trace.simulate", broken)
    ended = warpdraft("trace", examples / "gemm.warpdraft.json", "-o", "-")
    assert ended.code == 2
    assert (
        ended.err
        == "warpdraft: internal error, RuntimeError: a bug of ours (WARPDRAFT_TRACEBACK=1 shows where)\n"
    )
    monkeypatch.setenv("WARPDRAFT_TRACEBACK", "1")
    with pytest.raises(RuntimeError):
        warpdraft("trace", examples / "gemm.warpdraft.json", "-o", "-")
