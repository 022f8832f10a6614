"""The contents of the page that compares a judge with people, in the reader's language."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext, ngettext

from annotation.models import Criterion, Rater, Study
from calibration.data.frames import NothingToRead
from calibration.figures.charts import Bar, Point, interval_bars, scatter
from calibration.web.blocks import Block, Column, Table
from calibration.web.messages.intervals import stated
from calibration.web.messages.statistics import criterion_words, interval_meaning, reason_words, with_interval
from judging.comparison.judge_against_people import NothingShared, compare
from judging.leaderboards.weighting import EQUAL, MissingWeights, Weighting
from judging.scores.points import NoVerdicts, WithoutWeight

POINTS_LISTED = 200
GROUPS_SHOWN = 4
COEFFICIENTS = (("spearman", "Spearman's ρ"), ("kendall", "Kendall's τ-b"), ("pearson", "Pearson's r"))


@dataclass(frozen=True)
class ComparisonPanel:
    """`reason` says why there is nothing to show; everything else is then empty."""

    judge: Rater
    reason: str = ""
    opening: str = ""
    figure: str = ""
    caption: str = ""
    weights: str = ""
    own_weights: bool = False
    result: Mapping[str, Any] = field(default_factory=dict)
    coefficients: list[dict[str, Any]] = field(default_factory=list)
    items: list[dict[str, Any]] = field(default_factory=list)
    items_figure: str = ""
    items_caption: str = ""
    points: list[Mapping[str, Any]] = field(default_factory=list)
    points_left_out: int = 0


def comparison_panel(study: Study, judge: Rater, weighting: Weighting) -> ComparisonPanel:
    """Compute the panel, or take it from the cache if nothing has changed."""
    try:
        result = compare(study, judge, weighting)
    except MissingWeights:
        return comparison_panel(study, judge, Weighting(EQUAL))
    except NothingToRead as error:
        return ComparisonPanel(judge, reason=_reason(error))
    except (NoVerdicts, WithoutWeight):
        return ComparisonPanel(judge, reason=gettext("This judge has no usable verdicts in this study."))
    names = _questions(study)
    points = sorted(result["points"], key=lambda point: (point["instruction"], point["model"]))
    items = [_item(item, names) for item in result["items"]]
    return ComparisonPanel(
        judge=judge,
        opening=_opening(judge, result),
        figure=_scatter(result),
        caption=_caption(result),
        weights=_weights_words(weighting),
        own_weights=result["own_weights"],
        result=result,
        coefficients=_coefficients(result),
        items=items,
        items_figure=_items_figure(items),
        items_caption=_items_caption(items),
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
        Column(gettext("Judge"), 3),
        Column(gettext("From"), 3),
        Column(gettext("To"), 3),
        Column(gettext("People"), 3),
        Column(gettext("Chance"), 3),
        Column(gettext("Responses"), 0),
    ]
    found = []
    for place, panel in enumerate(panels, start=1):
        rows = [
            [one["instruction"], one["model"], one["judge"], one["people"], one["raters"]]
            for one in panel.result.get("points", [])
        ]
        found.append(Block(f"points-{place}", "", figure=panel.figure, table=Table(points, rows)))
        known = [one for one in panel.items if one["loo"] is not None]
        rows = [[one["name"], one["loo"], *stated(one), one["people"], one["chance"], one["n"]] for one in known]
        found.append(Block(f"items-{place}", "", figure=panel.items_figure, table=Table(items, rows)))
    return found


def _reason(error: NothingToRead) -> str:
    if isinstance(error, NothingShared):
        return gettext("People and this judge have not rated any of the same responses yet.")
    return gettext("This study has no overall scores from people, so the judge cannot be compared with them.")


def _opening(judge: Rater, result: Mapping[str, Any]) -> str:
    found = result["correlation"]
    shared = ngettext("%(n)d response", "%(n)d responses", result["n"]) % {"n": result["n"]}
    if found is None:
        return gettext("%(judge)s and people have %(responses)s in common; no correlation can be computed: %(why)s") % {
            "judge": judge.name,
            "responses": shared,
            "why": reason_words(result["correlation_why"]),
        }
    rho = found["spearman"]
    return gettext(
        "The points of %(judge)s and people's scores have a Spearman correlation of %(rho)s on %(responses)s, p %(p)s."
    ) % {
        "judge": judge.name,
        "responses": shared,
        "rho": with_interval(rho["value"], rho["low"], rho["high"], found["interval_kind"]),
        "p": p_text(rho["p"]),
    }


def p_text(p: float) -> str:
    """'= 0.03' or '< 0.001'."""
    return "< 0.001" if p < 0.001 else f"= {p:.3f}" if p < 0.1 else f"= {p:.2f}"


def _caption(result: Mapping[str, Any]) -> str:
    said = gettext(
        "Each point is a response, with the judge's points on the horizontal axis and the mean of people's overall"
        " scores on the vertical axis."
    )
    found = result["correlation"]
    if found is None:
        return said
    return said + " " + interval_meaning(found["interval_kind"], found["clusters"], gettext("instructions"))


def _scatter(result: Mapping[str, Any]) -> str:
    models = sorted({point["model"] for point in result["points"]})
    grouped = len(models) <= GROUPS_SHOWN
    points = [
        Point(point["judge"], point["people"], group=point["model"] if grouped else "") for point in result["points"]
    ]
    return scatter(
        points,
        title=gettext("The judge's points against people's overall scores"),
        x_title=gettext("Judge's points, 0 to 100"),
        y_title=gettext("People's mean overall score, 0 to 10"),
    )


def _coefficients(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    found, equal = result["correlation"], result["equal"]
    if found is None:
        return []
    return [
        {
            "name": name,
            **found[key],
            "stated": found["interval_kind"] != "none",
            "p_text": p_text(found[key]["p"]),
            "equal": equal[key]["value"] if equal else None,
        }
        for key, name in COEFFICIENTS
    ]


def _questions(study: Study) -> dict[str, str]:
    """Each item's question in the reader's language; if rubrics differ in wording, the first one's."""
    found: dict[str, str] = {}
    rubrics = study.tasks.order_by().values("answer_rubric").distinct()
    for criterion in Criterion.objects.filter(rubric__in=rubrics, role=Criterion.Role.ITEM).order_by("position", "pk"):
        found.setdefault(criterion.key, criterion.question)
    return found


def _item(item: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    question = names.get(item["key"], "")
    reason = reason_words(item["why"]) if item["loo"] is None else ""
    return {**item, "name": criterion_words(item["key"]), "question": question, "reason": reason}


def _items_figure(items: list[dict[str, Any]]) -> str:
    shown = [item for item in items if item["loo"] is not None]
    if not shown:
        return ""
    bars = [
        Bar(item["name"], item["loo"], *((item["low"], item["high"]) if item["interval_kind"] != "none" else ()))
        for item in shown
    ]
    return interval_bars(
        bars,
        title=gettext("Agreement of the judge with people, by item"),
        x_title=gettext("Share of matches with the most frequent label of all raters but one"),
        reference=[Bar(item["name"], item["people"]) for item in shown],
        series=(gettext("judge"), gettext("people among themselves")),
    )


def _items_caption(items: list[dict[str, Any]]) -> str:
    """Items may be judged on different numbers of instructions and then have different kinds of interval."""
    shown = [item for item in items if item["loo"] is not None]
    if not shown:
        return ""
    fewest, most = min(item["clusters"] for item in shown), max(item["clusters"] for item in shown)
    if fewest == most:
        return interval_meaning(shown[0]["interval_kind"], most, gettext("instructions"))
    return gettext(
        "Each item was judged on %(fewest)d to %(most)d instructions. With 20 or more instructions, lines are 95 "
        "%% bootstrap intervals over them; with fewer, they show the range over leaving out one instruction at a "
        "time."
    ) % {"fewest": fewest, "most": most}


def _weights_words(weighting: Weighting) -> str:
    if weighting.fit is None:
        return gettext("equal weights")
    return gettext("the weights %(name)s") % {"name": weighting.name}
