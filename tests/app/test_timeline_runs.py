"""What is painted of many bars: nothing is left out, and nothing is filled where more than a pixel is free."""

import random
from itertools import pairwise

import numpy as np
import pytest

from warpdraft.app.views.thinning import MOST, PIXELS
from warpdraft.app.views.timeline_runs import MOST_RUNS, Runs


def bars(number, seed, gap=9.0):
    """Bars of three rows, each row with two looks in turn."""
    rng, columns, looks = random.Random(seed), {"left": [], "right": [], "top": [], "bottom": []}, []
    ends = [0.0, 0.0, 0.0]
    for i in range(number):
        row = i % 3
        left = ends[row] + rng.choice((0.0, rng.random(), rng.random() * gap))
        ends[row] = left + rng.choice((0.1, 1.0, 20.0)) * rng.random() + 0.01
        for name, value in zip(columns, (left, ends[row], row, row + 0.8), strict=True):
            columns[name].append(value)
        looks.append(rng.choice("ab"))
    return columns, looks


def rectangles(painted):
    """For each look and row the painted stretches of time."""
    looks, columns = painted
    found = {}
    for look, xs, ys in zip(looks, columns["xs"], columns["ys"], strict=True):
        xs, ys = xs.reshape(-1, 5), ys.reshape(-1, 5)
        assert np.isnan(xs[:, 4]).all() and len(set(map(tuple, ys[:, :4]))) == 1
        assert ys[0, 0] == ys[0, 1] < ys[0, 2] == ys[0, 3]
        found.setdefault((look, ys[0, 0]), []).extend(zip(xs[:, 0], xs[:, 1], strict=True))
    return found


@pytest.mark.parametrize(("number", "window"), [(40, (0, 10)), (9000, (1000, 3000)), (9000, (0, 20000))])
def test_every_bar_near_the_window_is_painted_and_wide_gaps_stay_free(number, window):
    columns, looks = bars(number, seed=number)
    painted = Runs(columns, looks).within(window)
    found = rectangles(painted)
    pixel = (window[1] - window[0]) / PIXELS if number > MOST else 0.0
    for places in found.values():
        assert places == sorted(places)
        assert all(a[1] <= b[0] + 1e-9 for a, b in pairwise(places))
        assert all(right - left >= pixel - 1e-9 for left, right in places)
    inside = {key: [] for key in found}
    for left, right, top, look in zip(columns["left"], columns["right"], columns["top"], looks, strict=True):
        if number <= MOST or (right >= window[0] and left <= window[1]):
            inside[look, top].append((left, right))
            assert any(a <= left and right <= b + 1e-9 for a, b in found[look, top])
    assert sum(map(len, found.values())) <= MOST_RUNS
    if sum(map(len, found.values())) < MOST_RUNS / 1.6:  # not merged more than to a pixel
        for key, there in inside.items():
            for (_, end), (start, _) in pairwise(there):
                if start - end > 2 * pixel:
                    middle = (start + end + pixel) / 2
                    assert not any(a < middle < b for a, b in found[key])


def test_wide_bars_stay_apart_and_narrow_ones_are_merged():
    number = MOST + 100
    left = np.arange(number) * 10.0
    columns = {"left": left, "right": left + 9.5, "top": [0.0] * number, "bottom": [1.0] * number}
    near = rectangles(Runs(columns, ["x"] * number).within((0, 1600)))["x", 0.0]
    assert near[:2] == [(0.0, 9.5), (10.0, 19.5)]
    far = rectangles(Runs(columns, ["x"] * number).within((0, 32_000)))["x", 0.0]
    assert len(far) == 1 and far[0] == (0.0, left[-1] + 9.5)


def test_a_path_out_of_view_is_one_of_its_own():
    number = MOST + 100
    left = np.arange(number) * 10.0
    columns = {"left": left, "right": left + 5, "top": [0.0] * number, "bottom": [1.0] * number}
    looks, paths = Runs(columns, ["x"] * number).within((4000, 6000))
    assert len(looks) >= 4 and all(np.nanmax(xs) - np.nanmin(xs) <= 1005 for xs in paths["xs"])


def test_no_bars_make_no_paths():
    assert Runs({"left": [], "right": [], "top": [], "bottom": []}, []).within((0, 1)) == (
        [],
        {"xs": [], "ys": []},
    )
