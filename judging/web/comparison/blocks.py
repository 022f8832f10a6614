"""The contents of the page that compares a judge with people, in the reader's language."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext, ngettext

from annotation.models import Criterion, Rater, Study
from calibration.data.frames import NothingToRead
from calibration.figures.charts import Bar, Point, interval_bars, scatter
from calibration.statistics.judges.correlations import LEAST_RESPONSES
from calibration.statistics.judges.estimates import PeopleEstimate
from calibration.web.blocks import Block, Column, Table
from calibration.web.failed_judges import marked, with_mark
from calibration.web.judges.correlations import simpson_words, way_names
from calibration.web.messages.people_estimates import people_cells, people_columns, people_words, populations_meaning
from calibration.web.messages.statistics import criterion_words, no_verdict_words, reason_words
from judging.comparison.judge_against_people import (
    ItemAgreement,
    JudgeComparison,
    NoItemAgreement,
    NothingShared,
    SharedResponse,
    compare,
)
from judging.leaderboards.weighting import EQUAL, MissingWeights, Weighting
from judging.scores.points import NoVerdicts, WithoutWeight

POINTS_LISTED = 200
GROUPS_SHOWN = 4
COEFFICIENTS = (("spearman", "Spearman's ρ"), ("kendall", "Kendall's τ-b"), ("pearson", "Pearson's r"))


@dataclass(frozen=True)
class CoefficientRow:
    """A correlation; `cells` are its value and ends as of `people_cells`, `equal` its value with equal weights."""

    name: str
    cells: Sequence[float | None]
    p_text: str
    equal: float | None


@dataclass(frozen=True)
class ItemRow:
    """An item with the judge's agreement on it, or the reason why there is none."""

    name: str
    question: str
    agreement: ItemAgreement | None
    reason: str = ""

    @property
    def cells(self) -> list[float | None]:
        return people_cells(self.agreement.judge if self.agreement else None)


@dataclass(frozen=True)
class ComparisonPanel:
    """`reason` says why there is nothing to show; everything else is then empty."""

    judge: Rater
    reason: str = ""
    opening: str = ""
    figure: str = ""
    caption: str = ""
    weights: str = ""
    report: JudgeComparison | None = None
    coefficients: Sequence[CoefficientRow] = ()
    items: Sequence[ItemRow] = ()
    items_figure: str = ""
    items_caption: str = ""
    points: Sequence[SharedResponse] = ()
    points_left_out: int = 0


def comparison_panel(study: Study, judge: Rater, weighting: Weighting) -> ComparisonPanel:
    """Compute the panel, or take it from the cache if nothing has changed."""
    try:
        report = compare(study, judge, weighting)
    except MissingWeights:
        return comparison_panel(study, judge, Weighting(EQUAL))
    except NothingToRead as error:
        return ComparisonPanel(judge, reason=_reason(error))
    except (NoVerdicts, WithoutWeight):
        return ComparisonPanel(judge, reason=gettext("This judge has no usable verdicts in this study."))
    return panel_of(study, judge, weighting, report)


def panel_without_report(judge: Rater) -> ComparisonPanel:
    """Return the panel of a judge for which the worker found nothing to compare."""
    return ComparisonPanel(judge, reason=_reason(NothingShared()))


def panel_of(study: Study, judge: Rater, weighting: Weighting, report: JudgeComparison) -> ComparisonPanel:
    """Return the panel that shows a report, computed with these weights."""
    names = _questions(study)
    points = sorted(report.points, key=lambda point: (point.instruction, point.model))
    items = [_item(item, names.get(item.key, "")) for item in report.items]
    known = [(row.name, row.agreement) for row in items if row.agreement]
    return ComparisonPanel(
        judge=judge,
        opening=_opening(judge, report),
        figure=_scatter(judge, report),
        caption=_caption(report),
        weights=_weights_text(weighting),
        report=report,
        coefficients=_coefficients(report),
        items=items,
        items_figure=_items_figure(judge, known) if known else "",
        items_caption=" ".join(populations_meaning(agreement.judge for _name, agreement in known)),
        points=points[:POINTS_LISTED],
        points_left_out=max(0, len(points) - POINTS_LISTED),
    )


def comparison_blocks(panels: Sequence[ComparisonPanel]) -> list[Block]:
    """Each panel's figures and tables as downloads: "points-1" and "items-1" of the first judge, and so on."""
    points = [
        Column(gettext("Instruction")),
        Column(gettext("Model")),
        Column(gettext("Judge's points"), 1),
        Column(gettext("People's mean"), 2),
        Column(gettext("People"), 0),
    ]
    items = [
        Column(gettext("Item")),
        *people_columns(gettext("Judge"), 3),
        Column(gettext("People"), 3),
        Column(gettext("Chance"), 3),
        Column(gettext("Responses"), 0),
    ]
    blocks = []
    for place, panel in enumerate(panels, start=1):
        rows: list[list[object]] = [
            [point.instruction, point.model, point.judge, point.people, point.raters]
            for point in (panel.report.points if panel.report else ())
        ]
        table = marked(Table(points, rows), [panel.judge.name] * len(rows))
        blocks.append(Block(f"points-{place}", "", figure=panel.figure, table=table))
        rows = [
            [row.name, *people_cells(found.judge), found.people.value, found.chance, found.n]
            for row in panel.items
            if (found := row.agreement)
        ]
        table = marked(Table(items, rows), [panel.judge.name] * len(rows))
        blocks.append(Block(f"items-{place}", "", figure=panel.items_figure, table=table))
    return blocks


def _reason(error: NothingToRead) -> str:
    if isinstance(error, NothingShared):
        return gettext("People and this judge have not rated any of the same responses yet.")
    return gettext("This study has no overall scores from people, so the judge cannot be compared with them.")


def _too_few_responses() -> str:
    return gettext("A correlation needs at least %(least)d responses that both scored.") % {"least": LEAST_RESPONSES}


def _opening(judge: Rater, report: JudgeComparison) -> str:
    shared = ngettext("%(n)s response", "%(n)s responses", report.n) % {"n": f"{report.n:,}"}
    if report.correlation is None:
        return gettext("%(judge)s and people have %(responses)s in common; no correlation can be computed: %(why)s") % {
            "judge": judge.name,
            "responses": shared,
            "why": reason_words(report.correlation_why, too_few=_too_few_responses()),
        }
    found = report.correlation
    rho = found.spearman
    first = simpson_words(judge.name, found)
    said = gettext(
        "The points of %(judge)s and people's scores have a Spearman correlation of %(rho)s on %(responses)s, p %(p)s."
    )
    if rho.p is None:
        said = gettext(
            "The points of %(judge)s and people's scores have a Spearman correlation of %(rho)s on %(responses)s."
        )
    opening = said % {"judge": judge.name, "rho": people_words(rho), "responses": shared, "p": p_text(rho.p)}
    return f"{first} {opening}" if first else opening


def p_text(p: float | None) -> str:
    """'= 0.03' or '< 0.001'; a dash where no p is stated."""
    if p is None:
        return "–"
    return "< 0.001" if p < 0.001 else f"= {p:.3f}" if p < 0.1 else f"= {p:.2f}"


def _caption(report: JudgeComparison) -> str:
    axes = gettext(
        "Each point is a response, with the judge's points on the horizontal axis and the mean of people's overall"
        " scores on the vertical axis."
    )
    found = report.correlation
    if found is None:
        return axes
    return " ".join([axes, *populations_meaning([found.spearman])])


def _scatter(judge: Rater, report: JudgeComparison) -> str:
    grouped = len({point.model for point in report.points}) <= GROUPS_SHOWN
    points = [Point(point.judge, point.people, group=point.model if grouped else "") for point in report.points]
    return scatter(
        points,
        title=gettext("The judge's points against people's overall scores"),
        x_title=with_mark(gettext("Judge's points, 0 to 100"), judge.name),
        y_title=gettext("People's mean overall score, 0 to 10"),
    )


def _coefficients(report: JudgeComparison) -> list[CoefficientRow]:
    if report.correlation is None:
        return []
    rows = []
    for key, name in COEFFICIENTS:
        found: PeopleEstimate = getattr(report.correlation, key)
        equal: float | None = getattr(report.equal, key).value if report.equal else None
        rows.append(CoefficientRow(name, people_cells(found), p_text(found.p), equal))
    for name, one in way_names(report.correlation)[1:]:
        if one is not None:
            rows.append(CoefficientRow(name, people_cells(one), p_text(one.p), None))
    return rows


def _questions(study: Study) -> dict[str, str]:
    """Each item's question in the reader's language; if rubrics differ in wording, the first one's."""
    found: dict[str, str] = {}
    for criterion in study.asked_criteria().filter(role=Criterion.Role.ITEM).order_by("position", "pk"):
        found.setdefault(criterion.key, criterion.question)
    return found


def _item(item: ItemAgreement | NoItemAgreement, question: str) -> ItemRow:
    name = criterion_words(item.key)
    if isinstance(item, NoItemAgreement):
        return ItemRow(name, question, None, reason_words(item.why, too_few=no_verdict_words()))
    return ItemRow(name, question, item)


def _items_figure(judge: Rater, known: Sequence[tuple[str, ItemAgreement]]) -> str:
    bars = [
        Bar(name, item.judge.value, *((item.judge.low, item.judge.high) if item.judge.interval_kind != "none" else ()))
        for name, item in known
    ]
    return interval_bars(
        bars,
        title=gettext("Agreement of the judge with people, by item"),
        x_title=with_mark(gettext("Share of matches with the most frequent label of all raters but one"), judge.name),
        reference=[Bar(name, item.people.value) for name, item in known],
        series=(gettext("judge"), gettext("people among themselves")),
    )


def _weights_text(weighting: Weighting) -> str:
    if weighting.fit is None:
        return gettext("equal weights")
    return gettext("the weights %(name)s") % {"name": weighting.name}
