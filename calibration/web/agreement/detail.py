"""The page on agreement by criterion, category and cohort, and on whether a judge can replace people."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext

from annotation.models import Study
from calibration.figures.charts import Bar, interval_bars
from calibration.figures.drawing import number
from calibration.reports.agreement_detail import AGREEMENT_DETAIL, detail_settings
from calibration.reports.registry import Plain, missing
from calibration.web.blocks import Block, Column, ResultPage, Table
from calibration.web.messages.intervals import ends_meaning, ends_words, stated
from calibration.web.messages.names import criterion_name
from calibration.web.messages.reasons import reason_of
from calibration.web.messages.statistics import cluster_words, criterion_words
from calibration.web.serving import PageKind
from calibration.web.weights.page import criterion_questions
from generation.models import Category

NUMBERS = ("leave_one_out", "alpha_nominal", "alpha_ordinal", "alpha_interval", "fleiss")


def detail_title() -> str:
    return gettext("Can a judge replace people, and who agrees on what?")


def detail_page(study: Study, report: Plain) -> ResultPage:
    if missing(report):
        return ResultPage(detail_title(), reason_of(report), [], [])
    return ResultPage(
        title=detail_title(),
        opening=_opening(report),
        about=gettext("Judges are tested on “%(criterion)s”.")
        % {"criterion": criterion_name(study, report["criterion"])},
        blocks=[*judge_blocks(report["judges"]), *_groups(study, report["rows"])],
        method=[
            gettext(
                "Alt-test: each rater in turn is left out, and the judge and that rater are compared item by item on "
                "how well each agrees with the other raters. For each rater, the hypothesis that the judge is worse by "
                "epsilon or more is tested over whole instructions, with a correction for testing several raters. The "
                "judge can replace people if it wins against at least half of them. Epsilon is the loss that a judge's "
                "lower price makes up for: 0.2 against experts, 0.15 against skilled raters, 0.1 against a crowd."
            ),
            gettext(
                "Intervals resample whole instructions. Nominal alpha only distinguishes equal from different labels, "
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


def _opening(report: Plain) -> str:
    judges = report["judges"]
    if missing(judges):
        row = report["rows"][0]["leave_one_out"]
        if missing(row):
            return reason_of(row)
        return gettext(
            "People agree with each other %(rate)s of the time; no judge can be tested against them here."
        ) % {"rate": ends_words(row["rate"], row["low"], row["high"], row["interval_kind"])}
    known = [(one["judge"], one["tests"]["skilled"]) for one in judges if not missing(one["tests"]["skilled"])]
    if not known:
        return reason_of(judges[0]["tests"]["skilled"])
    return " ".join(judge_sentence(name, test) for name, test in known)


def judge_sentence(name: str, test: Mapping[str, Any]) -> str:
    """State whether this judge can replace people, with its wins and how often it is as good as a random rater."""
    words = {
        "judge": name,
        "won": sum(one["won"] for one in test["raters"]),
        "all": len(test["raters"]),
        "chance": ends_words(test["advantage"], test["low"], test["high"], test["interval_kind"]),
    }
    if test["passed"]:
        return (
            gettext(
                "%(judge)s can replace a skilled rater: it wins against %(won)d of %(all)d raters and does at least "
                "as well as a randomly chosen rater on %(chance)s of the items."
            )
            % words
        )
    return (
        gettext(
            "%(judge)s cannot replace a skilled rater: it wins against %(won)d of %(all)d raters and does at least as "
            "well as a randomly chosen rater on %(chance)s of the items."
        )
        % words
    )


def judge_blocks(judges: Any) -> list[Block]:
    title = gettext("Can a judge replace people?")
    if missing(judges):
        return [Block("replacing", title, reason=reason_of(judges))]
    who = {"experts": gettext("experts"), "skilled": gettext("skilled raters"), "crowd": gettext("a crowd")}
    rows, bars, silent = [], [], []
    for one in judges:
        for kind, test in one["tests"].items():
            if missing(test):
                silent.append(f"{one['judge']}: {_too_few(test)}")
                continue
            rows.append(
                [
                    one["judge"],
                    who[kind],
                    test["epsilon"],
                    test["winning_rate"],
                    gettext("yes") if test["passed"] else (gettext("no")),
                    test["advantage"],
                    *stated(test),
                    len(test["raters"]),
                    test["left_out"],
                ]
            )
        skilled = one["tests"]["skilled"]
        if not missing(skilled):
            bars.append(Bar(one["judge"], skilled["advantage"], *stated(skilled)))
    if not rows:
        return [Block("replacing", title, reason=" ".join(dict.fromkeys(silent)))]
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
            Column(gettext("At least as good as a rater"), 3),
            Column(gettext("From"), 3),
            Column(gettext("To"), 3),
            Column(gettext("Raters"), 0),
            Column(gettext("Raters left out"), 0),
        ],
        rows,
    )
    return [
        Block(
            "replacing",
            title,
            figure=figure,
            table=table,
            notes=list(dict.fromkeys(silent)),
            caption=gettext("Raters with fewer than 30 shared items are left out of the test."),
        ),
        *_contests(judges),
    ]


def _too_few(test: Mapping[str, Any]) -> str:
    if test["why"] == "TooFewRatings":
        return gettext("The test needs three raters who each rated at least 30 items that others rated too.")
    return reason_of(test)


def _contests(judges: Sequence[Mapping[str, Any]]) -> list[Block]:
    rows = [
        [
            one["judge"],
            contest["rater"],
            contest["n"],
            contest["judge_advantage"],
            contest["rater_advantage"],
            contest["p"],
            gettext("yes") if contest["won"] else gettext("no"),
        ]
        for one in judges
        if not missing(one["tests"]["skilled"])
        for contest in one["tests"]["skilled"]["raters"]
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
            Column("p", 4),
            Column(gettext("Judge wins")),
        ],
        rows,
    )
    title = gettext("Comparison with each rater (ε = %(epsilon)s)") % {"epsilon": number(0.15)}
    return [Block("contests", title, table=table, folded=True)]


def _groups(study: Study, rows: Sequence[Mapping[str, Any]]) -> list[Block]:
    titles = {"all": gettext("By criterion"), "category": gettext("By category"), "cohort": gettext("By cohort")}
    questions, blocks = criterion_questions(study), []
    for by, title in titles.items():
        own = [row for row in rows if row["by"] == by]
        if own:
            groups = _category_names(study) if by == "category" else {}
            keys = [_row_name(row, questions, {}) for row in own]
            names = dict(zip(keys, (_row_name(row, questions, groups) for row in own), strict=True))
            blocks.append(_group_block(f"agreement-{by}", title, own, keys, names, cluster_words(study)))
    return blocks


def _group_block(
    key: str,
    title: str,
    rows: Sequence[Mapping[str, Any]],
    keys: Sequence[str],
    names: Mapping[str, str],
    clusters: str,
) -> Block:
    """Build the block of a grouping; `keys` name its rows in files, `names` on the page."""
    known = [
        (names[one], row["leave_one_out"])
        for one, row in zip(keys, rows, strict=True)
        if not missing(row["leave_one_out"])
    ]
    columns = [
        Column(gettext("Group"), names=names),
        Column(gettext("Tasks"), 0),
        Column(gettext("Labels"), 0),
        Column(gettext("Raters"), 0),
    ]
    heads = {
        "leave_one_out": gettext("Leave-one-out"),
        "alpha_nominal": gettext("Alpha, nominal"),
        "alpha_ordinal": gettext("Alpha, ordinal"),
        "alpha_interval": gettext("Alpha, interval"),
        "fleiss": gettext("Fleiss' kappa"),
    }
    for one in NUMBERS:
        columns += [Column(heads[one], 3), Column(gettext("From"), 3), Column(gettext("To"), 3)]
    columns += [Column("ICC(1)", 3), Column("ICC(2,1)", 3), Column("ICC(2,k)", 3)]
    cells = [
        [one, row["n_tasks"], row["n_labels"], row["n_raters"], *_cells(row)]
        for one, row in zip(keys, rows, strict=True)
    ]
    table = Table(columns, cells)
    if not known:
        return Block(key, title, reason=reason_of(rows[0]["leave_one_out"]), table=table, folded=True)
    figure = interval_bars(
        [Bar(name, one["rate"], *stated(one)) for name, one in known],
        title=title,
        x_title=gettext("Leave-one-out agreement"),
    )
    caption = ends_meaning(known[0][1]["interval_kind"], known[0][1]["clusters"], clusters)
    return Block(key, title, figure=figure, caption=caption, table=table, folded=True)


def _category_names(study: Study) -> dict[str, str]:
    """Map category keys to names in the reader's language; a key of two categories of the study is left out."""
    held = Category.objects.filter(instructions__responses__tasks_as_a__study=study).distinct()
    found: dict[str, set[str]] = {"all": {gettext("Without a category")}}
    for one in held:
        found.setdefault(one.key, set()).add(one.name)
    return {key: min(names) for key, names in found.items() if len(names) == 1}


def _row_name(row: Mapping[str, Any], questions: Mapping[str, str], groups: Mapping[str, str]) -> str:
    name = questions.get(row["criterion"]) or criterion_words(row["criterion"])
    group = groups.get(row["group"], row["group"])
    return f"{group}: {name}" if group else name


def _cells(row: Mapping[str, Any]) -> list[float | None]:
    cells: list[float | None] = []
    for one in NUMBERS:
        found = row[one]
        if missing(found):
            cells += [None, None, None]
        else:
            cells += [found.get("rate", found.get("value")), *stated(found)]
    icc = row["icc"]
    return cells + ([None] * 3 if missing(icc) else [icc["icc1"], icc["icc21"], icc["icc2k"]])
