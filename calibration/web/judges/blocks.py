"""Blocks of the detailed page on judges: preferences, graded verdicts, swapped sides, families, findings.

`items`: the clusters of the study are items, because its table named no instructions.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext

from annotation.models import Study
from calibration.figures.charts import Bar, interval_bars
from calibration.figures.curves import Curve, curves
from calibration.figures.spreads import RangeRow, Span, ranges
from calibration.reports.judge_matches import SIDES
from calibration.reports.registry import missing
from calibration.web.blocks import Block, Column, Table
from calibration.web.messages.intervals import ends_meaning, ends_words, stated
from calibration.web.messages.names import category_names, criterion_name
from calibration.web.messages.reasons import reason_of
from calibration.web.messages.statistics import by_items

Judges = Sequence[Mapping[str, Any]]


def clusters_meaning(found: Mapping[str, Any], *, items: bool) -> str:
    return ends_meaning(found["interval_kind"], found["clusters"], _clusters(items=items))


def _clusters(*, items: bool) -> str:
    return gettext("items") if items else gettext("instructions")


def _said(found: Mapping[str, Any], *, items: bool, value: str = "value") -> str:
    return ends_words(found[value], found["low"], found["high"], found["interval_kind"], items=items)


def silent_notes(judges: Judges, key: str) -> list[str]:
    """List why some of the judges have no answer."""
    said = [f"{one['judge']}: {reason_of(one[key])}" for one in judges if missing(one[key])]
    return list(dict.fromkeys(said))


def matches_blocks(judges: Judges) -> list[Block]:
    """Build the blocks on how often each judge prefers what people prefer, and on its confusions."""
    title = gettext("Do judges prefer what people prefer?")
    rows, bars, notes, folded = [], [], silent_notes(judges, "matches"), []
    for place, one in enumerate(judges):
        if missing(one["matches"]):
            continue
        accuracy, outer = one["matches"]["accuracy"], one["matches"]["leave_one_out"]
        both = [accuracy, outer]
        notes += [f"{one['judge']}: {reason_of(part)}" for part in both if missing(part)]
        if not all(missing(part) for part in both):
            rows.append([one["judge"], *_rate_cells(accuracy), *_rate_cells(outer)])
        if not missing(accuracy):
            bars.append(Bar(one["judge"], accuracy["rate"], *stated(accuracy)))
        if not missing(one["matches"]["confusion"]):
            folded.append(_confusion(one, place))
    notes = list(dict.fromkeys(notes))
    if not rows:
        return [Block("matches", title, reason=" ".join(notes))]
    table = Table(
        [
            Column(gettext("Judge")),
            Column(gettext("Same as the majority"), 3),
            Column(gettext("From"), 3),
            Column(gettext("To"), 3),
            Column(gettext("Pairs"), 0),
            Column(gettext("Leave-one-out"), 3),
            Column(gettext("From"), 3),
            Column(gettext("To"), 3),
            Column(gettext("Pairs"), 0),
        ],
        rows,
    )
    x_title = gettext("Share of pairs with the majority's preference")
    figure = interval_bars(bars, title=title, x_title=x_title) if bars else ""
    return [Block("matches", title, figure=figure, table=table, notes=notes), *folded]


def matches_opening(judges: Judges, *, items: bool = False) -> str:
    """State, in a sentence per judge, how often it prefers what most people prefer; '' if unknown for all."""
    return " ".join(
        gettext("%(judge)s prefers what most people prefer in %(rate)s of the pairs.")
        % {"judge": one["judge"], "rate": _said(found, items=items, value="rate")}
        for one in judges
        if not missing(one["matches"])
        for found in [one["matches"]["accuracy"]]
        if not missing(found)
    )


def _rate_cells(found: Mapping[str, Any]) -> list[Any]:
    return [None] * 4 if missing(found) else [found["rate"], *stated(found), found["n_tasks"]]


def _confusion(one: Mapping[str, Any], place: int) -> Block:
    names = {
        "a": gettext("response A"),
        "b": gettext("response B"),
        "tie": gettext("tie"),
        "both_bad": gettext("both bad"),
    }
    counts = one["matches"]["confusion"]["counts"]
    used = [at for at in range(len(SIDES)) if any(counts[at]) or any(row[at] for row in counts)]
    table = Table(
        [
            Column(gettext("People's majority")),
            *(Column(gettext("Judge: %(side)s") % {"side": names[SIDES[at]]}, 0) for at in used),
        ],
        [[names[SIDES[line]], *(counts[line][at] for at in used)] for line in used],
    )
    title = gettext("Preferences of %(judge)s and of the majority") % {"judge": one["judge"]}
    return Block(f"confusion-{place}", title, table=table, folded=True)


def swap_block(people: Mapping[str, Any], judges: Judges, *, items: bool = False) -> Block:
    """Build the block on pairs answered in both orders: how often the preference stays with the response."""
    title = gettext("Consistency when the sides are swapped")
    everyone = [{"judge": gettext("People"), **people}, *judges]
    rows = [
        [
            one["judge"],
            found["n"],
            found["agreement"]["value"],
            *stated(found["agreement"]),
            found["flip_rate"]["value"],
            *stated(found["flip_rate"]),
            found["first_both_times"],
            found["second_both_times"],
        ]
        for one in everyone
        for found in [one["swap"]]
        if not missing(found)
    ]
    if not rows:
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
            Column(gettext("Same verdict"), 3),
            Column(gettext("From"), 3),
            Column(gettext("To"), 3),
            Column(gettext("Preference reversed"), 3),
            Column(gettext("From"), 3),
            Column(gettext("To"), 3),
            Column(gettext("First side both times"), 0),
            Column(gettext("Second side both times"), 0),
        ],
        rows,
    )
    figure = interval_bars(
        [Bar(row[0], row[2], row[3], row[4]) for row in rows],
        title=title,
        x_title=gettext("Share of pairs with the same verdict in both orders"),
    )
    found = next(one["swap"]["agreement"] for one in everyone if not missing(one["swap"]))
    return Block("swap", title, figure=figure, caption=clusters_meaning(found, items=items), table=table)


def soft_blocks(judges: Judges, *, pairs: bool, items: bool) -> list[Block]:
    """Draw a reliability diagram of all judges with a table of their groups; for pairs, shares refer to response A."""
    title = gettext("Do graded verdicts mean what they say?")
    known = [one for one in judges if not missing(one["soft"])]
    notes = silent_notes(judges, "soft")
    if not known:
        return [Block("soft", title, reason=" ".join(notes))]
    series = [
        Curve(one["judge"], [(group["judge"], group["people"]["value"]) for group in one["soft"]["groups"]])
        for one in known
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
            Column(gettext("People's mean"), 3),
            Column(gettext("From"), 3),
            Column(gettext("To"), 3),
        ],
        [
            [
                one["judge"],
                group["low"],
                group["high"],
                group["n"],
                group["judge"],
                group["people"]["value"],
                *stated(group["people"]),
            ]
            for one in known
            for group in one["soft"]["groups"]
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
    answer = " ".join(_soft_sentence(one, items=items) for one in known)
    return [
        Block("soft", title, answer=answer, figure=figure, caption=caption, table=table, notes=notes),
        _soft_summary(known, items=items),
    ]


def _soft_sentence(one: Mapping[str, Any], *, items: bool) -> str:
    slope = one["soft"]["slope"]
    words = {"judge": one["judge"], "slope": _said(slope, items=items)}
    if slope["interval_kind"] == "bootstrap95" and slope["high"] < 1:
        return gettext("%(judge)s exaggerates: where its verdicts differ by 1, people's differ by %(slope)s.") % words
    if slope["interval_kind"] == "bootstrap95" and slope["low"] > 1:
        return (
            gettext("%(judge)s is too cautious: where its verdicts differ by 1, people's differ by %(slope)s.") % words
        )
    return gettext("Where verdicts of %(judge)s differ by 1, people's differ by %(slope)s.") % words


def _soft_summary(known: Judges, *, items: bool) -> Block:
    table = Table(
        [
            Column(gettext("Judge")),
            Column(gettext("Slope"), 3),
            Column(gettext("From"), 3),
            Column(gettext("To"), 3),
            Column(gettext("Judge minus people"), 3),
            Column(gettext("From"), 3),
            Column(gettext("To"), 3),
            Column(gettext("Mean error"), 3),
            Column(gettext("From"), 3),
            Column(gettext("To"), 3),
            Column(gettext("Verdicts"), 0),
        ],
        [
            [one["judge"], *_three(found["slope"]), *_three(found["offset"]), *_three(found["error"]), found["n"]]
            for one in known
            for found in [one["soft"]]
        ],
    )
    note = clusters_meaning(known[0]["soft"]["slope"], items=items)
    return Block("soft-summary", gettext("Graded verdicts in numbers"), table=table, notes=[note])


def _three(share: Mapping[str, Any]) -> list[Any]:
    return [share["value"], *stated(share)]


def family_block(judges: Judges, *, items: bool) -> Block:
    title = gettext("Preference for models of the judge's own family")
    known = [one for one in judges if not missing(one["own_family"])]
    notes = silent_notes(judges, "own_family")
    if not known:
        return Block("own-family", title, reason=" ".join(notes))
    table = Table(
        [
            Column(gettext("Judge")),
            Column(gettext("Pairs"), 0),
            Column(gettext("Judge's points for its family"), 3),
            Column(gettext("People's points"), 3),
            Column(gettext("Lift"), 3),
            Column(gettext("From"), 3),
            Column(gettext("To"), 3),
        ],
        [
            [
                one["judge"],
                own["n"],
                own["judge"]["value"],
                own["reference"]["value"],
                own["lift"]["value"],
                *stated(own["lift"]),
            ]
            for one in known
            for own in [one["own_family"]]
        ],
    )
    figure = ranges(
        [
            RangeRow(row[0], [Span(row[4], row[4] if row[5] is None else row[5], row[4] if row[6] is None else row[6])])
            for row in table.rows
        ],
        title=title,
        x_title=gettext("Judge's points minus people's for its family"),
        series=[title],
        step=0.01,
        rule=0.0,
    )
    caption = clusters_meaning(known[0]["own_family"]["lift"], items=items)
    return Block("own-family", title, figure=figure, caption=caption, table=table, notes=notes)


def reasonable_block(study: Study, found: Any, *, opens: bool = False) -> Block:
    """How many of each judge's verdicts reviewers called reasonable; `opens` where the page's opening says it already."""
    title = gettext("How many verdicts are reasonable?")
    if missing(found):
        return Block("reasonable", title, reason=reason_of(found))
    every = gettext("all")
    table = Table(
        [
            Column(gettext("Judge")),
            Column(gettext("Criterion")),
            Column(gettext("Reasonable"), 3),
            Column(gettext("From"), 3),
            Column(gettext("To"), 3),
            Column(gettext("Findings"), 0),
            Column(gettext("Answers reviewed"), 0),
            Column(gettext("Reviewers"), 0),
        ],
        [
            [
                row["judge"],
                criterion_name(study, row["criterion"]) if row["criterion"] else every,
                *_three(row["rate"]),
                row["n"],
                row["verdicts"],
                row["raters"],
            ]
            for row in found
        ],
    )
    bars = [
        Bar(
            criterion_name(study, row["criterion"]) if row["criterion"] else every,
            row["rate"]["value"],
            *stated(row["rate"]),
            group=row["judge"],
        )
        for row in found
    ]
    figure = interval_bars(bars, title=title, x_title=gettext("Share of findings that call the verdict reasonable"))
    items = by_items(study)
    caption = clusters_meaning(found[0]["rate"], items=items)
    return Block(
        "reasonable", title, answer=reasonable_opening(found, items=items), figure=figure, caption=caption, table=table
    )


def reasonable_opening(found: Any, *, items: bool = False) -> str:
    """State the rate of every judge in a sentence each, or why there is none."""
    if missing(found):
        return reason_of(found)
    return " ".join(_reasonable_sentence(row, items=items) for row in found if not row["criterion"])


def _reasonable_sentence(row: Mapping[str, Any], *, items: bool) -> str:
    return gettext("Reviewers call %(rate)s of the verdicts of %(judge)s reasonable.") % {
        "judge": row["judge"],
        "rate": _said(row["rate"], items=items),
    }


def correlation_block(study: Study, one: Mapping[str, Any], place: int) -> Block:
    """Show a judge's correlations with people by criterion, by category and over models."""
    title = gettext("Correlation of %(judge)s with people") % {"judge": one["judge"]}
    key, found = f"correlations-{place}", one["correlations"]
    if missing(found):
        return Block(key, title, reason=reason_of(found))
    categories = category_names({row["category_pk"]: row["category"] for row in found if row["by"] == "category"})
    rows, bars, notes = [], [], []
    for row in found:
        name = _group_name(study, row, categories)
        if "spearman" not in row:
            notes.append(f"{name}: {reason_of(row)}")
            continue
        kind = {"interval_kind": row["interval_kind"]}
        ends = [stated({**row[which], **kind}) for which in ("spearman", "kendall", "pearson")]
        cells = [
            cell
            for which, pair in zip(("spearman", "kendall", "pearson"), ends, strict=True)
            for cell in (row[which]["value"], *pair, row[which]["p"])
        ]
        rows.append([name, row["n"], *cells])
        bars.append(Bar(name, row["spearman"]["value"], *ends[0]))
    if not rows:
        return Block(key, title, reason=" ".join(notes))
    columns = [Column(gettext("Compared")), Column("n", 0)]
    for name in ("Spearman", "Kendall", "Pearson"):
        columns += [Column(name, 3), Column(gettext("From"), 3), Column(gettext("To"), 3), Column("p", 4)]
    figure = interval_bars(bars, title=title, x_title=gettext("Spearman's rank correlation"))
    first = next(row for row in found if "spearman" in row)
    caption = clusters_meaning(first, items=by_items(study)) if first["by"] != "models" else ""
    return Block(key, title, figure=figure, caption=caption, table=Table(columns, rows), notes=notes, folded=True)


def _group_name(study: Study, row: Mapping[str, Any], categories: Mapping[int, str]) -> str:
    if row["by"] == "criterion":
        return criterion_name(study, row["group"])
    if row["by"] == "category":
        return categories[row["category_pk"]]
    return gettext("model means")
