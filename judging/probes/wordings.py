"""Other wordings of a judge's prompt that ask for the same: three a prompt, offered to a lead, who may edit them. PURE.

Only phrases that frame the task are put in other words; the rules of judging, the scale and the questions stay word for
word, so that a judge that follows its prompt has no reason to judge otherwise.
"""

import re
from collections.abc import Sequence

WORDINGS = 3
LEAST_PHRASES = 2
"""A prompt with fewer of these phrases is not put in other words; the lead writes the wordings."""

_PHRASES: Sequence[tuple[re.Pattern[str], tuple[str, str, str]]] = (
    (
        re.compile(r"(?<=@@ system\n)You (?=(?:grade|check|review|compare|decide|award|mark)\b)"),
        ("Your task is to ", "You have been asked to ", "It is your job to "),
    ),
    (
        re.compile(r"^How to go about it:$", re.MULTILINE),
        ("Proceed like this:", "Keep to these rules:", "This is how to work:"),
    ),
    (
        re.compile(r"It begins after the line (?P<mark>\$\w+) and ends before the next such line\."),
        (
            r"It stands between two lines \g<mark>.",
            r"A line \g<mark> stands before it, and the same line after it.",
            r"Its beginning and its end are each marked by a line \g<mark>.",
        ),
    ),
    (
        re.compile(r"\b(?:Answer|Reply) with one JSON object and nothing else(?=[.,:])"),
        (
            "Your whole answer is one JSON object",
            "Write one JSON object, with nothing before or after it",
            "Give back a single JSON object without further text",
        ),
    ),
    (
        re.compile(r"Read (?:the text )?to (?:its last line|the last line|the end) before you decide\."),
        (
            "Do not decide before you have read all of it.",
            "Decide only when you have read everything.",
            "First read it whole, then decide.",
        ),
    ),
    (
        re.compile(r"The letters were drawn at random\."),
        (
            "Chance decided which is A and which is B.",
            "Which one is called A was left to chance.",
            "A and B were assigned by lot.",
        ),
    ),
    (
        re.compile(r"Which text is called A was drawn at random\."),
        (
            "Chance decided which text is A.",
            "The letters A and B were assigned by lot.",
            "It was left to chance which text is A and which is B.",
        ),
    ),
    (
        re.compile(r"Two decisions as examples\."),
        ("Here are two decisions as examples.", "Two examples of decisions follow.", "Consider two example decisions."),
    ),
    (
        re.compile(r"Four decisions as examples:"),
        ("Here are four decisions as examples:", "Four examples of decisions:", "Consider these four decisions:"),
    ),
)


def other_wordings(prompt: str) -> tuple[str, ...]:
    """Return WORDINGS prompts that say the same in other words; () for a prompt with fewer than LEAST_PHRASES phrases."""
    plain = prompt.replace("\r\n", "\n")
    if sum(bool(phrase.search(plain)) for phrase, _others in _PHRASES) < LEAST_PHRASES:
        return ()
    return tuple(_reworded(plain, number) for number in range(WORDINGS))


def _reworded(prompt: str, number: int) -> str:
    for phrase, others in _PHRASES:
        prompt = phrase.sub(others[number], prompt)
    return prompt
