"""Blocks of rankings from pairs: strengths and ranks, who is ahead, the spread of Elo, points, position and length."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from django.utils.translation import gettext

from calibration.figures.charts import Bar, heat_map, interval_bars
from calibration.figures.drawing import number
from calibration.figures.spreads import RangeRow, Span, ranges
from calibration.reports.registry import Plain, missing
from calibration.statistics.ties import descending
from calibration.web.blocks import Block, Column, Table
from calibration.web.messages.intervals import ends_meaning, ends_words, stated
from calibration.web.messages.names import category_names
from calibration.web.messages.reasons import reason_of


def pair_blocks(report: Plain, clusters: str) -> list[Block]:
    """Build the blocks; `clusters` names what the intervals resample whole, in the reader's language."""
    return [
        _strength(report["strength"], clusters),
        ahead_block(report["strength"], clusters),
        _elo(report["elo"], report["strength"]),
        _points(report["points"], clusters),
        _davidson(report["davidson"]),
        _effects(report["effects"], clusters),
        position_block(report["position"]),
        length_block(report["length"]),
        *_categories(report["by_category"]),
    ]


def _strength(found: Mapping[str, Any], clusters: str) -> Block:
    title = gettext("Strength (Bradley-Terry)")
    if missing(found):
        return Block("strength", title, reason=reason_of(found))
    rows, kind = found["models"], found["interval_kind"]
    figure = ranges(
        [
            RangeRow(row["model"], [Span(row["strength"], row["low"], row["high"])], note=rank_words(row, kind))
            for row in rows
        ],
        title=title,
        x_title=gettext("Strength in Elo points"),
        series=[gettext("Bradley-Terry")],
    )
    table = Table(
        [
            Column(gettext("Model")),
            Column(gettext("Strength"), 1),
            Column(gettext("From"), 1),
            Column(gettext("To"), 1),
            Column(gettext("Rank"), 0),
            Column(gettext("Best rank"), 0),
            Column(gettext("Worst rank"), 0),
        ],
        [
            [
                row["model"],
                row["strength"],
                *stated({**row, "interval_kind": kind}),
                row["rank"],
                *stated({**row, "interval_kind": kind}, "rank_"),
            ]
            for row in rows
        ],
    )
    caption = ends_meaning(kind, found["clusters"], clusters)
    return Block("strength", title, figure=figure, caption=caption, table=table)


def rank_words(row: Mapping[str, Any], kind: str) -> str:
    """State the possible ranks; '' if nothing is known about them."""
    low, high = row["rank_low"], row["rank_high"]
    if kind == "none":
        return ""
    if low == high:
        return gettext("rank %(rank)d") % {"rank": low}
    return gettext("rank %(low)d to %(high)d") % {"low": low, "high": high}


def ahead_block(found: Mapping[str, Any], clusters: str) -> Block:
    """Show the probability that one model is truly ahead of another, for each pair for which it can be stated."""
    title = gettext("Probability of being truly ahead")
    if missing(found):
        return Block("ahead", title, reason=reason_of(found))
    if missing(found["ahead"]):
        return Block(
            "ahead",
            title,
            reason=gettext(
                "No probability is stated because every pair of models has too few %(of)s. Compare the models on more "
                "%(of)s."
            )
            % {"of": clusters},
        )
    names = [row["model"] for row in found["models"]]
    count = len(names)
    shown: list[list[float | None]] = [
        [None if i == j else found["ahead"][i][j] for j in range(count)] for i in range(count)
    ]
    figure = heat_map(names, shown, title=title)
    table = Table(
        [Column(gettext("Model")), Column(gettext("Other model")), Column(gettext("Probability ahead"), 3)],
        [[names[i], names[j], shown[i][j]] for i in range(count) for j in range(i + 1, count)],
    )
    caption = gettext(
        "Each cell shows the probability that the model of the row is truly better than that of the column."
    )
    return Block("ahead", title, figure=figure, caption=caption, table=table, folded=True)


def _elo(found: Mapping[str, Any], strength: Mapping[str, Any]) -> Block:
    title = gettext("Elo and its dependence on the order of comparisons")
    if missing(found):
        return Block("elo", title, reason=reason_of(found))
    rows = found["models"]
    beside = {} if missing(strength) else {row["model"]: row for row in strength["models"]}
    series = [
        gettext("over the last %(n)d comparisons (mark: final rating)") % {"n": found["last_games"]},
        gettext("over %(n)d shuffled orders (mark: mean)") % {"n": found["orders"]},
        *([gettext("Bradley-Terry, 95 %% interval") % {}] if beside else []),
    ]
    figure = ranges(
        [RangeRow(row["model"], _elo_spans(row, beside.get(row["model"]))) for row in rows],
        title=title,
        x_title=gettext("Elo points"),
        series=series,
    )
    table = Table(
        [
            Column(gettext("Model")),
            Column(gettext("Elo"), 1),
            Column(gettext("Rank"), 0),
            Column(gettext("Last comparisons, from"), 1),
            Column(gettext("to"), 1),
            Column(gettext("Ranks, from"), 0),
            Column(gettext("to"), 0),
            Column(gettext("Shuffled, mean"), 1),
            Column(gettext("SD"), 1),
            Column(gettext("from"), 1),
            Column(gettext("to"), 1),
            Column(gettext("Ranks, from"), 0),
            Column(gettext("to"), 0),
        ],
        [
            [
                row["model"],
                row["rating"],
                row["rank"],
                row["last_low"],
                row["last_high"],
                row["last_rank_low"],
                row["last_rank_high"],
                row["mean"],
                row["deviation"],
                row["low"],
                row["high"],
                row["rank_low"],
                row["rank_high"],
            ]
            for row in rows
        ],
    )
    moving = sum(row["rank_low"] != row["rank_high"] for row in rows)
    answer = gettext(
        "Shuffling the comparisons changes the rank of %(moving)d of %(all)d models; the standard deviation of a "
        "model's rating is up to %(sd)s points."
    ) % {"moving": moving, "all": len(rows), "sd": number(max(row["deviation"] for row in rows), 1)}
    return Block("elo", title, answer=answer, figure=figure, table=table, folded=True)


def _elo_spans(row: Mapping[str, Any], beside: Mapping[str, Any] | None) -> list[Span | None]:
    spans: list[Span | None] = [
        Span(row["rating"], row["last_low"], row["last_high"]),
        Span(row["mean"], row["low"], row["high"]),
    ]
    if beside is not None:
        spans.append(Span(beside["strength"], beside["low"], beside["high"]))
    return spans


def _points(found: Mapping[str, Any], clusters: str) -> Block:
    title = gettext("Points")
    if missing(found):
        return Block("points", title, reason=reason_of(found))
    order = descending(np.array(found["per_game"])).tolist()
    kind = found["interval_kind"]
    figure = interval_bars(
        [
            Bar(
                found["models"][i],
                found["per_game"][i],
                *((found["per_game_low"][i], found["per_game_high"][i]) if kind != "none" else ()),
            )
            for i in order
        ],
        title=title,
        x_title=gettext("Points per comparison"),
        rule=0.5,
        rule_label=gettext("level with its rivals"),
    )
    table = Table(
        [
            Column(gettext("Model")),
            Column(gettext("Points"), 1),
            Column(gettext("Rank"), 0),
            Column(gettext("Wins"), 0),
            Column(gettext("Ties"), 0),
            Column(gettext("Losses"), 0),
            Column(gettext("Per comparison"), 3),
            Column(gettext("From"), 3),
            Column(gettext("To"), 3),
            Column(gettext("Rank by points per comparison"), 0),
        ],
        [
            [
                found["models"][i],
                found["total"][i],
                found["rank"][i],
                found["wins"][i],
                found["ties"][i],
                found["losses"][i],
                found["per_game"][i],
                *((found["per_game_low"][i], found["per_game_high"][i]) if kind != "none" else (None, None)),
                found["rank_per_game"][i],
            ]
            for i in order
        ],
    )
    caption = ends_meaning(kind, found["clusters"], clusters)
    return Block("points", title, figure=figure, caption=caption, table=table)


def _davidson(found: Mapping[str, Any]) -> Block:
    title = gettext("Strength with ties as an outcome (Davidson)")
    if missing(found):
        return Block("davidson", title, reason=reason_of(found))
    order = descending(np.array(found["strength"])).tolist()
    kind = found["interval_kind"]
    figure = ranges(
        [RangeRow(found["models"][i], [Span(found["strength"][i], found["low"][i], found["high"][i])]) for i in order],
        title=title,
        x_title=gettext("Strength in Elo points"),
        series=[gettext("Davidson")],
    )
    table = Table(
        [
            Column(gettext("Model")),
            Column(gettext("Strength"), 1),
            Column(gettext("From"), 1),
            Column(gettext("To"), 1),
            Column(gettext("Rank"), 0),
        ],
        [[found["models"][i], found["strength"][i], *_ends(found, i, kind), found["rank"][i]] for i in order],
    )
    answer = gettext("Two equal models would tie in %(share)s of their comparisons (tie parameter %(tie)s).") % {
        "share": number(found["equal_tie"]),
        "tie": ends_words(found["tie_parameter"], found["tie_low"], found["tie_high"], kind),
    }
    return Block("davidson", title, answer=answer, figure=figure, table=table, folded=True)


def _ends(found: Mapping[str, Any], place: int, kind: str) -> Sequence[float | None]:
    return (None, None) if kind == "none" else (found["low"][place], found["high"][place])


def _effects(found: Mapping[str, Any], clusters: str) -> Block:
    title = gettext("Effects of position and length between equal models")
    if missing(found):
        return Block("effects", title, reason=reason_of(found))
    names = {"position": gettext("being shown first"), "length": gettext("being longer by the typical difference")}
    rows = [
        [names.get(name, name), found["effect"][i], *_effect_ends(found, i), found["unit"][i]]
        for i, name in enumerate(found["effects"])
    ]
    figure = ranges(
        [
            RangeRow(
                row[0],
                [Span(row[1], row[2] if row[2] is not None else row[1], row[3] if row[3] is not None else row[1])],
            )
            for row in rows
        ],
        title=title,
        x_title=gettext("Change in the log-odds of being preferred"),
        series=[gettext("effect")],
        step=0.01,
        rule=0.0,
    )
    table = Table(
        [
            Column(gettext("Effect")),
            Column(gettext("Log-odds"), 3),
            Column(gettext("From"), 3),
            Column(gettext("To"), 3),
            Column(gettext("Unit"), 3),
        ],
        rows,
    )
    answer = ""
    if "position" in found["effects"]:
        answer = gettext("Of two equal models, the one shown first is preferred %(share)s of the time.") % {
            "share": number(found["first_wins"])
        }
    order = [found["models"][place] for place in descending(np.array(found["strength"]))]
    notes = [
        gettext("Without these effects, the order is: %(order)s.") % {"order": ", ".join(order)},
        ends_meaning(found["interval_kind"], found["clusters"], clusters),
    ]
    return Block("effects", title, answer=answer, figure=figure, table=table, notes=notes)


def _effect_ends(found: Mapping[str, Any], place: int) -> Sequence[float | None]:
    if found["interval_kind"] == "none":
        return None, None
    return found["effect_low"][place], found["effect_high"][place]


def position_block(found: Mapping[str, Any]) -> Block:
    title = gettext("Position bias")
    if missing(found):
        return Block("position", title, reason=reason_of(found))
    wins, own = found["first_wins"], found["first_points"]
    answer = gettext("The side shown first wins %(wins)s of the %(n)d comparisons that were not tied.") % {
        "wins": ends_words(wins["value"], wins["low"], wins["high"], wins["interval_kind"]),
        "n": found["n_decided"],
    }
    table = Table(
        [
            Column(gettext("Measure")),
            Column(gettext("Value"), 3),
            Column(gettext("From"), 3),
            Column(gettext("To"), 3),
            Column(gettext("Comparisons"), 0),
        ],
        [
            [gettext("Wins among decided comparisons"), wins["value"], *stated(wins), found["n_decided"]],
            [gettext("Mean points (a tie counts half)"), own["value"], *stated(own), found["n"]],
        ],
    )
    return Block("position", title, answer=answer, table=table)


def length_block(rows: Any) -> Block:
    title = gettext("Length bias")
    rows = rows if isinstance(rows, list) else [rows]
    known = [row for row in rows if not missing(row)]
    if not known:
        return Block("length", title, reason=reason_of(rows[0]))
    table = Table(
        [
            Column(gettext("Minimum length difference")),
            Column(gettext("Comparisons"), 0),
            Column(gettext("Longer wins"), 3),
            Column(gettext("Tie"), 3),
            Column(gettext("Longer loses"), 3),
            Column(gettext("Bias rate"), 3),
            Column(gettext("From"), 3),
            Column(gettext("To"), 3),
        ],
        [
            [
                gettext("%(n)d characters") % {"n": row["threshold"]},
                row["n"],
                row["win_share"]["value"],
                row["tie_share"]["value"],
                row["loss_share"]["value"],
                row["rate"]["value"],
                *stated(row["rate"]),
            ]
            for row in known
        ],
    )
    rate = known[0]["rate"]
    answer = gettext(
        "The longer response is preferred to the shorter one by a margin of %(rate)s of the comparisons."
    ) % {"rate": ends_words(rate["value"], rate["low"], rate["high"], rate["interval_kind"])}
    return Block("length", title, answer=answer, table=table)


def _categories(rows: Sequence[Mapping[str, Any]]) -> list[Block]:
    if not rows:
        return []
    names = category_names(rows)
    models = sorted({model for row in rows if "models" in row for model in row["models"]})
    table = Table(
        [Column(gettext("Category")), Column(gettext("Comparisons"), 0), *(Column(model, 3) for model in models)],
        [[names[row["category_pk"]], row["n"], *_by_model(row, models)] for row in rows],
        caption=gettext("Points per comparison"),
    )
    return [Block("categories", gettext("By category"), table=table)]


def _by_model(row: Mapping[str, Any], models: Sequence[str]) -> list[float | None]:
    own = dict(zip(row["models"], row["per_game"], strict=True)) if "models" in row else {}
    return [own.get(model) for model in models]
