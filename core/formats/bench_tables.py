"""Tables of llama-batched-bench, ik_llama.cpp's sweep-bench and spec-bench, and their JSON lines. Times in s, rates in tokens/s."""

from __future__ import annotations

import re
from typing import Any

from core.formats.checks import rises
from core.formats.numbers import count, kept, number, percent, ratio
from core.formats.tables import Table

Row = dict[str, Any]
_SPEED = {"T_PP_s": "t_pp", "S_PP_tps": "speed_pp", "T_TG_s": "t_tg", "S_TG_tps": "speed_tg", "T_s": "t", "S_tps": "speed"}
_SETTING = re.compile(r"\b(n_kv_max|n_batch|n_ubatch|flash_attn|n_gpu_layers|n_threads|n_threads_batch) = (-?\d{1,9})")


class SettingFacts:
    """The settings line above a batched-bench or sweep-bench table."""

    def __init__(self) -> None:
        self.values: dict[str, int] = {}

    def handlers(self) -> dict[str, str]:
        """Keyword in a line -> name of the method that reads such lines."""
        return {"n_kv_max": "on_settings"}

    def on_settings(self, line: Any) -> None:
        """`main: n_kv_max = 16384, n_batch = 512, …`."""
        for name, value in _SETTING.findall(line.text):
            self.values[name] = int(value)


def _named(table: Table) -> list[dict[str, str]]:
    return [dict(zip((cell.lower() for cell in table.header), cells, strict=False)) for cells in table.rows]


def batched_rows(table: Table) -> list[Row]:
    """Rows of a batched-bench (with B) or sweep-bench (without) table."""
    rows = []
    for cells in _named(table):
        row: Row = {"PP": count(cells.get("pp")), "TG": count(cells.get("tg")), "n_kv": count(cells.get("n_kv"))}
        row.update(T_PP_s=number(cells.get("t_pp s")), S_PP_tps=number(cells.get("s_pp t/s")))
        row.update(T_TG_s=number(cells.get("t_tg s")), S_TG_tps=number(cells.get("s_tg t/s")))
        if "b" in cells:
            row.update(B=count(cells.get("b")), T_s=number(cells.get("t s")), S_tps=number(cells.get("s t/s")))
        if row["PP"] is not None and row["TG"] is not None:
            rows.append(row)
    return rows


def batched_row_of(fields: Row) -> Row | None:
    """One JSON line of batched-bench (`pl`) or sweep-bench; None for other objects."""
    if "speed_tg" not in fields or "pp" not in fields:
        return None
    row: Row = {"PP": count(fields.get("pp")), "TG": count(fields.get("tg")), "n_kv": count(fields.get("n_kv"))}
    row.update({key: number(fields.get(name)) for key, name in _SPEED.items()})
    if "pl" in fields:
        row["B"] = count(fields.get("pl"))
    return row


def batched_values(rows: list[Row]) -> Row:
    """V_over_V1 by number of streams: time of the generation part against one stream's; null without one stream."""
    groups = {(row.get("PP"), row.get("TG")) for row in rows}
    one = next((row for row in rows if row.get("B") == 1), None)
    cost: dict[str, float] = {}
    for row in rows:
        value = ratio(row.get("T_TG_s"), one.get("T_TG_s") if one else None)
        if value is not None and row.get("B") is not None:
            cost[str(row["B"])] = round(value, 6)
    return {"rows": rows, "V_over_V1": cost if cost and len(groups) == 1 else None, "model": None}


def batched_warnings(rows: list[Row]) -> list[str]:
    """One sentence for the first row whose rates do not follow from its counts and times."""
    for row in rows:
        streams = row.get("B") or 1
        tokens = (row["PP"] or 0) * streams if row.get("B") else row["PP"]
        for name, many in (("PP", tokens), ("TG", (row["TG"] or 0) * streams)):
            time, rate = row.get(f"T_{name}_s"), row.get(f"S_{name}_tps")
            if not _agrees(many, time, rate) and not (row.get("B") and _agrees(row["PP"], time, rate)):
                return [f"A row's {name} rate {rate} tokens/s does not follow from {many} tokens in {time} s."]
    return []


def _agrees(many: float | None, time: float | None, rate: float | None) -> bool:
    """Whether tokens / time is the printed rate, within the rounding of the printed time (1 ms)."""
    if not many or not time or not rate:
        return True
    slack = 0.0006 / time + 0.001 + 0.006 / rate
    return abs(many / time - rate) <= slack * rate


def spec_rows(table: Table) -> list[Row]:
    """Rows of the spec-bench table; several per cents may stand in one cell."""
    rows = []
    for cells in _named(table):
        accepted, _, drafted = cells.get("accepted", "").partition("/")
        rates = [percent(part) for part in cells.get("pos accept", "").split()]
        row: Row = {"task": cells.get("task"), "stage": cells.get("stage"), "run": count(cells.get("run")), "stop": cells.get("stop")}
        row.update(tokens=count(cells.get("tokens")), seconds=number(cells.get("time(s)")), tps=number(cells.get("tok/s")))
        row.update(rounds=count(cells.get("rounds")), accepted=count(accepted), drafted=count(drafted))
        row.update(accept_share=percent(cells.get("rate")), mean_len=number(cells.get("a.len")))
        row["per_pos"] = [rate for rate in rates if rate is not None] or None
        if row["tokens"] is not None:
            rows.append(row)
    return rows


def spec_row_of(fields: Row) -> Row | None:
    """One JSON line of spec-bench; None for other objects. Rates by depth divide by the drafts that reached it."""
    drafted_at, accepted_at = fields.get("drafted_by_position"), fields.get("accepted_by_position")
    if not isinstance(drafted_at, list) or not isinstance(accepted_at, list):
        return None
    accepted, drafted = count(_any(fields, "accepted", "n_accepted")), count(_any(fields, "drafted", "n_drafted"))
    drafted = drafted if drafted is not None else int(sum(number(n) or 0 for n in drafted_at))
    accepted = accepted if accepted is not None else int(sum(number(n) or 0 for n in accepted_at))
    rates = [ratio(number(a), number(d)) for a, d in zip(accepted_at[:4096], drafted_at[:4096], strict=False)]
    rounds = count(_any(fields, "rounds", "n_rounds"))
    share = ratio(accepted, rounds)
    mean_len = number(_any(fields, "a.len", "a_len", "mean_len", "accept_len"))
    return {
        "task": _any(fields, "task", "name"),
        "stage": fields.get("stage"),
        "run": count(fields.get("run")),
        "stop": _any(fields, "stop", "stop_reason"),
        "tokens": count(_any(fields, "tokens", "n_tokens", "generated")),
        "seconds": number(_any(fields, "seconds", "time_s", "time")),
        "tps": number(_any(fields, "tok_s", "tps", "tokens_per_second", "tok/s")),
        "rounds": rounds,
        "accepted": accepted,
        "drafted": drafted,
        "accept_share": kept(ratio(accepted, drafted)),
        "mean_len": mean_len if mean_len is not None else kept(1 + share if share is not None else None),
        "per_pos": [kept(rate) for rate in rates] or None,
    }


def _any(fields: Row, *names: str) -> Any:
    return next((fields[name] for name in names if fields.get(name) is not None), None)


def spec_warnings(rows: list[Row]) -> list[str]:
    """At most one sentence per row."""
    return list(dict.fromkeys(found for row in rows if (found := _spec_warning(row))))[:20]


def _spec_warning(row: Row) -> str | None:
    accepted, drafted, share = row["accepted"], row["drafted"], row["accept_share"]
    if accepted is not None and drafted is not None and accepted > drafted:
        return f"{row['task']}: more tokens accepted ({accepted}) than drafted ({drafted})."
    computed = ratio(accepted, drafted)
    if computed is not None and share is not None and abs(computed - share) > 0.0002:
        return f"{row['task']}: the printed rate {share:.4f} is not accepted over drafted ({computed:.4f})."
    rates = [rate for rate in row["per_pos"] or [] if rate is not None]
    if (
        row.get("mean_len") is not None
        and row["rounds"]
        and accepted is not None
        and abs(1 + accepted / row["rounds"] - row["mean_len"]) > 0.011
    ):
        return f"{row['task']}: the mean length {row['mean_len']} is not 1 + accepted over rounds."
    if rises(rates):
        return f"{row['task']}: an acceptance rate per position rises."
    if row["tokens"] and row["seconds"] and row["tps"] and not _agrees(row["tokens"], row["seconds"], row["tps"]):
        return f"{row['task']}: {row['tps']} tokens/s does not follow from {row['tokens']} tokens in {row['seconds']} s."
    return None
