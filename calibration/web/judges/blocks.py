"""Blocks of the detailed page on judges: preferences, graded verdicts, swapped sides, families, findings.

`items`: the clusters of the study are items, because its table named no instructions.
"""

from collections.abc import Mapping, Sequence
from typing import cast

from django.utils.translation import gettext

from annotation.models import Study
from calibration.figures.charts import Bar, interval_bars
from calibration.figures.curves import Curve, curves
from calibration.figures.spreads import RangeRow, ranges
from calibration.reports.codec import Missing
from calibration.reports.judge_matches import SIDES, PairMatches
from calibration.reports.judges import PairJudge, ScoreJudge
from calibration.reports.people.populations import Interval, SuchRaters
from calibration.reports.people.reviewed_verdicts import ReasonableRate
from calibration.reports.people.sways import Sways
from calibration.statistics.crossed import WhyNot
from calibration.statistics.judges.agreement import Beside
from calibration.statistics.judges.calibration import SoftVerdicts
from calibration.statistics.judges.comparison import Confusion
from calibration.statistics.judges.correlations import Slopes
from calibration.statistics.judges.estimates import LEAST_RATERS, PeopleEstimate
from calibration.statistics.shares import Share
from calibration.web.blocks import Block, Cells, Column, Table, interval_cells, span_of
from calibration.web.failed_judges import all_marked, judge_label, marked
from calibration.web.judges.correlations import slope_words
from calibration.web.messages.intervals import ends_meaning, estimate_words
from calibration.web.messages.names import criterion_name
from calibration.web.messages.people_estimates import (
    named_cells,
    people_cells,
    people_columns,
    people_words,
    populations_meaning,
)
from calibration.web.messages.populations import (
    both_cells,
    both_columns,
    both_words,
    not_stated_words,
    populations_note,
    widest,
)
from calibration.web.messages.reasons import missing_notes, reason_of
from calibration.web.messages.statistics import by_items, cluster_words


def clusters_meaning(found: Share, *, items: bool) -> str:
    return ends_meaning(found.interval_kind, found.clusters, gettext("items") if items else gettext("instructions"))


def matches_blocks(judges: Sequence[PairJudge], *, items: bool = False) -> list[Block]:
    """Build the blocks on how often each judge prefers what people prefer, and on its confusions."""
    title = gettext("Do judges prefer what people prefer?")
    notes = missing_notes((judge.judge, judge.matches) for judge in judges)
    rows: list[list[object]] = []
    bars, folded, estimates = [], [], []
    for place, judge in enumerate(judges):
        if isinstance(judge.matches, Missing):
            continue
        found, confusion = judge.matches, judge.matches.confusion
        notes += missing_notes((judge.judge, part) for part in (found.majority, found.beside))
        if not (isinstance(found.majority, Missing) and isinstance(found.beside, Missing)):
            rows.append([judge.judge, *_majority_cells(found), *_beside_cells(found.beside)])
        if not isinstance(found.majority, Missing):
            estimates.append(found.majority)
            bars.append(Bar(judge_label(judge.judge), *interval_cells(found.majority.value, found.majority)))
        if not isinstance(confusion, Missing):
            folded.append(_confusion(judge.judge, confusion, place))
    notes = list(dict.fromkeys(notes))
    if not rows:
        return [Block("matches", title, reason=" ".join(notes))]
    table = Table(
        [
            Column(gettext("Judge")),
            *people_columns(gettext("Same as the majority"), 3),
            Column(gettext("Pairs"), 0),
            *people_columns(gettext("Leave-one-out"), 3),
            Column(gettext("People among themselves"), 3),
            Column(gettext("Pairs"), 0),
        ],
        rows,
    )
    x_title = gettext("Share of pairs with the majority's preference")
    figure = interval_bars(bars, title=title, x_title=x_title) if bars else ""
    table = marked(table, [str(row[0]) for row in rows])
    notes += populations_meaning(estimates, items=items)
    return [Block("matches", title, figure=figure, table=table, notes=notes), *folded]


def matches_opening(judges: Sequence[PairJudge], *, items: bool = False) -> str:
    """State, in a sentence per judge, how often it prefers what most people prefer; '' if unknown for all."""
    sentences = []
    for judge in judges:
        found = judge.matches if isinstance(judge.matches, Missing) else judge.matches.majority
        if not isinstance(found, Missing):
            rate = people_words(found, items=items)
            sentences.append(
                gettext("%(judge)s prefers what most people prefer in %(rate)s of the pairs.")
                % {"judge": judge.judge, "rate": rate}
            )
    return " ".join(sentences)


def _majority_cells(found: PairMatches) -> list[float | None]:
    if isinstance(found.majority, Missing) or isinstance(found.accuracy, Missing):
        return [None] * 8
    return [*people_cells(found.majority), found.accuracy.n_tasks]


def _beside_cells(found: Beside | Missing) -> list[float | None]:
    return [None] * 9 if isinstance(found, Missing) else [*people_cells(found.judge), found.people.value, found.n]


def _confusion(judge: str, found: Confusion, place: int) -> Block:
    names = {
        "a": gettext("response A"),
        "b": gettext("response B"),
        "tie": gettext("tie"),
        "both_bad": gettext("both bad"),
    }
    counts = found.counts
    used = [at for at in range(len(SIDES)) if counts[at].any() or counts[:, at].any()]
    table = Table(
        [
            Column(gettext("People's majority")),
            *(Column(gettext("Judge: %(side)s") % {"side": names[SIDES[at]]}, 0) for at in used),
        ],
        [[names[SIDES[line]], *(counts[line, at] for at in used)] for line in used],
    )
    title = gettext("Preferences of %(judge)s and of the majority") % {"judge": judge}
    return all_marked(Block(f"confusion-{place}", title, table=table, folded=True), judge)


def swap_block(people: Sways, judges: Sequence[PairJudge], *, items: bool = False) -> Block:
    """Build the block on pairs answered in both orders: how often the preference stays with the response."""
    title = gettext("Consistency when the sides are swapped")
    known = [
        (name, sways.swap, *_people_swaps(sways))
        for name, sways in everyone(people, judges)
        if not isinstance(sways.swap, Missing)
    ]
    if not known:
        return Block(
            "swap",
            title,
            reason=gettext(
                "No pair was shown to anyone in both orders. Ask a judge in both orders, or have raters answer some "
                "pairs again."
            ),
        )
    table = Table(
        [
            Column(gettext("Rated by")),
            Column(gettext("Pairs"), 0),
            *people_columns(gettext("Same verdict"), 3),
            *people_columns(gettext("Preference reversed"), 3),
            Column(gettext("First side both times"), 0),
            Column(gettext("Second side both times"), 0),
        ],
        [
            [
                name,
                swap.n,
                *either_cells(swap.agreement, same),
                *either_cells(swap.flip_rate, turned),
                swap.first_both_times,
                swap.second_both_times,
            ]
            for name, swap, same, turned in known
        ],
    )
    figure = interval_bars(
        [Bar(judge_label(name), *either_ends(swap.agreement, same)) for name, swap, same, turned in known],
        title=title,
        x_title=gettext("Share of pairs with the same verdict in both orders"),
    )
    table = marked(table, [name for name, *_ in known])
    notes = sways_meaning([same for _, _, same, _ in known], items=items)
    return Block("swap", title, figure=figure, table=table, notes=notes)


def _people_swaps(sways: Sways) -> tuple[PeopleEstimate | None, PeopleEstimate | None]:
    """Return people's rates of the same and of the opposite verdict for both populations; None for a judge."""
    found = None if sways.for_both is None else sways.for_both.swap
    return (None, None) if found is None or isinstance(found, Missing) else (found.agreement, found.flip_rate)


def either_cells(named: Share, people: PeopleEstimate | None) -> list[float | None]:
    """Return the cells of people's rate for both populations, or of a named judge's."""
    return named_cells(named.value, named) if people is None else people_cells(people)


def either_ends(named: Share, people: PeopleEstimate | None) -> Cells:
    """Return the value and the ends to draw: people's for raters like these where stated, or a named judge's."""
    return interval_cells(named.value, named) if people is None else interval_cells(people.value, people)


def sways_meaning(people: Sequence[PeopleEstimate | None], *, items: bool) -> list[str]:
    """Explain the intervals of a table with people and judges."""
    of = gettext("items") if items else gettext("instructions")
    return [
        *populations_meaning(people, items=items),
        gettext("A judge's interval, under “these raters”, is for this judge: it takes only the %(of)s as drawn.")
        % {"of": of},
    ]


def everyone(people: Sways, judges: Sequence[PairJudge]) -> list[tuple[str, Sways]]:
    """Name what sways people and each judge."""
    return [(gettext("People"), people), *((judge.judge, judge.sways) for judge in judges)]


def soft_blocks(judges: Sequence[PairJudge] | Sequence[ScoreJudge], *, pairs: bool, items: bool) -> list[Block]:
    """Draw a reliability diagram of all judges with a table of their groups; for pairs, shares refer to response A."""
    title = gettext("Do graded verdicts mean what they say?")
    known = [(judge.judge, judge.soft) for judge in judges if not isinstance(judge.soft, Missing)]
    notes = missing_notes((judge.judge, judge.soft) for judge in judges)
    if not known:
        return [Block("soft", title, reason=" ".join(notes))]
    series = [
        Curve(judge_label(name), [(group.judge, group.people.value) for group in soft.groups]) for name, soft in known
    ]
    low = min(x for curve in series for x, _ in curve.points)
    high = max(x for curve in series for x, _ in curve.points)
    series.append(Curve(gettext("perfect calibration"), [(low, low), (high, high)]))
    figure = curves(
        series,
        title=title,
        x_title=gettext("The judge's verdict, as a share of the scale"),
        y_title=gettext("People's mean share"),
    )
    table = Table(
        [
            Column(gettext("Judge")),
            Column(gettext("Verdict from"), 2),
            Column(gettext("to"), 2),
            Column(gettext("Verdicts"), 0),
            Column(gettext("Judge's mean"), 3),
            *Column.interval(gettext("People's mean"), 3),
        ],
        [
            [name, group.low, group.high, group.n, group.judge, *interval_cells(group.people.value, group.people)]
            for name, soft in known
            for group in soft.groups
        ],
    )
    caption = gettext(
        "On the diagonal, verdicts match people's scores; above it the judge is too strict, below it too lenient."
    )
    if pairs:
        caption = gettext(
            "Shares refer to response A: on the diagonal, people prefer it as strongly as the judge does; above it, "
            "they prefer it more, below it less."
        )
    table = marked(table, [name for name, soft in known for _ in soft.groups])
    largest = max((group.people for _, soft in known for group in soft.groups), key=lambda people: people.clusters)
    means = clusters_meaning(largest, items=items)
    notes.append(gettext("People's means are for exactly these raters: %(meaning)s") % {"meaning": means})
    slopes = [(judge.judge, judge.slopes) for judge in judges if not isinstance(judge.slopes, Missing)]
    answer = " ".join(slope_words(name, one, items=items) for name, one in slopes)
    return [
        Block("soft", title, answer=answer, figure=figure, caption=caption, table=table, notes=notes),
        _soft_summary(known, slopes, {judge.judge: judge.offset for judge in judges}, items=items),
    ]


def _soft_summary(
    known: Sequence[tuple[str, SoftVerdicts]],
    slopes: Sequence[tuple[str, Slopes]],
    offsets: Mapping[str, PeopleEstimate | Missing],
    *,
    items: bool,
) -> Block:
    by_name = dict(slopes)
    rows = []
    for name, soft in known:
        found = by_name.get(name)
        rows.append(
            [
                name,
                *people_cells(found.judge if found else None),
                found.person.value if found and found.person else None,
                *people_cells(None if isinstance(offset := offsets[name], Missing) else offset),
                *interval_cells(soft.error.value, soft.error),
                soft.n,
            ]
        )
    table = Table(
        [
            Column(gettext("Judge")),
            *people_columns(gettext("Slope"), 3),
            Column(gettext("A person's slope"), 3),
            *people_columns(gettext("Judge minus people"), 3),
            *Column.interval(gettext("Mean error"), 3),
            Column(gettext("Verdicts"), 0),
        ],
        rows,
    )
    notes = [
        *populations_meaning((one.judge for _name, one in slopes), items=items),
        gettext("Mean errors are for exactly these raters: %(meaning)s")
        % {"meaning": clusters_meaning(known[0][1].error, items=items)},
    ]
    table = marked(table, [name for name, _ in known])
    return Block("soft-summary", gettext("Graded verdicts in numbers"), table=table, notes=notes)


def family_block(judges: Sequence[PairJudge], *, items: bool) -> Block:
    title = gettext("Preference for models of the judge's own family")
    known = [
        (judge.judge, own, None if isinstance(own.over_people, Missing) else own.over_people)
        for judge in judges
        if not isinstance(own := judge.own_family, Missing)
    ]
    notes = missing_notes((judge.judge, judge.own_family) for judge in judges)
    if not known:
        return Block("own-family", title, reason=" ".join(notes))
    table = Table(
        [
            Column(gettext("Judge")),
            Column(gettext("Pairs"), 0),
            Column(gettext("Judge's points for its family"), 3),
            Column(gettext("People's points"), 3),
            *people_columns(gettext("Lift"), 3),
        ],
        [[name, own.n, own.judge.value, own.reference.value, *either_cells(own.lift, one)] for name, own, one in known],
    )
    figure = ranges(
        [RangeRow(judge_label(name), [span_of(either_ends(own.lift, one))]) for name, own, one in known],
        title=title,
        x_title=gettext("Judge's points minus people's for its family"),
        series=[title],
        step=0.01,
        rule=0.0,
    )
    table = marked(table, [name for name, _, _ in known])
    notes = [*notes, *populations_meaning((one for _, _, one in known), items=items)]
    return Block("own-family", title, figure=figure, table=table, notes=notes)


def reasonable_block(study: Study, found: Sequence[ReasonableRate] | Missing) -> Block:
    """Show how many of each judge's verdicts reviewers called reasonable."""
    title = gettext("How many verdicts are reasonable?")
    if isinstance(found, Missing):
        return Block("reasonable", title, reason=reason_of(found))
    named = [
        (criterion_name(study, row.criterion) if row.criterion else gettext("all"), row.judge, row) for row in found
    ]
    table = Table(
        [
            Column(gettext("Judge")),
            Column(gettext("Criterion")),
            *both_columns(gettext("Reasonable")),
            Column(gettext("Findings"), 0),
            Column(gettext("Answers reviewed"), 0),
            Column(gettext("Reviewers"), 0),
        ],
        [
            [judge, name, *both_cells(row.rate.value, _of_these(row.rate), row.such), row.n, row.verdicts, row.raters]
            for name, judge, row in named
        ],
    )
    figure = interval_bars(
        [
            Bar(name, row.rate.value, *widest(_of_these(row.rate), row.such), group=judge_label(judge))
            for name, judge, row in named
        ],
        title=title,
        x_title=gettext("Share of findings that call the verdict reasonable"),
    )
    table = marked(table, [judge for _, judge, _ in named])
    items = by_items(study)
    stated = any(row.such.low is not None for row in found)
    missing = [_why_not_such(row.such, items=items) for row in found]
    return Block(
        "reasonable",
        title,
        answer=reasonable_opening(found, items=items),
        figure=figure,
        caption="" if stated else clusters_meaning(found[0].rate, items=items),
        table=table,
        notes=[*([populations_note(cluster_words(study))] if stated else []), *dict.fromkeys(filter(None, missing))],
    )


def _of_these(rate: Share) -> Interval:
    return Interval(rate.low, rate.high, rate.interval_kind, rate.clusters)


def _why_not_such(such: SuchRaters, *, items: bool) -> str:
    why = cast(WhyNot, such.not_stated)
    return not_stated_words(why, such.n_instructions, such.n_raters, items=items, least=LEAST_RATERS)


def _reasonable_words(row: ReasonableRate, *, items: bool) -> str:
    """Write the rate with both of its intervals, or with its range under 20 instructions."""
    low, high = row.such.low, row.such.high
    such = None if low is None or high is None else (low, high)
    if row.rate.interval_kind in ("none", "leave_one_out_range"):
        return estimate_words(row.rate, items=items)
    return both_words(row.rate.value, such, (row.rate.low, row.rate.high))


def reasonable_opening(found: Sequence[ReasonableRate] | Missing, *, items: bool = False) -> str:
    """State the rate of every judge in a sentence each, or why there is none."""
    if isinstance(found, Missing):
        return reason_of(found)
    return " ".join(
        gettext("Reviewers call %(rate)s of the verdicts of %(judge)s reasonable.")
        % {"judge": row.judge, "rate": _reasonable_words(row, items=items)}
        for row in found
        if not row.criterion
    )
