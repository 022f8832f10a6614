"""The page on agreement by criterion, category and cohort, and on whether a judge can replace people."""

from collections.abc import Mapping, Sequence

from django.utils.translation import gettext

from annotation.counters.work import work_of
from annotation.models import Study
from calibration.figures.charts import Bar, interval_bars
from calibration.figures.drawing import number
from calibration.reports.agreement_detail import (
    AGREEMENT_DETAIL,
    COEFFICIENTS,
    AgreementByGroup,
    AgreementDetail,
    GroupAgreement,
    JudgeTest,
    JudgeTests,
    detail_settings,
)
from calibration.reports.codec import Missing
from calibration.web.agreement.other_raters import measure_names
from calibration.web.blocks import Block, Column, ResultPage, Table, interval_cells
from calibration.web.failed_judges import judge_label, marked
from calibration.web.messages.intervals import ends_meaning, ends_words
from calibration.web.messages.names import criterion_name
from calibration.web.messages.people_estimates import people_cells, people_columns, people_words, populations_meaning
from calibration.web.messages.populations import both_columns, estimate_cells, said_for_both, widest
from calibration.web.messages.reasons import reason_of
from calibration.web.messages.statistics import by_items, cluster_words, criterion_words
from calibration.web.serving import PageKind
from calibration.web.weights.page import criterion_questions
from generation.models import Category


def detail_title() -> str:
    return gettext("Can a judge replace people, and who agrees on what?")


def detail_page(study: Study, report: AgreementDetail) -> ResultPage:
    if isinstance(report, Missing):
        return ResultPage(detail_title(), reason_of(report), [], [])
    return ResultPage(
        title=detail_title(),
        opening=_opening(report),
        about=gettext("Judges are tested on “%(criterion)s”.") % {"criterion": criterion_name(study, report.criterion)},
        blocks=[*_judge_blocks(report.judges, items=by_items(study)), *_groups(study, report.rows)],
        method=[
            gettext(
                "Alt-test: each rater in turn is left out, and the judge and that rater are compared item by item on "
                "how well each agrees with the other raters. For each rater, the hypothesis that the judge is worse by "
                "epsilon or more is tested over whole instructions, with a correction for testing several raters. The "
                "judge can replace people if it wins against at least half of them. It is shown that it cannot if the "
                "opposite hypothesis, that it is worse by epsilon or less, falls for more than half of them; otherwise "
                "nothing is shown, and the number of items of each rater is stated that would show it with 80 % power if "
                "the judge is as good as it was here. Epsilon is the loss that a judge's lower price makes up for: 0.2 "
                "against experts, 0.15 against skilled raters, 0.1 against a crowd."
            ),
            gettext(
                "Intervals for raters like these take instructions and raters as drawn again, those for exactly these "
                "raters only the instructions; with fewer than 20 instructions, these are the values when each one is left "
                "out. Nominal alpha only distinguishes equal from different labels, "
                "ordinal alpha compares ranks, and interval alpha compares squared distances. ICC requires that every "
                "rater has rated every task."
            ),
        ],
        sources=[
            "Calderon, Reichart & Dror (arXiv 2501.10970)",
            "HREF (arXiv 2412.15524), algorithm 1",
            "Krippendorff (2011)",
            "Fleiss (1971), Gwet (2014)",
        ],
        code=[
            "calibration.statistics.agreement.alternative_annotator",
            "calibration.statistics.agreement.leave_one_out",
            "calibration.statistics.agreement.alpha",
        ],
    )


DETAIL_PAGE = PageKind(
    report=AGREEMENT_DETAIL,
    settings=lambda study, query: detail_settings(query.get("criterion", "")),
    page=detail_page,
    title=detail_title,
    about_judges=True,
)


def _opening(report: AgreementByGroup) -> str:
    if isinstance(report.judges, Missing):
        agreement, both = report.rows[0].leave_one_out, report.rows[0].both["loo"]
        if isinstance(agreement, Missing):
            return reason_of(agreement)
        if isinstance(both, Missing):
            return reason_of(both)
        ranged = ends_words(agreement.rate, agreement.low, agreement.high, agreement.interval_kind)
        return gettext(
            "People agree with each other %(rate)s of the time; no judge can be tested against them here."
        ) % {"rate": ranged if both.these.kind == "none" else said_for_both(both)}
    known, first = _skilled(report.judges), report.judges[0].tests["skilled"]
    if isinstance(first, Missing) and not known:
        return reason_of(first)
    return " ".join(_judge_sentence(name, test) for name, test in known)


def _skilled(judges: Sequence[JudgeTests]) -> list[tuple[str, JudgeTest]]:
    """Select the judges, by name, that could be tested against skilled raters, with the test."""
    tests = [(row.judge, row.tests["skilled"]) for row in judges]
    return [(name, test) for name, test in tests if not isinstance(test, Missing)]


def _judge_sentence(name: str, test: JudgeTest) -> str:
    """State whether this judge can replace people, with its wins and how often it is as good as a random rater."""
    words = {
        "judge": name,
        "won": sum(contest.won for contest in test.raters),
        "lost": sum(contest.lost for contest in test.raters),
        "all": len(test.raters),
        "chance": people_words(test.advantage),
        "needed": number(test.needed or 0, 1),
    }
    if test.shown == "replaces":
        return (
            gettext(
                "%(judge)s can replace a skilled rater: it wins against %(won)d of these %(all)d raters and does at least "
                "as well as a randomly chosen rater on %(chance)s of the items."
            )
            % words
        )
    if test.shown == "does_not":
        return (
            gettext(
                "%(judge)s cannot replace a skilled rater: it is shown to be worse than %(lost)d of these %(all)d raters "
                "and does at least as well as a randomly chosen rater on %(chance)s of the items."
            )
            % words
        )
    if test.needed is None:
        return (
            gettext(
                "Whether %(judge)s can replace a skilled rater is not shown: it wins against %(won)d of these %(all)d "
                "raters and does at least as well as a randomly chosen rater on %(chance)s of the items. If it is as good "
                "as it was here, more items will not show that it can."
            )
            % words
        )
    return (
        gettext(
            "Whether %(judge)s can replace a skilled rater is not shown: there are too few items; about %(needed)s items "
            "of each rater would do. It wins against %(won)d of these %(all)d raters and does at least as well as a "
            "randomly chosen rater on %(chance)s of the items."
        )
        % words
    )


def _shown_words(test: JudgeTest) -> str:
    return {"replaces": gettext("yes"), "does_not": gettext("no"), "not_shown": gettext("not shown")}[test.shown]


def _judge_blocks(judges: Sequence[JudgeTests] | Missing, *, items: bool) -> list[Block]:
    title = gettext("Can a judge replace people?")
    if isinstance(judges, Missing):
        return [Block("replacing", title, reason=reason_of(judges))]
    who = {"experts": gettext("experts"), "skilled": gettext("skilled raters"), "crowd": gettext("a crowd")}
    rows: list[list[object]] = []
    notes = []
    for judge in judges:
        for kind, test in judge.tests.items():
            if isinstance(test, Missing):
                notes.append(f"{judge.judge}: {_too_few(test)}")
                continue
            rows.append(
                [
                    judge.judge,
                    who[kind],
                    test.epsilon,
                    test.winning_rate,
                    _shown_words(test),
                    *people_cells(test.advantage),
                    len(test.raters),
                    test.left_out,
                    test.needed,
                ]
            )
    if not rows:
        return [Block("replacing", title, reason=" ".join(dict.fromkeys(notes)))]
    known = [(name, test.advantage) for name, test in _skilled(judges)]
    bars = [Bar(judge_label(name), *interval_cells(found.value, found)) for name, found in known]
    figure = (
        interval_bars(
            bars,
            title=title,
            x_title=gettext("Share of items on which the judge does at least as well as a random rater"),
            rule=0.5,
            rule_label=gettext("half"),
        )
        if bars
        else ""
    )
    table = Table(
        [
            Column(gettext("Judge")),
            Column(gettext("Replaces")),
            Column("ε", 2),
            Column(gettext("Winning rate"), 2),
            Column(gettext("Can replace")),
            *people_columns(gettext("At least as good as a rater"), 3),
            Column(gettext("Raters"), 0),
            Column(gettext("Raters left out"), 0),
            Column(gettext("Items of each rater that would show it"), 0, optional=True),
        ],
        rows,
    )
    stands = populations_meaning((found for _name, found in known), items=items)
    return [
        Block(
            "replacing",
            title,
            figure=figure,
            table=marked(table, [str(row[0]) for row in rows]),
            notes=list(dict.fromkeys(notes)),
            caption=" ".join([gettext("Raters with fewer than 30 shared items are left out of the test."), *stands]),
        ),
        *_contests(judges),
    ]


def _too_few(test: Missing) -> str:
    if test.why == "TooFewRatings":
        return gettext("The test needs three raters who each rated at least 30 items that others rated too.")
    return reason_of(test)


def _contests(judges: Sequence[JudgeTests]) -> list[Block]:
    rows = [
        [
            name,
            contest.rater,
            contest.n,
            contest.judge_advantage,
            contest.rater_advantage,
            contest.p,
            contest.p_worse,
            gettext("yes") if contest.won else gettext("no"),
            gettext("yes") if contest.lost else gettext("no"),
        ]
        for name, test in _skilled(judges)
        for contest in test.raters
    ]
    if not rows:
        return []
    table = Table(
        [
            Column(gettext("Judge")),
            Column(gettext("Rater")),
            Column(gettext("Items"), 0),
            Column(gettext("Judge at least as good"), 3),
            Column(gettext("Rater at least as good"), 3),
            Column.p(gettext("p for “not worse by ε”")),
            Column.p(gettext("p for “worse by ε”")),
            Column(gettext("Judge wins")),
            Column(gettext("Judge loses")),
        ],
        rows,
    )
    title = gettext("Comparison with each rater (ε = %(epsilon)s)") % {"epsilon": number(0.15)}
    return [Block("contests", title, table=marked(table, [str(row[0]) for row in rows]), folded=True)]


def _groups(study: Study, rows: Sequence[GroupAgreement]) -> list[Block]:
    titles = {"all": gettext("By criterion"), "category": gettext("By category"), "cohort": gettext("By cohort")}
    questions, blocks = criterion_questions(study), []
    for by, title in titles.items():
        selected = [row for row in rows if row.by == by]
        if selected:
            groups = _category_names(study) if by == "category" else {}
            keys = [_row_name(row, questions, {}) for row in selected]
            names = dict(zip(keys, (_row_name(row, questions, groups) for row in selected), strict=True))
            blocks.append(_group_block(f"agreement-{by}", title, selected, keys, names, cluster_words(study)))
    return blocks


def _group_block(
    key: str, title: str, rows: Sequence[GroupAgreement], keys: Sequence[str], names: Mapping[str, str], clusters: str
) -> Block:
    """Build the block of a grouping; `keys` name its rows in files, `names` on the page."""
    measures = {"loo": gettext("Leave-one-out"), **measure_names()}
    columns = [
        Column(gettext("Group"), names=names),
        Column(gettext("Tasks"), 0),
        Column(gettext("Labels"), 0),
        Column(gettext("Raters"), 0),
        *(column for key in COEFFICIENTS for column in both_columns(measures[key])),
    ]
    cells = [
        [name, row.n_tasks, row.n_labels, row.n_raters, *_cells(row)] for name, row in zip(keys, rows, strict=True)
    ]
    table = Table(columns, cells)
    agreements = [(names[name], row.leave_one_out) for name, row in zip(keys, rows, strict=True)]
    known = [(name, agreement) for name, agreement in agreements if not isinstance(agreement, Missing)]
    first = rows[0].leave_one_out
    if isinstance(first, Missing) and not known:
        return Block(key, title, reason=reason_of(first), table=table, folded=True)
    drawn = [(names[name], row.both["loo"]) for name, row in zip(keys, rows, strict=True)]
    figure = interval_bars(
        [Bar(name, one.value, *widest(one.these, one.such)) for name, one in drawn if not isinstance(one, Missing)],
        title=title,
        x_title=gettext("Leave-one-out agreement"),
    )
    wide = all(one.such.low is not None for _, one in drawn if not isinstance(one, Missing))
    stands = gettext("Lines are 95 %% intervals for raters like these.") % {}
    shown = next(one.these for _, one in drawn if not isinstance(one, Missing))
    kind = known[0][1].interval_kind if shown.kind == "none" else shown.kind
    caption = stands if wide else ends_meaning(kind, known[0][1].clusters, clusters)
    return Block(key, title, figure=figure, caption=caption, table=table, folded=True)


def _category_names(study: Study) -> dict[str, str]:
    """Map category keys to names in the reader's language; a key of two categories of the study is left out."""
    kept = work_of(study)
    if kept is not None:
        held = Category.objects.filter(pk__in=[pk for pk, row in kept.categories.items() if pk and row["tasks"] > 0])
    else:
        held = Category.objects.filter(instructions__responses__tasks_as_a__study=study).distinct()
    found: dict[str, set[str]] = {"all": {gettext("Without a category")}}
    for one in held:
        found.setdefault(one.key, set()).add(one.name)
    return {key: min(names) for key, names in found.items() if len(names) == 1}


def _row_name(row: GroupAgreement, questions: Mapping[str, str], groups: Mapping[str, str]) -> str:
    name = questions.get(row.criterion) or criterion_words(row.criterion)
    group = groups.get(row.group, row.group)
    return f"{group}: {name}" if group else name


def _cells(row: GroupAgreement) -> list[float | None]:
    """Both intervals of every coefficient; with too few instructions, the range over leaving one out for these raters."""
    ranges = {
        "nominal": row.alpha_nominal,
        "ordinal": row.alpha_ordinal,
        "interval": row.alpha_interval,
        "fleiss": row.fleiss,
        "ac1": row.ac1,
    }
    cells: list[float | None] = []
    for key in COEFFICIENTS:
        found = estimate_cells(row.both[key])
        known = row.leave_one_out if key == "loo" else ranges.get(key)
        if found[3] is None and known is not None and not isinstance(known, Missing):
            found[3:] = interval_cells(None, known)[1:]
        cells += found
    return cells
