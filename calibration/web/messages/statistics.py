"""Sentences on statistics in the reader's language, made when a page is rendered and never stored."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext

from annotation.models import Study
from calibration.figures.drawing import ends_apart, number
from calibration.reports.codec import counts_of
from calibration.statistics.errors import code_of
from calibration.statistics.resampling import MIN_CLUSTERS
from calibration.templatetags.studies import by_items as by_items
from calibration.web.messages.too_few import too_few_words
from core.messages.counts import counted


def decimals_step(low: float, high: float) -> float:
    """The last digit of a rate to print: hundredths, or thousandths if the interval is less than 0.02 wide."""
    return 0.001 if 0 < high - low < 0.02 else 0.01


def with_interval(value: float, low: float, high: float, kind: str) -> str:
    """Write '0.57 (0.55 to 0.59)', or the value alone if no interval is stated."""
    step = decimals_step(low, high)
    ends = None if kind == "none" else ends_apart(low, high, step)
    if ends is None:
        return number(value, 0.01)
    return gettext("%(value)s (%(low)s to %(high)s)") % {"value": number(value, step), "low": ends[0], "high": ends[1]}


def interval_meaning(kind: str, clusters: int, of: str) -> str:
    """Explain the ends of an interval in a note beside a figure; `of` names the clusters, already translated."""
    if kind == "bootstrap95":
        return gettext("Lines are 95 %% bootstrap intervals over %(n)d %(of)s.") % {"n": clusters, "of": of}
    if kind == "leave_one_out_range" and clusters >= MIN_CLUSTERS:
        return gettext(
            "No 95 %% interval is stated because the value cannot be computed on most bootstrap draws of the %(n)d "
            "%(of)s. Lines show the range of values when each one in turn is left out."
        ) % {"n": clusters, "of": of}
    if kind == "leave_one_out_range":
        return gettext(
            "A 95 %% interval needs at least %(least)d %(of)s, and there are only %(n)d. Lines show the range of values "
            "when each one in turn is left out."
        ) % {"least": MIN_CLUSTERS, "n": clusters, "of": of}
    if clusters > 1:
        return gettext(
            "No interval can be stated because the value cannot be computed on most bootstrap draws of the %(n)d "
            "%(of)s."
        ) % {"n": clusters, "of": of}
    return gettext("No interval can be stated because all data come from one cluster.")


def cluster_words(study: Study) -> str:
    """Name what a study's intervals resample whole: instructions, or items if its table named no instructions."""
    return gettext("items") if by_items(study) else gettext("instructions")


def criterion_words(key: str) -> str:
    """Write a key as words if a rubric has no question for it."""
    return key.replace("_", " ")


def no_verdict_words() -> str:
    """Explain that a judge cannot be set beside people, because no task has answers of both."""
    return gettext(
        "This needs at least one task that two people answered and for which this judge has a usable verdict."
    )


def reason_words(why: str, *, too_few: str = "") -> str:
    """Explain why a statistic has no answer, by its error's code (calibration.statistics.errors.code_of).

    `too_few` says what is needed where it is not two ratings of a task.
    """
    said = {
        "NothingToRead": gettext("There are no answers yet that can be used here."),
        "TooFewRatings": too_few
        or gettext("Too few ratings: no task has been rated by two people yet. Have more people rate."),
        "NoDisagreementPossible": gettext(
            "Every rating is the same, so agreement beyond chance is undefined. Include tasks that deserve different "
            "ratings."
        ),
        "ConstantScores": gettext(
            "Every score is the same, so there is nothing to explain. Include responses of different quality."
        ),
        "RepeatedCell": gettext("A rater rated the same task twice. Keep only one of these ratings."),
        "NotConverged": gettext(
            "The computation stopped before it reached its optimum. Check the answers for extreme values."
        ),
    }
    return said.get(why) or gettext("This cannot be computed from the available ratings.")


def refusal_words(error: Exception) -> str:
    """Explain why a fit was refused and what to do, in the reader's language."""
    return words_of_refusal(refusal_facts(error))


def refusal_facts(error: Exception) -> dict[str, Any]:
    """Collect the facts behind the sentence about a refused fit, as plain values to store."""
    facts = {
        "why": code_of(error),
        "message": str(error),
        "small": [list(one) for one in getattr(error, "small", ())],
        "category": getattr(error, "category", ""),
        "family": getattr(error, "family", None),
        "cause": code_of(error.__cause__) if error.__cause__ else "",
        "counts": counts_of(error.__cause__),
    }
    return {name: fact for name, fact in facts.items() if fact or (name == "family" and fact is not None)}


def words_of_refusal(facts: Mapping[str, Any]) -> str:
    """Write the sentence from the facts of `refusal_facts`; older rows contain only the sentence."""
    if facts.get("small"):
        named = "; ".join(
            gettext("%(category)s: %(answers)s, %(items)s")
            % {"category": key, "answers": counted(n, "answers"), "items": counted(p, "items")}
            for key, n, p in facts["small"]
        )
        return gettext(
            "There are fewer complete answers than items (%(named)s). Collect more answers, or leave small categories "
            "out."
        ) % {"named": named}
    if facts.get("category"):
        values = {"category": facts["category"], "reason": _cause_words(facts)}
        return gettext("Category %(category)s: %(reason)s") % values
    if facts.get("family") is not None:
        values = {"parent": facts["family"] or gettext("the study"), "reason": _cause_words(facts)}
        return gettext("Pooling the categories of %(parent)s: %(reason)s") % values
    if facts.get("why") == "NothingToRead":
        return gettext("Nobody has completed a checklist in this study yet. Collect answers first.")
    return str(facts.get("message", ""))


def _cause_words(facts: Mapping[str, Any]) -> str:
    """Say why a statistic refused a fit, with how much is needed where there is too little of something."""
    counts = facts.get("counts")
    if counts:
        return too_few_words(int(counts["n"]), int(counts["needed"]), str(counts["what"]))
    return reason_words(str(facts.get("cause", "")))
