"""Blocks of the raters page on the sources of variance, and on what more raters and repeats do to the reliability."""

from typing import cast

from django.utils.translation import gettext

from annotation.models import Study
from calibration.figures.charts import Bar, interval_bars
from calibration.figures.curves import Curve, curves
from calibration.reports.codec import Missing
from calibration.reports.people.populations import EstimateForBoth
from calibration.reports.people.variances import Designs, Variances
from calibration.statistics.crossed import WhyNot
from calibration.statistics.raters.variance_populations import LEAST_RATERS
from calibration.web.blocks import Block, Column, Table
from calibration.web.messages.populations import (
    ends_columns,
    estimate_cells,
    not_stated_words,
    populations_note,
    said_for_both,
    widest,
)
from calibration.web.messages.reasons import reason_of
from calibration.web.messages.statistics import by_items, cluster_words
from core.messages.counts import counted


def variance_blocks(study: Study, found: Variances | Missing) -> list[Block]:
    """Show the sources of variance and, where a design was computed, the reliability by number of raters."""
    title = gettext("Sources of variance in the scores")
    if isinstance(found, Missing):
        return [Block("variance", title, reason=reason_of(found))]
    design = found.design
    notes = [*_populations(study, found), *([] if isinstance(design, Missing) else _design_notes(design))]
    figure = interval_bars(
        [Bar(source_name(name), one.value, *widest(one.these, one.such)) for name, one in found.estimates.items()],
        title=title,
        x_title=gettext("Variance of a single score, in squared points"),
    )
    table = Table(
        [
            Column(gettext("Source")),
            Column(gettext("Variance"), 3),
            *ends_columns(3, optional=True),
            Column(gettext("Share"), 3),
            Column(gettext("Unbiased estimate"), 3),
            Column(gettext("Levels"), 0),
        ],
        [
            [source_name(name), *estimate_cells(found.estimates[name]), one.share, one.raw, one.levels]
            for name, one in found.components.items()
        ],
    )
    answer = reason_of(design) if isinstance(design, Missing) else _recommendation(design)
    block = Block("variance", title, answer=answer, figure=figure, table=table, notes=notes)
    return [block] if isinstance(design, Missing) else [block, _design_curve(design)]


def _populations(study: Study, found: Variances) -> list[str]:
    """Say what the intervals are about, or why there are none."""
    one: EstimateForBoth = next(iter(found.estimates.values()))
    such = one.such
    why = cast(WhyNot, such.not_stated)
    left_out = not_stated_words(why, such.n_instructions, such.n_raters, items=by_items(study), least=LEAST_RATERS)
    said = [] if one.these.kind == "none" else [populations_note(cluster_words(study))]
    if "model" in found.components:
        said.append(gettext("The models are taken as given: nothing here is about other models."))
    return [*said, *([left_out] if left_out else [])]


def source_name(source: str) -> str:
    names = {
        "model": gettext("model"),
        "item": gettext("instruction"),
        "response": gettext("response"),
        "rater": gettext("severity of the rater"),
        "order": gettext("display order"),
        "repeat": gettext("repeat by the same rater"),
        "residual": gettext("interaction of rater and response, and error"),
    }
    return names.get(source, source)


def _recommendation(design: Designs) -> str:
    said = {
        "rater": said_for_both(design.gain_of_rater),
        "raters": counted(design.best.raters, "raters"),
        "reliability": said_for_both(design.best.estimate),
    }
    if design.gain_of_repeat is None:
        return (
            gettext(
                "A second rater increases the reliability of a response's score by %(rater)s, and the mean of %(raters)s "
                "has a reliability of %(reliability)s. How much a repeat by the same rater helps is unknown, because "
                "nobody was asked twice."
            )
            % said
        )
    return gettext(
        "A second rater increases the reliability of a response's score by %(rater)s, and a repeat by the same rater "
        "increases it by %(repeat)s. The mean of %(raters)s has a reliability of %(reliability)s."
    ) % {**said, "repeat": said_for_both(design.gain_of_repeat)}


def _design_notes(design: Designs) -> list[str]:
    """Say how many raters each reliability takes; a repeat never helps more than another rater, so none is asked twice."""
    said = []
    for target, one in design.targets.items():
        if one is None:
            said.append(
                gettext("By these estimates, even 20 raters do not reach a reliability of %(target)s.")
                % {"target": target}
            )
        else:
            said.append(
                gettext("By these estimates, a reliability of %(target)s requires %(raters)s per response.")
                % {"target": target, "raters": counted(one.raters, "raters")}
            )
    return said


def _design_curve(design: Designs) -> Block:
    """Draw reliability by number of raters who are asked once or, where some were asked twice, twice."""
    names = {1: gettext("asked once"), 2: gettext("asked twice")}
    series = [
        Curve(name, [(one.raters, one.reliability) for one in shown], [_ends(one.estimate) for one in shown])
        for repeats, name in names.items()
        if (shown := [one for one in design.designs if one.repeats == repeats])
    ]
    title = gettext("Reliability by number of raters")
    return Block(
        "designs",
        title,
        figure=curves(
            series,
            title=title,
            x_title=gettext("Raters per response"),
            y_title=gettext("Reliability of a response's mean score"),
        ),
        table=Table(
            [
                Column(gettext("Raters"), 0),
                Column(gettext("Times asked"), 0),
                Column(gettext("Reliability"), 3),
                *ends_columns(3, optional=True),
                Column(gettext("Error variance"), 3),
            ],
            [[one.raters, one.repeats, *estimate_cells(one.estimate), one.error_variance] for one in design.designs],
        ),
        folded=True,
    )


def _ends(found: EstimateForBoth) -> tuple[float, float] | None:
    low, high = widest(found.these, found.such)
    return None if low is None or high is None else (low, high)
