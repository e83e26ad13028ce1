"""Which of several schedules `run` takes: by measurements of this device, or else by prediction."""

import json
from dataclasses import replace

import pytest

from warpdraft.app import measurements
from warpdraft.app.choosing import choose
from warpdraft.app.measurements import SHIPPED, Measured, dumps, kept, read
from warpdraft.assets.examples.hopper.gemm import gemm
from warpdraft.assets.examples.hopper.members import members
from warpdraft.assets.examples.hopper.plan import Plan
from warpdraft.backends.cutedsl import Measurement
from warpdraft.core.equality import digest
from warpdraft.core.store import save

LARGE = gemm(Plan(cluster=(1, 1)), "large").document
SMALL = gemm(Plan(tile=(128, 64, 64), cluster=(1, 1)), "small").document
SIZES = {"M": 2048, "N": 2048, "K": 512}


def row(document, microseconds, ratio=None, device="H", **sizes):
    return Measured(
        device,
        "fp16",
        "",
        SIZES | sizes,
        digest(document),
        document.name,
        microseconds,
        ratio,
        "2026-11-30",
        "0",
    )


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """An empty cache, and nothing that came along."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(measurements, "SHIPPED", tmp_path / "shipped.json")
    (tmp_path / "shipped.json").write_text(dumps(()))
    return measurements.user_file()


def test_the_digest_is_of_the_schedule():
    renamed = replace(LARGE, name="other", kernel=replace(LARGE.kernel, sizes=(("M", 1), ("N", 1), ("K", 1))))
    assert digest(renamed) == digest(LARGE) == digest(gemm(Plan(cluster=(1, 1)), "again").document)
    assert digest(LARGE) not in {
        digest(SMALL),
        digest(gemm(Plan(cluster=(1, 1), dtype="bf16"), "l").document),
    }


def test_without_measurements_the_prediction_decides():
    choice = choose([SMALL, LARGE], SIZES, "H")
    assert (choice.document, choice.by, choice.measured) == (LARGE, "prediction", None)


@pytest.mark.parametrize(
    "rows, by",
    [
        ([row(LARGE, 9.0), row(SMALL, 8.0)], "measurement"),
        ([row(LARGE, 8.0, 0.9), row(SMALL, 9.0, 1.1)], "measurement"),  # the clock was lower
        ([row(LARGE, 9.0, K=640), row(SMALL, 8.0, K=640)], "near measurement"),
        ([row(LARGE, 9.0, M=1920), row(SMALL, 8.0, M=1920)], "near measurement"),
    ],
)
def test_measurements_decide(rows, by):
    choice = choose([LARGE, SMALL], SIZES, "H", rows)
    assert (choice.document, choice.by) == (SMALL, by) and choice.measured is rows[1]


@pytest.mark.parametrize(
    "rows",
    [
        [row(LARGE, 9.0, device="other"), row(SMALL, 8.0, device="other")],
        [row(SMALL, 8.0)],  # who knows how fast the large one, which is predicted to be faster, is
        [row(LARGE, 9.0, K=1024), row(SMALL, 8.0, K=1024)],  # too long
        [row(LARGE, 9.0, M=4096), row(SMALL, 8.0, M=4096)],  # more waves
        [row(LARGE, 9.0, L=2), row(SMALL, 8.0, L=2)],  # another product
    ],
)
def test_measurements_of_something_else_do_not(rows):
    assert choose([LARGE, SMALL], SIZES, "H", rows).by == "prediction"


def test_equal_sizes_count_before_near_ones():
    rows = [row(LARGE, 9.0, K=576), row(SMALL, 8.0, K=576), row(LARGE, 7.0), row(SMALL, 8.0)]
    assert choose([SMALL, LARGE], SIZES, "H", rows).document is LARGE


def test_times_at_near_sizes_are_scaled():
    """Of small tiles there are more waves at the larger size, of large ones as many."""
    rows = [row(LARGE, 9.0, M=1024), row(SMALL, 8.0, M=1024)]
    choice = choose([SMALL, LARGE], SIZES, "H", rows)
    assert (choice.document, choice.by) == (LARGE, "near measurement")


def saved(folder):
    paths = [folder / f"{d.name}.warpdraft.json" for d in (LARGE, SMALL)]
    for path, document in zip(paths, (LARGE, SMALL), strict=True):
        save(document, path)
    return paths


def test_run_measures_keeps_and_chooses(warpdraft, tmp_path, monkeypatch, cache):
    def run(source, sizes, texts):
        small = source.startswith('"""small')
        return Measurement(
            "right", device="H", dtype="fp16", sizes=tuple(SIZES.items()), error=0.0, limit=1e-3,
            seconds=8e-6 if small else 9e-6, library="torch.mm", ratio=1.1 if small else 1.0,
        )  # fmt: skip

    monkeypatch.setattr("warpdraft.app.cli.run.gpu_name", lambda: "H")
    monkeypatch.setattr("warpdraft.backends.cutedsl.run_module", run)
    command = ("run", *saved(tmp_path), "--size", "M=2048,N=2048,K=512", "--json")
    before = json.loads(warpdraft(*command).out)
    assert before["document"] == "large" and before["choice"]["by"] == "prediction"
    ended = warpdraft(*command, "--measure")
    assert ended.code == 0 and "small: right, 8.0 us, 1.100 of torch.mm" in ended.err
    assert json.loads(ended.out)["document"] == "small" and len(read(cache)) == 2
    after = json.loads(warpdraft(*command).out)
    assert (
        after["document"] == "small" and after["choice"]["by"] == "measurement" and after["choice"]["of"] == 2
    )
    assert after["choice"]["measured"]["microseconds"] == 8.0 and after["choice"]["measured"]["ratio"] == 1.1
    assert "small: of 2, measured 8.0 us on 20" in warpdraft(*command).err
    assert warpdraft(*command, "--measure").code == 0 and len(kept()) == 2  # in the place of the former
    assert [f.name for f in cache.parent.iterdir()] == ["measurements.json"]


@pytest.mark.parametrize(
    "text, message",
    [
        ("{", "line 1: not JSON"),
        ("[]", "no file of measurements of version 1"),
        ('{"version": 2, "measurements": []}', "no file of measurements of version 1"),
        ('{"version": 1, "measurements": {}}', "measurements: not a list"),
        (
            '{"version": 1, "measurements": [{"device": "H"}]}',
            "measurements[0]: not an object of date, device",
        ),
        (
            dumps([replace(row(LARGE, 9.0), microseconds=-1.0)]),
            "measurements[0]: microseconds and ratio must be",
        ),
        (dumps([replace(row(LARGE, 9.0), sizes={"M": "1"})]), "measurements[0]: sizes must be integers"),
    ],
)
def test_a_broken_cache_is_named(warpdraft, tmp_path, monkeypatch, cache, text, message):
    cache.parent.mkdir(parents=True)
    cache.write_text(text)
    monkeypatch.setattr("warpdraft.app.cli.run.gpu_name", lambda: "H")
    refused = warpdraft("run", *saved(tmp_path)).refusal
    assert f"{cache}: {message}" in refused and "delete it to begin anew" in refused
    assert cache.read_text() == text


def test_measuring_needs_a_gpu_and_safe_schedules(warpdraft, tmp_path, monkeypatch):
    path = saved(tmp_path)[1]
    assert "not for --emulate" in warpdraft("run", path, "--measure", "--emulate").refusal
    assert "not for --unsafe" in warpdraft("run", path, "--measure", "--unsafe").refusal
    monkeypatch.setattr("warpdraft.app.cli.run.gpu_name", lambda: "")
    assert "no GPU here" in warpdraft("run", path, "--measure").refusal


def test_what_comes_along_is_of_the_members_as_they_are():
    """Else `python benchmarks/gpu/members.py --keep assets/measurements.json` is to be run again, on an H200."""
    found = read(SHIPPED)
    for dtype in ("fp16", "bf16"):
        of_type = {m.schedule for m in found if m.dtype == dtype}
        assert {digest(manager.document) for manager in members(dtype).values()} == of_type
    assert all(m.device == "NVIDIA H200" and m.ratio for m in found)
