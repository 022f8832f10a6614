"""The page "Can I trust these raters?": accuracy and consistency of each rater, kind and cohort."""

from collections.abc import Mapping

from django.utils.translation import gettext, ngettext

from annotation.models import Study
from calibration.figures.charts import Bar, interval_bars
from calibration.figures.drawing import number
from calibration.figures.spreads import Distribution, distributions
from calibration.reports.codec import Missing
from calibration.reports.people.populations import EstimateForBoth
from calibration.reports.rater_effects import Correctness
from calibration.reports.raters import (
    RATERS,
    Accuracies,
    Consistencies,
    GroupRates,
    Raters,
    RatersReport,
    rater_settings,
)
from calibration.statistics.agreement.kappas import Kappa
from calibration.statistics.agreement.proportions import Proportion
from calibration.web.blocks import Block, Column, ResultPage, Table, interval_cells
from calibration.web.messages.intervals import ValueWithEnds, ends_meaning, estimate_words
from calibration.web.messages.names import criterion_choice
from calibration.web.messages.populations import said_for_both
from calibration.web.messages.reasons import error_words, reason_of
from calibration.web.messages.statistics import cluster_words
from calibration.web.raters.behaviour import habit_blocks
from calibration.web.raters.effects import consensus_block, hint_blocks, label_words, severity_block
from calibration.web.raters.scale_use import scale_use_block, task_labels_block, truth_blocks
from calibration.web.raters.variance import variance_blocks
from calibration.web.serving import PageKind
from core.messages.counts import counted

MOST_BARS = 40


def raters_page(study: Study, report: Raters) -> ResultPage:
    if isinstance(report, Missing):
        return ResultPage(raters_title(), reason_of(report), [], [])
    return ResultPage(
        title=raters_title(),
        opening=_opening(report),
        about=_about(report),
        choices=criterion_choice(study, report.criteria, report.criterion),
        blocks=[
            *_correctness_blocks(report.correctness, cluster_words(study)),
            *([] if isinstance(report.correctness, Missing) else truth_blocks(study, report.correctness.by_label)),
            _groups_block(report.accuracy),
            _accuracy_block(report.accuracy, cluster_words(study)),
            _consistency_block(report.consistency, report.kappa),
            *hint_blocks(study, report.hints),
            severity_block(report.severity, report.spread),
            scale_use_block(report.scale_use),
            *variance_blocks(study, report.variance),
            consensus_block(study, report.criterion, report.consensus),
            *task_labels_block(study, report.consensus, label_words(study, report.criterion)),
            *habit_blocks(report.habits),
        ],
        method=_method(),
        sources=[
            "LLMEval (arXiv 2312.07398), Eq. 5, figures 3 and 4",
            "Dawid & Skene (1979)",
            "Brennan (2001)",
            "Searle, Casella & McCulloch (1992)",
        ],
        code=[
            "calibration.statistics.raters.reliability",
            "calibration.statistics.raters.repeats",
            "calibration.statistics.raters.severity",
            "calibration.statistics.raters.severity_spread",
            "calibration.statistics.raters.standing",
            "calibration.statistics.raters.posteriors",
            "calibration.statistics.raters.truth",
            "calibration.statistics.raters.variance",
            "calibration.statistics.raters.variance_populations",
            "calibration.statistics.raters.decision",
            "calibration.statistics.raters.consensus",
            "calibration.statistics.raters.behaviour",
            "calibration.statistics.raters.hints",
        ],
    )


def raters_title() -> str:
    return gettext("Can I trust these raters?")


RATERS_PAGE = PageKind(
    report=RATERS,
    settings=lambda study, query: rater_settings(query.get("criterion", "")),
    page=raters_page,
    title=raters_title,
)


def _opening(report: RatersReport) -> str:
    if isinstance(report.accuracy, Missing):
        sentence = reason_of(report.accuracy)
    else:
        sentence = gettext(
            "A rater's score lies within one standard deviation of the mean of all raters %(rate)s of the time."
        ) % {"rate": pooled_words(report.accuracy.pooled, report.accuracy.overall)}
    if not isinstance(report.consistency, Missing):
        sentence += " " + gettext(
            "When they are asked again, raters give their most frequent answer %(rate)s of the time."
        ) % {"rate": pooled_words(_rate_of(report.consistency), report.consistency.overall)}
    return sentence


def _rate_of(found: Consistencies) -> EstimateForBoth | Missing:
    return found.pooled if isinstance(found.pooled, Missing) else found.pooled.rate


def pooled_words(both: EstimateForBoth | Missing, ranged: ValueWithEnds) -> str:
    """Write the value with both intervals; with too few instructions, with the range over leaving one out."""
    if isinstance(both, Missing) or both.these.kind == "none":
        return estimate_words(ranged)
    return said_for_both(both)


def _about(report: RatersReport) -> str:
    counts = {
        "scores": counted(report.n_scores, "scores"),
        "answers": counted(report.n_answers, "answers"),
        "raters": counted(report.n_raters, "raters"),
    }
    if len(report.kinds) > 1:
        kinds = gettext(", ").join(f"{kind_name(kind)} {n:,}" for kind, n in sorted(report.kinds.items()))
        sentence = gettext("%(scores)s in %(answers)s by %(raters)s (%(kinds)s).") % (counts | {"kinds": kinds})
    else:
        sentence = gettext("%(scores)s in %(answers)s by %(raters)s.") % counts
    if report.n_judged:
        sentence += " " + ngettext(
            "Judges gave %(n)s more answer. It is not included in any figure about raters; the accuracy table lists "
            "judges beside people.",
            "Judges gave %(n)s more answers. They are not included in any figure about raters; the accuracy table "
            "lists judges beside people.",
            report.n_judged,
        ) % {"n": f"{report.n_judged:,}"}
    if report.slots:
        sentence += " " + gettext("The data identify positions, not persons, so no individual raters are reported.")
    return sentence


def kind_name(kind: str) -> str:
    names = {
        "onsite": gettext("onsite"),
        "crowd": gettext("crowd"),
        "public": gettext("public"),
        "judge": gettext("judge"),
        "person": gettext("person"),
        "slot": gettext("position in the data"),
    }
    return names.get(kind, kind)


def _correctness_blocks(found: Correctness | Missing, clusters: str) -> list[Block]:
    """The accuracy against correct answers; nothing in a study that has none."""
    if isinstance(found, Missing):
        return []
    title = gettext("Accuracy against the correct answers")
    notes = [gettext("Number of tasks with a correct answer: %(n)s.") % {"n": f"{found.tasks:,}"}]
    if isinstance(found.people, Missing):
        notes.append(reason_of(found.people))
    else:
        rate = {"rate": pooled_words(found.pooled, found.people)}
        notes.append(gettext("The answers of people equal the correct one %(rate)s of the time.") % rate)
    rows = found.raters
    if not rows:
        return [Block("correctness", title, notes=notes)]
    notes.append(ends_meaning(rows[0].rate.interval_kind, rows[0].rate.clusters, clusters))
    figure = interval_bars(
        [Bar(row.rater, *interval_cells(row.rate.value, row.rate)) for row in rows[:MOST_BARS]],
        title=title,
        x_title=gettext("Share of answers that are correct"),
    )
    table = Table(
        [
            Column(gettext("Rater")),
            Column(gettext("Kind")),
            Column(gettext("Scores"), 0),
            *Column.interval(gettext("Accuracy"), 3),
        ],
        [
            [
                row.rater,
                kind_name("judge" if row.is_judge else "person"),
                row.rate.n,
                *interval_cells(row.rate.value, row.rate),
            ]
            for row in rows
        ],
    )
    return [Block("correctness", title, figure=figure, table=table, notes=notes)]


def _group_name(row: GroupRates) -> str:
    if row.by == "kind":
        return kind_name(row.group)
    return gettext("cohort %(name)s") % {"name": row.group}


def _groups_block(found: Accuracies | Missing) -> Block:
    title = gettext("Accuracy by kind and cohort")
    if isinstance(found, Missing):
        return Block("groups", title, reason=reason_of(found))
    rows = found.groups
    if not rows:
        return Block("groups", title, reason=error_words("OnlySlots"))
    figure = distributions(
        [Distribution(_group_name(row), row.rates, *interval_cells(row.mean, row)) for row in rows],
        title=title,
        x_title=gettext("Accuracy of a rater (share of answers)"),
        mean_word=gettext("mean"),
        minimum_word=gettext("minimum"),
        bounds=(0.0, 1.0),
    )
    table = Table(
        [
            Column(gettext("Group")),
            Column(gettext("Raters"), 0),
            Column(gettext("Fewer than five answers"), 0),
            *Column.interval(gettext("Mean"), 3),
            Column(gettext("Minimum"), 3),
            Column(gettext("Lowest rater")),
            Column(gettext("Median"), 3),
        ],
        [
            [
                _group_name(row),
                row.n,
                row.too_few,
                *interval_cells(row.mean, row),
                row.minimum,
                row.lowest if row.lowest_shown else gettext("not shown"),
                row.median,
            ]
            for row in rows
        ],
    )
    caption = gettext(
        "Each curve shows how raters are distributed; the tall line marks their mean and the diamond the lowest rater."
    )
    named = gettext(
        "The lowest rater is named only where that rater's accuracy is shown to be below that of the others together, after "
        "correction for the number of raters (Holm). Intervals of the mean take whole raters as drawn again."
    )
    return Block("groups", title, figure=figure, caption=caption, table=table, notes=[_too_few(found), named])


def _too_few(found: Accuracies) -> str:
    if not found.too_few:
        return gettext("Every rater has answered at least %(n)s tasks.") % {"n": found.min_answers}
    return ngettext(
        "One rater has answered fewer than five tasks and is counted separately, without a rate.",
        "%(n)s raters have answered fewer than five tasks and are counted separately, without a rate.",
        found.too_few,
    ) % {"n": found.too_few}


def _accuracy_block(found: Accuracies | Missing, clusters: str) -> Block:
    title = gettext("Accuracy of each rater")
    if isinstance(found, Missing):
        return Block("accuracy", title, reason=reason_of(found))
    rows = found.rates
    if not rows:
        return Block("accuracy", title, reason=error_words("OnlySlots"))
    shown = rows if len(rows) <= MOST_BARS else rows[:MOST_BARS]
    figure = interval_bars(
        [Bar(row.rater, *interval_cells(row.value, row), note=kind_name(row.kind)) for row in shown],
        title=title,
        x_title=gettext("Share of answers within one sigma"),
        reference=[Bar(row.rater, row.shrunk.value) for row in shown if row.shrunk],
        series=(gettext("Observed"), gettext("Shrunk toward the mean of the kind")),
    )
    table = Table(
        [
            Column(gettext("Rater")),
            Column(gettext("Kind")),
            Column(gettext("Cohort")),
            Column(gettext("Scores"), 0),
            *Column.interval(gettext("Accuracy"), 3),
            Column(gettext("Shrunk"), 3),
            Column(gettext("Shrunk from"), 3),
            Column(gettext("Shrunk to"), 3),
        ],
        [
            [
                row.rater,
                kind_name(row.kind),
                row.cohort,
                row.n,
                *interval_cells(row.value, row),
                *((row.shrunk.value, row.shrunk.low, row.shrunk.high) if row.shrunk else (None, None, None)),
            ]
            for row in rows
        ],
    )
    notes = [ends_meaning(rows[0].interval_kind, rows[0].clusters, clusters)]
    if found.nobody:
        notes.append(
            gettext("There is nobody to compare with for %(raters)s: they share no task with another person.")
            % {"raters": ", ".join(found.nobody)}
        )
    if len(shown) < len(rows):
        notes.append(
            gettext("The figure shows the %(n)s lowest raters; the table lists all of them.") % {"n": len(shown)}
        )
    return Block(
        "accuracy",
        title,
        figure=figure,
        table=table,
        notes=notes,
        folded=True,
        caption=gettext(
            "A single rater's share is uncertain. The diamond is a better estimate of the true share; it lies between "
            "the rater's own share and the mean of their kind."
        ),
    )


def _consistency_block(found: Consistencies | Missing, kappa: Kappa | Missing) -> Block:
    title = gettext("Answers to repeated tasks")
    if isinstance(found, Missing):
        return Block("consistency", title, reason=reason_of(found))
    rows, again = found.raters, found.first_repeat
    notes = [
        gettext("The second answer equals the first in %(rate)s of %(n)s repeats.")
        % {
            "rate": pooled_words(
                found.pooled if isinstance(found.pooled, Missing) else found.pooled.first_repeat, again
            ),
            "n": f"{again.n:,}",
        },
        *_kappa_note(kappa),
        *_sides_notes(found.sides),
    ]
    if not rows:
        return Block("consistency", title, notes=notes)
    shown = rows[:MOST_BARS]
    figure = interval_bars(
        [Bar(row.rater, *interval_cells(row.value, row)) for row in shown],
        title=title,
        x_title=gettext("How often a rater gives their most frequent answer"),
    )
    groups = ", ".join(
        gettext("%(kind)s: mean %(mean)s, minimum %(minimum)s (n %(n)s)")
        % {"kind": kind_name(row.group), "mean": number(row.mean), "minimum": number(row.minimum), "n": row.n}
        for row in found.groups
    )
    table = Table(
        [
            Column(gettext("Rater")),
            Column(gettext("Repeated tasks"), 0),
            Column(gettext("Times asked"), 0),
            *Column.interval(gettext("Consistency"), 3),
            *Column.interval(gettext("Second equals first"), 3),
        ],
        [
            [
                row.rater,
                row.units,
                row.asked,
                *interval_cells(row.value, row),
                *interval_cells(row.first_repeat.value, row.first_repeat),
            ]
            for row in rows
        ],
    )
    return Block("consistency", title, figure=figure, caption=groups, table=table, notes=notes, folded=True)


def _kappa_note(kappa: Kappa | Missing) -> list[str]:
    if isinstance(kappa, Missing):
        return []
    return [gettext("Cohen's kappa of first and second answers: %(kappa)s.") % {"kappa": estimate_words(kappa)}]


def _sides_notes(found: Mapping[str, Proportion] | Missing) -> list[str]:
    if isinstance(found, Missing):
        return []
    sentences = {
        "same": gettext("With the same sides, the answer stays the same in %(rate)s of %(n)s repeats."),
        "swapped": gettext("With the sides swapped, the answer stays the same in %(rate)s of %(n)s repeats."),
    }
    return [sentences[side] % {"rate": estimate_words(share), "n": f"{share.n:,}"} for side, share in found.items()]


def _method() -> list[str]:
    return [
        gettext(
            "Accuracy: the share of a rater's scores that lie less than one sigma away from all people's mean score "
            "on the same task and criterion. Sigma is the standard deviation of scores around those means, pooled "
            "over the criterion. Judges are compared with people's means but are not part of them."
        ),
        gettext(
            "Consistency: for a task that was asked several times, the number of times the most frequent answer was "
            "given, divided by the number of times asked; (1, 1, 1, 0) gives 3/4. A rater's rate is the sum of the "
            "former divided by the sum of the latter."
        ),
        gettext(
            "Shrinkage: the rates of a kind are assumed to follow a beta distribution, which is fitted to them. Each "
            "rater's rate is the mean of its posterior distribution, and the ends enclose the middle 95 %% of it."
        )
        % {},
    ]
