"""What goes around an instruction, and how many tokens its answer may have."""

import pytest

from generation.llm.protocol.token_limits import Told, allowed_tokens, estimated_tokens, next_allowance, told_by
from generation.llm.protocol.wrapping import LENGTHS, NothingToWrap, chat_of, with_length, words_asked, wrap

CHAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Write a story."},
    {"role": "assistant", "content": "About what?"},
    {"role": "user", "content": "About a river.  "},
]


def test_a_task_stands_before_its_data_and_the_requirements_are_numbered():
    assert wrap("Summarise the text.", " The river rose. ", ["three sentences", "", "no names"]) == (
        "Summarise the text.\n\nMaterial:\n\nThe river rose.\n\nRequirements:\n1. three sentences\n2. no names"
    )
    assert wrap("Say hello.") == "Say hello."
    assert "材料:" in wrap("写摘要", "原文", language="zh-Hans")


def test_nothing_is_wrapped_around_nothing():
    with pytest.raises(NothingToWrap):
        wrap("  ", "data")
    with pytest.raises(NothingToWrap):
        with_length([{"role": "system", "content": "x"}], 2000)


def test_the_length_stands_at_the_end_of_the_last_user_message_and_the_chat_is_left_alone():
    wrapped = chat_of(CHAT, "length-4k")
    assert wrapped[:3] == CHAT[:3]
    assert wrapped[3]["content"].startswith("About a river.\n\nLength:")
    assert "4,000 words" in wrapped[3]["content"]
    assert CHAT[3]["content"] == "About a river.  "
    assert chat_of(CHAT, "main") == CHAT


def test_the_four_lengths_and_what_an_instruction_asks_itself():
    assert sorted(LENGTHS.values()) == [2000, 4000, 8000, 16000]
    assert words_asked("length-8k", 500) == 8000
    assert words_asked("main", 500) == 500
    assert words_asked("main", None) is None


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            "400: max_tokens=16384 cannot be greater than max_model_len=1024. Please request fewer output tokens.",
            Told(context=1024),
        ),
        (
            "This model's maximum context length is 1024 tokens. However, your prompt contains at least 1025 input "
            "tokens, which exceeds this limit even without any output tokens.",
            Told(context=1024, prompt=1025),
        ),
        (
            "This model's maximum context length is 4097 tokens. However, you requested 4927 tokens (927 in the "
            "messages, 4000 in the completion).",
            Told(context=4097, prompt=927),
        ),
        ("max_tokens is too large: 16384. This model supports at most 4096 completion tokens.", Told(answer=4096)),
        ("no idea", Told()),
    ],
)
def test_what_a_refusal_gives_away(words, told):
    assert told_by(words) == told


def test_fewer_new_tokens_fit_or_none_help():
    assert next_allowance(16384, 100, Told(answer=4096)) == 4096
    # 1024 of context, about 100 of prompt, 16 of margin: 1024 - 100 - 16
    assert next_allowance(16384, 100, Told(context=1024)) == 908
    # counted by the server: 4097 - 927
    assert next_allowance(4000, 900, Told(context=4097, prompt=927)) == 3170
    assert next_allowance(100, 900, Told(context=1024, prompt=1025)) is None
    assert next_allowance(100, 900, Told()) is None
    # the server refused what should have fitted: half of it
    assert next_allowance(500, 100, Told(context=1024)) == 250
    # the guess of the prompt is an upper one: a few tokens are worth a try
    assert next_allowance(16384, 2000, Told(context=1024)) == 16


def test_a_known_context_leaves_room_for_the_prompt():
    assert allowed_tokens(16384, 500, None) == 16384
    assert allowed_tokens(16384, 500, 8192) == 7676
    assert allowed_tokens(16384, 9000, 8192) == 16
    assert allowed_tokens(4, 9000, 8192) == 4


def test_chinese_costs_more_tokens_than_english():
    # 30 characters of ASCII: 10 and 8 for the message; 30 others: 45 and 8
    assert estimated_tokens([{"role": "user", "content": "a" * 30}]) == 18
    assert estimated_tokens([{"role": "user", "content": "河" * 30}]) == 53
