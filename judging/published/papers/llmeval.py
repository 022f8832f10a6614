"""Tables 2 to 10 of LLMEval (arXiv 2312.07398), recomputed from its published ratings of both stages."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from accounts.models import Workspace
from calibration.statistics.errors import NoStatistic
from calibration.statistics.judges.bias import LengthBias, length_bias
from calibration.statistics.ranking.rank_correlations import rank_correlations
from core.messages.message import Wording
from judging.published.paper_table import Cell, PaperTable, compared
from judging.published.papers.llmeval_data import JUDGE, PEOPLE, SIDES, LlmevalData, Means, places
from judging.published.tables import published_tables

PAPER = "Yue Zhang, Ming Zhang, Haipeng Yuan et al., LLMEval, arXiv 2312.07398"
STAGES = {"llmeval1": "LLMEval-1", "llmeval2": "LLMEval-2"}
SETTINGS = {
    "manual_stars_pairs": ("Manual: stars, pairs", ("stars", PEOPLE), ("pairs", PEOPLE)),
    "gpt4_stars_pairs": ("GPT-4: stars, pairs", ("stars", JUDGE), ("pairs", JUDGE)),
    "stars_manual_gpt4": ("Stars: manual, GPT-4", ("stars", PEOPLE), ("stars", JUDGE)),
    "pairs_manual_gpt4": ("Pairs: manual, GPT-4", ("pairs", PEOPLE), ("pairs", JUDGE)),
}
"""Table 2: what each line correlates."""
WHO = {PEOPLE: "manual", JUDGE: "GPT-4"}
OUTCOMES = {"win": ("wins", "win_share"), "draw": ("ties", "tie_share"), "loss": ("losses", "loss_share")}
CORRECTNESS = "correctness"
Printed = Mapping[str, Any]


NOTHING_OF = Wording(
    "llmeval.nothing_of", "The workspace has no %(what)s of %(stage)s. Upload its files as the benchmark %(slug)s."
)
ALL_QUESTIONS = Wording("llmeval.all_questions", "Ours rests on all questions; why it differs is not known.")
CUT_OFF = Wording("llmeval.cut_off", "The paper cut the figure off after its last digit instead of rounding it.")
NO_LENGTHS = Wording(
    "llmeval.no_lengths", "No pair whose texts are stored differs so much in length; load data/dialogs.json too."
)
NEVER_BOTH = Wording("llmeval.never_both", "No response has stars by people and by GPT-4 on this criterion.")
PEOPLES_STARS = Wording("llmeval.peoples_stars", "people's stars")
JUDGES_STARS = Wording("llmeval.judges_stars", "stars by GPT-4")
PEOPLES_CHOICES = Wording("llmeval.peoples_choices", "people's choices between pairs")
JUDGES_CHOICES = Wording("llmeval.judges_choices", "choices between pairs by GPT-4")
DENOISING = Wording(
    "llmeval.denoising",
    "The paper does not say whether its means are those before or after denoising; ours are before.",
)
NO_ANSWER = {
    PEOPLE: Wording("llmeval.no_people", "No person's answer about this model is stored."),
    JUDGE: Wording("llmeval.no_judge", "No answer by GPT-4 about this model is stored."),
}
NOT_EVERY_SUBJECT = {
    PEOPLE: Wording("llmeval.people_not_every_subject", "People have not answered about this model in every subject."),
    JUDGE: Wording("llmeval.judge_not_every_subject", "GPT-4 has not answered about this model in every subject."),
}
MIXED = ("Xunfei-Xinghuo", "CIIC-Zhigong")
"""Models whose rows by GPT-4 in tables 9 and 10 do not give their totals in table 8, as those of all others do."""
MIXED_UP = Wording(
    "llmeval.mixed_up",
    "The printed rows of this model by GPT-4 contradict its total in table 8; the rows of two models seem to be mixed up.",
)
OF_ONE_KIND = Wording(
    "llmeval.of_one_kind",
    "Questions with this criterion that are answered here: %(n)s; questions of the paper, objective and subjective: "
    "%(whole)s.",
)
RANKS_NEED_ALL = Wording("llmeval.ranks_need_all", "Ranks need scores of all %(n)s models.")
OFF_SCALE = Wording(
    "llmeval.off_scale",
    "Correctness has 1 to 3 stars, so that scores cannot be 3 apart; the text says 2, and ours are 2 or "
    "more apart on %(share)s percent.",
)
PARTLY = Wording("llmeval.partly", "Ours rests on %(n)s of %(whole)s questions.")


def _printed(slug: str, number: str) -> Printed:
    found = published_tables(slug)
    assert found is not None
    table: Printed = found[f"table_{number}"]
    return table


def _data(workspace: Workspace, slug: str) -> LlmevalData:
    return LlmevalData(workspace, slug, tuple(_printed(slug, "6" if slug == "llmeval1" else "8")["rows"]))


def _missing(slug: str, side: str, *, pairs: bool = False) -> str:
    """What to load so that a cell can be computed."""
    names = {
        (PEOPLE, False): PEOPLES_STARS,
        (JUDGE, False): JUDGES_STARS,
        (PEOPLE, True): PEOPLES_CHOICES,
        (JUDGE, True): JUDGES_CHOICES,
    }
    return NOTHING_OF(what=names[side, pairs](), stage=STAGES[slug], slug=slug)


def _reason(data: LlmevalData, n: int, side: str) -> str:
    """What is known of a differing cell that rests on `n` questions: that this is a part, or which people are meant."""
    whole = data.published["table_6" if data.slug == "llmeval1" else "table_8"]["instructions"]
    if n < whole:
        return PARTLY(n=n, whole=whole)
    if side == PEOPLE and data.slug == "llmeval1":
        return DENOISING()
    return ALL_QUESTIONS()


def _criterion_reason(data: LlmevalData, n: int, side: str) -> str:
    """The same of a mean on one criterion, which LLMEval-2 has for a part of its questions only."""
    if data.slug == "llmeval1":
        return _reason(data, n, side)
    return OF_ONE_KIND(n=n, whole=data.published["table_8"]["instructions"])


def _model_cells(
    data: LlmevalData, rows: Mapping[str, Sequence[float]], columns: Sequence[tuple[str, int, Means, str, bool]]
) -> Iterator[Cell]:
    """Yield a cell for each model and column (its head, digits, our numbers, whose, and whether of pairs)."""
    for row, values in rows.items():
        for (head, digits, ours, side, pairs), printed in zip(columns, values, strict=True):
            none = _lacks_answers(data, row, side, pairs=pairs) if ours else _lacks_models(data, side, pairs=pairs)
            why = _reason(data, data.instructions(side, pairs=pairs, model=row), side)
            judges = data.judges_of(side, pairs=pairs)
            yield compared(row, head, printed, ours.get(row), digits=digits, missing=none, reason=why, judges=judges)


def _lacks_answers(data: LlmevalData, model: str, side: str, *, pairs: bool) -> str:
    """Why a model has no score where others have one."""
    if not data.instructions(side, pairs=pairs, model=model):
        return NO_ANSWER[side]()
    return NOT_EVERY_SUBJECT[side]()


def _ranks(data: LlmevalData, scores: Means, digits: int) -> Means:
    """The ranks among the paper's models, where all of them have a score."""
    return places(scores, digits) if set(data.models) <= set(scores) else {}


def _score_columns(
    data: LlmevalData, score: Callable[[str], Means], digits: int, *, pairs: bool
) -> list[tuple[str, int, Means, str, bool]]:
    """The judge's score and rank, then people's, as the printed rows have them."""
    columns = []
    for side in (JUDGE, PEOPLE):
        ours = score(side)
        columns.append((f"score, {WHO[side]}", digits, ours, side, pairs))
        columns.append((f"rank, {WHO[side]}", 0, _ranks(data, ours, digits), side, pairs))
    return columns


def _criterion_cells(data: LlmevalData, table: Printed) -> Iterator[Cell]:
    criteria = table["criteria"]
    for side in SIDES:
        means = data.criterion_means(side)
        judges = data.judges_of(side)
        for model, values in criteria[side].items():
            for key, printed in zip(criteria["columns"], values, strict=True):
                ours = means.get(key, {})
                n = data.instructions(side, model=model, criterion=key)
                missing = _missing(data.slug, side) if data.frame(side) is None else NO_ANSWER[side]()
                yield compared(
                    model,
                    f"{key}, {WHO[side]}",
                    printed,
                    ours.get(model),
                    digits=table["digits"],
                    missing=missing,
                    misprint=_mixed_up(data, side, model),
                    reason=_criterion_reason(data, n, side),
                    judges=judges,
                )


def _mixed_up(data: LlmevalData, side: str, model: str) -> str:
    """Why the stars printed for a model by GPT-4 cannot be right, which shows only where all questions are here."""
    if data.slug != "llmeval2" or side != JUDGE or model not in MIXED:
        return ""
    return MIXED_UP() if data.instructions(side) >= data.published["table_8"]["instructions"] else ""


def _table_6(workspace: Workspace) -> list[Cell]:
    data, table = _data(workspace, "llmeval1"), _printed("llmeval1", "6")
    columns = _score_columns(data, data.overall_stars, table["digits"], pairs=False)
    return [*_model_cells(data, table["rows"], columns), *_criterion_cells(data, table)]


def _table_7(workspace: Workspace) -> list[Cell]:
    data, table = _data(workspace, "llmeval1"), _printed("llmeval1", "7")
    return list(_model_cells(data, table["rows"], _score_columns(data, data.pair_points, table["digits"], pairs=True)))


def _table_8(workspace: Workspace) -> list[Cell]:
    data, table = _data(workspace, "llmeval2"), _printed("llmeval2", "8")
    columns = _score_columns(data, data.subject_totals, table["digits"], pairs=False)
    return list(_model_cells(data, table["rows"], columns))


def _means_table(number: str) -> Callable[[Workspace], list[Cell]]:
    def compute(workspace: Workspace) -> list[Cell]:
        return list(_criterion_cells(_data(workspace, "llmeval2"), _printed("llmeval2", number)))

    return compute


def _table_2(workspace: Workspace) -> list[Cell]:
    """The correlations of the twelve models' ranks in tables 6 and 7."""
    data, table = _data(workspace, "llmeval1"), _printed("llmeval1", "2")
    score = {"stars": data.overall_stars, "pairs": data.pair_points}
    ranks = {
        (kind, side): _ranks(data, score[kind](side), _printed("llmeval1", "6")["digits"])
        for kind in score
        for side in SIDES
    }
    cells = []
    for line, printed in table["lines"].items():
        title, *both = SETTINGS[line]
        one, other = (ranks[key] for key in both)
        lacking = next((key for key in both if not ranks[key]), None)
        values: list[float | None] = [None, None]
        if lacking is None:
            found = rank_correlations(*(np.array([of[name] for name in data.models]) for of in (one, other)))
            values = [found.spearman.value, found.kendall.value]
        for head, figure, ours in zip(table["columns"], printed, values, strict=True):
            cells.append(
                compared(
                    title,
                    head,
                    figure,
                    ours,
                    digits=table["digits"],
                    missing="" if lacking is None else _lacks_models(data, lacking[1], pairs=lacking[0] == "pairs"),
                    misprint=_cut_off(figure, ours, table["digits"]),
                    reason="" if lacking else _reason_of_both(data, both),
                    judges=[judge for kind, side in both for judge in data.judges_of(side, pairs=kind == "pairs")],
                )
            )
    return cells


def _reason_of_both(data: LlmevalData, both: Sequence[tuple[str, str]]) -> str:
    """The reason of a cell that rests on two columns of scores, each by its kind and side: that of the smaller one."""
    n, side = min((data.instructions(side, pairs=kind == "pairs"), side) for kind, side in both)
    return _reason(data, n, PEOPLE if PEOPLE in {side for _kind, side in both} else side)


def _lacks_models(data: LlmevalData, side: str, *, pairs: bool) -> str:
    """What to load where there is no answer at all, or not about all the models that a rank needs."""
    if data.frame(side, pairs=pairs) is None:
        return _missing(data.slug, side, pairs=pairs)
    return RANKS_NEED_ALL(n=len(data.models))


def _cut_off(printed: float, ours: float | None, digits: int) -> str:
    """Why the printed figure is not rounded, where it is ours cut off after its last digit."""
    if ours is None or math.floor(ours * 10**digits + 1e-9) != round(printed * 10**digits):
        return ""
    return CUT_OFF()


def _table_3(workspace: Workspace) -> list[Cell]:
    data, table = _data(workspace, "llmeval1"), _printed("llmeval1", "3")
    found = {side: {limit: _bias(data, side, limit) for limit in (100, 300)} for side in SIDES}
    cells = []
    for line, printed in table["lines"].items():
        side, outcome = line.split("_")
        count, share = OUTCOMES[outcome]
        for place, limit in enumerate((100, 300)):
            bias = found[side][limit]
            missing = _missing(data.slug, side, pairs=True) if data.frame(side, pairs=True) is None else _no_lengths()
            row, column = f"{WHO[side]}, {outcome}", f"≥ {limit}"
            why = _reason(data, data.instructions(side, pairs=True), side)
            judges = data.judges_of(side, pairs=True)
            n = float(getattr(bias, count)) if bias else None
            percent = 100 * getattr(bias, share).value if bias else None
            cells += [
                compared(row, head, figure, ours, digits=digits, missing=missing, reason=why, judges=judges)
                for head, figure, ours, digits in (
                    (column, printed[2 * place], n, 0),
                    (f"{column} %", printed[2 * place + 1], percent, 1),
                )
            ]
    return cells


def _no_lengths() -> str:
    return NO_LENGTHS()


def _bias(data: LlmevalData, side: str, limit: int) -> LengthBias | None:
    known = data.lengths(side)
    try:
        return None if known is None else length_bias(*known, threshold=limit)
    except NoStatistic:
        return None


def _gap_table(number: str) -> Callable[[Workspace], list[Cell]]:
    """Tables 4 and 5: shares of responses on which people and GPT-4 differ by so many stars."""

    def compute(workspace: Workspace) -> list[Cell]:
        data, table = _data(workspace, "llmeval2"), _printed("llmeval2", number)
        cells = []
        for line, printed in table["lines"].items():
            key, _cut, stars = line.rpartition("_")
            gaps, lacking = data.gaps(key), next((side for side in SIDES if data.frame(side) is None), None)
            cells.append(
                compared(
                    f"Δ {key} ≥ {stars}",
                    "%",
                    printed,
                    100 * float((gaps >= float(stars) - 1e-9).mean()) if gaps.size else None,
                    digits=table["digits"],
                    missing=_missing(data.slug, lacking) if lacking else _never_both(),
                    misprint=_off_scale(gaps) if key == CORRECTNESS and gaps.size else "",
                    reason=_criterion_reason(
                        data, min(data.instructions(side, criterion=key) for side in SIDES), PEOPLE
                    ),
                    judges=data.judges_of(JUDGE),
                )
            )
        return cells

    return compute


def _never_both() -> str:
    return NEVER_BOTH()


def _off_scale(gaps: Any) -> str:
    """Table 5 says a difference of 3 stars of correctness, whose stars run from 1 to 3."""
    return OFF_SCALE(share=f"{100 * float((gaps >= 2 - 1e-9).mean()):.2f}")


def _title(slug: str, number: str) -> Mapping[str, str]:
    title: Mapping[str, str] = _printed(slug, number)["title"]
    return title


def _table(slug: str, number: str, compute: Callable[[Workspace], Sequence[Cell]]) -> PaperTable:
    return PaperTable(slug, number, _title(slug, number), f"{PAPER}, table {number}", compute)


TABLES: tuple[PaperTable, ...] = (
    _table("llmeval1", "2", _table_2),
    _table("llmeval1", "3", _table_3),
    _table("llmeval2", "4", _gap_table("4")),
    _table("llmeval2", "5", _gap_table("5")),
    _table("llmeval1", "6", _table_6),
    _table("llmeval1", "7", _table_7),
    _table("llmeval2", "8", _table_8),
    _table("llmeval2", "9", _means_table("9")),
    _table("llmeval2", "10", _means_table("10")),
)
