"""HelloBench's tables of evaluation methods against people: 4 (correlations) and 24 (mean scores by model)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from django.db.models import Count

from accounts.models import Workspace
from annotation.models import Assignment, Criterion, Rater, Score, Study
from calibration.data.frames import ABOUT_RESPONSES, Floats, NothingToRead
from calibration.data.verdicts import judges_by_verdicts
from generation.models import Benchmark
from judging.comparison.methods_against_people import (
    METRIC,
    PERPLEXITY,
    POINTS,
    SCORE,
    MethodScores,
    People,
    methods_of,
    people_of,
    shared_with,
)
from judging.leaderboards.weighting import EQUAL
from judging.models import Judge
from judging.published.columns import plain_name
from judging.published.hellobench.lookup import Absent, benchmark_of, names_here, printed_figures
from judging.published.hellobench.reasons import (
    NO_JUDGE,
    NO_OVERALL_SCORES,
    NO_PERPLEXITY,
    NO_REFERENCE,
    NO_SUMMARY,
    OVER_RESPONSES,
    TOO_FEW_SCORES,
)
from judging.published.paper_table import Cell, compared
from judging.published.tables import judged_by
from judging.scores.points import HELLOBENCH

SUMMARIES = "summarization"
PERCENT = 100.0
RHO_DIGITS = 2
LEAST_RESPONSES = 3
HUMAN = "HE"
METRIC_NAMES = {
    "METEOR": "meteor",
    "BLEU": "bleu_4",
    "ROUGE-L": "rouge_l",
    "Repetition-4": "repetition_4",
    "Distinct-4": "distinct_4",
    "PPL": PERPLEXITY,
}
WITH_REFERENCE = ("METEOR", "BLEU", "ROUGE-L")
JUDGING_METHODS = {"LLM-Eval": "overall", "LLM-Eval-C": "overall_with_checklist"}
IN_TABLE_24 = {
    "HelloEval": "HelloEval",
    "LE": "LLM-Eval",
    "LE-C": "LLM-Eval-C",
    "AVG-C": "AVG-C",
    "METEOR": "METEOR",
    "BLEU": "BLEU",
    "ROUGE-L": "ROUGE-L",
    "R-4": "Repetition-4",
    "D-4": "Distinct-4",
    "PPL": "PPL",
}
"""Columns of table 24 by table 4's names of the methods."""
AS_PERCENT = ("METEOR", "BLEU", "ROUGE-L", "Repetition-4")


@dataclass(frozen=True)
class Methods:
    """People's scores of summaries, and what each method of the paper says of them, by the paper's name."""

    people: People
    by_name: Mapping[str, MethodScores]


def correlations(workspace: Workspace) -> Sequence[Cell]:
    """Recompute table 4: Spearman's correlation with people times 100, and its p value."""
    found = _methods(workspace)
    table = printed_figures()["table_4"]
    cells = []
    for name, (rho, p) in table["methods"].items():
        method = None if isinstance(found, Absent) else found.by_name.get(name)
        ours = None if isinstance(found, Absent) or method is None else shared_with(method, found.people)
        spearman = None if isinstance(found, Absent) or ours is None else _spearman(ours[0], found.people.mean[ours[1]])
        missing = _missing(found, name, scored=method is not None)
        reason = OVER_RESPONSES(n=len(ours[0])) if ours else ""
        value, digits = (PERCENT * spearman[0] if spearman else None), table["digits_of_p"][name]
        judges = _judges(method)
        cells += [
            compared(name, "rho", rho, value, digits=RHO_DIGITS, missing=missing, reason=reason, judges=judges),
            compared(
                name,
                "p",
                p,
                spearman[1] if spearman else None,
                digits=digits,
                missing=missing,
                reason=reason,
                judges=judges,
            ),
        ]
    return cells


def _spearman(method: Floats, people: Floats) -> tuple[float, float] | None:
    """Return rho and p as in the paper, which takes responses as independent; None where one of them never varies."""
    from scipy.stats import spearmanr  # a second of start time that only this table needs

    if len(method) < LEAST_RESPONSES or not np.ptp(method) or not np.ptp(people):
        return None
    found = spearmanr(method, people)
    return float(found.statistic), float(found.pvalue)


def mean_scores(workspace: Workspace) -> Sequence[Cell]:
    """Recompute table 24: each model's mean by people and by every method, on summarization."""
    found = _methods(workspace)
    table = printed_figures()["table_24"]
    here = {} if isinstance(found, Absent) else names_here(found.people.model_names.values(), table["rows"])
    cells = []
    for name, values in table["rows"].items():
        for column, printed in zip(table["columns"], values, strict=True):
            ours, n = (None, 0) if isinstance(found, Absent) else _mean(found, here.get(name, ""), column)
            method = found.by_name.get(IN_TABLE_24.get(column, "")) if isinstance(found, Methods) else None
            scored = isinstance(found, Methods) and (column == HUMAN or method is not None)
            missing = _missing(found, IN_TABLE_24.get(column, HUMAN), scored=scored)
            reason = OVER_RESPONSES(n=n)
            judges = _judges(method)
            cells.append(compared(name, column, printed, ours, digits=2, missing=missing, reason=reason, judges=judges))
    return cells


def _judges(method: MethodScores | None) -> tuple[str, ...]:
    """Return the judge whose verdicts a method's scores are; a metric counts the text itself."""
    if method is None or (method.kind == METRIC and method.method != PERPLEXITY):
        return ()
    return (method.detail if method.kind == METRIC else method.method,)


def _mean(found: Methods, model: str, column: str) -> tuple[float | None, int]:
    """Return the mean on the paper's scale, and over how many responses."""
    people = found.people
    own = people.response[np.isin(people.model, [pk for pk, name in people.model_names.items() if name == model])]
    if column == HUMAN:
        values = people.mean[np.isin(people.response, own)]
        return (float(values.mean()) if len(values) else None), len(values)
    name = IN_TABLE_24[column]
    method = found.by_name.get(name)
    if method is None:
        return None, 0
    values = method.value[np.isin(method.response, own)]
    if not len(values):
        return None, 0
    if method.kind == POINTS:
        values = HELLOBENCH.scaled(values)
    return float(values.mean()) * (PERCENT if name in AS_PERCENT else 1.0), len(values)


def _methods(workspace: Workspace) -> Methods | Absent:
    benchmark = benchmark_of(workspace)
    study = benchmark if isinstance(benchmark, Absent) else study_of_people(benchmark)
    if isinstance(study, Absent):
        return study
    try:
        people = people_of(study, category=SUMMARIES)
    except NothingToRead:
        return Absent(NO_SUMMARY())
    names = {row.judge.name: row.judge for row in judges_by_verdicts(study)}
    methods = dict(Judge.objects.filter(rater__in=names.values()).values_list("rater", "method"))
    by_name: dict[str, MethodScores] = {}
    found = methods_of(study, people)
    for scores in sorted(found, key=lambda scores: _is_scripted(names.get(scores.method))):
        judge = names.get(scores.method)
        if not len(scores.response) or (judge and scores.kind == POINTS and not judged_by(judge, printed_figures())):
            continue
        known = _name_in_paper(scores, methods.get(judge.pk, "") if judge else "")
        if known:
            by_name.setdefault(known, scores)
    return Methods(people, by_name)


def _is_scripted(judge: Rater | None) -> bool:
    return judge is not None and bool(judge.provenance == Rater.Provenance.SCRIPTED)


def _name_in_paper(scores: MethodScores, method: str) -> str:
    """Return what the paper calls a method, '' where it has none such; an imported judge is known by its name."""
    if scores.kind == METRIC:
        return next((name for name, key in METRIC_NAMES.items() if key == scores.method), "")
    if scores.kind == POINTS:
        return "AVG-C" if scores.detail == EQUAL else "HelloEval"
    assert scores.kind == SCORE
    return next(
        (name for name, key in JUDGING_METHODS.items() if method == key or plain_name(scores.method) == name.lower()),
        "",
    )


def study_of_people(benchmark: Benchmark) -> Study | Absent:
    """Return the study of the benchmark's responses to which people gave most overall scores."""
    answers = Assignment.objects.filter(task__study__benchmark=benchmark, task__kind__in=ABOUT_RESPONSES).answered()
    scores = Score.objects.filter(assignment__in=answers.of_people(), criterion__role=Criterion.Role.OVERALL)
    most = scores.order_by().values_list("assignment__task__study").annotate(n=Count("pk")).order_by("-n").first()
    if most is None:
        return Absent(NO_OVERALL_SCORES())
    return Study.objects.get(pk=most[0])


def _missing(found: Methods | Absent, name: str, *, scored: bool) -> str:
    if isinstance(found, Absent):
        return found.reason
    if name in WITH_REFERENCE and not scored:
        return NO_REFERENCE()
    if name == "PPL" and not scored:
        return NO_PERPLEXITY()
    if not scored:
        return NO_JUDGE()
    return TOO_FEW_SCORES()
