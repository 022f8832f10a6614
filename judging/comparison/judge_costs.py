"""What a study's judges cost and how long they take, and which of them were made here."""

from collections.abc import Collection
from dataclasses import dataclass
from decimal import Decimal

from django.core.cache import cache
from django.db.models import Count, Sum

from annotation.models import Study
from judging.models import Judge, JudgeRun, PlannedItem, Reply

KEPT_SECONDS = 300


@dataclass(frozen=True)
class JudgeCosts:
    """Of a judge's runs in a study: `money`, `seconds` and `calls` a usable verdict, None where it has none, and its newest
    run."""

    verdicts: int
    money: Decimal | None
    seconds: float | None
    run: str
    calls: float | None = None


def costs_in(study: Study, raters: Collection[int]) -> dict[int, JudgeCosts]:
    """Return the costs of judges asked in this study, by pk of their rater; kept for minutes, as it reads all replies."""
    runs = JudgeRun.objects.of_responses().filter(study=study, judge__rater__in=raters)
    newest = dict(runs.order_by("pk").values_list("judge__rater", "public_id"))
    scored = PlannedItem.objects.filter(run__in=runs, canary="", status=PlannedItem.Status.SCORED).order_by()
    numbers = dict(scored.values_list("run__judge__rater").annotate(n=Count("pk")))
    key = f"judge-costs-and-calls-{study.pk}-" + "-".join(f"{rater}.{n}" for rater, n in sorted(numbers.items()))
    sums = cache.get(key)
    if sums is None:
        replies = Reply.objects.filter(item__run__in=runs, item__canary="").order_by()
        rows = replies.values_list("item__run__judge__rater").annotate(
            paid=Sum("cost"), took=Sum("seconds"), asked=Count("pk")
        )
        sums = {rater: (Decimal(paid), took, asked) for rater, paid, took, asked in rows}
        cache.set(key, sums, KEPT_SECONDS)
    found = {}
    for rater, run in newest.items():
        n, (paid, took, asked) = numbers.get(rater, 0), sums.get(rater, (Decimal(0), 0.0, 0))
        calls = asked / n if n else None
        found[rater] = JudgeCosts(n, paid / n if n else None, took / n if n else None, run, calls)
    return found


def judges_made(raters: Collection[int]) -> dict[int, Judge]:
    """Return the judges made here, by pk of their rater; one whose verdicts were all imported is not among them."""
    made = Judge.objects.filter(rater__in=raters).select_related("language_model__endpoint")
    return {judge.rater_id: judge for judge in made}
