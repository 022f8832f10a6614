"""The detailed page on judges: LLMEval's tables of bias and gaps, prediction-powered estimates, labels needed.

`judge_depth_blocks` can be shown on any page with the template calibration/_blocks.html.
"""

from collections.abc import Sequence

from django.utils.translation import gettext

from annotation.models import Study
from calibration.figures.drawing import number
from calibration.figures.spreads import RangeRow, ranges
from calibration.reports.codec import Missing
from calibration.reports.judges import JudgesInDepth, PairJudgeReport, ReviewReport, ScoreJudge, ScoreJudgeReport
from calibration.reports.people.sways import Sways
from calibration.statistics.judges.estimates import PeopleEstimate
from calibration.web.blocks import Block, Cells, Choice, Column, ResultPage, Table, span_of
from calibration.web.failed_judges import all_marked, judge_label, marked
from calibration.web.judges.blocks import (
    either_cells,
    either_ends,
    everyone,
    family_block,
    matches_blocks,
    reasonable_block,
    reasonable_opening,
    soft_blocks,
    swap_block,
    sways_meaning,
)
from calibration.web.judges.correlations import correlation_block, turned_round
from calibration.web.judges.powered import powered_block, powered_wins_block, separate_block, separate_sentence
from calibration.web.judges.truth import judged_truth_blocks
from calibration.web.messages.intervals import estimate_words
from calibration.web.messages.names import named_criterion
from calibration.web.messages.people_estimates import people_columns, people_words, populations_meaning
from calibration.web.messages.reasons import error_words, missing_notes, reason_of
from calibration.web.messages.statistics import by_items, cluster_words
from calibration.web.weights.page import criterion_questions


def judges_depth_title() -> str:
    return gettext("What sways the judges, and what do they add to people's scores?")


def judges_depth_page(study: Study, report: JudgesInDepth) -> ResultPage:
    if isinstance(report, Missing):
        return ResultPage(judges_depth_title(), reason_of(report), [], [])
    return ResultPage(
        title=judges_depth_title(),
        opening=_opening(report, items=by_items(study)),
        choices=_choices(report),
        blocks=judge_depth_blocks(study, report),
        method=_method(report.kind, cluster_words(study)),
        sources=[
            "LLMEval (arXiv 2312.07398), tables 3 to 5",
            "HREF (arXiv 2412.15524), appendix J",
            "Angelopoulos, Duchi & Zrnic (arXiv 2311.01453)",
        ],
        code=_code(report.kind),
    )


def _code(kind: str) -> list[str]:
    shared = ["calibration.statistics.judges.calibration", "calibration.statistics.shares"]
    if kind == "pairs":
        return [
            "calibration.statistics.judges.bias",
            "calibration.statistics.judges.comparison",
            "calibration.statistics.agreement.leave_one_out",
            *shared,
        ]
    if kind == "scores":
        return [
            "calibration.statistics.judges.bias",
            "calibration.statistics.judges.correlations",
            "calibration.statistics.judges.prediction_powered",
            *shared,
        ]
    return ["calibration.statistics.shares"]


def judge_depth_blocks(study: Study, report: JudgesInDepth) -> list[Block]:
    if isinstance(report, Missing):
        return []
    reasonable, items = reasonable_block(study, report.reasonable), by_items(study)
    if isinstance(report, ReviewReport):
        return [reasonable]
    if isinstance(report, PairJudgeReport):
        return [
            *matches_blocks(report.judges, items=items),
            _position(report, items=items),
            swap_block(report.people, report.judges, items=items),
            _length(report, items=items),
            *soft_blocks(report.judges, pairs=True, items=items),
            family_block(report.judges, items=items),
            *(powered_wins_block(one.judge, one.wins, place, items=items) for place, one in enumerate(report.judges)),
            *judged_truth_blocks(study, report.truth),
            reasonable,
        ]
    blocks = [
        *soft_blocks(report.judges, pairs=False, items=items),
        *judged_truth_blocks(study, report.truth),
        reasonable,
    ]
    for place, judge in enumerate(report.judges):
        blocks += [
            powered_block(judge, place, items=items),
            separate_block(judge, place, items=items),
            powered_wins_block(judge.judge, judge.wins, place, items=items),
            correlation_block(study, judge, place),
            _gaps(study, judge, place),
        ]
    return blocks


def _opening(report: ReviewReport | PairJudgeReport | ScoreJudgeReport, *, items: bool) -> str:
    if isinstance(report, ReviewReport):
        return reasonable_opening(report.reasonable, items=items)
    if isinstance(report, PairJudgeReport):
        named = [("", report.people), *((judge.judge, judge.sways) for judge in report.judges)]
        sentences = [_length_sentence(name, sways, items=items) for name, sways in named]
        return " ".join(filter(None, sentences)) or error_words("NoLengths")
    first = turned_round(report.judges)
    if first:
        return first
    for judge in report.judges:
        if not isinstance(judge.separate, Missing):
            return separate_sentence(judge.judge, judge.separate, items=items)
    known = any(not isinstance(judge.powered, Missing) for judge in report.judges)
    why = report.judges[0].separate if known else report.judges[0].powered
    return reason_of(why) if isinstance(why, Missing) else ""


def _length_sentence(name: str, sways: Sways, *, items: bool) -> str:
    if isinstance(sways.length, Missing) or isinstance(sways.length[0], Missing):
        return ""
    people = _people_length(sways, 0)
    rate = estimate_words(sways.length[0].rate, items=items) if people is None else people_words(people, items=items)
    words = {"judge": name, "rate": rate}
    if not name:
        return gettext("People prefer the longer response by a margin of %(rate)s of the pairs.") % words
    return gettext("%(judge)s prefers it by a margin of %(rate)s.") % words


def _people_length(sways: Sways, place: int) -> PeopleEstimate | None:
    """Return people's length bias rate at a threshold for both populations; None for a judge."""
    found = sways.for_both.length[place] if sways.for_both and place < len(sways.for_both.length) else None
    return None if isinstance(found, Missing) else found


def _people_wins(sways: Sways) -> PeopleEstimate | None:
    """Return how often people prefer the first side, for both populations; None for a judge."""
    found = sways.for_both.first_wins if sways.for_both else None
    return None if isinstance(found, Missing) else found


def _choices(report: ReviewReport | PairJudgeReport | ScoreJudgeReport) -> list[Choice]:
    if not isinstance(report, ScoreJudgeReport):
        return []
    powered = [judge.powered for judge in report.judges if not isinstance(judge.powered, Missing)]
    models = sorted({row.model for rows in powered for row in rows})
    if len(models) < 2:
        return []
    options = [("", gettext("the two closest models")), *((name, name) for name in models)]
    return [
        Choice("one", gettext("Separate"), options, report.one),
        Choice("other", gettext("from model"), options, report.other),
    ]


def _position(report: PairJudgeReport, *, items: bool) -> Block:
    title = gettext("Position bias of people and judges")
    each = everyone(report.people, report.judges)
    known = [
        (name, position, _people_wins(sways))
        for name, sways in each
        if not isinstance(position := sways.position, Missing)
    ]
    silent = missing_notes((name, sways.position) for name, sways in each)
    if not known:
        return Block("position", title, reason=" ".join(silent))
    table = Table(
        [
            Column(gettext("Rated by")),
            Column(gettext("Pairs"), 0),
            Column(gettext("Decided"), 0),
            *people_columns(gettext("First side wins"), 3),
        ],
        [
            [name, position.n, position.n_decided, *either_cells(position.first_wins, people)]
            for name, position, people in known
        ],
    )
    shown = [(judge_label(name), either_ends(position.first_wins, people)) for name, position, people in known]
    table = marked(table, [name for name, _, _ in known])
    figure = _spans(shown, title, gettext("First side wins"), 0.5)
    notes = [*silent, *sways_meaning([people for _, _, people in known], items=items)]
    return Block("position", title, figure=figure, table=table, notes=notes)


def _length(report: PairJudgeReport, *, items: bool) -> Block:
    title = gettext("Length bias of people and judges")
    named = [
        (name, part, _people_length(sways, place))
        for name, sways in everyone(report.people, report.judges)
        for place, part in enumerate([sways.length] if isinstance(sways.length, Missing) else sways.length)
    ]
    known = [(name, length, people) for name, length, people in named if not isinstance(length, Missing)]
    silent = missing_notes((name, length) for name, length, _ in named)
    if not known:
        return Block("length", title, reason=" ".join(silent))
    table = Table(
        [
            Column(gettext("Rated by")),
            Column(gettext("Minimum length difference (characters)"), 0),
            Column(gettext("Pairs"), 0),
            Column(gettext("Longer wins"), 3),
            Column(gettext("Tie"), 3),
            Column(gettext("Longer loses"), 3),
            *people_columns(gettext("Bias rate"), 3),
        ],
        [
            [
                name,
                length.threshold,
                length.n,
                length.win_share.value,
                length.tie_share.value,
                length.loss_share.value,
                *either_cells(length.rate, people),
            ]
            for name, length, people in known
        ],
    )
    shown = [
        (judge_label(name), either_ends(length.rate, people))
        for name, length, people in known
        if length.threshold == known[0][1].threshold
    ]
    figure = _spans(shown, title, gettext("Share preferring the longer minus share preferring the shorter"), 0.0)
    table = marked(table, [name for name, _, _ in known])
    notes = [*silent, *sways_meaning([people for _, _, people in known], items=items)]
    return Block("length", title, figure=figure, table=table, notes=notes)


def _spans(rows: Sequence[tuple[str, Cells]], title: str, x_title: str, rule: float) -> str:
    return ranges(
        [RangeRow(name, [span_of(cells)]) for name, cells in rows],
        title=title,
        x_title=x_title,
        series=[title],
        step=0.01,
        rule=rule,
    )


def _gaps(study: Study, judge: ScoreJudge, place: int) -> Block:
    title = gettext("Gaps between %(judge)s and people") % {"judge": judge.judge}
    found = judge.gaps
    if isinstance(found, Missing):
        return Block(f"gaps-{place}", title, reason=reason_of(found))
    questions = criterion_questions(study)
    named = [
        (named_criterion(questions, str(row.criterion)), row, None if isinstance(row.apart, Missing) else row.apart)
        for row in found
    ]
    table = Table(
        [
            Column(gettext("Criterion")),
            Column("n", 0),
            *(Column(gettext("At least %(points)s apart") % {"points": f"{x:g}"}, 3) for x in found[0].at_least),
            *people_columns(gettext("Judge minus people"), 3),
        ],
        [
            [name, row.n, *(share.value for share in row.shares), *either_cells(row.mean_gap, apart)]
            for name, row, apart in named
        ],
    )
    figure = _spans(
        [(name, either_ends(row.mean_gap, apart)) for name, row, apart in named],
        title,
        gettext("Judge minus people, in points of the criterion's scale"),
        0.0,
    )
    widest, row, apart = max(named, key=lambda entry: abs(entry[1].mean_gap.value))
    only = gettext("The mean gap on “%(criterion)s” is %(gap)s on its own scale.")
    several = gettext(
        "The widest mean gap is on “%(criterion)s”: %(gap)s on its own scale. Its interval is not corrected for choosing "
        "the widest, and whether it is wider than the others is not tested here."
    )
    answer = (only if len(named) == 1 else several) % {
        "criterion": widest,
        "gap": number(row.mean_gap.value) if apart is None else people_words(apart, items=by_items(study)),
    }
    notes = populations_meaning((apart for _, _, apart in named), items=by_items(study))
    block = Block(f"gaps-{place}", title, answer=answer, figure=figure, table=table, notes=notes, folded=True)
    return all_marked(block, judge.judge)


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
        "verdict changes by 1; a person's slope is measured in the same way against the other people. The mean error "
        "is the mean distance between the groups of verdicts and people; it is above 0 by chance alone."
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
            "Correlations are between the judge's score of a response and the mean of people's scores: over all responses, "
            "and of what is left of both without the mean of the model or of the instruction. Intervals are on Fisher's "
            "scale with Student's t and leave out whole %(of)s and raters in turn; the p value inverts the interval. "
            "Correlations of models' mean scores take the models as the units."
        )
        % {"of": of},
        soft,
        reviewed,
    ]
