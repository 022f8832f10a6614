"""The verdicts of a judge run as plain values, for the API and for items.csv."""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from annotation.models import Score, latest_scores
from judging.models import PlannedItem, Reply
from judging.runs.verdict_lists import Asked, MeanScore, listed, means_of

VERDICT_COLUMNS = ("score", "score_of", "scores", "reasons")
"""What items.csv says of a verdict: one number, what it is the mean of, and both by criterion as JSON objects."""
RAW_COLUMN = "reply"


@dataclass(frozen=True)
class CriterionScore:
    """A judge's answer to one criterion; `score` is None where the criterion does not apply."""

    criterion: str
    score: float | None
    reason: str


@dataclass(frozen=True)
class RawReply:
    """One attempt: what came back, whole, and why it could not be used, '' if it could."""

    attempt: int
    text: str
    finish_reason: str
    error: str
    reused: bool


@dataclass(frozen=True)
class VerdictRecord:
    """An item with its verdict; `mean` and `answers` are empty where it has none, `replies` is None unless asked for."""

    item: PlannedItem
    mean: MeanScore | None
    answers: list[CriterionScore]
    asked: Asked
    replies: list[RawReply] | None = field(default=None)


def verdict_records(run: Any, pks: Sequence[int], *, raw: bool = False) -> list[VerdictRecord]:
    """Return these items of the run in the order of `pks`; `raw` adds every reply in full."""
    rows = listed(run, pks)
    answers = answers_of(row.item.assignment_id for row in rows if row.item.status == PlannedItem.Status.SCORED)
    replies = raw_replies_of(pks) if raw else {}
    return [
        VerdictRecord(
            row.item,
            row.score,
            answers.get(row.item.assignment_id or 0, []) if row.score is not None else [],
            row.asked,
            replies.get(row.item.pk, []) if raw else None,
        )
        for row in rows
    ]


def answers_of(assignments: Iterable[int | None]) -> dict[int, list[CriterionScore]]:
    """Return the latest score and reason of each criterion, by assignment, in the rubric's order."""
    scores = Score.objects.filter(assignment__in=[pk for pk in assignments if pk]).select_related("criterion")
    by_assignment: dict[int, list[Score]] = defaultdict(list)
    for score in scores.order_by("criterion__position", "criterion_id", "revision"):
        by_assignment[score.assignment_id].append(score)
    return {
        pk: [CriterionScore(one.criterion.key, one.value, one.reason) for one in latest_scores(given).values()]
        for pk, given in by_assignment.items()
    }


def raw_replies_of(items: Collection[int]) -> dict[int, list[RawReply]]:
    """Return every stored reply to these items, by item, in the order of the attempts."""
    found: dict[int, list[RawReply]] = defaultdict(list)
    for reply in Reply.objects.filter(item__in=items).order_by("item_id", "attempt").iterator(500):
        found[reply.item_id].append(
            RawReply(reply.attempt, reply.text, reply.finish_reason, reply.error, reply.reused_from_id is not None)
        )
    return found


def verdict_cells(items: Sequence[tuple[int, int | None, str]], *, raw: bool) -> list[list[str | float]]:
    """Return VERDICT_COLUMNS, and RAW_COLUMN if `raw`, for each (item, assignment, status).

    Cells of an item without a verdict are empty. The raw reply is that of the last attempt.
    """
    scored = [assignment for _pk, assignment, status in items if status == PlannedItem.Status.SCORED]
    means, answers = means_of(scored), answers_of(scored)
    replies = raw_replies_of([pk for pk, _assignment, _status in items]) if raw else {}
    cells: list[list[str | float]] = []
    for pk, assignment, status in items:
        mean = means.get(assignment or 0) if status == PlannedItem.Status.SCORED else None
        row: list[str | float] = ["", "", "", ""]
        if mean is not None:
            given = answers[assignment or 0]
            row = [mean.value, mean.role, _object({one.criterion: one.score for one in given})]
            row.append(_object({one.criterion: one.reason for one in given if one.reason}))
        if raw:
            row.append(replies[pk][-1].text if replies.get(pk) else "")
        cells.append(row)
    return cells


def _object(values: Mapping[str, str | float | None]) -> str:
    return json.dumps(values, ensure_ascii=False)
