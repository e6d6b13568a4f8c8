"""The shipped workloads: kinds, lengths, and a fresh text for every stream of every repetition."""

import pytest

from core.config import ROOT, load_workloads
from core.domain.arms import MAX_REPETITIONS
from core.domain.workload import Prompt

WORKLOADS = load_workloads(ROOT / "data")


def test_the_kinds_that_ship():
    assert {"chat-short", "code", "extraction", "long-context", "tool-loop"} <= WORKLOADS.keys()
    assert {one.shape for one in WORKLOADS.values()} == {"chat", "classification", "tool loop"}


@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("streams", [1, 2, 64])
def test_no_repetition_reads_a_text_twice(name, streams):
    prompts = WORKLOADS[name].prompts_for(streams)
    used = prompts[: MAX_REPETITIONS * streams] + prompts[-streams:]  # counted from the start, warm-ups from the end
    assert len({prompt.sha256 for prompt in used}) == len({prompt.id for prompt in used}) == (MAX_REPETITIONS + 1) * streams
    assert prompts[-1] == WORKLOADS[name].prompts[-1], "the warm-up's own prompt stays the last"


@pytest.mark.parametrize("name", WORKLOADS)
def test_one_stream_reads_the_shipped_texts_as_they_are(name):
    assert WORKLOADS[name].prompts_for(1) == WORKLOADS[name].prompts


@pytest.mark.parametrize("name", WORKLOADS)
def test_prompt_and_reply_fit_the_context_even_where_every_byte_is_a_token(name):
    workload = WORKLOADS[name]
    longest = max(len((prompt.text or " ".join(prompt.turns)).encode()) for prompt in workload.prompts_for(64))
    assert longest + workload.max_tokens + 200 <= workload.context


def test_a_long_context_prompt_holds_the_document_and_its_question():
    prompts = WORKLOADS["long-context"].prompts
    assert all(len(prompt.text) > 5000 for prompt in prompts) and len({prompt.text[-60:] for prompt in prompts}) == len(prompts)


def test_extraction_asks_for_less_than_it_gives():
    workload = WORKLOADS["extraction"]
    assert all(len(prompt.text.encode()) > 4 * workload.max_tokens for prompt in workload.prompts[:-1])


def test_a_variant_differs_from_its_first_word_on():
    prompt = Prompt(id="a", text="Say it.")
    assert (prompt.variant(3).text, prompt.variant(3).id) == ("Case 3. Say it.", "a.3")
    loop = Prompt(id="b", turns=["one", "two", "three"])
    assert loop.variant(2).turns == ["Case 2. one", "two", "three"] and loop.variant(2).sha256 != loop.sha256


@pytest.mark.parametrize("entry", [{}, {"text": "a", "turns": ["b"]}, {"turns": ["asked", "answered"]}])
def test_a_prompt_has_exactly_one_form(entry):
    with pytest.raises(ValueError, match="A prompt has a text, or an odd number of turns"):
        Prompt(id="x", **entry)
