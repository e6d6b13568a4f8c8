"""Every chart with all of plotly's checks on: figures are handed over unchecked, so a wrong property would be seen by nobody."""

from __future__ import annotations

import json

import plotly.graph_objects as go
import plotly.io
import pytest

from core.charts.context import Cloud, context_figure
from core.charts.dots import Dots, dots_figure
from core.charts.gain import GainLine, gain_figure
from core.charts.lines import Series, line_figure
from core.charts.matrix import Band, Tile, matrix_figure
from core.charts.spill import Point, spill_figure
from core.charts.steps import StepLine, steps_figure

TILES = {
    "off": Tile("22.2", (), "off"),
    "1": Tile("26.3", ("1.18× ▲",), "wins", "id", 1.18, is_best=True),
    "2": Tile("▨", (), "excluded", "id", None, is_hatched=True),
    "3": Tile("18.8", ("0.85× ▼",), "loses", "id", 0.85, is_faded=True),
}
BAND = Band("<b>model</b>", "▲ pays", "wins", "because " * 40, ("◷ stale: " + "long " * 60,), TILES)
FIGURES = {
    "matrix": lambda dark: matrix_figure([BAND, BAND], ("off", "1", "2", "3"), dark=dark),
    "empty matrix": lambda dark: matrix_figure([], ("off",), dark=dark),
    "lines": lambda dark: line_figure(
        [Series("a", [1, 2], [0.5, None], ["x", "y"])], x_title="n_max", y_title="share", dark=dark, even=1.0, percent=True, from_zero=True
    ),
    "spill": lambda dark: spill_figure([Point(0.4, 1.1, 1, "measured", "a")], [Point(14, 0.9, 2, "transcribed", "b")], dark=dark),
    "steps": lambda dark: steps_figure([StepLine("a", [1, 2], [1.5, 2.5], [1.8, 2.2], 1.0)], dark=dark, with_a=True),
    "gain": lambda dark: gain_figure(
        [GainLine(1, [1.0, 2.0], [0.6, 1.2], (1.8, 1.1)), GainLine(2, [1.0, 3.0], [0.5, 1.4], None)], dark=dark
    ),
    "context": lambda dark: context_figure(
        [Cloud("here", [20, 300], [0.9, 0.7], ["a", "b"], True), Cloud("runs", [90], [0.5], ["c"], False)], dark=dark
    ),
    "dots": lambda dark: dots_figure([Dots("a", "off", [1.0], "measured", "n", 0.9, 1.1)], x_title="prefill", dark=dark),
}


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("name", FIGURES)
def test_a_chart_is_what_plotly_knows(name: str, dark: bool) -> None:
    spec = json.loads(plotly.io.to_json(FIGURES[name](dark), validate=False))
    go.Figure(data=spec["data"], layout={key: value for key, value in spec["layout"].items() if key != "template"})


def test_a_long_reason_wraps_and_pushes_the_tiles_down() -> None:
    short = matrix_figure([Band("m", tiles=TILES)], ("off", "1", "2", "3"), dark=False)
    long = matrix_figure([BAND], ("off", "1", "2", "3"), dark=False)
    assert long.layout["height"] > short.layout["height"]
    words = long.data[2]["text"][0]
    assert max(len(line) for line in words.replace("</span>", "").split("<br>")) < 200 and words.count("<br>") == 4
    assert long.data[0]["base"][0] - short.data[0]["base"][0] == long.layout["height"] - short.layout["height"]
