"""Blocks that compare judges with people by criterion: leave-one-out agreement, or agreement with the only person."""

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
    """Build the blocks of the judges with these public ids: leave-one-out where two people rated, else equal answers."""
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
    """State, in a sentence per judge, the criteria on which it agrees most and least with people."""
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
            "Agreement on a criterion is outer leave-one-out agreement: each person in turn is left out, and the "
            "judge's answer is compared with the most frequent answer of the others. Where answers are tied, each "
            "counts its share. Agreement among people is measured in the same way on the same responses."
        ),
        gettext(
            "Where only one person rated a response, nobody can be left out. Agreement is then the share of responses "
            "on which the judge gives the same answer as most people; responses without a single most frequent answer "
            "are left out. Chance is the share that the judge's own answers would reach if they were assigned to the "
            "responses at random. Intervals resample whole %(of)s."
        )
        % {"of": cluster_words(study)},
    ]


def _asked(report: Plain, judges: Collection[str]) -> Rows:
    return [one for one in report["judges"] if one["public"] in judges]


def _best_of(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return leave-one-out agreement where it can be computed, else the share of equal answers."""
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
            gettext("%(judge)s agrees with people on “%(best)s” %(high)s of the time (chance: %(high_chance)s).")
            % words
        )
    return (
        gettext(
            "%(judge)s agrees with people most often on “%(best)s”, %(high)s of the time (chance: %(high_chance)s), "
            "and least often on “%(worst)s”, %(low)s of the time (chance: %(low_chance)s)."
        )
        % words
    )


def _title(judge: str) -> str:
    return gettext("%(judge)s compared with people, by criterion") % {"judge": judge}


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
        x_title=gettext("Agreement with the most frequent answer of the other people (leave-one-out)"),
        reference=[Bar(name, people["rate"]) for name, _, people in named],
        series=(gettext("judge"), gettext("people among themselves")),
    )
    caption = _caption(study, [outer for _, outer, _ in named])
    return Block(f"criteria-{place}", title, figure=figure, caption=caption, table=table, notes=_unscored(study, rows))


def _with_one(study: Study, judge: str, place: int, rows: Rows) -> Block:
    title = gettext("%(judge)s compared with the only rater of each response") % {"judge": judge}
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
        "No response here was rated by two people, so agreement among people cannot be computed. Have a second person "
        "rate some of the responses."
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
    """Explain the lines; criteria may have different numbers of clusters, and so ends of different kinds."""
    fewest, most = min(one["clusters"] for one in found), max(one["clusters"] for one in found)
    kinds = {one["interval_kind"] for one in found}
    if fewest == most and len(kinds) == 1:
        return interval_meaning(kinds.pop(), most, cluster_words(study))
    return gettext(
        "Each criterion is based on %(fewest)d to %(most)d %(of)s. With %(least)d or more, lines are 95 %% bootstrap "
        "intervals over them; with fewer, lines show the range of values when each one in turn is left out."
    ) % {"fewest": fewest, "most": most, "of": cluster_words(study), "least": MIN_CLUSTERS}


def _unscored(study: Study, rows: Rows) -> list[str]:
    """Verdicts that could not be used are left out and counted."""
    counted = [f"{criterion_name(study, row['criterion'])}: {row['unscored']}" for row in rows if row["unscored"]]
    said = gettext("Unusable verdicts that are left out: %(counts)s.")
    return [said % {"counts": "; ".join(counted)}] if counted else []


def _needs() -> Block:
    return Block(
        "needs-overall",
        gettext("What needs an overall score, and what does not"),
        answer=gettext(
            "The judge's overall scores, their correlation with people's overall scores and fitted weights require an "
            "overall score on which people and the judge can be compared. Agreement by criterion, gaps between the "
            "judge and people, graded verdicts and rankings of models by people's or the judge's answers do not."
        ),
    )
