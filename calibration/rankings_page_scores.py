"""Mean scores as blocks: means with ranks, who is ahead of whom, shared ranks, and how many tasks separate models."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext

from calibration.curve_charts import Curve, curves
from calibration.drawing import number
from calibration.interval_words import ends_meaning, stated
from calibration.rankings_page_pairs import ahead_block, rank_words
from calibration.reasons import reason_of
from calibration.report_words import category_names
from calibration.result_blocks import Block, Column, Table
from calibration.spread_charts import RangeRow, Span, ranges
from calibration.stored_reports import Plain, missing


def score_blocks(report: Plain, clusters: str, *, items: bool) -> list[Block]:
    """`clusters` is what the intervals draw whole, in the reader's language."""
    return [
        _means(report["scores"], clusters), ahead_block(report["scores"]), _shared(report["shared"], items=items),
        power_block(report["power"]), *_categories(report["by_category"]),
    ]  # fmt: skip


def _means(found: Mapping[str, Any], clusters: str) -> Block:
    title = gettext("Mean scores")
    if missing(found):
        return Block("means", title, reason=reason_of(found))
    rows = found["models"]
    figure = ranges(
        [
            RangeRow(row["model"], [Span(row["mean"], row["low"], row["high"])], note=rank_words(row))
            for row in rows
        ],
        title=title,
        x_title=gettext("Mean score"),
        series=[gettext("mean")],
        step=0.01,
    )
    known = found["interval_kind"] != "none"
    table = Table(
        [Column(gettext("Model")), Column(gettext("Answers"), 0), Column(gettext("Mean"), 3),
         Column(gettext("From"), 3), Column(gettext("To"), 3), Column(gettext("Rank"), 0),
         Column(gettext("Best rank"), 0),
         Column(gettext("Worst rank"), 0)],
        [[row["model"], row["n"], row["mean"], row["low"] if known else None, row["high"] if known else None,
          row["rank"], row["rank_low"], row["rank_high"]] for row in rows],
    )  # fmt: skip
    caption = ends_meaning(found["interval_kind"], found["clusters"], clusters)
    return Block("means", title, figure=figure, caption=caption, table=table)


def _shared(found: Mapping[str, Any], *, items: bool) -> Block:
    title = gettext("Shared ranks")
    if missing(found):
        return Block("shared-ranks", title, reason=reason_of(found))
    rows = list(zip(found["models"], found["mean"], found["rank"], found["leader_p"], strict=True))
    table = Table(
        [Column(gettext("Model")), Column(gettext("Mean over instructions"), 3), Column(gettext("Rank"), 0),
         Column(gettext("p against the leader of its rank"), 3)],
        [list(row) for row in rows],
    )  # fmt: skip
    leaders = [row[0] for row in rows if row[2] == 1]
    if items:
        answer = gettext("%(models)s share the first rank (%(n)d items that every model answered).") if (
            len(leaders) > 1
        ) else gettext("%(models)s holds the first rank alone (%(n)d items that every model answered).")  # fmt: skip
    else:
        answer = gettext("%(models)s share the first rank (%(n)d instructions that every model answered).") if (
            len(leaders) > 1
        ) else gettext("%(models)s holds the first rank alone (%(n)d instructions that every model answered).")  # fmt: skip
    return Block(
        "shared-ranks",
        title,
        answer=answer % {"models": ", ".join(leaders), "n": found["tasks"]},
        table=table,
    )


def power_block(found: Mapping[str, Any]) -> Block:
    """HREF's figure 4 for any study: quantiles of p over all pairs of models, by number of instructions."""
    title = gettext("How many instructions separate the models")
    if missing(found):
        return Block("power", title, reason=reason_of(found))
    shares = found["shares"]
    series = [Curve(gettext("mean p"), list(zip(found["sizes"], found["mean"], strict=True)))]
    series += [
        Curve(
            gettext("p that %(share)d %% of the pairs stay below") % {"share": round(100 * share)},
            [(size, line[column]) for size, line in zip(found["sizes"], found["quantiles"], strict=True)],
        )
        for column, share in enumerate(shares)
    ]
    level = found["significant"]
    figure = curves(
        series,
        title=title,
        x_title=gettext("Instructions"),
        y_title=gettext("p of paired t tests"),
        rule=level,
        rule_label=number(level),
        step=0.001,
    )
    columns = [Column(gettext("Instructions"), 0), Column(gettext("Mean p"), 4)]
    columns += [Column(gettext("%(share)d %%") % {"share": round(100 * share)}, 4) for share in shares]
    table = Table(
        columns,
        [[size, mean, *line]
         for size, mean, line in zip(found["sizes"], found["mean"], found["quantiles"], strict=True)],
    )  # fmt: skip
    return Block(
        "power", title, answer=_separation(found), figure=figure, table=table, folded=True,
        caption=gettext("%(pairs)d pairs of %(models)d models; each size averages %(repeats)d random choices.") % {
            "pairs": found["pairs"], "models": found["models"], "repeats": found["repeats"]
        },
    )  # fmt: skip


def _separation(found: Mapping[str, Any]) -> str:
    said = []
    for share in found["shares"]:
        words = {"share": round(100 * share)}
        here, later = found["separating"].get(str(share)), found["projected"].get(str(share))
        if here is not None:
            said.append(
                gettext("%(n)d instructions separate %(share)d %% of the pairs.") % {**words, "n": here}
            )
        elif later is not None:
            said.append(
                gettext("To separate %(share)d %% of the pairs, about %(n)d instructions would be needed.")
                % {**words, "n": later}
            )
        else:
            said.append(
                gettext(
                    "No number of instructions separates %(share)d %% of the pairs: some models do not differ."
                )
                % words
            )
    return " ".join(said)


def _categories(rows: Sequence[Mapping[str, Any]]) -> list[Block]:
    if not rows:
        return []
    names = category_names(rows)
    table = Table(
        [Column(gettext("Category")), Column(gettext("Model")), Column(gettext("Answers"), 0),
         Column(gettext("Mean"), 2), Column(gettext("From"), 2), Column(gettext("To"), 2), Column(gettext("Rank"), 0)],
        [[names[row["category_pk"]], one["model"], one["n"], one["mean"],
          *stated({**one, "interval_kind": row["interval_kind"]}), one["rank"]]
         for row in rows if "models" in row for one in row["models"]],
        caption=gettext("Mean score"),
    )  # fmt: skip
    silent = [names[row["category_pk"]] for row in rows if "models" not in row]
    notes = (
        [gettext("Only one model has been rated in: %(names)s.") % {"names": ", ".join(silent)}]
        if silent
        else []
    )
    return [Block("categories", gettext("By category"), table=table, notes=notes)]
