"""The engine's accept counts on made models equal the walk of f and g, through the chat route, to the token."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from core.embedded.models import ModelShape
from core.embedded.shape import FIRST_BYTE_ID
from core.embedded.walk import Walk, walk
from tests.engine.conftest import SHAPES, Engine, Launch, Make

RUNS = [
    ("dense-right", 0, 65, "hello"),
    ("dense-right", 1, 129, "hello"),
    ("dense-right", 2, 129, "Say it again!"),
    ("dense-right", 3, 130, "count 9"),
    ("dense-wrong-5", 1, 129, "a\n"),
    ("dense-wrong-5", 2, 128, "7"),
    ("dense-wrong-5", 3, 131, "ends in é"),
    ("dense-wrong-5", 2, 1, "one token only"),
    ("dense-wrong-5", 3, 2, "two tokens"),
    ("dense-wrong-7", 4, 200, "trailing space "),
    ("dense-wrong-1", 2, 64, "never right?"),
    ("moe-wrong-3", 1, 129, "x"),
    ("moe-wrong-3", 2, 97, "y"),
    ("moe-wrong-17", 3, 129, "Q"),
    ("moe-wrong-17", 7, 150, "(long drafts)"),
]


def start(launch: Launch, made: Make, name: str, n_max: int) -> Engine:
    drafting = ["--spec-type", "draft-mtp", "--spec-draft-n-max", str(n_max)] if n_max else []
    return launch("-m", str(made(name)), "-c", "1024", "-lv", "4", "--metrics", *drafting)


def assert_metrics(engine: Engine, walks: list[Walk], n_max: int) -> None:
    stem, counted = "llamacpp:spec_decode_num_", engine.metrics()
    assert counted[f"{stem}draft_tokens_total"] == sum(each.drafted for each in walks)
    assert counted[f"{stem}accepted_tokens_total"] == sum(each.accepted for each in walks)
    assert counted[f"{stem}drafts_total"] == sum(each.drafts for each in walks)
    reached = [counted.get(f'{stem}accepted_tokens_per_pos_total{{position="{at}"}}', 0) for at in range(n_max)]
    assert reached == [sum(each.accepted_at[at] for each in walks) for at in range(n_max)]


@pytest.mark.parametrize(("name", "n_max", "length", "message"), RUNS)
def test_counts_and_text_equal_the_walk(launch: Launch, made: Make, name: str, n_max: int, length: int, message: str) -> None:
    engine = start(launch, made, name, n_max)
    expected = walk(SHAPES[name], n_max=n_max, prompt_end=engine.prompt_end(message), length=length)
    reply = engine.chat(message, length).body
    timings = reply["timings"]
    assert reply["choices"][0]["message"]["content"] == expected.text
    assert (timings["predicted_n"], timings["cache_n"]) == (length, 0)
    assert (timings.get("draft_n", 0), timings.get("draft_n_accepted", 0)) == (expected.drafted, expected.accepted)
    assert expected.steps == length - 1 - expected.accepted
    assert_metrics(engine, [expected], n_max)


def test_the_runs_cover_every_kind_of_step(launch: Launch, made: Make) -> None:
    engine = start(launch, made, "dense-right", 0)
    walks = [walk(SHAPES[n], n_max=m, prompt_end=engine.prompt_end(text), length=length) for n, m, length, text in RUNS]
    assert {each.drafted for each in walks} >= {0}
    assert any(0 < each.accepted < each.drafted for each in walks), "a head that is partly right"
    assert any(each.accepted == 0 < each.drafted for each in walks), "a head that is never right"
    assert any(each.accepted == each.drafted > 0 for each in walks), "a head that is always right"
    assert any(0 < each.drafts < each.steps for each in walks), "a last step with no room for a draft"
    assert any(each.drafted % m for each, (_, m, _, _) in zip(walks, RUNS, strict=True) if m), "a draft cut by the limit"


def test_counts_add_up_over_requests_and_in_the_statistics_line(launch: Launch, made: Make) -> None:
    engine, shape = start(launch, made, "dense-wrong-5", 2), SHAPES["dense-wrong-5"]
    walks = []
    for message, length in (("one", 40), ("two", 77), ("three", 129)):
        walks.append(walk(shape, n_max=2, prompt_end=engine.prompt_end(message), length=length))
        assert engine.chat(message, length).status == 200
    assert_metrics(engine, walks, 2)
    line = engine.await_log("#calls(b,g,a) =    3 ")
    drafted, accepted, drafts = (sum(each) for each in zip(*((w.drafted, w.accepted, w.drafts) for w in walks), strict=True))
    assert [int(found) for found in re.findall(r"#gen tokens = +(\d+), #acc tokens = +(\d+)", line)[0]] == [drafted, accepted]
    assert re.findall(r"statistics +draft-mtp: #calls\(b,g,a\) = +(\d+) +(\d+) +(\d+)", line) == [("3", str(drafts), str(drafts))]
    positions = [sum(each.accepted_at[at] for each in walks) / drafts for at in range(2)]
    assert f"#acc rate/pos = ({positions[0]:.3f}, {positions[1]:.3f})" in line
    assert f"#mean acc len = {1 + accepted / drafts:.2f}" in line


def test_slots_side_by_side_count_as_each_alone(launch: Launch, made: Make) -> None:
    name, messages = "moe-wrong-17", ("first a", "second b", "third c")
    engine = launch("-m", str(made(name)), "-c", "1536", "-np", "3", "--metrics", "--spec-type", "draft-mtp", "--spec-draft-n-max", "2")
    walks = [walk(SHAPES[name], n_max=2, prompt_end=engine.prompt_end(message), length=129) for message in messages]
    with ThreadPoolExecutor(len(messages)) as pool:
        replies = list(pool.map(lambda message: engine.chat(message, 129).body, messages))
    assert [reply["choices"][0]["message"]["content"] for reply in replies] == [each.text for each in walks]
    assert [reply["timings"]["draft_n"] for reply in replies] == [each.drafted for each in walks]
    assert [reply["timings"]["draft_n_accepted"] for reply in replies] == [each.accepted for each in walks]
    assert_metrics(engine, walks, 2)


@pytest.mark.parametrize(
    ("wrong_every", "n_max", "length", "counts"),
    [
        # all right: 42 steps of 3 tokens, then one step with room for a single draft token
        (None, 2, 129, (85, 85, 43, 43, (43, 42))),
        # never right: every step writes one token; the last two are cut to one draft token and to none
        (1, 2, 65, (125, 0, 64, 63, (0, 0))),
        (None, 0, 10, (0, 0, 9, 0, ())),
        (None, 3, 1, (0, 0, 0, 0, (0, 0, 0))),
        # wrong after b, d, f ..., but a step starts at a, c, e and g only; the tenth token leaves no room for a draft
        (2, 1, 10, (4, 4, 5, 4, (4,))),
    ],
)
def test_walk_by_hand(wrong_every: int | None, n_max: int, length: int, counts: tuple[object, ...]) -> None:
    shape = ModelShape(name="by-hand", title="", wrong_every=wrong_every)
    result = walk(shape, n_max=n_max, prompt_end=FIRST_BYTE_ID + ord("7"), length=length)
    assert (result.drafted, result.accepted, result.steps, result.drafts, result.accepted_at) == counts
    assert result.text.startswith("abcdefghij"[:length])


@pytest.mark.parametrize(("n_max", "length"), [(-1, 5), (1, 0)])
def test_walk_refuses_what_cannot_be_asked(n_max: int, length: int) -> None:
    with pytest.raises(ValueError, match="at least"):
        walk(SHAPES["dense-right"], n_max=n_max, prompt_end=5, length=length)
