"""Responses that begin as a refusal does. PURE. HelloBench counts them by their opening words (arXiv 2409.16191, L)."""

import re
from collections.abc import Sequence

OPENINGS: tuple[str, ...] = (
    "i'm sorry, but",
    "i am sorry, but",
    "sorry, but i can",
    "i apologize, but",
    "i apologise, but",
    "i cannot",
    "i can't",
    "i can not",
    "i am unable to",
    "i'm unable to",
    "i am not able to",
    "i'm not able to",
    "i won't be able to",
    "as an ai",
    "given the constraints of this platform",
    "due to the constraints",
    "unfortunately, i can",
    "unfortunately, i am unable",
    "抱歉，我",
    "很抱歉",
    "对不起，我",
    "我无法",
    "作为一个人工智能",
    "作为一名ai",
)
"""Openings in lower case with straight apostrophes; another list may be passed wherever one is used."""
SKIPPED = re.compile(r"^[\s\"'“”‘’*_#>`\-]+")


def opens_with_refusal(text: str, openings: Sequence[str] = OPENINGS) -> bool:
    """Whether the text begins with one of the openings, whatever its case, its quotes and its Markdown."""
    start = SKIPPED.sub("", text[:400]).replace("’", "'").lower()
    return start.startswith(tuple(opening.lower() for opening in openings))
