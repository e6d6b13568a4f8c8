"""The worked figures of the published reference on the screen: each on its cell's receipt, the three decisions on the matrix."""

from __future__ import annotations

from tests.pages.conftest import OpenPage, cells, words

# row, n: s, a, H ms, D + V ms, D + V in H, acceptance needed, acceptance as published
WORKED = {
    ("deepseek-q8-24", 3): ("0.86×", "3.46", "51.8 ms", "208.4 ms", "4.02 H", "100.8%", "82% of proposed"),
    ("deepseek-q8-14", 1): ("1.18×", "2.00", "45.0 ms", "76.0 ms", "1.69 H", "68.8%", "100% first position"),
    ("deepseek-q8-14", 2): ("0.97×", "2.78", "45.0 ms", "128.7 ms", "2.86 H", "92.9%", "89% of proposed"),
    ("deepseek-q8-14", 3): ("0.85×", "3.34", "45.0 ms", "177.7 ms", "3.94 H", "98.1%", "78% of proposed"),
    ("deepseek-q3-10", 1): ("1.30×", "2.00", "42.6 ms", "65.6 ms", "1.54 H", "54.1%", "100% first position"),
    ("deepseek-q3-10", 2): ("1.06×", "2.86", "42.6 ms", "115.3 ms", "2.71 H", "85.5%", "93% of proposed"),
    ("qwen-27b-q8", 3): (
        "2.20×",
        "not recorded: 2.20 … 4.00",
        "37.0 ms",
        "67.5 ms",
        "at most 1.82 H",
        "Cannot be told without recorded",
        "not recorded",
    ),
}


def test_every_worked_figure_stands_on_its_receipt(open_page: OpenPage) -> None:
    for (key, n_max), figures in WORKED.items():
        at = open_page("receipt", cell=f"published~{key}~{n_max}")
        said = (words(at) + " ".join(cells(table.value) for table in at.table)).replace("\\", "")
        assert [figure for figure in figures if figure not in said] == [], (key, n_max)


def test_the_three_worked_decisions_stand_on_the_matrix(open_page: OpenPage) -> None:
    said = cells(open_page("matrix").table[0].value).replace("\\", "")
    assert "widen: The longest draft measured, n_max 3, is the fastest and its last position was not recorded (n=3 2.20×)." in said
    assert "keep: n_max 1 is the fastest beyond noise (n=1 1.30×, n=2 1.06×)." in said
    assert "disable: No n_max beats speculation off beyond noise (n=3 0.86×)." in said and "No draft can win at n_max 3" in said
