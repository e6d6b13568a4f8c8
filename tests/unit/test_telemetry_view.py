"""Readings of the box as series and as what the diagnosis asks; what was not read stays unknown, what cannot be is left out."""

import math
from datetime import UTC, datetime

import pytest

from core.domain.telemetry_view import first_last, readings_of, series_of, throttled

AT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def sample(offset, rows, **body):
    return {"noted_at": AT.replace(second=offset), "body": {"telemetry": rows, **body}}


ROWS = [{"at_s": 0.0, "temp_c": 50.0, "sm_mhz": 1980.0}, {"at_s": 4.0, "temp_c": 61.0, "sm_mhz": 1700.0, "power_w": None}]


def test_readings_are_placed_by_when_their_repetition_ended():
    found = readings_of([sample(20, ROWS), sample(10, ROWS)])
    assert [row["at"] for row in found] == [0.0, 4.0, 10.0, 14.0]
    assert first_last(found, "temp_c") == (50.0, 61.0) and first_last(found, "power_w") is None
    series = series_of(found)
    assert set(series) == {"GPU temperature, °C", "GPU clock, MHz"} and series["GPU clock, MHz"][1] == [1980.0, 1700.0, 1980.0, 1700.0]


def test_several_gpus_are_told_apart():
    rows = [{"at_s": 0.0, "gpu": gpu, "temp_c": 50.0 + gpu} for gpu in (0, 1)]
    assert set(series_of(readings_of([sample(1, rows)]))) == {"GPU temperature, °C, GPU 0", "GPU temperature, °C, GPU 1"}


@pytest.mark.parametrize("rows", [None, [], [None], [{"temp_c": 3.0}], [{"at_s": math.nan}], [{"at_s": "x", "temp_c": 1}]])
def test_what_was_not_read_is_no_series(rows):
    assert readings_of([sample(1, rows)]) == [] and series_of([]) == {}


def test_values_that_cannot_be_leave_gaps():
    rows = [{"at_s": 0.0, "temp_c": math.inf}, {"at_s": 1.0, "temp_c": 50.0}, {"at_s": 2.0, "temp_c": True}]
    assert series_of(readings_of([sample(5, rows)]))["GPU temperature, °C"][1] == [None, 50.0, None]


@pytest.mark.parametrize(
    "said, found",
    [
        ([None, None], None),
        ([[], None], ()),
        (["n/a"], ()),
        ([["SW power cap"], ["SW power cap", "HW slowdown"]], ("SW power cap", "HW slowdown")),
    ],
)
def test_throttling_read_or_not(said, found):
    assert throttled([sample(1, [], throttle=one) for one in said]) == found
