"""The curve of speed-up against spill: its axes."""

from __future__ import annotations

from core.charts.spill import Point, spill_figure


def test_axes_hold_shares_and_layers_where_all_points_lie_at_zero():
    points = [Point(0.0, 1.5, 1, "measured", "zero spill")]
    layout = spill_figure(points, points, dark=False).layout
    assert layout.xaxis.range == (-0.02, 1.02), "no share is negative or more than the whole"
    assert layout.xaxis2.range is None and layout.xaxis2.rangemode == "tozero"
