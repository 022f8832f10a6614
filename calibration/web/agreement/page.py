"""The agreement page: how far raters agree with each other, and judges with them."""

from collections.abc import Callable
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext, ngettext

from annotation.models import Study
from calibration.figures.charts import Bar, heat_map, interval_bars
from calibration.figures.drawing import ends_apart, number
from calibration.reports.agreement import (
    AGREEMENT,
    METRICS,
    AgreementReport,
    AlphaValue,
    AmbiguousCriterion,
    CategoryAgreement,
    CohortAgreement,
    JudgeAgreement,
    NoAlpha,
    agreement_settings,
    headline_alpha,
)
from calibration.reports.codec import Missing
from calibration.reports.people.populations import EstimateForBoth, Interval
from calibration.statistics.resampling import MIN_CLUSTERS
from calibration.web.agreement.other_raters import populations_block, why_not_stated
from calibration.web.blocks import Block, Choice, Column, ResultPage, Table, interval_cells
from calibration.web.messages.intervals import ends_meaning, ends_words, range_words
from calibration.web.messages.people_estimates import people_cells, people_columns, populations_meaning
from calibration.web.messages.populations import (
    both_cells,
    both_columns,
    both_words,
    estimate_cells,
    said_for_both,
    widest,
)
from calibration.web.messages.reasons import reason_of
from calibration.web.messages.statistics import (
    by_items,
    cluster_words,
    criterion_words,
    decimals_step,
    no_verdict_words,
    reason_words,
)
from calibration.web.paper_tables import printed_matrix
from calibration.web.serving import PageKind
from calibration.web.weights.page import criterion_questions
from core.messages.counts import counted
from generation.models import Category

Names = Callable[[str], str]


def agreement_page(study: Study, report: AgreementReport | Missing) -> ResultPage:
    """Build the page of a report; where the study has no main criterion, offer the criteria instead."""
    questions = criterion_questions(study)
    if isinstance(report, Missing):
        return _unanswered(study, report, questions)

    def name(key: str) -> str:
        return questions.get(key) or criterion_words(key)

    detail = reverse("calibration:agreement_detail", args=[study])
    blocks = [
        _alpha_block(report),
        populations_block(report, items=by_items(study)),
        _judges_block(report, items=by_items(study)),
        _criteria_block(report, name, cluster_words(study)),
        _categories_block(report),
        _cohorts_block(report),
        _matrix_block(report),
        _printed_block(study, report),
    ]
    criteria = [(key, name(key)) for key in report.criteria]
    return ResultPage(
        title=agreement_title(),
        opening=opening(report, items=by_items(study)),
        about=_about(report, name(report.criterion)),
        choices=[Choice("criterion", gettext("Criterion"), criteria, report.criterion)] if len(criteria) > 1 else [],
        links=[
            (
                f"{detail}?{urlencode({'criterion': report.criterion})}",
                gettext("Can a judge replace people? All numbers by criterion, category and cohort"),
            )
        ],
        blocks=[block for block in blocks if block],
        method=_method(study, report),
        code=[
            "calibration.statistics.agreement.leave_one_out",
            "calibration.statistics.agreement.alpha",
            "calibration.statistics.agreement.rater_correlations",
        ],
    )


def agreement_title() -> str:
    return gettext("How far do the raters agree?")


AGREEMENT_PAGE = PageKind(
    report=AGREEMENT,
    settings=lambda study, query: agreement_settings(query.get("criterion", "")),
    page=agreement_page,
    title=agreement_title,
)


def opening(report: AgreementReport, *, items: bool = False) -> str:
    """State the agreement, its interval and chance in a sentence. `items`: the clusters are items, not instructions.

    On an ordered scale labels can be nearly equal, so alpha is stated; the share of equal labels only where labels are
    just equal or different.
    """
    alpha = headline_alpha(report)
    if alpha is not None and alpha.such is not None and alpha.such.low is not None:
        step = decimals_step(alpha.such.low, alpha.such.high or 0.0)
        ends = ends_apart(alpha.such.low, alpha.such.high or 0.0, step) or ("", "")
        return gettext(
            "Raters like these agree with an alpha of %(alpha)s (95 %% interval %(low)s to %(high)s), where 1 is full "
            "agreement and 0 is agreement by chance. For exactly these raters, the interval is %(these)s."
        ) % {
            "alpha": number(alpha.value, step),
            "low": ends[0],
            "high": ends[1],
            "these": range_words(alpha.low or 0.0, alpha.high or 0.0, step),
        }
    unstated = why_not_stated(alpha.such if alpha is not None and alpha.such else report.loo_such, items=items)
    if alpha is not None:
        said = gettext(
            "The raters' agreement is an alpha of %(alpha)s, where 1 is full agreement and 0 is agreement by chance."
        ) % {"alpha": _these_words(alpha, items=items)}
        return f"{said} {unstated}".strip()
    return f"{_loo_opening(report, items=items)} {unstated}".strip()


def _these_words(alpha: AlphaValue, *, items: bool) -> str:
    """Write alpha with its interval for exactly these raters, or with its range over leaving one instruction out."""
    low, high = (alpha.value if end is None else end for end in (alpha.low, alpha.high))
    if alpha.kind in ("none", "leave_one_out_range"):
        return ends_words(alpha.value, low, high, alpha.kind, items=items)
    return both_words(alpha.value, None, (low, high))


def _loo_opening(report: AgreementReport, *, items: bool) -> str:
    ends, such = report.loo_interval, report.loo_such
    low, high = (report.loo if end is None else end for end in (ends.low, ends.high))
    step = decimals_step(low, high)
    near = ends_apart(low, high, step) if ends.kind != "none" else None
    values = {"rate": number(report.loo, step), "chance": number(report.chance, step)}
    values |= {"low": near[0], "high": near[1]} if near else {}
    wide = None if such.low is None else ends_apart(such.low, such.high or 0.0, step)
    if wide and near:
        return gettext(
            "A rater like these agrees with most other raters %(rate)s of the time (95 %% interval %(such_low)s to "
            "%(such_high)s; for exactly these raters, %(low)s to %(high)s); agreement by chance would be %(chance)s."
        ) % (values | {"such_low": wide[0], "such_high": wide[1]})
    if near and ends.kind != "leave_one_out_range":
        return (
            gettext(
                "A rater agrees with most other raters %(rate)s of the time (95 %% interval for exactly these raters "
                "%(low)s to %(high)s); agreement by chance would be %(chance)s."
            )
            % values
        )
    if near:
        ranged = gettext(
            "A rater agrees with most other raters %(rate)s of the time (%(low)s to %(high)s when one instruction is "
            "left out); agreement by chance would be %(chance)s."
        )
        ranged_by_items = gettext(
            "A rater agrees with most other raters %(rate)s of the time (%(low)s to %(high)s when one item is left "
            "out); agreement by chance would be %(chance)s."
        )
        return (ranged_by_items if items else ranged) % values
    return (
        gettext("A rater agrees with most other raters %(rate)s of the time; agreement by chance would be %(chance)s.")
        % values
    )


def is_ordered(report: AgreementReport) -> bool:
    """Whether the headline is alpha, since the scale is ordered and labels can be nearly equal."""
    return headline_alpha(report) is not None


def _unanswered(study: Study, missing: Missing, questions: dict[str, str]) -> ResultPage:
    to_study = (reverse("annotation:desk", args=[study]), gettext("Go to the study"))
    if missing.why != AmbiguousCriterion.__name__:
        said = gettext("No agreement to show yet")
        return ResultPage(said, said, [], [], about=reason_of(missing), links=[to_study], empty=True)
    offered = [(f"?{urlencode({'criterion': key})}", name) for key, name in questions.items()]
    said = gettext("Choose a criterion")
    about = gettext("This study has no overall score. Agreement is shown for one criterion at a time:")
    return ResultPage(said, said, [], [], about=about, links=offered, empty=True)


def _about(report: AgreementReport, name: str) -> str:
    values = {
        "criterion": name,
        "labels": counted(report.n_labels, "labels"),
        "tasks": counted(report.n_tasks, "tasks"),
        "raters": counted(report.n_raters, "raters"),
    }
    said = [gettext("“%(criterion)s”: %(labels)s for %(tasks)s from %(raters)s.") % values]
    if report.n_tasks_left_out:
        said.append(
            ngettext(
                "One task with a single rating is left out.",
                "%(n)s tasks with a single rating are left out.",
                report.n_tasks_left_out,
            )
            % {"n": report.n_tasks_left_out}
        )
    if report.slots:
        said.append(gettext("The data identify positions, not persons, so no individual raters are reported."))
    return " ".join(said)


def _cells(estimate: AlphaValue | NoAlpha) -> list[float | None]:
    return [None] * 5 if isinstance(estimate, NoAlpha) else both_cells(estimate.value, estimate, estimate.such)


def _ends(interval: Interval) -> tuple[float | None, float | None]:
    return (None, None) if interval.kind == "none" else (interval.low, interval.high)


def _metric(metric: str) -> str:
    return {"nominal": gettext("nominal"), "ordinal": gettext("ordinal"), "interval": gettext("interval")}[metric]


def _alpha_block(report: AgreementReport) -> Block:
    meanings = {
        "nominal": gettext("Labels are either equal or different."),
        "ordinal": gettext("Labels farther apart in rank disagree more."),
        "interval": gettext("Values farther apart disagree more: disagreement is the squared distance."),
    }
    columns = [
        Column(gettext("Scale")),
        Column(gettext("What counts as disagreement")),
        *both_columns(gettext("Alpha")),
    ]
    rows = []
    for metric in METRICS:
        alpha = report.alpha[metric]
        cells: list[object] = [*_cells(alpha)]
        if isinstance(alpha, NoAlpha):
            cells[0] = reason_words(alpha.why)
        rows.append([_metric(metric), meanings[metric], *cells])
    return Block("alpha", gettext("Krippendorff's alpha"), table=Table(columns, rows))


def _judges_block(report: AgreementReport, *, items: bool) -> Block | None:
    """Show each judge's agreement with people beside that among people, on the same scale."""
    if not report.judges:
        return None
    people = gettext("People among themselves")
    rows: list[list[object]] = []
    bars = [Bar(people, report.loo, *widest(report.loo_interval, report.loo_such))]
    estimates = []
    for name, judge in report.judges.items():
        if isinstance(judge, JudgeAgreement):
            found = judge.beside.judge
            rows.append([name, *people_cells(found), judge.beside.people.value, judge.n, judge.unscored])
            bars.append(Bar(name, *interval_cells(found.value, found)))
            estimates.append(found)
        else:
            why = reason_words(judge.why, too_few=no_verdict_words())
            rows.append([name, why, *[None] * 7, judge.n, judge.unscored])
    columns = [
        Column(gettext("Judge")),
        *people_columns(gettext("Leave-one-out"), 3),
        Column(gettext("People among themselves"), 3),
        Column(gettext("Tasks"), 0),
        Column(gettext("Unscored"), 0),
    ]
    figure = interval_bars(
        bars,
        title=gettext("Judges and people"),
        x_title=gettext("Agreement with the other people (leave-one-out)"),
        rule=report.chance,
        rule_label=gettext("chance among people"),
    )
    return Block(
        "judges",
        gettext("Judges against people"),
        figure=figure if len(bars) > 1 else "",
        caption=gettext(
            "How often a judge gives the most frequent label of the people who remain when one of them is left out. "
            "People are compared with each other in the same way, beside each judge on the tasks that it judged."
        ),
        table=Table(columns, rows),
        notes=[
            gettext("Verdicts that could not be used are left out of the rate and counted as unscored."),
            *populations_meaning(estimates, items=items),
        ],
    )


def _criteria_block(report: AgreementReport, name: Names, clusters: str) -> Block | None:
    if len(report.by_criterion) < 2:
        return None
    known = [(row, row.alpha) for row in report.by_criterion if isinstance(row.alpha, AlphaValue)]
    bars = [
        Bar(name(row.criterion), alpha.value, *widest(alpha, alpha.such), note=_metric(row.metric))
        for row, alpha in known
    ]
    figure = ""
    if bars:
        x_title = gettext("Krippendorff's alpha (1: full agreement, 0: chance)")
        figure = interval_bars(bars, title=gettext("Agreement by criterion"), x_title=x_title)
    columns = [
        Column(gettext("Criterion")),
        Column(gettext("Scale")),
        *both_columns(gettext("Alpha")),
        *both_columns(gettext("Leave-one-out")),
    ]
    rows = [
        [name(row.criterion), _metric(row.metric), *_cells(row.alpha), *estimate_cells(row.loo_ends)]
        for row in report.by_criterion
    ]
    return Block(
        "criteria",
        gettext("By criterion"),
        figure=figure,
        caption=_lines_are(known[0][1], clusters) if known else "",
        table=Table(
            columns, rows, links=[f"?{urlencode({'criterion': row.criterion})}" for row in report.by_criterion]
        ),
    )


def _lines_are(alpha: AlphaValue, clusters: str) -> str:
    if alpha.such is not None and alpha.such.low is not None:
        return gettext("Lines are 95 %% intervals for raters like these.") % {}
    return ends_meaning(alpha.kind, alpha.clusters, clusters)


def _categories_block(report: AgreementReport) -> Block | None:
    if not report.by_category:
        return None
    pks = [row.category_pk for row in report.by_category]
    names = {row.pk: row.name for row in Category.objects.filter(pk__in=pks)}
    columns = [Column(gettext("Category")), Column(gettext("Tasks"), 0), *_group_columns()]
    rows = [[names.get(row.category_pk, row.category), row.n_tasks, *_group_cells(row)] for row in report.by_category]
    return Block("categories", gettext("By category"), table=Table(columns, rows))


def _cohorts_block(report: AgreementReport) -> Block | None:
    if not report.by_cohort:
        return None
    columns = [Column(gettext("Cohort")), Column(gettext("Raters"), 0), *_group_columns()]
    rows = [[row.cohort, row.n_raters, *_group_cells(row)] for row in report.by_cohort]
    return Block("cohorts", gettext("By cohort"), table=Table(columns, rows))


def _group_columns() -> list[Column]:
    return [Column(gettext("Labels"), 0), *both_columns(gettext("Leave-one-out")), *both_columns(gettext("Alpha"))]


def _group_cells(row: CategoryAgreement | CohortAgreement) -> list[float | None]:
    return [row.n_labels, *estimate_cells(row.loo_ends), *_cells(row.alpha_ends)]


def _matrix_block(report: AgreementReport) -> Block | None:
    """Show the correlations of every pair of raters: a map, and below it each pair once."""
    matrix = report.matrix
    if not matrix:
        return None
    names = matrix.raters
    caption = gettext(
        "Pearson correlation over the tasks that two raters share. A cell is empty if they share fewer than three "
        "tasks or if one of them always gives the same rating."
    )
    if len(names) < matrix.n_persons:
        caption += " " + ngettext(
            "Of %(count)d raters, the %(shown)d with the most answers are shown.",
            "Of %(count)d raters, the %(shown)d with the most answers are shown.",
            matrix.n_persons,
        ) % {"shown": len(names), "count": matrix.n_persons}
    columns = [
        Column(gettext("Rater")),
        Column(gettext("Rater")),
        *Column.interval("Pearson", 3),
        Column("Spearman", 3),
        *Column.interval(gettext("Cohen's kappa"), 3),
        Column(gettext("Tasks"), 0),
    ]
    place = {rater: number for number, rater in enumerate(names)}
    rows = [
        [
            pair.first,
            pair.second,
            pair.pearson,
            pair.pearson_low,
            pair.pearson_high,
            matrix.spearman[place[pair.first]][place[pair.second]],
            pair.kappa,
            pair.kappa_low,
            pair.kappa_high,
            pair.n,
        ]
        for pair in matrix.pairs
    ]
    figure = heat_map(names, matrix.pearson, title=gettext("Correlation between raters (Pearson)"))
    title = gettext("Pairs of raters")
    named = gettext(
        "Each pair is of two named raters, so that its intervals are for exactly these two; they need at least %(n)s "
        "instructions that both rated. Kappa is weighted by squared distance on an ordered scale. The intervals are not "
        "corrected for the number of pairs: the highest and the lowest pair say little about these raters."
    ) % {"n": MIN_CLUSTERS}
    said = ""
    if isinstance(matrix.mean, EstimateForBoth):
        said = gettext("On average, the scores of two raters correlate with %(correlation)s.") % {
            "correlation": said_for_both(matrix.mean)
        }
    return Block(
        "matrix",
        title,
        answer=said,
        figure=figure,
        caption=caption,
        table=Table(columns, rows),
        notes=[named],
        folded=True,
    )


def _printed_block(study: Study, report: AgreementReport) -> Block | None:
    printed = printed_matrix(study.benchmark)
    if not printed or not report.matrix:
        return None
    title = gettext("Published correlation between raters")
    caption = gettext("Published for the benchmark's own raters: %(source)s.") % {"source": printed.source}
    return Block("published", title, figure=heat_map(printed.raters, printed.matrix, title=title), caption=caption)


def _method(study: Study, report: AgreementReport) -> list[str]:
    by_item = gettext("Intervals resample whole items (%(n)s), because labels of one item are not independent.")
    by_instruction = gettext(
        "Intervals resample whole instructions (%(n)s), because answers to one instruction are not independent."
    )
    return [
        gettext(
            "Leave-one-out agreement: for each task, how often a rater's label is the most frequent label of the "
            "task's other raters; equally frequent labels share the match. The rate is the mean over tasks with at "
            "least two raters. Chance is the rate that the same labels would reach if they were assigned to raters "
            "regardless of the task. A judge is compared with the raters who remain when one is left out, for every "
            "rater in turn. Source: HREF (arXiv 2412.15524), algorithm 1."
        ),
        gettext(
            "Krippendorff's alpha is 1 minus observed over expected disagreement: 1 is full agreement, 0 is chance, "
            "below 0 is less than chance. Source: Krippendorff, Computing Krippendorff's alpha-reliability (2011)."
        ),
        gettext(
            "Gwet's AC1 takes the agreement by chance from how evenly the labels are used, so that it stays high where "
            "raters agree on one frequent label and kappas do not. Source: Gwet (2008)."
        ),
        (by_item if by_items(study) else by_instruction) % {"n": report.n_instructions},
        gettext(
            "Intervals for raters like these come from leaving out each instruction, each rater, and each rater's answers "
            "to one instruction (Cameron, Gelbach and Miller 2011), with Student's t. They need at least 3 raters and 20 "
            "instructions."
        ),
    ]
