"""Sentences on too little data: what there is too little of, how much is needed, and how much there is."""

from collections.abc import Mapping

from django.utils.translation import gettext, ngettext

from calibration.statistics.judges.between_models import LEAST_OF_A_MODEL
from calibration.statistics.judges.transport import RATED_MODELS


def too_few_words(n: int, needed: int, what: str) -> str:
    """Say how many are needed; `what` names them as the error of the statistic does (TooFewRatings)."""
    if what == "ratings of the same task":
        return gettext("Too few ratings: no task has been rated by two people yet. Have more people rate.")
    things = _things().get(what)
    if things is None:
        return ngettext(
            "There are too few ratings for this: at least %(needed)d is needed, and there are %(n)d.",
            "There are too few ratings for this: at least %(needed)d are needed, and there are %(n)d.",
            needed,
        ) % {"needed": needed, "n": n}
    if n == 0:
        return ngettext(
            "This needs at least %(needed)d of these: %(things)s. There are none yet.",
            "This needs at least %(needed)d of these: %(things)s. There are none yet.",
            needed,
        ) % {"needed": needed, "things": things}
    return ngettext(
        "This needs at least %(needed)d of these: %(things)s. There is only %(n)d.",
        "This needs at least %(needed)d of these: %(things)s. There are only %(n)d.",
        n,
    ) % {"needed": needed, "things": things, "n": n}


def _things() -> Mapping[str, str]:
    return {
        "annotations": gettext("complete answers"),
        "answers": gettext("answers"),
        "answers of any one rater": gettext("answers by the same rater"),
        "answers of people to what the judge answered": gettext("answers by people to tasks that the judge answered"),
        "answers that differ from the judge's where another person answered too": gettext(
            "answers that differ from the judge's on a task that another person answered too"
        ),
        "answers with such a correct label": gettext("answers to tasks whose correct label is known"),
        "categories with people's scores": gettext("categories with scores by people"),
        "clusters": gettext("instructions"),
        "clusters of items of one rater": gettext("instructions with items that the same rater rated"),
        "comparisons of every model": gettext("comparisons of each model"),
        "complete answers": gettext("complete answers"),
        "further judge scores": gettext("scores by the judge of responses that nobody rated"),
        "games": gettext("comparisons"),
        "instructions": gettext("instructions"),
        "instructions answered in both rounds": gettext("instructions that were answered in both rounds"),
        "instructions that both models have": gettext("instructions that both models answered"),
        "instructions that every model has an answer to": gettext("instructions that every model answered"),
        "instructions that two people rated": gettext("instructions that two people rated"),
        "instructions that were drawn and rated": gettext("instructions that were drawn and rated"),
        "instructions with human scores": gettext("instructions with scores by people"),
        "instructions with human scores in any one category": gettext(
            "instructions of the same category with scores by people"
        ),
        "instructions with people's differences": gettext("instructions on which people rated two models or more"),
        "instructions with people's differences that a judge goes with": gettext(
            "instructions on which people rated two models or more that a judge scored too"
        ),
        "instructions with people's ratings": gettext("instructions with ratings by people"),
        "instructions with responses that both judges scored": gettext(
            "instructions with responses that both judges scored"
        ),
        "instructions, labelled and further ones alike": gettext(
            "instructions with comparisons by people, and as many that only the judge compared"
        ),
        "items": gettext("items that raters share"),
        "judges": gettext("judges"),
        "models": gettext("models"),
        RATED_MODELS: gettext("models of which people rated responses to at least %(n)d instructions")
        % {"n": LEAST_OF_A_MODEL},
        "pairs answered from both sides": gettext("pairs that were answered from both sides"),
        "pairs between the judge's family and another": gettext(
            "pairs of a model of the judge's family and a model of another"
        ),
        "pairs whose lengths differ enough": gettext(
            "pairs of responses whose lengths differ by at least the threshold"
        ),
        "pairs that were not tied": gettext("comparisons that were not ties"),
        "preferences": gettext("comparisons"),
        "raters": gettext("raters"),
        "raters of any one item": gettext("raters of the same item"),
        "raters or models": gettext("raters or models with a name"),
        "raters or models with a name": gettext("raters or models with a name"),
        "raters who share items": gettext("raters who rated the same items as others"),
        "repeated comparisons": gettext("comparisons that the same rater made twice"),
        "responses scored by both": gettext("responses that both people and the judge scored"),
        "responses that both judges scored": gettext("responses that both judges scored"),
        "scores": gettext("scores"),
        "scores by both judge and people": gettext("responses that both people and the judge scored"),
        "tasks": gettext("tasks"),
        "tasks answered both with and without the hint": gettext("tasks answered both with the hint and without it"),
        "tasks that one rater answered twice": gettext("tasks that the same rater answered twice"),
        "tasks with a majority and a usable verdict": gettext("tasks with a majority answer and a usable verdict"),
        "tasks with a single most frequent label and a usable verdict": gettext(
            "tasks with a single most frequent answer and a usable verdict"
        ),
        "tasks with a usable verdict": gettext("tasks with a usable verdict"),
        "tasks with a usable verdict that two people answered": gettext(
            "tasks that two people answered, with a usable verdict"
        ),
        "tasks with answers of people and judge": gettext("tasks that both people and the judge answered"),
        "verdicts on what people have answered": gettext("responses that both people and the judge scored"),
        "units": gettext("tasks"),
        "units rated by both": gettext("tasks that both rated"),
    }
