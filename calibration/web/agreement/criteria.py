"""Blocks that compare judges with people by criterion: leave-one-out agreement, or agreement with the only person."""

from collections.abc import Collection, Sequence

from django.utils.translation import gettext, ngettext

from annotation.models import Study
from calibration.figures.charts import Bar, interval_bars
from calibration.figures.drawing import number
from calibration.reports.codec import Missing
from calibration.reports.criterion_matches import JudgeMatches, JudgesByCriterion, Matches
from calibration.statistics.judges.estimates import PeopleEstimate
from calibration.web.blocks import Block, Column, Table, interval_cells
from calibration.web.failed_judges import all_marked
from calibration.web.messages.names import criterion_name
from calibration.web.messages.people_estimates import people_cells, people_columns, people_words, populations_meaning
from calibration.web.messages.statistics import by_items, cluster_words

NAMED = 4
"""At most this many criteria are named in a sentence."""


def criterion_blocks(study: Study, report: JudgesByCriterion, judges: Collection[str]) -> list[Block]:
    """Build the blocks of the judges with these public ids: leave-one-out where two people rated, else equal answers."""
    blocks = []
    for place, judge in enumerate(_asked(report, judges), start=1):
        twice, once, unscored_twice, unscored_once = [], [], [], []
        for key, matches in _shared(judge):
            name, left_out = criterion_name(study, key), f"{criterion_name(study, key)}: {matches.unscored}"
            if not isinstance(matches.outer, Missing) and not isinstance(matches.people, Missing):
                twice.append((name, matches))
                unscored_twice += [left_out] if matches.unscored else []
            elif not isinstance(matches.majority, Missing):
                once.append((name, matches))
                unscored_once += [left_out] if matches.unscored else []
        if twice:
            blocks.append(_leaving_out(study, judge.judge, place, twice, _unscored(unscored_twice)))
            blocks.append(_apart(study, judge, place))
        if once:
            blocks.append(_with_one(study, judge.judge, place, once, _unscored(unscored_once)))
    return [*blocks, _needs()] if blocks else []


def comparable(report: JudgesByCriterion) -> set[str]:
    """Public ids of the judges that share a criterion of some response with people."""
    return {judge.public for judge in report.judges if _shared(judge)}


def criterion_opening(study: Study, report: JudgesByCriterion, judges: Collection[str]) -> str:
    """State for each judge on which criteria it agrees most and least with people, and less or more than they do."""
    sentences = []
    for judge in _asked(report, judges):
        rates = [(key, *rate) for key, matches in _shared(judge) if (rate := _best_of(matches))]
        if rates:
            sentences += [_extremes(study, judge.judge, rates), *_against_people(study, judge)]
    return " ".join(sentences)


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
            "responses at random. Intervals leave out whole %(of)s, raters, and a rater's answers to one of the %(of)s in "
            "turn."
        )
        % {"of": cluster_words(study)},
    ]


def _asked(report: JudgesByCriterion, judges: Collection[str]) -> list[JudgeMatches]:
    return [judge for judge in report.judges if judge.public in judges]


def _shared(judge: JudgeMatches) -> list[tuple[str, Matches]]:
    """Select the criteria, by key, of which the judge shares a task with people."""
    return [(row.criterion, row.matches) for row in judge.criteria if not isinstance(row.matches, Missing)]


def _best_of(matches: Matches) -> tuple[PeopleEstimate, float] | None:
    """Return leave-one-out agreement where it can be computed, else the share of equal answers, each with its chance."""
    if not isinstance(matches.outer, Missing) and not isinstance(matches.beside, Missing):
        return matches.beside.judge, matches.outer.chance
    if isinstance(matches.majority, Missing) or isinstance(matches.equal, Missing):
        return None
    return matches.equal, matches.majority.chance


def _extremes(study: Study, judge: str, rates: Sequence[tuple[str, PeopleEstimate, float]]) -> str:
    items = by_items(study)
    ordered = sorted(rates, key=lambda row: (-row[1].value, row[0]))
    (best, highest, high_chance), (worst, lowest, low_chance) = ordered[0], ordered[-1]
    words = {
        "judge": judge,
        "best": criterion_name(study, best),
        "high": people_words(highest, items=items),
        "worst": criterion_name(study, worst),
        "low": people_words(lowest, items=items),
        "high_chance": number(high_chance),
        "low_chance": number(low_chance),
    }
    if len(ordered) == 1:
        return (
            gettext("%(judge)s agrees with people on “%(best)s” %(high)s of the time (chance: %(high_chance)s).")
            % words
        )
    said = (
        gettext(
            "%(judge)s agrees with people most often on “%(best)s”, %(high)s of the time (chance: %(high_chance)s), "
            "and least often on “%(worst)s”, %(low)s of the time (chance: %(low_chance)s)."
        )
        % words
    )
    return f"{said} " + gettext("Whether it agrees more often on one criterion than on another is not tested here.")


def _against_people(study: Study, judge: JudgeMatches) -> list[str]:
    """Say on which criteria the judge is shown to agree less, or more, than people do; one family of tests."""
    tested = [row for row in judge.against_people if row.p is not None]
    if not tested:
        return []
    names = {
        side: [criterion_name(study, row.criterion) for row in tested if row.shown == side] for side in ("less", "more")
    }
    less = gettext("It is shown to agree with people less often than they agree with each other on %(criteria)s.")
    more = gettext("It is shown to agree with people more often than they agree with each other on %(criteria)s.")
    found = [
        said % {"criteria": _quoted(names[side])} for side, said in (("less", less), ("more", more)) if names[side]
    ]
    if not found:
        found = [gettext("It is not shown to agree with people less or more often than they agree with each other.")]
    if len(tested) > 1:
        found.append(
            ngettext(
                "This is corrected for the %(n)s criterion compared (Holm).",
                "This is corrected for the %(n)s criteria compared (Holm).",
                len(tested),
            )
            % {"n": number(len(tested), 1)}
        )
    return found


def _quoted(names: Sequence[str]) -> str:
    """Join the first names; the table has all."""
    quoted = [f"“{name}”" for name in names[:NAMED]]
    return ", ".join([*quoted, "…"] if len(names) > NAMED else quoted)


def _apart(study: Study, judge: JudgeMatches, place: int) -> Block:
    """Show each criterion's difference from people's agreement with each other, and whether it is shown."""
    shown = {"less": gettext("less often"), "more": gettext("more often"), "not_shown": gettext("not shown")}
    rows = judge.against_people
    table = Table(
        [
            Column(gettext("Criterion")),
            *people_columns(gettext("Judge minus people"), 3),
            Column(gettext("p, corrected"), 4, floor=0.0001, optional=True),
            Column(gettext("Agrees with people")),
            Column(gettext("Responses"), 0),
        ],
        [
            [criterion_name(study, row.criterion), *people_cells(row.apart), row.p, shown[row.shown], row.n]
            for row in rows
        ],
    )
    notes = [
        gettext(
            "The difference is the judge's agreement with people minus their agreement with each other, on the same "
            "responses. Each interval is a 95 %% interval of its criterion alone; the corrected p allows for all criteria "
            "of this judge (Holm), and under 0.05 a difference is shown. “More often” is said only where the interval is "
            "for raters like these."
        )
        % {},
        *populations_meaning((row.apart for row in rows), items=by_items(study)),
    ]
    title = gettext("%(judge)s: agreement with people less theirs with each other") % {"judge": judge.judge}
    return all_marked(Block(f"apart-{place}", title, table=table, notes=notes, folded=True), judge.judge)


def _title(judge: str) -> str:
    return gettext("%(judge)s compared with people, by criterion") % {"judge": judge}


def _leaving_out(
    study: Study, judge: str, place: int, rows: Sequence[tuple[str, Matches]], notes: Sequence[str]
) -> Block:
    title = _title(judge)
    known = [
        (name, found.beside, found.outer.chance)
        for name, found in rows
        if not isinstance(found.beside, Missing) and not isinstance(found.outer, Missing)
    ]
    table = Table(
        [
            Column(gettext("Criterion")),
            *people_columns(gettext("Judge"), 3),
            *people_columns(gettext("People among themselves"), 3),
            Column(gettext("Chance"), 3),
            Column(gettext("Responses"), 0),
        ],
        [[name, *people_cells(both.judge), *people_cells(both.people), chance, both.n] for name, both, chance in known],
    )
    figure = interval_bars(
        [Bar(name, *interval_cells(both.judge.value, both.judge)) for name, both, _ in known],
        title=title,
        x_title=gettext("Agreement with the most frequent answer of the other people (leave-one-out)"),
        reference=[Bar(name, both.people.value) for name, both, _ in known],
        series=(gettext("judge"), gettext("people among themselves")),
    )
    meaning = populations_meaning((both.judge for _, both, _ in known), items=by_items(study))
    block = Block(f"criteria-{place}", title, figure=figure, table=table, notes=[*meaning, *notes])
    return all_marked(block, judge)


def _with_one(study: Study, judge: str, place: int, rows: Sequence[tuple[str, Matches]], notes: Sequence[str]) -> Block:
    title = gettext("%(judge)s compared with the only rater of each response") % {"judge": judge}
    known = [
        (name, found.equal, found.majority)
        for name, found in rows
        if not isinstance(found.equal, Missing) and not isinstance(found.majority, Missing)
    ]
    table = Table(
        [
            Column(gettext("Criterion")),
            *people_columns(gettext("Same answer"), 3),
            Column(gettext("Chance"), 3),
            Column(gettext("Responses"), 0),
        ],
        [[name, *people_cells(equal), counted.chance, counted.n_tasks] for name, equal, counted in known],
    )
    figure = interval_bars(
        [Bar(name, *interval_cells(equal.value, equal)) for name, equal, _ in known],
        title=title,
        x_title=gettext("Share of responses with the same answer"),
        reference=[Bar(name, counted.chance) for name, _, counted in known],
        series=(gettext("judge"), gettext("chance")),
    )
    alone = gettext(
        "No response here was rated by two people, so agreement among people cannot be computed. Have a second person "
        "rate some of the responses."
    )
    meaning = populations_meaning((equal for _, equal, _ in known), items=by_items(study))
    block = Block(f"one-person-{place}", title, figure=figure, table=table, notes=[alone, *meaning, *notes])
    return all_marked(block, judge)


def _unscored(counts: Sequence[str]) -> list[str]:
    """Count the verdicts that could not be used and are left out; `counts` are "criterion: number"."""
    note = gettext("Unusable verdicts that are left out: %(counts)s.")
    return [note % {"counts": "; ".join(counts)}] if counts else []


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
