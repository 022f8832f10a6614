"""Counts of things with their noun, such as "1 rater" or "1,470 scores", for sentences that count several things."""

from typing import Literal

from django.utils.translation import ngettext

Counted = Literal[
    "answers",
    "cohorts",
    "comparisons",
    "endpoints",
    "hours",
    "instructions",
    "items",
    "judges' verdicts",
    "labels",
    "models",
    "people's ratings",
    "raters",
    "ratings",
    "responses",
    "scores",
    "tasks",
    "verdicts",
    "words",
]


def counted(n: int, what: Counted) -> str:
    """Return the number with its thousands apart and its noun, singular for 1, in the reader's language."""
    phrases = {
        "answers": ngettext("%(n)s answer", "%(n)s answers", n),
        "cohorts": ngettext("%(n)s cohort", "%(n)s cohorts", n),
        "comparisons": ngettext("%(n)s comparison", "%(n)s comparisons", n),
        "endpoints": ngettext("%(n)s endpoint", "%(n)s endpoints", n),
        "hours": ngettext("%(n)s hour", "%(n)s hours", n),
        "instructions": ngettext("%(n)s instruction", "%(n)s instructions", n),
        "items": ngettext("%(n)s item", "%(n)s items", n),
        "judges' verdicts": ngettext("%(n)s verdict by judges", "%(n)s verdicts by judges", n),
        "labels": ngettext("%(n)s label", "%(n)s labels", n),
        "models": ngettext("%(n)s model", "%(n)s models", n),
        "people's ratings": ngettext("%(n)s rating by people", "%(n)s ratings by people", n),
        "raters": ngettext("%(n)s rater", "%(n)s raters", n),
        "ratings": ngettext("%(n)s rating", "%(n)s ratings", n),
        "responses": ngettext("%(n)s response", "%(n)s responses", n),
        "scores": ngettext("%(n)s score", "%(n)s scores", n),
        "tasks": ngettext("%(n)s task", "%(n)s tasks", n),
        "verdicts": ngettext("%(n)s verdict", "%(n)s verdicts", n),
        "words": ngettext("%(n)s word", "%(n)s words", n),
    }
    return phrases[what] % {"n": f"{n:,}"}
