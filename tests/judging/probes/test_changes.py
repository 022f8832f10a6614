"""Changes that must not matter: they change what they say and nothing else."""

from pathlib import Path

import pytest

from generation.text_metrics.counts import word_count
from judging.methods.prompts import prompt_hash
from judging.probes.changes import (
    PADDING,
    PADDING_UNSPACED,
    NotChangeable,
    as_bullets,
    as_prose,
    by_author,
    in_bold,
    padded,
    with_headings,
)
from judging.probes.wordings import WORDINGS, other_wordings

PROSE = "\n\n".join(
    f"The harbour number {n} lies in the north. It was built long ago and is used today." for n in range(6)
)
MARKED = "# Harbours\n\nThere are **two** of them:\n\n- the old one\n- the new one\n\n```\n- code stays\n```"
CHINESE = "\n\n".join("北方有一座港口。它很久以前建成，今天仍在使用，每天都有许多船只进出。" for _ in range(4))


def words_of(text):
    return [word.strip("#*-.:") for word in text.split() if word.strip("#*-.:")]


@pytest.mark.parametrize("share", [0.25, 0.5])
@pytest.mark.parametrize(
    ("text", "sentences"), [(PROSE, PADDING), (CHINESE, PADDING_UNSPACED)], ids=["words", "unspaced"]
)
def test_padding_adds_the_share_and_nothing_but_its_own_sentences(text, sentences, share):
    longer = padded(text, share)
    assert abs(word_count(longer) / word_count(text) - 1 - share) < 0.08
    for sentence in sorted(sentences, key=len, reverse=True):
        longer = longer.replace(sentence, "")
    assert "".join(longer.split()) == "".join(text.split())


def test_a_format_keeps_every_word():
    assert (
        as_prose(MARKED) == "Harbours:\n\nThere are two of them:\n\nthe old one. the new one.\n\n```\n- code stays\n```"
    )
    for change in (as_bullets, in_bold):
        assert words_of(change(PROSE)) == words_of(PROSE)
    assert as_bullets(PROSE).count("\n- ") == 11
    assert in_bold(PROSE).startswith("**The harbour number 0 lies in the north.** It was")
    assert words_of(with_headings(PROSE).replace("## Part", "")) == [
        w for n in range(6) for w in (str(n + 1), *words_of(PROSE.split("\n\n")[n]))
    ]
    assert as_bullets(CHINESE).count("- ") == 8


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (as_prose, PROSE),
        (with_headings, MARKED),
        (in_bold, MARKED),
        (as_bullets, "- one\n- two"),
        (as_prose, "| a | b |"),
    ],
    ids=["prose", "headings", "bold", "bullets", "table"],
)
def test_what_would_stay_as_it_is_is_refused(change, text):
    with pytest.raises(NotChangeable):
        change(text)


def test_a_short_text_is_not_padded_and_an_author_is_only_claimed():
    with pytest.raises(NotChangeable):
        padded("Too short.", 0.25)
    assert by_author(PROSE, "an expert") == f"Written by an expert.\n\n{PROSE}"
    assert by_author(CHINESE, "专家").startswith("作者：专家\n")


@pytest.mark.parametrize("name", sorted(path.name for path in Path("templates/judging/prompts").glob("*.txt")))
def test_every_default_prompt_has_three_other_wordings_with_the_same_placeholders(name):
    prompt = (Path("templates/judging/prompts") / name).read_text(encoding="utf-8")
    found = other_wordings(prompt)
    assert len({prompt_hash(one) for one in (prompt, *found)}) == WORDINGS + 1
    for one in found:
        assert {word for word in prompt.split() if word.startswith("$")} <= {w.rstrip(".,") for w in one.split()} | set(
            one.split()
        )


def test_a_prompt_without_known_phrases_is_left_to_the_lead():
    assert other_wordings("@@ user\nScore $response.") == ()
