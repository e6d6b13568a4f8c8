"""The fit of a model to device memory and the memory breakdown tables. During the fit a table is a plan: `unaccounted` goes far below zero.

First wording (Oct 2025): `deficit`, `margin`; later `free memory target`, `of free device memory`. Whole MiB, cut: sums may miss by 1 or 2.
"""

from __future__ import annotations

import re
from typing import Any

from core.formats.lines import Line
from core.formats.numbers import signed_count

Row = dict[str, "int | None"]
_DEVICE = re.compile(
    r"\| +- (\S{1,64})(?: \([^|]{0,256}\))? *\| *(-?\d+) = *(-?\d+) \+ *\( *(-?\d+) = *(-?\d+) \+ *(-?\d+) \+ *(-?\d+) *\) \+ *(-?\d+) *\|"
)
_OTHER = re.compile(r"\| +- (\S[^|]{0,256}?) *\| *(-?\d+) = *(-?\d+) \+ *(-?\d+) \+ *(-?\d+) *\|")
_COLUMNS = ("total", "free", "self", "model", "context", "compute", "unaccounted")
_FIT_ROW = re.compile(r"- (\S{1,64}) \([^:]{0,256}?\) *: *(\d+) total, *(-?\d+) used, *(-?\d+) (deficit|surplus|free)")
_LAYER_ROW = re.compile(r"- (\S{1,64}) .{0,256}: *(\d+) layers(?: \( *(\d+) overflowing\))?, *(-?\d+) MiB used, *(-?\d+) MiB free")
_NUMBERED = {
    "margin_mib": re.compile(r"margin of +(\d+) MiB"),
    "free_target_mib": re.compile(r"free memory target of +(\d+) MiB"),
    "must_reduce_mib": re.compile(r"need to (?:reduce device memory by|use) +(\d+) MiB"),
    "mtp_context_estimate_mib": re.compile(r"memory usage of MTP context is +([\d.]+) MiB"),
    "draft_estimate_mib": re.compile(r"memory usage of draft model is +([\d.]+) MiB"),
    "mmproj_estimate_mib": re.compile(r"memory usage of mmproj is +([\d.]+) MiB"),
}
_PROJECTED = re.compile(r"projected to use +(\d+) MiB of device memory vs\. +(a total of )?(\d+) MiB")
_REDUCED = re.compile(r"context size reduced from +(\d+) to +(\d+)")
_BY_USER = re.compile(r"context size set by user to +(\d+)")
_LAYERS = re.compile(r"set to use +(\d+) dense-only and +(\d+) full GPU layers")
_TARGET = re.compile(r"id=(\d+), target= *(-?\d+) MiB")


class FitFacts:
    """Collects fit lines and breakdown tables, in order; every figure in MiB, counts of layers and tokens."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.tables: list[dict[str, Row]] = []
        self.objects = 0
        self.tables_seen = 0
        self.rows: list[tuple[str, int, int, int, str]] = []
        self.spilled_by_fit = False

    def handlers(self) -> dict[str, str]:
        """Keyword in a line -> name of the method that reads such lines."""
        return {
            "breakdown": "on_table",
            " - ": "on_row",
            "fit": "on_fit",
            "MiB": "on_figure",
            "context size": "on_context",
            "layers": "on_layers",
        }

    def on_table(self, line: Line) -> None:
        """A table begins with its header. The first two and the latest are kept."""
        if "memory breakdown [MiB]" in line.text:
            self._begin()
        self.on_row(line)

    def _begin(self) -> None:
        self.tables_seen += 1
        if len(self.tables) < 3:
            self.tables.append({})
        else:
            self.tables[-1] = {}

    def on_row(self, line: Line) -> None:
        """One row of a table, or one device row of the fit."""
        device = _DEVICE.search(line.text)
        if device:
            self._keep(device[1], dict(zip(_COLUMNS, (signed_count(text) for text in device.groups()[1:]), strict=True)))
            return
        other = _OTHER.search(line.text)
        if other:
            self._keep(other[1], dict(zip(_COLUMNS[2:6], (signed_count(text) for text in other.groups()[1:]), strict=True)))
            return
        fit = _FIT_ROW.search(line.text)
        if fit and "projected_mib" not in self.values and len(self.rows) < 256:
            self.rows.append((fit[1], int(fit[2][:15]), int(fit[3][:15]), int(fit[4][:15]), fit[5]))

    def _keep(self, name: str, row: Row) -> None:
        if not self.tables:
            self._begin()
        if len(self.tables[-1]) < 256:
            self.tables[-1][name] = row

    def on_object(self, entry: dict[str, Any]) -> None:
        """A `fit_memory_breakdown` object of a JSON log."""
        data = entry.get("data")
        rows = data.get("rows") if isinstance(data, dict) else None
        if not isinstance(rows, list):
            return
        self.objects += 1
        self._begin()
        for row in rows[:256]:
            if isinstance(row, dict):
                name = str(row.get("name") or row.get("device") or row.get("buffer_type") or row.get("kind") or "")[:128]
                name = "Host" if row.get("kind") == "host" else name
                columns = _COLUMNS if row.get("kind") == "device" else _COLUMNS[2:6]
                self._keep(name, {column: signed_count(row.get(column)) for column in columns})

    def on_fit(self, line: Line) -> None:
        """Whether a fit ran and ended well."""
        text = line.text
        if "failed to fit params" in text:
            self.values["fit"] = False
        elif "params_fit" in text or "fitting params" in text:
            self.values.setdefault("fit", True)
        if "no changes needed" in text:
            self.values.setdefault("placement_changed_by_fit", False)

    def on_figure(self, line: Line) -> None:
        """Single figures of the fit and the estimates."""
        for key, pattern in _NUMBERED.items():
            found = pattern.search(line.text)
            if found:
                self.values.setdefault(key, float(found[1][:20]) if "." in found[1] else signed_count(found[1]))
        projected = _PROJECTED.search(line.text)
        if projected:
            self.values.setdefault("projected_mib", signed_count(projected[1]))
            self.values.setdefault("fit_total_mib" if projected[2] else "fit_free_mib", signed_count(projected[3]))
        target = _TARGET.search(line.text)
        if target:
            self.values.setdefault("device_target_mib", {})[target[1]] = signed_count(target[2])

    def on_context(self, line: Line) -> None:
        """What the fit did to the context size, tokens."""
        reduced = _REDUCED.search(line.text)
        if reduced:
            self.values.update(n_ctx_from=signed_count(reduced[1]), fit_n_ctx=signed_count(reduced[2]), n_ctx_changed=True)
        by_user = _BY_USER.search(line.text)
        if by_user:
            self.values.update(fit_n_ctx=signed_count(by_user[1]), n_ctx_changed=False)

    def on_layers(self, line: Line) -> None:
        """How the fit placed layers."""
        chosen = _LAYERS.search(line.text)
        if chosen:
            dense, full = signed_count(chosen[1]) or 0, signed_count(chosen[2])
            self.values.update(dense_only_layers=dense, full_layers=full, placement_changed_by_fit=True)
            self.spilled_by_fit = self.spilled_by_fit or dense > 0
        row = _LAYER_ROW.search(line.text)
        if row:
            self.values["placement_changed_by_fit"] = True
            self.values["layers_per_device"] = self.values.get("layers_per_device", 0) + 1
