"""The content of the agreement page: a report's opening sentence, figures and rows, in the reader's language."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext, ngettext

from annotation.models import Study
from calibration.figures.charts import Bar, heat_map, interval_bars
from calibration.figures.drawing import number
from calibration.web.messages.statistics import (
    by_items,
    cluster_words,
    criterion_words,
    decimals_step,
    interval_meaning,
    reason_words,
    with_interval,
)
from calibration.web.printed_tables import printed_matrix
from generation.models import Category

PRINTED_MATRIX = 12


@dataclass(frozen=True)
class AgreementPanel:
    """The parts of the page; a figure of '' is left out. Rows are those of the report, with names to show."""

    opening: str
    criterion: str
    criterion_name: str
    criteria: list[tuple[str, str]]
    alpha_rows: list[dict[str, Any]]
    criterion_figure: str
    criterion_caption: str
    criterion_rows: list[dict[str, Any]]
    category_rows: list[dict[str, Any]]
    cohort_rows: list[dict[str, Any]]
    matrix_figure: str
    matrix_caption: str
    matrix_rows: list[dict[str, Any]]
    printed_figure: str
    printed_source: str
    judges_figure: str
    judge_rows: list[dict[str, Any]]
    report: Mapping[str, Any]


def agreement_panel(study: Study, report: Mapping[str, Any], questions: Mapping[str, str]) -> AgreementPanel:
    """Build the parts of the page from a report of calibration.reports.agreement.agreement_report."""

    def name(key: str) -> str:
        return questions.get(key) or criterion_words(key)

    matrix = report["matrix"]
    printed = printed_matrix(study.benchmark)
    return AgreementPanel(
        opening=opening(report, items=by_items(study)),
        criterion=report["criterion"],
        criterion_name=name(report["criterion"]),
        criteria=[(key, name(key)) for key in report["criteria"]],
        alpha_rows=_alpha_rows(report),
        criterion_figure=_criterion_figure(report, name),
        criterion_caption=_criterion_caption(report, cluster_words(study)),
        criterion_rows=[
            {**row, "name": name(row["criterion"]), "scale": _metric(row["metric"])} for row in report["by_criterion"]
        ],
        category_rows=_named_categories(report["by_category"]),
        cohort_rows=report["by_cohort"],
        matrix_figure=_matrix_figure(matrix),
        matrix_caption=_matrix_caption(matrix),
        matrix_rows=_matrix_rows(matrix),
        printed_figure=heat_map(printed.raters, printed.matrix, title=gettext("Published correlation between raters"))
        if printed
        else "",
        printed_source=printed.source if printed else "",
        judges_figure=_judges_figure(report),
        judge_rows=[
            {"name": judge, **found, "reason": reason_words(found["why"]) if "why" in found else ""}
            for judge, found in report["judges"].items()
        ],
        report=report,
    )


def opening(report: Mapping[str, Any], *, items: bool = False) -> str:
    """State the agreement, its interval and chance in a sentence. `items`: the clusters are items, not instructions."""
    ends = report["loo_interval"]
    step = decimals_step(ends["low"], ends["high"])
    values = {
        "rate": number(report["loo"], step),
        "low": number(ends["low"], step),
        "high": number(ends["high"], step),
        "chance": number(report["chance"], step),
    }
    if ends["kind"] == "bootstrap95":
        return (
            gettext(
                "A rater agrees with most other raters %(rate)s of the time (%(low)s to %(high)s); agreement by "
                "chance would be %(chance)s."
            )
            % values
        )
    if ends["kind"] == "leave_one_out_range":
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


def _metric(metric: str) -> str:
    return {"nominal": gettext("nominal"), "ordinal": gettext("ordinal"), "interval": gettext("interval")}[metric]


def _alpha_rows(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    explained = {
        "nominal": gettext("Labels are either equal or different."),
        "ordinal": gettext("Labels farther apart in rank disagree more."),
        "interval": gettext("Values farther apart disagree more: disagreement is the squared distance."),
    }
    rows = []
    for metric, alpha in report["alpha"].items():
        if alpha["value"] is None:
            said = reason_words(alpha["why"])
        else:
            said = with_interval(alpha["value"], alpha["low"], alpha["high"], alpha["kind"])
        rows.append({"name": _metric(metric), "meaning": explained[metric], "said": said, **alpha})
    return rows


def _criterion_figure(report: Mapping[str, Any], name: Any) -> str:
    rows = [row for row in report["by_criterion"] if row["alpha"]["value"] is not None]
    if not rows:
        return ""
    bars = [
        Bar(
            name(row["criterion"]),
            row["alpha"]["value"],
            row["alpha"]["low"],
            row["alpha"]["high"],
            note=_metric(row["metric"]),
        )
        for row in rows
    ]
    return interval_bars(
        bars,
        title=gettext("Agreement by criterion"),
        x_title=gettext("Krippendorff's alpha (1: full agreement, 0: chance)"),
    )


def _criterion_caption(report: Mapping[str, Any], clusters: str) -> str:
    kinds = [row["alpha"] for row in report["by_criterion"] if row["alpha"]["value"] is not None]
    if not kinds:
        return ""
    return interval_meaning(kinds[0]["kind"], kinds[0]["clusters"], clusters)


def _named_categories(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    named = {row.pk: row for row in Category.objects.filter(pk__in=[row["category_pk"] for row in rows])}
    return [
        {**row, "name": named[row["category_pk"]].name if row["category_pk"] in named else row["category"]}
        for row in rows
    ]


def _matrix_figure(matrix: Mapping[str, Any] | None) -> str:
    if not matrix:
        return ""
    return heat_map(matrix["raters"], matrix["pearson"], title=gettext("Correlation between raters (Pearson)"))


def _matrix_caption(matrix: Mapping[str, Any] | None) -> str:
    if not matrix:
        return ""
    said = gettext(
        "Pearson correlation over the tasks that two raters share. A cell is empty if they share fewer than three "
        "tasks or if one of them always gives the same rating."
    )
    shown, persons = len(matrix["raters"]), matrix["n_persons"]
    if shown < persons:
        said += " " + ngettext(
            "Of %(count)d raters, the %(shown)d with the most answers are shown.",
            "Of %(count)d raters, the %(shown)d with the most answers are shown.",
            persons,
        ) % {"shown": shown, "count": persons}
    return said


def _matrix_rows(matrix: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """List every pair once for the table below the figure; empty where the table would be long."""
    if not matrix or len(matrix["raters"]) > PRINTED_MATRIX:
        return []
    raters = matrix["raters"]
    return [
        {
            "one": raters[i],
            "other": raters[j],
            "pearson": matrix["pearson"][i][j],
            "spearman": matrix["spearman"][i][j],
            "n": matrix["n"][i][j],
        }
        for i in range(len(raters))
        for j in range(i + 1, len(raters))
    ]


def _judges_figure(report: Mapping[str, Any]) -> str:
    """Draw each judge's agreement with people beside that among people, on the same scale."""
    known = [(name, one) for name, one in report["judges"].items() if one["loo"] is not None]
    if not known:
        return ""
    ends = report["loo_interval"]
    bars = [Bar(gettext("People among themselves"), report["loo"], ends["low"], ends["high"])]
    bars += [Bar(name, one["loo"], one["interval"]["low"], one["interval"]["high"]) for name, one in known]
    return interval_bars(
        bars,
        title=gettext("Judges and people"),
        x_title=gettext("Agreement with the other people (leave-one-out)"),
        rule=report["chance"],
        rule_label=gettext("chance among people"),
    )
