"""The detailed page on judges: LLMEval's tables of bias and gaps, prediction-powered estimates, labels needed.

`judge_depth_blocks` can be shown on any page with the template calibration/_blocks.html.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext

from annotation.models import Study
from calibration.figures.drawing import number
from calibration.figures.spreads import RangeRow, Span, ranges
from calibration.reports.registry import Plain, missing
from calibration.web.blocks import Block, Choice, Column, ResultPage, Table
from calibration.web.judges.blocks import (
    correlation_block,
    family_block,
    matches_blocks,
    reasonable_block,
    reasonable_opening,
    soft_blocks,
    swap_block,
)
from calibration.web.messages.intervals import ends_words, stated
from calibration.web.messages.names import criterion_name
from calibration.web.messages.reasons import reason_of
from calibration.web.messages.statistics import by_items, cluster_words


def judges_depth_title() -> str:
    return gettext("What sways the judges, and what do they add to people's scores?")


def judges_depth_page(study: Study, report: Plain) -> ResultPage:
    if missing(report):
        return ResultPage(judges_depth_title(), reason_of(report), [], [])
    return ResultPage(
        title=judges_depth_title(),
        opening=_opening(report, items=by_items(study)),
        choices=_choices(report),
        blocks=judge_depth_blocks(study, report),
        method=_method(report["kind"], cluster_words(study)),
        sources=[
            "LLMEval (arXiv 2312.07398), tables 3 to 5",
            "HREF (arXiv 2412.15524), appendix J",
            "Angelopoulos, Duchi & Zrnic (arXiv 2311.01453)",
        ],
        code=_code(report["kind"]),
    )


def _code(kind: str) -> list[str]:
    shared = ["calibration.statistics.judges.calibration", "calibration.statistics.shares"]
    if kind == "pairs":
        return [
            "calibration.statistics.judges.bias",
            "calibration.statistics.judges.comparison",
            "calibration.statistics.agreement.coefficients",
            *shared,
        ]
    if kind == "scores":
        return [
            "calibration.statistics.judges.bias",
            "calibration.statistics.judges.comparison",
            "calibration.statistics.judges.prediction_powered",
            *shared,
        ]
    return ["calibration.statistics.shares"]


def judge_depth_blocks(study: Study, report: Plain) -> list[Block]:
    if missing(report):
        return []
    if report["kind"] == "reviews":
        return [reasonable_block(study, report["reasonable"], opens=True)]
    reasonable = reasonable_block(study, report["reasonable"])
    judges, items = report["judges"], by_items(study)
    if report["kind"] == "pairs":
        people = report["people"]
        return [
            *matches_blocks(judges),
            _position(report),
            swap_block(people, judges, items=items),
            _length(report),
            *soft_blocks(judges, pairs=True, items=items),
            family_block(judges, items=items),
            reasonable,
        ]
    blocks = [*soft_blocks(judges, pairs=False, items=items), reasonable]
    for place, one in enumerate(judges):
        blocks += [
            _powered(one, place),
            _separate(one, place, items=items),
            correlation_block(study, one, place),
            _gaps(study, one, place),
        ]
    return blocks


def _opening(report: Plain, *, items: bool) -> str:
    if report["kind"] == "reviews":
        return reasonable_opening(report["reasonable"], items=items)
    judges = report["judges"]
    if report["kind"] == "pairs":
        rows = [("", report["people"]), *((one["judge"], one) for one in judges)]
        said = [_length_sentence(name, one, items=items) for name, one in rows]
        return " ".join(one for one in said if one) or reason_of({"why": "NoLengths"})
    for one in judges:
        if not missing(one["separate"]):
            return _separate_sentence(one, items=items)
    known = [one for one in judges if not missing(one["powered"])]
    return reason_of(judges[0]["separate"] if known else judges[0]["powered"])


def _length_sentence(name: str, one: Mapping[str, Any], *, items: bool) -> str:
    rows = one["length"]
    if missing(rows) or missing(rows[0]):
        return ""
    rate = rows[0]["rate"]
    words = {
        "judge": name,
        "rate": ends_words(rate["value"], rate["low"], rate["high"], rate["interval_kind"], items=items),
    }
    if not name:
        return gettext("People prefer the longer response by a margin of %(rate)s of the pairs.") % words
    return gettext("%(judge)s prefers it by a margin of %(rate)s.") % words


def _choices(report: Plain) -> list[Choice]:
    if report["kind"] != "scores":
        return []
    models = sorted({row["model"] for one in report["judges"] if not missing(one["powered"]) for row in one["powered"]})
    if len(models) < 2:
        return []
    options = [("", gettext("the two closest models")), *((name, name) for name in models)]
    return [
        Choice("one", gettext("Separate"), options, report["one"]),
        Choice("other", gettext("from model"), options, report["other"]),
    ]


def _position(report: Plain) -> Block:
    title = gettext("Position bias of people and judges")
    rows, silent = [], []
    for name, one in [(gettext("People"), report["people"]), *((one["judge"], one) for one in report["judges"])]:
        found = one["position"]
        if missing(found):
            silent.append(f"{name}: {reason_of(found)}")
        else:
            wins = found["first_wins"]
            rows.append([name, found["n"], found["n_decided"], wins["value"], *stated(wins)])
    if not rows:
        return Block("position", title, reason=" ".join(silent))
    table = Table(
        [
            Column(gettext("Rated by")),
            Column(gettext("Pairs"), 0),
            Column(gettext("Decided"), 0),
            Column(gettext("First side wins"), 3),
            Column(gettext("From"), 3),
            Column(gettext("To"), 3),
        ],
        rows,
    )
    figure = _spans([(row[0], row[3], row[4], row[5]) for row in rows], title, gettext("First side wins"), 0.5)
    return Block("position", title, figure=figure, table=table, notes=silent)


def _length(report: Plain) -> Block:
    title = gettext("Length bias of people and judges")
    rows, silent = [], []
    for name, one in [(gettext("People"), report["people"]), *((one["judge"], one) for one in report["judges"])]:
        if missing(one["length"]):
            silent.append(f"{name}: {reason_of(one['length'])}")
            continue
        for found in one["length"]:
            if missing(found):
                silent.append(f"{name}: {reason_of(found)}")
            else:
                rows.append(
                    [
                        name,
                        found["threshold"],
                        found["n"],
                        found["win_share"]["value"],
                        found["tie_share"]["value"],
                        found["loss_share"]["value"],
                        found["rate"]["value"],
                        *stated(found["rate"]),
                    ]
                )
    silent = list(dict.fromkeys(silent))
    if not rows:
        return Block("length", title, reason=" ".join(silent))
    table = Table(
        [
            Column(gettext("Rated by")),
            Column(gettext("Minimum length difference (characters)"), 0),
            Column(gettext("Pairs"), 0),
            Column(gettext("Longer wins"), 3),
            Column(gettext("Tie"), 3),
            Column(gettext("Longer loses"), 3),
            Column(gettext("Bias rate"), 3),
            Column(gettext("From"), 3),
            Column(gettext("To"), 3),
        ],
        rows,
    )
    shown = [(row[0], row[6], row[7], row[8]) for row in rows if row[1] == rows[0][1]]
    figure = _spans(shown, title, gettext("Share preferring the longer minus share preferring the shorter"), 0.0)
    return Block("length", title, figure=figure, table=table, notes=silent)


def _spans(rows: Sequence[tuple[Any, ...]], title: str, x_title: str, rule: float) -> str:
    return ranges(
        [
            RangeRow(name, [Span(value, value if low is None else low, value if high is None else high)])
            for name, value, low, high in rows
        ],
        title=title,
        x_title=x_title,
        series=[title],
        step=0.01,
        rule=rule,
    )


def _powered(one: Mapping[str, Any], place: int) -> Block:
    title = gettext("Model means from people and %(judge)s together") % {"judge": one["judge"]}
    key, found = f"powered-{place}", one["powered"]
    if missing(found):
        return Block(key, title, reason=reason_of(found))
    known = [row for row in found if "powered" in row]
    if not known:
        return Block(
            key,
            title,
            reason=gettext(
                "People have scored every response that this judge scored. The judge adds information once it scores "
                "other responses as well."
            ),
        )
    figure = ranges(
        [RangeRow(row["model"], [_span(row["powered"]), _span(row["human_only"])]) for row in known],
        title=title,
        x_title=gettext("Mean score, 0 to 10"),
        step=0.01,
        series=[gettext("people and judge"), gettext("people alone")],
    )
    table = Table(
        [
            Column(gettext("Model")),
            Column(gettext("People's scores"), 0),
            Column(gettext("Additional scores by the judge"), 0),
            Column(gettext("Prediction-powered estimate"), 3),
            Column(gettext("From"), 3),
            Column(gettext("To"), 3),
            Column(gettext("People alone"), 3),
            Column(gettext("From"), 3),
            Column(gettext("To"), 3),
            Column(gettext("Weight on the judge"), 2),
            Column(gettext("Effective sample size"), 0),
        ],
        [
            [
                row["model"],
                row["n"],
                row["n_judge_only"],
                row["powered"]["value"],
                row["powered"]["low"],
                row["powered"]["high"],
                row["human_only"]["value"],
                row["human_only"]["low"],
                row["human_only"]["high"],
                row["power"],
                None if row["effective_n"] == "inf" else row["effective_n"],
            ]
            for row in known
        ],
    )
    return Block(key, title, figure=figure, table=table)


def _span(found: Mapping[str, Any]) -> Span:
    return Span(found["value"], found["low"], found["high"])


def _separate(one: Mapping[str, Any], place: int, *, items: bool) -> Block:
    title = gettext("Labels needed to separate two models (%(judge)s)") % {"judge": one["judge"]}
    found = one["separate"]
    if missing(found):
        return Block(f"separate-{place}", title, reason=reason_of(found))
    table = Table(
        [Column(gettext("Scores used")), Column(gettext("Labels per model"), 0)],
        [
            [gettext("people and judge, in total"), found["total"]],
            [gettext("people and judge, still needed"), found["more"]],
            [gettext("people alone, in total"), found["alone"]],
        ],
    )
    return Block(f"separate-{place}", title, answer=_separate_sentence(one, items=items), table=table)


def _separate_sentence(one: Mapping[str, Any], *, items: bool) -> str:
    found = one["separate"]
    powered = found["powered"]
    words = {
        "one": found["one"],
        "other": found["other"],
        "judge": one["judge"],
        "more": found["more"],
        "alone": found["alone"],
        "difference": ends_words(
            powered["value"], powered["low"], powered["high"], powered["interval_kind"], items=items
        ),
    }
    if found["separated"]:
        return (
            gettext(
                "With %(judge)s, %(one)s and %(other)s are already separated: they differ by %(difference)s out of 10 "
                "points."
            )
            % words
        )
    return (
        gettext(
            "With %(judge)s, %(one)s and %(other)s differ by %(difference)s out of 10 points. About %(more)d more "
            "human labels for each model would separate them (%(alone)d in total without the judge)."
        )
        % words
    )


def _gaps(study: Study, one: Mapping[str, Any], place: int) -> Block:
    title = gettext("Gaps between %(judge)s and people") % {"judge": one["judge"]}
    found = one["gaps"]
    if missing(found):
        return Block(f"gaps-{place}", title, reason=reason_of(found))
    limits = found[0]["at_least"]
    table = Table(
        [
            Column(gettext("Criterion")),
            Column("n", 0),
            *(Column(gettext("At least %(points)s apart") % {"points": f"{limit:g}"}, 3) for limit in limits),
            Column(gettext("Judge minus people"), 3),
            Column(gettext("From"), 3),
            Column(gettext("To"), 3),
        ],
        [
            [
                criterion_name(study, row["criterion"]),
                row["n"],
                *(share["value"] for share in row["shares"]),
                row["mean_gap"]["value"],
                *stated(row["mean_gap"]),
            ]
            for row in found
        ],
    )
    figure = _spans(
        [
            (criterion_name(study, row["criterion"]), gap["value"], *stated(gap))
            for row in found
            for gap in [row["mean_gap"]]
        ],
        title,
        gettext("Judge minus people, in points of the criterion's scale"),
        0.0,
    )
    widest = max(found, key=lambda row: abs(row["mean_gap"]["value"]))
    answer = gettext("The widest mean gap is on “%(criterion)s”: %(gap)s points.") % {
        "criterion": criterion_name(study, widest["criterion"]),
        "gap": number(widest["mean_gap"]["value"]),
    }
    return Block(f"gaps-{place}", title, answer=answer, figure=figure, table=table, folded=True)


def _method(kind: str, of: str) -> list[str]:
    reviewed = gettext(
        "Reasonable rate: the share of reviewers' findings that call a judge's answer to an item reasonable. "
        "Intervals resample whole %(of)s."
    ) % {"of": of}
    if kind == "reviews":
        return [reviewed]
    soft = gettext(
        "Graded verdicts: each level of a scale is converted to a share of the scale, from 0 to 1, and compared with "
        "the mean of people's shares on the same question. The slope is how much people's share changes when the "
        "verdict changes by 1. The mean error is the mean distance between the groups of verdicts and people; it is "
        "above 0 by chance alone."
    )
    if kind == "pairs":
        return [
            gettext(
                "The majority is the preference that more people gave than any other; pairs without one are left out. "
                "Leave-one-out agreement compares the judge with the most frequent preference of all people but one. "
                "Only the side of a preference counts here, and “both bad” is an answer of its own."
            ),
            gettext(
                "Length bias: how often the longer response wins, ties and loses in pairs with at least the given "
                "length difference. The bias rate is the share preferring the longer response minus the share "
                "preferring the shorter one. Position bias is the share of pairs without a tie that the first side "
                "wins. Intervals resample whole %(of)s."
            )
            % {"of": of},
            gettext(
                "Swapped sides: the same judge or person answers the same pair twice, with each response shown first "
                "once. Own family: the judge's points for models of its own family minus people's points for them in "
                "the same pairs."
            ),
            soft,
            reviewed,
        ]
    return [
        gettext(
            "Prediction-powered estimates combine the mean of people's scores with the judge's scores of responses "
            "that no person scored. The judge's scores are corrected by the judge's distance from people on responses "
            "that both scored. However wrong the judge is, the estimates are as unbiased as people's scores alone. "
            "Intervals are over whole %(of)s."
        )
        % {"of": of},
        gettext(
            "Gaps: the judge's score of a response minus the mean of people's scores, on the criterion's own scale, "
            "and how often the gap reaches the given size."
        ),
        gettext(
            "Correlations are between the judge's score of a response and the mean of people's scores, and between "
            "models' mean scores. The p value treats responses as independent; the interval resamples whole %(of)s."
        )
        % {"of": of},
        soft,
        reviewed,
    ]
