"""What the statistics say, in sentences of the reader's language. Called while a page is made, never before."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext, ngettext

from annotation.models import Study
from calibration.figures.drawing import number
from calibration.statistics.resampling import MIN_CLUSTERS
from calibration.statistics.weights.fit import WeightCertificate

FIT_REFUSED = "fit refused"
"""The verb of the event that keeps why a fit was refused."""


def decimals_step(low: float, high: float) -> float:
    """The last digit worth printing of a rate: hundredths, thousandths where the interval is under 0.02 wide."""
    return 0.001 if 0 < high - low < 0.02 else 0.01


def with_interval(value: float, low: float, high: float, kind: str) -> str:
    """'0.57 (0.55 to 0.59)', or the value alone where no interval is stated."""
    step = decimals_step(low, high)
    if kind == "none":
        return number(value, 0.01)
    return gettext("%(value)s (%(low)s to %(high)s)") % {
        "value": number(value, step),
        "low": number(low, step),
        "high": number(high, step),
    }


def interval_meaning(kind: str, clusters: int, of: str) -> str:
    """What the ends of an interval are, in a note beside a figure; `of` names the clusters, already translated."""
    if kind == "bootstrap95":
        return gettext("Lines are 95 %% intervals by a bootstrap over %(n)d %(of)s.") % {"n": clusters, "of": of}
    if kind == "leave_one_out_range" and clusters >= MIN_CLUSTERS:
        return gettext(
            "Most draws of the %(n)d %(of)s lack something that the value needs, so no 95 %% interval is stated; lines "
            "span what comes out when any one of them is left out."
        ) % {"n": clusters, "of": of}
    if kind == "leave_one_out_range":
        return gettext(
            "There are only %(n)d %(of)s, too few for a 95 %% interval; lines span what comes out when any one of "
            "them is left out."
        ) % {"n": clusters, "of": of}
    if clusters > 1:
        return gettext(
            "No interval can be stated: most draws of the %(n)d %(of)s lack something that the value needs."
        ) % {"n": clusters, "of": of}
    return gettext("No interval can be stated: everything comes from one cluster.")


def cluster_words(study: Study) -> str:
    """What a study's intervals draw whole: its instructions, or its items where the table named no instructions."""
    return gettext("items") if by_items(study) else gettext("instructions")


def by_items(study: Study) -> bool:
    """Whether a study's clusters are items, because its table named no instructions."""
    return bool(study.policies.get("clusters") == "items")


def certificate_sentences(certificate: WeightCertificate, labels: Sequence[str]) -> list[str]:
    """The certificate of a fit in plain words; labels (p,) name the items."""
    return [_optimum(certificate), _information(certificate), _floor(certificate, labels), _closeness(certificate)]


def _optimum(certificate: WeightCertificate) -> str:
    return gettext(
        "These weights are the exact best ones: the conditions of the optimum (Karush-Kuhn-Tucker) hold to %(kkt)s."
    ) % {"kkt": f"{certificate.fit.kkt_violation:.0e}".replace("-", "−")}


def _information(certificate: WeightCertificate) -> str:
    fit = certificate.fit
    values = {"rank": fit.rank, "items": len(fit.weights), "condition": f"{fit.condition_number:.1f}"}
    if fit.collinear:
        return (
            gettext(
                "Some items always move together (rank %(rank)d of %(items)d), so many weights fit equally well; shown "
                "are those with the least weight above the floor."
            )
            % values
        )
    return (
        gettext(
            "Every item brings information of its own (rank %(rank)d of %(items)d, condition number %(condition)s)."
        )
        % values
    )


def _floor(certificate: WeightCertificate, labels: Sequence[str]) -> str:
    held = [label for label, floored in zip(labels, certificate.fit.at_floor, strict=True) if floored]
    floor = f"{certificate.fit.floor:g}"
    if not held:
        return gettext("No weight is held up by the floor of %(floor)s.") % {"floor": floor}
    return ngettext(
        "One weight is held up by the floor of %(floor)s and would be smaller without it: %(items)s.",
        "%(count)d weights are held up by the floor of %(floor)s and would be smaller without it: %(items)s.",
        len(held),
    ) % {"count": len(held), "floor": floor, "items": "; ".join(held)}


def _closeness(certificate: WeightCertificate) -> str:
    fit = certificate.fit
    return gettext(
        "They explain %(r2)s of the variance of the %(n)d overall scores they were fitted to; their typical error is "
        "%(error)s points of 10."
    ) % {"r2": number(fit.r2), "n": fit.n, "error": number(fit.mse**0.5)}


def warning_sentence(code: str) -> str:
    """What a warning of a certificate means and what to do about it."""
    said = {
        "collinear": gettext("Items overlap completely: ask for qualities that can differ, or drop one of them."),
        "few_clusters": gettext(
            "Fewer than 20 instructions: no 95 %% interval is stated. Rate responses to more instructions."
        )
        % {},
        "few_raters": gettext("Fewer than 20 raters: how far weights depend on who rates is only shown as a range."),
        "no_cross_validation": gettext(
            "Only one instruction: whether the weights hold for another one cannot be told. Rate more instructions."
        ),
        "not_better_than_equal": gettext(
            "On instructions that were left out, these weights predict no better than equal weights: prefer equal "
            "weights, or collect more answers."
        ),
        "rows_under_10_per_item": gettext(
            "Fewer than 10 answers an item: the weights are unsteady. Collect more answers."
        ),
        "underdetermined_fold": gettext(
            "With some rater, instruction or model left out, fewer answers than items remain: those predictions are "
            "weak."
        ),
    }
    return said.get(code, code)


def weights_opening(certificates: Sequence[WeightCertificate], *, items: bool = False) -> str:
    """The answer in one sentence: do the weights hold on instructions (or `items`) that were not used to fit them?"""
    unseen = [one.out_of_sample["instruction"] for one in certificates if "instruction" in one.out_of_sample]
    if not unseen:
        return gettext(
            "The weights explain %(r2)s of the variance of people's overall scores; with a single instruction nobody "
            "can tell whether they hold for others."
        ) % {"r2": number(certificates[0].fit.r2)}
    if len(certificates) == 1:
        one = unseen[0]
        values = {"r2": number(one.r2), "equal": number(one.equal_r2), "n": one.clusters}
        if one.r2 > one.equal_r2:
            hold = gettext(
                "On instructions they have not seen, the weights explain %(r2)s of the variance of people's overall "
                "scores, where equal weights explain %(equal)s (%(n)d instructions)."
            )
            hold_on_items = gettext(
                "On items they have not seen, the weights explain %(r2)s of the variance of people's overall scores, "
                "where equal weights explain %(equal)s (%(n)d items)."
            )
            return (hold_on_items if items else hold) % values
        fail = gettext(
            "The weights do no better than equal ones on instructions they have not seen: they explain %(r2)s of the "
            "variance of people's overall scores, equal weights %(equal)s (%(n)d instructions)."
        )
        fail_on_items = gettext(
            "The weights do no better than equal ones on items they have not seen: they explain %(r2)s of the variance "
            "of people's overall scores, equal weights %(equal)s (%(n)d items)."
        )
        return (fail_on_items if items else fail) % values
    better = sum(one.r2 > one.equal_r2 for one in unseen)
    ordered = sorted(one.r2 for one in unseen)
    counted = gettext(
        "In %(better)d of %(all)d categories the weights predict people's overall scores of unseen instructions better "
        "than equal weights do; in the middle category they explain %(median)s of the variance."
    )
    counted_on_items = gettext(
        "In %(better)d of %(all)d categories the weights predict people's overall scores of unseen items better than "
        "equal weights do; in the middle category they explain %(median)s of the variance."
    )
    return (counted_on_items if items else counted) % {
        "better": better,
        "all": len(certificates),
        "median": number(ordered[len(ordered) // 2]),
    }


def criterion_words(key: str) -> str:
    """A key as words where a rubric has no question for it."""
    return key.replace("_", " ")


def reason_words(why: str) -> str:
    """Why a statistic has no answer, by the name of its error in calibration.statistics.errors or data.frames."""
    said = {
        "NothingToRead": gettext("Nobody has answered this yet."),
        "TooFewRatings": gettext("Too few ratings: no task has been rated by two people yet. Let more people rate."),
        "NoDisagreementPossible": gettext(
            "Every rating is the same, so agreement beyond chance has no meaning; include tasks that deserve "
            "different ratings."
        ),
        "ConstantScores": gettext(
            "Every score is the same, so there is nothing to explain; include responses of differing quality."
        ),
        "RepeatedCell": gettext("A rater rated the same task twice; keep one rating of each."),
        "NotConverged": gettext("The computation stopped before its optimum; check the answers for extreme values."),
    }
    return said.get(why) or gettext("This cannot be computed from the ratings there are.")


def refusal_words(error: Exception) -> str:
    """Why a fit was refused and what to do, in the reader's language."""
    return words_of_refusal(refusal_facts(error))


def refusal_facts(error: Exception) -> dict[str, Any]:
    """What the sentence about a refused fit is made of, plain enough to be stored."""
    facts = {
        "why": type(error).__name__,
        "message": str(error),
        "small": [list(one) for one in getattr(error, "small", ())],
        "category": getattr(error, "category", ""),
        "family": getattr(error, "family", None),
        "cause": type(error.__cause__).__name__ if error.__cause__ else "",
    }
    return {name: fact for name, fact in facts.items() if fact or (name == "family" and fact is not None)}


def words_of_refusal(facts: Mapping[str, Any]) -> str:
    """The sentence, from what `refusal_facts` keeps; older rows keep the sentence alone."""
    if facts.get("small"):
        named = "; ".join(
            gettext("%(category)s: %(answers)d answers, %(items)d items") % {"category": key, "answers": n, "items": p}
            for key, n, p in facts["small"]
        )
        return gettext(
            "There are fewer complete answers than items (%(named)s). Collect more answers, or leave small categories "
            "out."
        ) % {"named": named}
    if facts.get("category"):
        values = {"category": facts["category"], "reason": reason_words(str(facts.get("cause", "")))}
        return gettext("Category %(category)s: %(reason)s") % values
    if facts.get("family") is not None:
        values = {
            "parent": facts["family"] or gettext("the study"),
            "reason": reason_words(str(facts.get("cause", ""))),
        }
        return gettext("Pooling the categories of %(parent)s: %(reason)s") % values
    if facts.get("why") == "NothingToRead":
        return gettext("Nobody has completed a checklist in this study yet; collect answers first.")
    return str(facts.get("message", ""))
