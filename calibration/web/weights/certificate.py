"""The certificate of fitted weights in sentences: what they are worth, for raters like these and for exactly these."""

from collections.abc import Sequence
from math import isinf

from django.utils.translation import gettext, ngettext

from calibration.figures.drawing import number
from calibration.statistics.weights.fit import WeightCertificate
from calibration.statistics.weights.pooling import PooledFits
from calibration.statistics.weights.populations import LEAST_RATERS_FOR_R2
from calibration.web.messages.populations import both_words, gain_words, needed_words, not_stated_words
from core.messages.counts import counted


def weights_opening(certificates: Sequence[WeightCertificate], *, items: bool = False) -> str:
    """State whether the weights are shown to predict held-out instructions (or `items`) better than equal weights."""
    known = [one for one in certificates if "instruction" in one.out_of_sample]
    if not known:
        return gettext(
            "The weights explain %(r2)s of the variance of people's overall scores. With a single instruction, there "
            "is no way to tell whether they hold for others."
        ) % {"r2": number(certificates[0].fit.r2)}
    if len(certificates) == 1:
        return f"{_finding(known[0], items=items)} {_explained(known[0], items=items)}".strip()
    ordered = sorted(one.out_of_sample["instruction"].r2 for one in known)
    of_instructions = gettext(
        "In %(better)d of %(all)d categories, the weights are shown to predict people's overall scores on held-out "
        "instructions better than equal weights do (corrected for the number of categories)."
    )
    of_items = gettext(
        "In %(better)d of %(all)d categories, the weights are shown to predict people's overall scores on held-out items "
        "better than equal weights do (corrected for the number of categories)."
    )
    better = sum(one.better for one in known)
    said = (of_items if items else of_instructions) % {"better": better, "all": len(certificates)}
    median = ordered[len(ordered) // 2]
    if median < 0:
        return f"{said} " + gettext("In the median category, they predict worse than predicting the mean would.")
    explained = gettext("In the median category, they explain %(median)s of the variance there.")
    return f"{said} {explained % {'median': number(median)}}"


def _finding(one: WeightCertificate, *, items: bool) -> str:
    """Say whether the weights are better than equal weights, by the finding that the fit has stored."""
    gain = one.gain
    if gain is None:
        return gettext(
            "Whether these weights are better than equal weights was not tested when they were fitted; fit them again."
        )
    values = {"gain": gain_words(gain, items=items)}
    if one.better:
        better = gettext(
            "On held-out instructions, the weights predict people's overall scores better than equal weights do: they "
            "reduce the mean squared error by %(gain)s."
        )
        better_on_items = gettext(
            "On held-out items, the weights predict people's overall scores better than equal weights do: they reduce the "
            "mean squared error by %(gain)s."
        )
        return (better_on_items if items else better) % values
    unknown = gettext(
        "It is not shown that the weights predict people's overall scores on held-out instructions better than equal "
        "weights do: they reduce the mean squared error by %(gain)s."
    )
    unknown_on_items = gettext(
        "It is not shown that the weights predict people's overall scores on held-out items better than equal weights do: "
        "they reduce the mean squared error by %(gain)s."
    )
    said = (unknown_on_items if items else unknown) % values
    return f"{said} {needed_words(gain, items=items)}".strip()


def _explained(one: WeightCertificate, *, items: bool) -> str:
    """Say what the weights explain of what was held out, and that it may be worse than the mean."""
    unseen = one.out_of_sample["instruction"]
    values = {
        "r2": held_out_words(one),
        "equal": number(unseen.equal_r2),
        "over": counted(unseen.clusters, "items" if items else "instructions"),
    }
    if unseen.r2 < 0:
        worse = gettext(
            "There, they are worse than predicting the mean (R² %(r2)s, equal weights %(equal)s; %(over)s)."
        )
        return worse % values
    return gettext("There, they explain %(r2)s of the variance, and equal weights %(equal)s (%(over)s).") % values


def held_out_words(one: WeightCertificate, *, step: float = 0.01) -> str:
    """Write R2 on held-out instructions with both of its intervals, as far as they are stated."""
    r2, found = one.out_of_sample["instruction"].r2, one.held_out
    if found is None:
        return number(r2, step)
    such = None if found.such_low is None or found.such_high is None else (found.such_low, found.such_high)
    these = None if found.these_low is None or found.these_high is None else (found.these_low, found.these_high)
    return both_words(r2, such, these, step=step)


def held_out_reason(one: WeightCertificate, *, items: bool = False) -> str:
    """Say why R2 on held-out instructions has no interval for raters like these; '' where it has, or is not defined."""
    if one.held_out is None or "instruction" not in one.out_of_sample:
        return ""
    instructions, raters = one.clusters["instruction"], one.clusters.get("rater", 0)
    said = not_stated_words(one.held_out.not_stated, instructions, raters, items=items, least=LEAST_RATERS_FOR_R2)
    return gettext("R² on held-out data: %(why)s") % {"why": said} if said else ""


def pooling_sentences(pooled: PooledFits, category: str) -> str:
    """Say how a category's weights are pooled, what that changes on held-out instructions, and what is not known of it."""
    gain = pooled.categories[category].gain
    reduced = gettext(
        "These weights are pooled toward those of all categories of the family. The strength, %(strength)s, was chosen by "
        "predicting held-out instructions, on which pooling reduces the mean squared error of this category by %(gain)s."
    )
    raised = gettext(
        "These weights are pooled toward those of all categories of the family. The strength, %(strength)s, was chosen by "
        "predicting held-out instructions of the whole family; on those of this category, pooling raises the mean squared "
        "error by %(gain)s."
    )
    strength = gettext("infinite") if isinf(pooled.strength) else f"{pooled.strength:g}"
    said = (raised if gain < 0 else reduced) % {"strength": strength, "gain": f"{abs(gain):.3f}"}
    return f"{said} {pooling_note()}"


def pooling_note() -> str:
    """Say what is not known about a pooling strength: it is chosen on the instructions that measure it."""
    return gettext(
        "Neither the strength nor this difference has an interval. The strength is the best of those tried, on the same "
        "instructions that measure it, so the difference is likely to be smaller on new ones; whether pooling predicts "
        "better is not tested here. The intervals of pooled weights take the strength as given."
    )


def populations_sentence(certificate: WeightCertificate, *, items: bool = False) -> str:
    """Say why the weights have no interval for raters like these; '' where they have."""
    found = certificate.populations
    if found is None:
        return ""
    return not_stated_words(found.not_stated, found.n_instructions, found.n_raters, items=items)


def certificate_sentences(certificate: WeightCertificate, labels: Sequence[str]) -> list[str]:
    """Describe the certificate of a fit in sentences; labels (p,) name the items."""
    return [_optimum(certificate), _information(certificate), _floor(certificate, labels), _closeness(certificate)]


def _optimum(certificate: WeightCertificate) -> str:
    return gettext(
        "These weights are exactly optimal: they satisfy the optimality conditions (Karush-Kuhn-Tucker) to within "
        "%(kkt)s."
    ) % {"kkt": f"{certificate.fit.kkt_violation:.0e}".replace("-", "−")}


def _information(certificate: WeightCertificate) -> str:
    fit = certificate.fit
    values = {"rank": fit.rank, "items": len(fit.weights), "condition": f"{fit.condition_number:.1f}"}
    if fit.collinear:
        return (
            gettext(
                "Some items always move together (rank %(rank)d of %(items)d), and many sets of weights fit equally "
                "well. The set with the least weight above the floor is shown."
            )
            % values
        )
    return (
        gettext(
            "Every item contributes information of its own (rank %(rank)d of %(items)d, condition number "
            "%(condition)s)."
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
    fit, found = certificate.fit, certificate.populations
    such = these = None
    if found is not None:
        if found.such_r2_low is not None and found.such_r2_high is not None:
            such = found.such_r2_low, found.such_r2_high
        if found.these_r2_low is not None and found.these_r2_high is not None and found.kind != "leave_one_out_range":
            these = found.these_r2_low, found.these_r2_high
    values = {"r2": both_words(fit.r2, such, these), "n": f"{fit.n:,}", "error": number(fit.mse**0.5)}
    if fit.r2 < 0:
        worse = gettext(
            "They are worse than predicting the mean, even of the overall scores they were fitted to: R² is %(r2)s."
        )
        return worse % values
    explain = gettext(
        "They explain %(r2)s of the variance of the %(n)s overall scores they were fitted to; their typical error is "
        "%(error)s points out of 10."
    )
    return explain % values


def warning_sentence(code: str) -> str:
    """Explain a warning of a certificate and what to do about it."""
    said = {
        "collinear": gettext(
            "Some items overlap completely. Ask about qualities that can differ, or drop one of these items."
        ),
        "few_clusters": gettext(
            "Fewer than 20 instructions: no 95 %% interval is stated. Rate responses to more instructions."
        )
        % {},
        "few_raters": gettext(
            "Fewer than 20 raters: the dependence of the weights on the raters is shown only as a range."
        ),
        "no_cross_validation": gettext(
            "Only one instruction: there is no way to tell whether the weights hold for others. Rate responses to "
            "more instructions."
        ),
        "not_better_than_equal": gettext(
            "It is not shown that these weights predict held-out instructions better than equal weights do. Use equal "
            "weights, or collect more answers."
        ),
        "rows_under_10_per_item": gettext(
            "Fewer than 10 answers per item: the weights are unstable. Collect more answers."
        ),
        "underdetermined_fold": gettext(
            "When some rater, instruction or model is left out, the remaining answers are fewer than the items. Those "
            "predictions are unreliable."
        ),
    }
    return said.get(code, code)
