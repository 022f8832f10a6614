"""What the page 'judges against people' shows of one judge, in the reader's language."""

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
from judging.comparison.judge_against_people import compare
from judging.leaderboards.weighting import EQUAL, MissingWeights, Weighting
from judging.scores.points import NoVerdicts, WithoutWeight

POINTS_LISTED = 200
GROUPS_SHOWN = 4
COEFFICIENTS = (("spearman", "Spearman's ρ"), ("kendall", "Kendall's τ-b"), ("pearson", "Pearson's r"))


@dataclass(frozen=True)
class ComparisonPanel:
    """`reason` says why there is nothing to show, and then all else is empty."""

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
    """Computed, or taken from the cache where nothing has changed."""
    try:
        result = compare(study, judge, weighting)
    except MissingWeights:
        return comparison_panel(study, judge, Weighting(EQUAL))
    except NothingToRead as error:
        return ComparisonPanel(judge, reason=_reason(error))
    except (NoVerdicts, WithoutWeight):
        return ComparisonPanel(judge, reason=gettext("This judge has no usable verdict in this study."))
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
    """Each panel's figures and tables for taking away: "points-1" and "items-1" of the first judge, and so on."""
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
    if type(error).__name__ == "NothingShared":
        return gettext("People and this judge have no response in common yet.")
    return gettext("Nobody has given an overall score in this study, so there is nothing to hold the judge against.")


def _opening(judge: Rater, result: Mapping[str, Any]) -> str:
    found = result["correlation"]
    shared = ngettext("%(n)d response", "%(n)d responses", result["n"]) % {"n": result["n"]}
    if found is None:
        return gettext("%(judge)s and people share %(responses)s; no correlation can be computed: %(why)s") % {
            "judge": judge.name,
            "responses": shared,
            "why": reason_words(result["correlation_why"]),
        }
    rho = found["spearman"]
    return gettext("%(judge)s ranks %(responses)s as people do with a Spearman correlation of %(rho)s, p %(p)s.") % {
        "judge": judge.name,
        "responses": shared,
        "rho": with_interval(rho["value"], rho["low"], rho["high"], found["interval_kind"]),
        "p": p_text(rho["p"]),
    }


def p_text(p: float) -> str:
    """'= 0.03' or '< 0.001'."""
    return "< 0.001" if p < 0.001 else f"= {p:.3f}" if p < 0.1 else f"= {p:.2f}"


def _caption(result: Mapping[str, Any]) -> str:
    said = gettext("Each point is a response: the judge's points across, the mean of people's overall scores upward.")
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
        y_title=gettext("Mean overall score of people, 0 to 10"),
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
    """Each item's question in the reader's language; where rubrics word it differently, the first one's."""
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
        title=gettext("Agreement of the judge with people on each item"),
        x_title=gettext("Share of matches with the most frequent label of all people but one"),
        reference=[Bar(item["name"], item["people"]) for item in shown],
        series=(gettext("judge"), gettext("people among themselves")),
    )


def _items_caption(items: list[dict[str, Any]]) -> str:
    """Items may have been judged on different numbers of instructions, and so have ends of different kinds."""
    shown = [item for item in items if item["loo"] is not None]
    if not shown:
        return ""
    fewest, most = min(item["clusters"] for item in shown), max(item["clusters"] for item in shown)
    if fewest == most:
        return interval_meaning(shown[0]["interval_kind"], most, gettext("instructions"))
    return gettext(
        "Each item was judged on %(fewest)d to %(most)d instructions. From 20 on, lines are 95 %% intervals by a "
        "bootstrap over them; under 20 they span what comes out when any one of them is left out."
    ) % {"fewest": fewest, "most": most}


def _weights_words(weighting: Weighting) -> str:
    if weighting.fit is None:
        return gettext("equal weights")
    return gettext("the weights %(name)s") % {"name": weighting.name}
