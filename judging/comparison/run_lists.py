"""The list of judge runs: searched, with the cost, the unusable verdicts and the stored agreement of each."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.core.cache import cache
from django.db.models import Count, Q, QuerySet, Sum

from calibration.models import Report
from calibration.report_store.questions import EXCLUDED
from generation.endpoints.pricing import price_of
from judging.comparison.judge_against_people import KIND
from judging.models import Judge, JudgeRun, PlannedItem, Reply

SUMS_KEPT_SECONDS = 600
RUNNING_KEPT_SECONDS = 15
ENDED = (JudgeRun.Status.FINISHED, JudgeRun.Status.CANCELLED, JudgeRun.Status.FAILED)


@dataclass(frozen=True)
class RunSums:
    """What a run's replies have cost, and how many of its ordinary items have no usable verdict."""

    cost: Decimal
    unusable: int


@dataclass(frozen=True)
class StoredAgreement:
    """Spearman's rho between a judge's points and people's scores in a study, from the newest stored report.

    Without a `low` and `high`, no interval is stated.
    """

    rho: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class PromptVersion:
    """Which of the prompts, by age, that its model and method have had in the workspace; `hash` is its short name."""

    number: int
    of: int
    hash: str


def runs_found(runs: QuerySet[JudgeRun], words: str) -> QuerySet[JudgeRun]:
    """Return the runs of which the judge, model, study, label or id contains the words; all of them without words."""
    if not words:
        return runs
    return runs.filter(
        Q(judge__rater__label__icontains=words)
        | Q(judge__language_model__name__icontains=words)
        | Q(study__names__icontains=words)
        | Q(study__slug__icontains=words)
        | Q(label__icontains=words)
        | Q(public_id=words)
    )


def sums_of_runs(runs: Sequence[JudgeRun]) -> dict[int, RunSums]:
    """Return cost and unusable verdicts by run; those of an ended run are kept for minutes, because all replies are read."""
    known = cache.get_many([_key(run) for run in runs])
    found = {run.pk: known[_key(run)] for run in runs if _key(run) in known}
    missing = [run for run in runs if run.pk not in found]
    if missing:
        pks = [run.pk for run in missing]
        costs = dict(
            Reply.objects.filter(item__run__in=pks).order_by().values_list("item__run").annotate(n=Sum("cost"))
        )
        unscored = PlannedItem.objects.filter(run__in=pks, canary="", status=PlannedItem.Status.UNSCORED)
        unusable = dict(unscored.order_by().values_list("run").annotate(n=Count("pk")))
        for run in missing:
            found[run.pk] = RunSums(Decimal(costs.get(run.pk) or 0), unusable.get(run.pk, 0))
            cache.set(_key(run), found[run.pk], SUMS_KEPT_SECONDS if run.status in ENDED else RUNNING_KEPT_SECONDS)
    return found


def _key(run: JudgeRun) -> str:
    ended = run.finished_at.isoformat() if run.finished_at and run.status in ENDED else ""
    return f"run-sums-{run.public_id}-{run.status}-{ended}".replace(" ", "")


def stored_agreements(pairs: Iterable[tuple[int, str]]) -> dict[tuple[int, str], StoredAgreement]:
    """Return the newest stored agreement by (study, public id of the judge); nothing is computed."""
    wanted = set(pairs)
    rows = (
        Report.objects.filter(
            study__in={study for study, _judge in wanted},
            kind=KIND,
            settings__judge__in={judge for _s, judge in wanted},
        )
        .exclude(settings__has_key=EXCLUDED)
        .order_by("pk")
        .values_list("study_id", "settings__judge", "result__correlation__spearman")
    )
    found = {}
    for study, judge, spearman in rows:
        if (study, judge) in wanted and spearman is not None:
            stated = spearman.get("interval_kind", "none") != "none"
            low, high = (spearman["low"], spearman["high"]) if stated else (None, None)
            found[study, judge] = StoredAgreement(spearman["value"], low, high)
    return found


def prompt_versions(judges: Iterable[Judge]) -> dict[int, PromptVersion]:
    """Return each judge's prompt version, by judge; a judge without a prompt has none."""
    asked = [judge for judge in judges if judge.prompt and judge.language_model_id is not None]
    rows = (
        Judge.objects.filter(
            workspace__in={judge.workspace_id for judge in asked},
            language_model__in={judge.language_model_id for judge in asked},
            method__in={judge.method for judge in asked},
        )
        .order_by("created_at", "pk")
        .values_list("workspace_id", "language_model_id", "method", "prompt_hash")
    )
    versions: dict[tuple[Any, ...], list[str]] = {}
    for *place, prompt in rows:
        known = versions.setdefault(tuple(place), [])
        if prompt not in known:
            known.append(prompt)
    found = {}
    for judge in asked:
        known = versions[judge.workspace_id, judge.language_model_id, judge.method]
        found[judge.pk] = PromptVersion(known.index(judge.prompt_hash) + 1, len(known), judge.prompt_hash[:8])
    return found


def is_priced(judge: Judge, cost: Decimal) -> bool:
    """Whether a cost of 0 says that nothing was paid, rather than that nobody said what a call costs."""
    model = judge.language_model
    return cost > 0 or model is None or price_of(model).known
