"""HREF's tables beside what the workspace holds (arXiv 2412.15524): agreement of judging methods, expected win rates.

Table 1 rests on the human agreement set, tables 3, 5 and 6 on a composite judge's verdicts against the baseline. The
evaluation set is not public, so that tables 3 and 5 can be computed by those alone who have one like it. Section 4.3
correlates two printed tables, which needs nobody's data.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from accounts.models import Workspace
from annotation.models import Assignment, Rater, Study
from calibration.data.frames import ABOUT_RESPONSES, Floats, NothingToRead
from calibration.data.scores import score_frame
from calibration.reports.codec import Missing
from calibration.statistics.errors import NoStatistic
from calibration.statistics.ties import mean_ranks
from core.messages.message import sentences
from generation.models import MAIN_EXPERIMENT, Benchmark, Category, Instruction, Response
from judging.comparison.method_table import Measured, Rate, Row, composite_rows, measured, method_settings
from judging.leaderboards.filters import Filters
from judging.leaderboards.sections import ranks_of
from judging.leaderboards.table import NO_BOARD, Leaderboard, leaderboard, verdicts_on
from judging.leaderboards.weighting import EQUAL
from judging.published.columns import plain_name, quantities_of
from judging.published.judges_of_rows import judges_of_rows, template_of
from judging.published.paper_table import Cell, PaperTable, compared
from judging.published.papers.href_printed import SLUG, HrefPaper, PrintedRates, RatesTable, printed_href
from judging.published.papers.href_reasons import (
    BOTH_RANDOM,
    CHOSEN_ON_THE_SAME,
    JUDGE_THREE,
    JUDGE_WITH_TEMPLATE,
    LOADED_HERE,
    NO_PREFERENCES,
    NO_SUCH_JUDGE,
    NO_TASK_OF_CATEGORY,
    NO_VERDICT,
    NO_VERDICT_AGAINST,
    NO_VERDICT_IN_CATEGORY,
    NOBODY_COMPARED,
    NOT_PUBLIC,
    NOT_PUBLIC_SO,
    ON_AGREEMENT_SET,
    ON_PAIRS,
    OTHER_CATEGORIES,
    OTHER_JUDGE,
    OVER_BOTH,
    OVER_MODELS,
    PARTLY,
    RANK_NEEDS_ALL,
    RANK_RULE,
    RUN_METHOD,
    RUN_METHOD_WITH,
    SAME_JUDGE,
    TIED_LABELS,
    TOO_FEW_FOR_HALVES,
    UPLOAD_AGREEMENT,
    UPLOAD_DEVELOPMENT,
)
from judging.published.tables import by_likeness, judged_by
from judging.scores.metrics import WINS

PAPER = "Lyu, Wang, Hajishirzi, Dasigi, HREF (arXiv 2412.15524)"
PEOPLE, ALL, RANK = "Human", "all", "rank"
RANDOM = "Random"
LEAST_MODELS = 3
"""Models without which a correlation says nothing."""


def _benchmark(workspace: Workspace) -> Benchmark | None:
    return Benchmark.objects.filter(workspace=workspace, slug=SLUG).first()


def _categories(workspace: Workspace) -> dict[int, str]:
    """Return the keys of the benchmark's categories by primary key."""
    benchmark = _benchmark(workspace)
    return dict(Category.objects.filter(benchmark=benchmark).values_list("pk", "key")) if benchmark else {}


def agreement_study(workspace: Workspace) -> Study | None:
    """Return the study of HREF's pairs with the most people's answers; None where no person answered."""
    benchmark = _benchmark(workspace)
    studies = Study.objects.filter(workspace=workspace, benchmark=benchmark, kind=Study.Kind.PAIR) if benchmark else ()
    counts = {study: Assignment.objects.filter(task__study=study).of_people().answered().count() for study in studies}
    best = max(counts, key=lambda study: (counts[study], study.pk), default=None)
    return best if best is not None and counts[best] else None


@dataclass(frozen=True)
class _Agreement:
    """What table 1 can be computed from: the tasks with judges' matches, and our judge of each printed row."""

    found: Measured | None
    judges: Mapping[str, str]
    columns: Mapping[str, int]
    why: str = ""

    def matches_of(self, judge: str) -> Floats:
        assert self.found is not None
        return next(self.found.matches[pk] for pk, name in self.found.names.items() if name == judge)


def _agreement(workspace: Workspace, published: HrefPaper) -> _Agreement:
    study = agreement_study(workspace)
    if study is None:
        why = NO_PREFERENCES()
        return _Agreement(None, {}, {}, why)
    try:
        frame = score_frame(kinds=ABOUT_RESPONSES, study=study, judges=False)
        found = measured(study, frame, method_settings())
    except (NoStatistic, NothingToRead) as error:
        return _Agreement(None, {}, {}, str(error))
    judges = judges_of_rows(workspace.pk, sorted(found.names.values()), published["methods"])
    keys = _categories(workspace)
    columns = {
        keys[column.category_pk]: place for place, column in enumerate(found.categories) if column.category_pk in keys
    }
    return _Agreement(found, judges, columns)


def _table_1(workspace: Workspace) -> Sequence[Cell]:
    """Leave-one-out agreement with people, percent; composites are cross-fitted, which the paper's are not."""
    published = printed_href()
    table = published["table_1"]
    agreement = _agreement(workspace, published)
    cells = []
    for name, printed in table["rows"].items():
        row, missing = _method_row(agreement, published, name)
        judges = [agreement.judges[one] for one in _judges_asked(published, name) if one in agreement.judges]
        for column, value in zip(table["columns"], printed, strict=True):
            rate, why = _rate(agreement, table["columns"], row, column)
            cells.append(
                compared(
                    name,
                    column,
                    value,
                    None if rate is None else 100 * rate.value,
                    digits=table["digits"],
                    missing=missing or why,
                    reason="" if rate is None else _why_agreement_differs(published, name, rate),
                    judges=judges,
                )
            )
    return cells


def _method_row(agreement: _Agreement, published: HrefPaper, name: str) -> tuple[Row | None, str]:
    """Return the rates of a printed row, or what is missing for them."""
    if agreement.found is None:
        return None, agreement.why
    tasks = agreement.found.tasks
    if name == PEOPLE:
        return tasks.row(tasks.people), ""
    wanted = _judges_asked(published, name)
    lacking = [one for one in wanted if one not in agreement.judges]
    if lacking:
        return None, NO_SUCH_JUDGE(rows=", ".join(lacking), how=[_how(published, one) for one in lacking])
    if name not in published["composites"]:
        return tasks.row(agreement.matches_of(agreement.judges[name])), ""
    found = composite_rows(
        tasks, {agreement.judges[one]: agreement.matches_of(agreement.judges[one]) for one in wanted}
    )
    if isinstance(found, Missing):
        return None, TOO_FEW_FOR_HALVES()
    return found.composite, ""


def _judges_asked(published: HrefPaper, name: str) -> Sequence[str]:
    """Return the printed rows of the judges on whose verdicts a printed row rests, of a composite all its members."""
    return [] if name == PEOPLE else published["composites"].get(name, [name])


def _how(published: HrefPaper, name: str) -> str:
    """Say with which method and model a printed row's judge is run."""
    method = published["methods"][name]
    if not method["models"]:
        return RUN_METHOD(method=method["method"])
    return RUN_METHOD_WITH(method=method["method"], model=method["models"][0])


def _rate(agreement: _Agreement, columns: Sequence[str], row: Row | None, column: str) -> tuple[Rate | None, str]:
    """Return the rate of a cell, or why there is none; one over everything needs every category."""
    if row is None:
        return None, ""
    absent = [key for key in columns if key != ALL and key not in agreement.columns]
    if column == ALL:
        if absent:
            return None, OTHER_CATEGORIES(categories=", ".join(absent))
        return row.all, NO_VERDICT()
    if column not in agreement.columns:
        return None, NO_TASK_OF_CATEGORY()
    return row.cells[agreement.columns[column]], NO_VERDICT_IN_CATEGORY()


def _why_agreement_differs(published: HrefPaper, name: str, rate: Rate) -> str:
    on = ON_PAIRS(n=rate.n)
    if name in published["composites"]:
        return sentences([on, CHOSEN_ON_THE_SAME()])
    if name == RANDOM:
        return sentences([on, BOTH_RANDOM()])
    return sentences([on, TIED_LABELS()])


def _boards(workspace: Workspace) -> Iterator[Leaderboard]:
    """Yield the boards of expected win rates, that of the paper's judge first, then of those with the most verdicts."""
    benchmark = _benchmark(workspace)
    if benchmark is None:
        return
    judges: list[Rater] = [row.judge for row in verdicts_on(benchmark)]
    for judge in by_likeness(judges, printed_href()):
        if (board := _board(benchmark, judge)) is not None:
            yield board


def _board(benchmark: Benchmark, judge: Rater) -> Leaderboard | None:
    try:
        board = leaderboard(benchmark, judge, EQUAL, filters=Filters(measure=WINS))
    except NO_BOARD:
        return None
    return board if board.metric.name == WINS else None


@dataclass(frozen=True)
class _WinRates:
    """Expected win rates in percent by printed name and column, the shared ranks, and on how many verdicts they rest."""

    rates: Mapping[str, Mapping[str, float]]
    ranks: Mapping[str, int]
    partial: frozenset[str]
    judge: str
    same_judge: bool


def _win_rates(board: Leaderboard, published: HrefPaper, name: RatesTable) -> _WinRates | None:
    """Return what a board has of a table; None where it is of the other set or has nothing against the baseline."""
    printed = {plain_name(model): model for model in published[name]["rows"]}
    printed |= {
        plain_name(folder): model for model, folder in published["model_folders"].items() if model in printed.values()
    }
    of_board = {model: printed.get(plain_name(model), "") for model in board.model_names.values()}
    of_board = {model: row for model, row in of_board.items() if row}
    quantities = quantities_of(board, published, of_board)
    if quantities is None or quantities.table != ("table_6" if name == "table_6" else "table_5"):
        return None
    rates: dict[str, dict[str, float]] = {}
    partial_rows: set[str] = set()
    for quantity in quantities.columns:
        for model, value in quantity.ours.items():
            if model in of_board and value is not None:
                rates.setdefault(of_board[model], {})[quantity.column] = value
        partial_rows |= {of_board[model] for model in quantity.partial if model in of_board}
    return _WinRates(
        rates,
        _shared_ranks(board, published, of_board),
        frozenset(partial_rows),
        board.judge.name,
        judged_by(board.judge, published),
    )


def _shared_ranks(board: Leaderboard, published: HrefPaper, of_board: Mapping[str, str]) -> dict[str, int]:
    """Return ranks by comparisons with the baseline, by the paper's names; none where the models share no instructions."""
    pks = {name: pk for pk, name in board.model_names.items()}
    baseline = next((pk for name, pk in pks.items() if plain_name(name) == plain_name(published["baseline"])), -1)
    rows = board.observations
    kept = rows.select((rows.opponent == baseline) & np.isin(rows.model, [pks[name] for name in of_board]))
    try:
        return ranks_of(kept, {pks[name]: printed for name, printed in of_board.items()}) if len(kept) else {}
    except NoStatistic:
        return {}


def _table_of_rates(name: RatesTable, workspace: Workspace) -> Sequence[Cell]:
    """Tables 3, 5 and 6: expected win rates against the baseline, and the ranks that models share."""
    published = printed_href()
    table = published[name]
    found = next((rates for board in _boards(workspace) if (rates := _win_rates(board, published, name))), None)
    everyone = found is not None and set(table["rows"]) <= set(found.ranks)
    cells = []
    for model, printed in table["rows"].items():
        ours = found.rates.get(model, {}) if found else {}
        rank = float(found.ranks[model]) if found and everyone else None
        reason = _why_rates_differ(found, published, model, table["instructions"]) if found else ""
        judges = (found.judge,) if found else ()
        cells.append(
            compared(
                model,
                RANK,
                float(table["ranks"][model]),
                rank,
                digits=0,
                missing=_missing_rates(name, found) if not found else _missing_rank(table, found),
                reason=sentences(filter(None, [reason, RANK_RULE()])),
                judges=judges,
            )
        )
        for column, value in zip(table["columns"], printed, strict=True):
            missing = _missing_rates(name, found)
            cells.append(
                compared(
                    model,
                    column,
                    value,
                    ours.get(column),
                    digits=table["digits"],
                    missing=missing,
                    reason=reason,
                    judges=judges,
                )
            )
    return cells


def _missing_rank(table: PrintedRates, found: _WinRates) -> str:
    there = len(set(table["rows"]) & set(found.ranks))
    return RANK_NEEDS_ALL(all=len(table["rows"]), n=there)


def _missing_rates(name: str, found: _WinRates | None) -> str:
    if found is not None:
        return NO_VERDICT_AGAINST()
    if name == "table_6":
        return NOBODY_COMPARED()
    return NOT_PUBLIC_SO()


def _why_rates_differ(found: _WinRates, published: HrefPaper, model: str, instructions: int) -> str:
    reasons = []
    if model in found.partial:
        reasons.append(PARTLY(n=instructions))
    if not found.same_judge:
        reasons.append(OTHER_JUDGE(judge=found.judge))
    return sentences(reasons) or SAME_JUDGE()


def _table_8(workspace: Workspace) -> Sequence[Cell]:
    """Prompt templates: judges whose names say "prompt A" to "prompt D", on both public sets."""
    published = printed_href()
    table = published["table_8"]
    agreement = _agreement(workspace, published)
    boards = {template_of(board.judge.name): board for board in _boards(workspace)}
    rates = {template: _overall(board) for template, board in boards.items()}
    cells = []
    for name, (share, correlation) in table["rows"].items():
        ours, why = _template_agreement(agreement, name)
        reason = ON_AGREEMENT_SET()
        judge = _judge_with(agreement, name)
        cells.append(
            compared(
                name,
                "agreement",
                share,
                ours,
                digits=table["digits"],
                missing=why,
                reason=reason,
                judges=[judge] if judge else (),
            )
        )
        if correlation is None:
            continue
        r, n = _correlation(rates.get("Prompt A", {}), rates.get(name, {}))
        missing = JUDGE_THREE()
        reason = OVER_MODELS(n=n)
        judges = [boards[template].judge.name for template in ("Prompt A", name) if template in boards]
        cells.append(
            compared(name, "correlation", correlation, r, digits=2, missing=missing, reason=reason, judges=judges)
        )
    return cells


def _template_agreement(agreement: _Agreement, name: str) -> tuple[float | None, str]:
    if agreement.found is None:
        return None, agreement.why
    judge = _judge_with(agreement, name)
    if not judge:
        return None, JUDGE_WITH_TEMPLATE(template=name.lower())
    rate = agreement.found.tasks.row(agreement.matches_of(judge)).all
    return (100 * rate.value, "") if rate else (None, NO_VERDICT())


def _judge_with(agreement: _Agreement, template: str) -> str:
    """Return the first judge of the agreement set whose name says this template, '' without one."""
    names = sorted(agreement.found.names.values()) if agreement.found else []
    return next((judge for judge in names if template_of(judge) == template), "")


def _overall(board: Leaderboard) -> dict[str, float]:
    """Return the expected win rate of each model over all comparisons with the baseline, by the board's name of it."""
    quantities = quantities_of(board, printed_href(), {})
    overall = next((one.ours for one in quantities.columns if one.column == ALL), {}) if quantities else {}
    return {model: value for model, value in overall.items() if value is not None}


def _correlation(first: Mapping[str, float], second: Mapping[str, float]) -> tuple[float | None, int]:
    """Return Pearson's r over the models of both, and how many they are; None under three, or where all are equal."""
    shared = sorted(set(first) & set(second))
    x, y = (np.array([given[model] for model in shared]) for given in (first, second))
    if len(shared) < LEAST_MODELS or not x.std() or not y.std():
        return None, len(shared)
    return float(np.corrcoef(x, y)[0, 1]), len(shared)


def _table_9(workspace: Workspace) -> Sequence[Cell]:
    """The sizes of the sets: instructions and their categories."""
    table = printed_href()["table_9"]
    study = agreement_study(workspace)
    benchmark = _benchmark(workspace)
    asked = Response.objects.filter(instruction__benchmark=benchmark, run__experiment=MAIN_EXPERIMENT)
    sets = {
        "Evaluation": (None, NOT_PUBLIC()),
        "Development": (
            Instruction.objects.filter(pk__in=asked.values("instruction")).exclude(reference="") if benchmark else None,
            UPLOAD_DEVELOPMENT(),
        ),
        "Agreement": (
            Instruction.objects.filter(responses__tasks_as_a__study=study).distinct() if study else None,
            UPLOAD_AGREEMENT(),
        ),
    }
    cells = []
    for name, printed in table["rows"].items():
        rows, missing = sets[name]
        there = rows is not None and rows.exists()
        counts = (
            [rows.count(), rows.values("category").distinct().count()] if rows is not None and there else [None, None]
        )
        reason = LOADED_HERE()
        cells += [
            compared(name, column, float(value), ours, digits=0, missing=missing, reason=reason)
            for column, value, ours in zip(table["columns"], printed, counts, strict=True)
        ]
    return cells


def _section_4_3(_workspace: Workspace) -> Sequence[Cell]:
    """Evaluation set against development set: the overall rates of the models that both tables print."""
    published = printed_href()
    printed = published["section_4_3"]
    tables = published["table_5"], published["table_6"]
    first, second = ({model: row[-1] for model, row in table["rows"].items()} for table in tables)
    pearson, _n = _correlation(first, second)
    spearman, n = _correlation(_mean_ranks(first, second), _mean_ranks(second, first))
    reason = OVER_BOTH(n=n)
    return [
        compared("tables 5 and 6", name, value, ours, digits=printed["digits"], reason=reason)
        for name, value, ours in (("spearman", printed["spearman"], spearman), ("pearson", printed["pearson"], pearson))
    ]


def _mean_ranks(rates: Mapping[str, float], other: Mapping[str, float]) -> dict[str, float]:
    """Return the ranks of the rates of the models of both, equal ones with their mean."""
    shared = sorted(set(rates) & set(other))
    return dict(zip(shared, mean_ranks(np.array([rates[model] for model in shared])).tolist(), strict=True))


_RATES: tuple[RatesTable, ...] = ("table_3", "table_5", "table_6")
TABLES: tuple[PaperTable, ...] = (
    PaperTable(SLUG, "1", printed_href()["table_1"]["title"], f"{PAPER}, table 1", _table_1),
    *(
        PaperTable(
            SLUG,
            name.removeprefix("table_"),
            printed_href()[name]["title"],
            f"{PAPER}, table {name.removeprefix('table_')}",
            partial(_table_of_rates, name),
        )
        for name in _RATES
    ),
    PaperTable(SLUG, "8", printed_href()["table_8"]["title"], f"{PAPER}, table 8", _table_8),
    PaperTable(SLUG, "9", printed_href()["table_9"]["title"], f"{PAPER}, table 9", _table_9),
    PaperTable(SLUG, "section 4.3", printed_href()["section_4_3"]["title"], f"{PAPER}, section 4.3", _section_4_3),
)
