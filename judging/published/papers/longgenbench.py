"""LongGenBench's table 2, figure 3 and section 3.5 beside what the workspace holds (arXiv 2409.02076).

Table 2 is computed from the authors' own counts (Evalution/results/static.csv of their repository) or, where those are not
loaded, from outputs that a judge checked here. The paper prints no numbers in figure 3, and no scores of RULER in section
3.5.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from accounts.models import Workspace
from annotation.models import Rater
from core.messages.message import Wording, sentences
from generation.library.aggregates import Aggregate, aggregates_of
from generation.models import Benchmark
from judging.leaderboards.check_counts import POSITIONS, Output
from judging.leaderboards.sections import fulfilled_by_position
from judging.leaderboards.table import NO_BOARD, Leaderboard, leaderboard, verdicts_on
from judging.leaderboards.weighting import EQUAL
from judging.published.columns import SHORT_PARTS, completion_as_printed, plain_name
from judging.published.paper_table import Cell, PaperTable, Status, compared
from judging.published.tables import by_likeness, judged_by, published_tables
from judging.scores.benchmark_scores import weighted_average
from judging.scores.metrics import FULFILLED

SLUG = "longgenbench"
VERSIONS = ("short", "long")
WHOLE = 400
"""Outputs of one model to one version."""
COMPLETE = 0.8
"""The paper's length is that of outputs that are at least this complete (3.2)."""
Row = Mapping[str, float | None]
"""A model's five numbers in one version, by what their columns are called."""


OTHER_JUDGE = Wording(
    "longgenbench.other_judge", "They were checked by %(judge)s; the paper's judge is Llama-3.1-8B-Instruct."
)
UPLOAD = Wording(
    "longgenbench.upload",
    "Upload the authors' repository as a benchmark, or this model's outputs and a judge's checks of them.",
)
AUTHORS_COUNTS = Wording(
    "longgenbench.authors_counts",
    "Computed from the authors' own counts (Evalution/results/static.csv), not from outputs; the cause of"
    " the difference is not known.",
)
FROM_OUTPUTS = Wording(
    "longgenbench.from_outputs", "Computed from %(n)s of %(all)s outputs, which were loaded or generated here."
)
DASH = Wording("longgenbench.dash", "The paper has a dash here, and the workspace has no such outputs.")
CURVE = Wording(
    "longgenbench.curve",
    "The paper draws a smoothed curve without numbers, so nothing can be compared; ours is STIC-2 in this"
    " tenth of the parts asked for.",
)
CURVE_WITHOUT_OUTPUTS = Wording(
    "longgenbench.curve_without_outputs",
    "The paper draws a smoothed curve without numbers, and its repository has no outputs; load this "
    "model's outputs and a judge's checks of them.",
)
PRINTED_67 = Wording(
    "longgenbench.printed_67",
    "The authors' counts give 62.7, and so does the row itself: its average of 12.5 is 62.7 percent of its STIC-2.",
)
PRINTED_26 = Wording("longgenbench.printed_26", "The row's own completion rate times its STIC-2 is 27.1.")
PRINTED_9055 = Wording(
    "longgenbench.printed_9055",
    "The authors' file has 9,055.53 words; here the decimals were cut off, in the other cells they are rounded.",
)
NO_RULER = Wording(
    "longgenbench.no_ruler",
    "The paper does not print RULER's scores. With a file of them, the leaderboard's link “Compare this "
    "ranking with another” gives the correlation over the models here, for the tag %(version)s.",
)


@dataclass(frozen=True)
class _Found:
    """What the workspace holds: the authors' counts, and the judged outputs, by the paper's name of the model."""

    counts: Mapping[tuple[str, str], Aggregate]
    outputs: Mapping[tuple[str, str], Sequence[Output]]
    judge: str = ""
    same_judge: bool = False


def _table_2(workspace: Workspace) -> Sequence[Cell]:
    published = _published()
    table = published["table_2"]
    found = _found_in(workspace, published)
    cells = []
    for model, printed in table["rows"].items():
        rows = {version: _row(found, (model, version)) for version in VERSIONS}
        for column, value in zip(table["columns"], printed, strict=True):
            version, name = column.split("_", 1)
            ours, reason = rows[version]
            counted = (model, version) in found.counts
            cells.append(
                compared(
                    model,
                    column,
                    value,
                    ours.get(name),
                    digits=0 if name == "words" else table["digits"],
                    missing=_missing(value),
                    misprint=_misprint(model, column, ours.get(name), counted),
                    reason=reason,
                    judges=() if counted else (found.judge,),
                )
            )
    return cells


def _published() -> Mapping[str, Any]:
    published = published_tables(SLUG)
    assert published is not None
    return published


def _found_in(workspace: Workspace, published: Mapping[str, Any]) -> _Found:
    benchmark = Benchmark.objects.filter(workspace=workspace, slug=SLUG).first()
    if benchmark is None:
        return _Found({}, {})
    names = {plain_name(folder): model for model, folder in published["model_folders"].items()}
    names |= {plain_name(model): model for model in published["table_2"]["rows"]}
    counts = {
        (names[plain_name(entry.model)], entry.version): entry
        for entry in aggregates_of(benchmark)
        if plain_name(entry.model) in names
    }
    board = _board(benchmark, published)
    if board is None:
        return _Found(counts, {})
    outputs: dict[tuple[str, str], list[Output]] = {}
    for output in board.outputs:
        printed = names.get(plain_name(board.model_names[output.model]))
        if printed is not None and output.counts.asked:
            version = "short" if output.counts.asked <= SHORT_PARTS else "long"
            outputs.setdefault((printed, version), []).append(output)
    return _Found(counts, outputs, board.judge.name, judged_by(board.judge, published))


def _board(benchmark: Benchmark, published: Mapping[str, Any]) -> Leaderboard | None:
    """Return the board of instruction checks by the paper's judge or, without one, by that with the most verdicts."""
    judges: list[Rater] = [row.judge for row in verdicts_on(benchmark)]
    for judge in by_likeness(judges, published):
        try:
            board = leaderboard(benchmark, judge, EQUAL)
        except NO_BOARD:
            continue
        if board.metric.name == FULFILLED:
            return board
    return None


def _row(found: _Found, place: tuple[str, str]) -> tuple[Row, str]:
    """Return the numbers of a model in a version, and why they may differ from the printed ones."""
    if place in found.counts:
        reason = AUTHORS_COUNTS()
        return _of_counts(found.counts[place]), reason
    outputs = found.outputs.get(place, ())
    shares = completion_as_printed(outputs)
    if shares is None:
        return {}, ""
    row = {
        "completion": shares.completion,
        "stic_1": shares.stic_1,
        "stic_2": shares.stic_2,
        "words": _mean_words(outputs),
        "average": shares.average,
    }
    return row, _reason(found, shares.n)


def _of_counts(entry: Aggregate) -> Row:
    stic_2 = entry.fulfilled / entry.checks if entry.checks else None
    return {
        "completion": entry.completion,
        "stic_1": 100 * entry.fulfilled / entry.answered if entry.answered else None,
        "stic_2": None if stic_2 is None else 100 * stic_2,
        "words": entry.words,
        "average": None if stic_2 is None or entry.completion is None else weighted_average(entry.completion, stic_2),
    }


def _mean_words(outputs: Sequence[Output]) -> float | None:
    words = [row.words for row in outputs if row.counts.present >= COMPLETE * row.counts.asked]
    return sum(words) / len(words) if words else None


def _reason(found: _Found, n: int) -> str:
    reason = FROM_OUTPUTS(n=n, all=WHOLE)
    if found.same_judge:
        return reason
    return sentences([reason, OTHER_JUDGE(judge=found.judge)])


def _missing(printed: float | None) -> str:
    if printed is None:
        return DASH()
    return UPLOAD()


def _misprint(model: str, column: str, ours: float | None, from_counts: bool) -> str:
    """Return why a printed figure cannot be right; '' if nothing is known against it."""
    if not from_counts or ours is None:
        return ""
    return {
        ("GPT-4o", "short_completion"): PRINTED_67(),
        ("GPT-4o-mini", "short_average"): PRINTED_26(),
        ("GPT-4o", "short_words"): PRINTED_9055(),
    }.get((model, column), "")


def _figure_3(workspace: Workspace) -> Sequence[Cell]:
    """Return STIC-2 by tenth of the parts asked for, of each model and version that the figure has."""
    published = _published()
    found = _found_in(workspace, published)
    cells: list[Cell] = []
    for model, printed in published["table_2"]["rows"].items():
        values = dict(zip(published["table_2"]["columns"], printed, strict=True))
        for version in VERSIONS:
            if values[f"{version}_completion"] is not None or (model, version) in found.outputs:
                cells += _curve(model, version, found.outputs.get((model, version), ()), found.judge)
    return cells


def _curve(model: str, version: str, outputs: Sequence[Output], judge: str) -> Iterator[Cell]:
    shares = fulfilled_by_position(outputs)
    if shares:
        reason = CURVE()
    else:
        reason = CURVE_WITHOUT_OUTPUTS()
    for place in range(POSITIONS):
        column, judges = f"{version}_{place + 1}/{POSITIONS}", (judge,) if place in shares else ()
        yield Cell(model, column, None, shares.get(place), Status.NOT_COMPUTABLE, reason, 1, judges)


def _section_3_5(_workspace: Workspace) -> Sequence[Cell]:
    """Return Pearson's correlation with RULER at the same length; the paper has no scores of RULER."""
    printed = _published()["section_3_5"]
    return [
        Cell(
            f"RULER, {length}",
            "Pearson",
            value,
            None,
            Status.NOT_COMPUTABLE,
            NO_RULER(version=version),
            printed["digits"],
        )
        for version, (length, value) in printed["rows"].items()
    ]


SOURCE = "Yuhao Wu, Ming Shan Hee, Zhiqiang Hu, Roy Ka-Wei Lee, LongGenBench, arXiv 2409.02076"
TABLES: tuple[PaperTable, ...] = (
    PaperTable(
        benchmark=SLUG,
        number="2",
        titles={
            "en": "Long texts of the short and the long version: completion rate, STIC-1, STIC-2, words, weighted average",
            "zh-hans": "短版与长版长文本：完成率、STIC-1、STIC-2、词数与加权平均",
        },
        source=f"{SOURCE}, table 2",
        compute=_table_2,
    ),
    PaperTable(
        benchmark=SLUG,
        number="figure 3",
        titles={
            "en": "Instructions fulfilled by position in the text (the paper prints a curve without numbers)",
            "zh-hans": "按文中位置统计的指令完成情况（论文只有曲线，没有数字）",
        },
        source=f"{SOURCE}, figure 3",
        compute=_figure_3,
    ),
    PaperTable(
        benchmark=SLUG,
        number="section 3.5",
        titles={
            "en": "Long texts against long inputs: the correlation with RULER at the same length",
            "zh-hans": "长文本输出与长输入：同一长度下与 RULER 的相关系数",
        },
        source=f"{SOURCE}, section 3.5",
        compute=_section_3_5,
    ),
)
