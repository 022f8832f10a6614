"""Checklist questions that models draft for one instruction: the request, reading a reply, merging. PURE.

As for WildBench (arXiv 2406.04770, section 2), models draft and people review; the wording is our own.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

MOST_QUESTIONS = 20
LONGEST_QUESTION = 500
SAME = 0.6
"""The Jaccard similarity of their sets of words from which two questions count as one."""

REQUESTS = {
    "en": """\
Below is what a person asked an assistant. Do not answer it. Write five to ten questions by which a reader can check any \
answer to it. Each question asks about one thing only, can be answered with yes or no, where yes is good, names what this \
request needs instead of what every good text has, and makes sense to somebody who sees the request and one answer.

<<<
{conversation}
>>>

Write each question on a line of its own that begins with its number, and nothing else.""",
    "zh-hans": """\
下面是一个人向助手提出的要求。请不要回答它，而是写出五到十个问题，供读者检查对它的任何一个回答。每个问题只问一件事，可以用是或否回答，\
“是”表示好；问的是这个要求特有的东西，而不是任何好文章都有的东西；看到要求和一个回答的人就能看懂。

<<<
{conversation}
>>>

每个问题单独一行，以编号开头，此外什么都不要写。""",
}
_NUMBERED = re.compile(r"\s*(?:[-*•·]|\(?\d{1,2}[.):、．）])\s*(.+)")
_MARKUP = re.compile(r"\*\*|__|`")


@dataclass(frozen=True, slots=True)
class MergedQuestion:
    """A question, the models that drafted it or one like it, and the other wordings that were merged into it."""

    text: str
    models: tuple[str, ...]
    alike: tuple[str, ...] = ()


def questions_in(reply: str) -> list[str]:
    """The questions of a reply, each once: lines that begin with a number or a dash and end with a question mark."""
    found: dict[str, None] = {}
    for line in reply.splitlines():
        match = _NUMBERED.match(_MARKUP.sub("", line))
        text = match[1].strip() if match else ""
        if text.endswith(("?", "？")) and len(text) <= LONGEST_QUESTION:
            found.setdefault(text)
    return list(found)[:MOST_QUESTIONS]


def merged(drafts: Sequence[tuple[str, Sequence[str]]]) -> list[MergedQuestion]:
    """Merge the questions of several models, given as (model, questions): of near-duplicates the first wording stays."""
    # numpy takes longer to import than most commands to run.
    from core.near_duplicates import near_duplicates

    said = [(model, text) for model, questions in drafts for text in questions]
    duplicates = near_duplicates([text for _model, text in said], threshold=SAME, size=1)
    groups: dict[int, list[int]] = {place: [place] for place in range(len(said)) if place not in duplicates}
    for place, duplicate in duplicates.items():
        groups[duplicate.earlier].append(place)
    return [
        MergedQuestion(
            text=said[first][1],
            models=tuple(dict.fromkeys(said[place][0] for place in places)),
            alike=tuple(dict.fromkeys(said[place][1] for place in places if said[place][1] != said[first][1])),
        )
        for first, places in groups.items()
    ]
