"""Judges against people criterion by criterion as blocks: agreement leaving one out, or with the one person there is."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext

from annotation.models import Study
from calibration.figures.charts import Bar, interval_bars
from calibration.figures.drawing import number
from calibration.reports.registry import Plain, missing
from calibration.statistics.resampling import MIN_CLUSTERS
from calibration.web.blocks import Block, Column, Table
from calibration.web.messages.intervals import ends_words, stated
from calibration.web.messages.names import criterion_name
from calibration.web.messages.statistics import by_items, cluster_words, interval_meaning

Rows = Sequence[Mapping[str, Any]]


def criterion_blocks(study: Study, report: Plain, judges: Collection[str]) -> list[Block]:
    """Of the judges with these public ids: where two people rated the same, leaving one out; elsewhere plainly."""
    blocks = []
    for place, one in enumerate(_asked(report, judges), start=1):
        shared = [row for row in one["criteria"] if "outer" in row]
        twice = [row for row in shared if not missing(row["outer"])]
        once = [row for row in shared if missing(row["outer"]) and not missing(row["majority"])]
        if twice:
            blocks.append(_leaving_out(study, one["judge"], place, twice))
        if once:
            blocks.append(_with_one(study, one["judge"], place, once))
    return [*blocks, _needs()] if blocks else []


def comparable(report: Plain) -> set[str]:
    """Public ids of the judges that share a criterion of some response with people."""
    return {one["public"] for one in report["judges"] if any("outer" in row for row in one["criteria"])}


def criterion_opening(study: Study, report: Plain, judges: Collection[str]) -> str:
    """On which criterion each judge agrees best with people, and on which least, a sentence each."""
    said = []
    for one in _asked(report, judges):
        found = [(row["criterion"], _best_of(row)) for row in one["criteria"] if "outer" in row]
        known = [(key, part) for key, part in found if not missing(part)]
        if known:
            said.append(_extremes(study, one["judge"], known))
    return " ".join(said)


def criterion_method(study: Study) -> list[str]:
    return [
        gettext(
            "Agreement on a criterion is outer leave-one-out: how often the judge gives the answer that is most frequent "
            "among all people but one, over every person left out; ties count their share. People among themselves are "
            "measured the same way on the same responses."
        ),
        gettext(
            "Where a response has one person's answer, nobody can be left out: then it is the share of responses on which "
            "the judge gives the same answer as most people, those without a most frequent answer left out. Chance is "
            "what the judge's own answers would reach if they were dealt to the responses at random. Intervals draw "
            "whole %(of)s."
        )
        % {"of": cluster_words(study)},
    ]


def _asked(report: Plain, judges: Collection[str]) -> Rows:
    return [one for one in report["judges"] if one["public"] in judges]


def _best_of(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Leave-one-out where it can be computed, else the plain share."""
    found: Mapping[str, Any] = row["majority"] if missing(row["outer"]) else row["outer"]
    return found


def _extremes(study: Study, judge: str, known: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    items = by_items(study)
    ordered = sorted(known, key=lambda pair: (-pair[1]["rate"], pair[0]))
    rates = [ends_words(one["rate"], one["low"], one["high"], one["interval_kind"], items=items) for _, one in ordered]
    words = {
        "judge": judge,
        "best": criterion_name(study, ordered[0][0]),
        "high": rates[0],
        "worst": criterion_name(study, ordered[-1][0]),
        "low": rates[-1],
        "high_chance": number(ordered[0][1]["chance"]),
        "low_chance": number(ordered[-1][1]["chance"]),
    }
    if len(ordered) == 1:
        return (
            gettext("%(judge)s gives people's answer on “%(best)s” %(high)s of the time (by chance %(high_chance)s).")
            % words
        )
    return (
        gettext(
            "%(judge)s gives people's answer most often on “%(best)s”, %(high)s of the time (by chance "
            "%(high_chance)s), and least often on “%(worst)s”, %(low)s (by chance %(low_chance)s)."
        )
        % words
    )


def _title(judge: str) -> str:
    return gettext("%(judge)s against people, criterion by criterion") % {"judge": judge}


def _leaving_out(study: Study, judge: str, place: int, rows: Rows) -> Block:
    title = _title(judge)
    named = [(criterion_name(study, row["criterion"]), row["outer"], row["people"]) for row in rows]
    table = Table(
        [
            Column(gettext("Criterion")),
            Column(gettext("Judge"), 3),
            Column(gettext("From"), 3),
            Column(gettext("To"), 3),
            Column(gettext("People among themselves"), 3),
            Column(gettext("From"), 3),
            Column(gettext("To"), 3),
            Column(gettext("Chance"), 3),
            Column(gettext("Responses"), 0),
        ],
        [
            [name, outer["rate"], *stated(outer), people["rate"], *stated(people), outer["chance"], outer["n_tasks"]]
            for name, outer, people in named
        ],
    )
    figure = interval_bars(
        [Bar(name, outer["rate"], *stated(outer)) for name, outer, _ in named],
        title=title,
        x_title=gettext("Share of matches with the most frequent answer of all people but one"),
        reference=[Bar(name, people["rate"]) for name, _, people in named],
        series=(gettext("judge"), gettext("people among themselves")),
    )
    caption = _caption(study, [outer for _, outer, _ in named])
    return Block(f"criteria-{place}", title, figure=figure, caption=caption, table=table, notes=_unscored(study, rows))


def _with_one(study: Study, judge: str, place: int, rows: Rows) -> Block:
    title = gettext("%(judge)s against the one person of each response") % {"judge": judge}
    named = [(criterion_name(study, row["criterion"]), row["majority"]) for row in rows]
    table = Table(
        [
            Column(gettext("Criterion")),
            Column(gettext("Same answer"), 3),
            Column(gettext("From"), 3),
            Column(gettext("To"), 3),
            Column(gettext("Chance"), 3),
            Column(gettext("Responses"), 0),
        ],
        [[name, found["rate"], *stated(found), found["chance"], found["n_tasks"]] for name, found in named],
    )
    figure = interval_bars(
        [Bar(name, found["rate"], *stated(found)) for name, found in named],
        title=title,
        x_title=gettext("Share of responses with the same answer"),
        reference=[Bar(name, found["chance"]) for name, found in named],
        series=(gettext("judge"), gettext("chance")),
    )
    alone = gettext(
        "No response has the answers of two people here, so how far people agree among themselves cannot be told; let a "
        "second person rate some responses."
    )
    caption = _caption(study, [found for _, found in named])
    return Block(
        f"one-person-{place}",
        title,
        figure=figure,
        caption=caption,
        table=table,
        notes=[alone, *_unscored(study, rows)],
    )


def _caption(study: Study, found: Rows) -> str:
    """Criteria may stand on different numbers of clusters, and so have ends of different kinds."""
    fewest, most = min(one["clusters"] for one in found), max(one["clusters"] for one in found)
    kinds = {one["interval_kind"] for one in found}
    if fewest == most and len(kinds) == 1:
        return interval_meaning(kinds.pop(), most, cluster_words(study))
    return gettext(
        "Each criterion stands on %(fewest)d to %(most)d %(of)s. From %(least)d on, lines are 95 %% intervals by a "
        "bootstrap over them; with fewer they span what comes out when any one of them is left out."
    ) % {"fewest": fewest, "most": most, "of": cluster_words(study), "least": MIN_CLUSTERS}


def _unscored(study: Study, rows: Rows) -> list[str]:
    """Verdicts that could not be used are left out and counted."""
    counted = [f"{criterion_name(study, row['criterion'])}: {row['unscored']}" for row in rows if row["unscored"]]
    said = gettext("Verdicts that could not be used and are left out: %(counts)s.")
    return [said % {"counts": "; ".join(counted)}] if counted else []


def _needs() -> Block:
    return Block(
        "needs-overall",
        gettext("What needs an overall score, and what does not"),
        answer=gettext(
            "The judge's points of whole responses, their correlation with people's overall scores, and weights fitted to "
            "those need an overall score that people and judge can be compared on. Agreement on each criterion, gaps "
            "between judge and people, graded verdicts and the models' ranking by people's or the judge's answers do not."
        ),
    )
