"""What an engine's own log says of placement, acceptance and drafting. Figures as the log has them; a blank says that it does not."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.ui.components.figures import NOT_RECORDED, ms, plain, share
from core.ui.components.pairs import pairs

Values = dict[str, Any]
NOT_IN_LOG = f"{NOT_RECORDED} not in the log"


def own_logs(readings: list[dict[str, Any]]) -> None:
    """One table an engine start, with its warnings."""
    if not readings:
        st.text("No log is kept yet (it comes home when the run ends).")
    for reading in readings:
        st.caption(f"{reading['name']}: all requests since the engine started, the warm-up included")
        if reading["problem"]:
            st.text(f"The log could not be read: {reading['problem']}")
            continue
        pairs(log_lines(reading["values"]))
        for sentence in reading["warnings"]:
            st.text(f"⚠ {sentence}")


def both_sides(sides: dict[str, list[dict[str, Any]]]) -> None:
    """Baseline and candidate beside each other, closed until somebody asks; nothing where no log is kept."""
    if not any(sides.values()):
        return
    with st.expander("Read from the run's own logs", key="own-logs"):
        for column, (side, readings) in zip(st.columns(len(sides)), sides.items(), strict=True):
            with column:
                st.markdown(f"**{side}**")
                own_logs(readings)


def log_lines(values: Values) -> list[tuple[str, str]]:
    """Name and figure of everything shown, in the order of a start: memory first, then drafting."""
    lines = [
        ("spilled", _spilled(values)),
        ("layers on the GPU", _layers(values)),
        ("weights on the host", _host(values)),
        ("weights by device", by_name(values.get("device_mib"))),
        ("mapped spans of the file, not memory held", by_name(values.get("mapped_span_mib"))),
        ("KV cache", _kv(values)),
        ("compute buffers", by_name(values.get("compute_mib"))),
        ("context · slots", f"{_plain(values.get('n_ctx'))} · {_plain(values.get('n_slots'))}"),
    ]
    return lines + (_drafting(values) if values.get("drafted") is not None else [("drafts", "none printed")])


def _drafting(values: Values) -> list[tuple[str, str]]:
    per_pos = values.get("per_pos")
    return [
        (
            "accepted / drafted",
            f"{_plain(values.get('accepted'))} / {values['drafted']} = {share(values.get('accept_share'), 'of proposed')}",
        ),
        ("accepted to position 1, 2, …, as printed", ", ".join(f"{part:.1%}" for part in per_pos) if per_pos else NOT_IN_LOG),
        ("mean length as printed, over drafts", _or_blank(plain(values.get("mean_len")))),
        ("a: tokens per step, over all steps", _or_blank(plain(values.get("a")))),
        ("D: drafting", _time(values.get("D_ms"))),
        ("V: verifying", _time(values.get("V_ms"))),
        ("D + V: a step", _time(values.get("step_ms"))),
    ]


def by_name(sizes: dict[str, float] | None) -> str:
    """“CUDA0 9000.0 MiB, CPU 12.5 MiB”; “none” where the log shows that there are none."""
    if sizes is None:
        return NOT_IN_LOG
    return ", ".join(f"{name} {mib:.1f} MiB" for name, mib in sizes.items()) or "none"


def _spilled(values: Values) -> str:
    said = {True: "yes", False: "no", None: f"{NOT_RECORDED} unknown"}[values.get("spilled")]
    return f"{said}: {values['spill_reason']}" if values.get("spill_reason") else said


def _layers(values: Values) -> str:
    on, whole = values.get("layers_offloaded"), values.get("layers_total")
    return f"{on} of {_plain(whole)}" if on is not None else NOT_IN_LOG


def _host(values: Values) -> str:
    exact, least, most = values.get("host_mib"), values.get("host_mib_min"), values.get("host_mib_max")
    if exact is not None:
        part = values.get("host_share")
        return f"{exact:.1f} MiB" + (f" = {part:.0%} of the weights" if part is not None else "")
    bounds = [f"at least {least:.1f} MiB"] if least is not None else []
    bounds += [f"at most {most:.1f} MiB"] if most is not None else []
    return " · ".join(bounds) or NOT_IN_LOG


def _kv(values: Values) -> str:
    if values.get("kv_mib") is None:
        return NOT_IN_LOG
    kinds = " / ".join(str(values[key]) for key in ("kv_type_k", "kv_type_v") if values.get(key))
    return f"{values['kv_mib']:.1f} MiB" + (f" ({kinds})" if kinds else "") + f": {by_name(values.get('kv_device_mib'))}"


def _time(value: float | None) -> str:
    return f"{ms(value)} ms" if value is not None else NOT_IN_LOG


def _or_blank(text: str) -> str:
    return NOT_IN_LOG if text == NOT_RECORDED else text


def _plain(value: Any) -> str:
    return NOT_RECORDED if value is None else str(value)
