"""Store replies and verdicts: every reply in full, every verdict once, many at a time; and count what they cost."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from django.db import IntegrityError, transaction
from django.db.models import OuterRef, Q, QuerySet, Subquery, Sum
from django.utils import timezone

from annotation.models import Assignment, Criterion, Rater, Score
from core.clock import Clock
from core.db.bulk_insert import Inserting
from core.db.public_ids import new_public_id
from core.messages.message import stored, to_json
from core.text import storable
from generation.execution.progress import sums_of
from generation.execution.write_ahead_log import LoggedReply
from generation.llm.protocol.call_limits import CallFailed
from generation.llm.protocol.prices import Prices, Spend
from generation.llm.requests import Reply as ChatReply
from judging.judges.questions import Questions
from judging.methods.parsing import Answer, Unscored, Verdict
from judging.models import JudgeRun, PlannedItem, Reply

LONGEST_ERROR = 2000
LONGEST_REASON = 300
ANSWERED = (Assignment.Status.SUBMITTED, Assignment.Status.CHECKED, Assignment.Status.DERIVED)
Outcome = Verdict | Unscored
NEW_ASSIGNMENTS = Inserting(Assignment, "public_id", "task", "repeat", "status", "shown_first", "conditions")
NEW_SCORES = Inserting(Score, "assignment", "criterion", "value", "level", "reason", "reason_json")
REPLY_COLUMNS = (
    "item_id",
    "attempt",
    "request_hash",
    "text",
    "finish_reason",
    "error",
    "error_json",
    "reused_from_id",
    "input_tokens",
    "output_tokens",
    "calls",
    "cost",
    "seconds",
)
PAID_CALLS = Sum("calls", filter=Q(reused_from=None), default=0)
NEW_REPLIES = Inserting(Reply, *(name.removesuffix("_id") for name in REPLY_COLUMNS))


def cost_of(reply: ChatReply, prices: Prices) -> Decimal:
    """Return the cost that the reply states if its calls went to several endpoints, else the cost of its tokens."""
    stated: Decimal | None = getattr(reply, "cost", None)
    return prices.cost(reply.input_tokens, reply.output_tokens) if stated is None else stated


def reply_row(item: PlannedItem, reply: ChatReply, *, request_hash: str, attempt: int, cost: Decimal) -> Reply:
    """Build the unsaved row of an attempt that brought a text."""
    return Reply(
        item=item,
        attempt=attempt,
        request_hash=request_hash,
        text=storable(reply.text),
        finish_reason=storable(reply.finish_reason)[:30],
        input_tokens=reply.input_tokens,
        output_tokens=reply.output_tokens,
        calls=reply.calls,
        cost=cost,
        seconds=reply.seconds,
    )


def failure_row(item: PlannedItem, error: CallFailed, *, request_hash: str, attempt: int, cost: Decimal) -> Reply:
    """Build the unsaved row of an attempt without a whole reply; the endpoint's error and the cost are kept."""
    if error.came is None:
        row = Reply(item=item, attempt=attempt, request_hash=request_hash)
    else:
        row = reply_row(item, error.came, request_hash=request_hash, attempt=attempt, cost=cost)
    message = stored("error", str(error) or type(error).__name__, LONGEST_ERROR)
    row.error, row.error_json = message["error"], message["error_json"]
    return row


def reuse_row(item: PlannedItem, known: Reply, *, attempt: int) -> Reply:
    """Build an unsaved copy of a stored reply to the same question, at no cost."""
    return Reply(
        item=item,
        attempt=attempt,
        request_hash=known.request_hash,
        text=known.text,
        finish_reason=known.finish_reason,
        reused_from_id=known.reused_from_id or known.pk,
        cost=Decimal(0),
    )


@dataclass
class Ledger:
    """Replies and verdicts to write together; `write` is called inside a transaction.

    Writing twice or from two workers is safe: unique constraints decide, and the first answer stays. `derived` verdicts
    are made of those of other judges.
    """

    rater: Rater
    questions: Questions
    clock: Clock = timezone.now
    derived: bool = False
    replies: list[Reply] = field(default_factory=list)
    outcomes: dict[int, tuple[PlannedItem, Outcome]] = field(default_factory=dict)
    _levels: dict[tuple[int, float], str] = field(default_factory=dict)
    _criteria: dict[int, dict[str, Criterion]] = field(default_factory=dict)

    def close(self, item: PlannedItem, outcome: Outcome) -> None:
        self.outcomes[item.pk] = item, outcome

    def write(self) -> None:
        replies, outcomes = self.replies, list(self.outcomes.values())
        self.replies, self.outcomes = [], {}
        if replies:
            _store_replies(replies)
        verdicts = [(item, outcome) for item, outcome in outcomes if isinstance(outcome, Verdict)]
        if verdicts:
            self._store_verdicts(verdicts)
        for item, outcome in outcomes:
            if isinstance(outcome, Unscored):
                self._store_unscored(item, outcome)

    def answered_already(self, items: Sequence[PlannedItem]) -> set[int]:
        """Close the items whose question the judge has answered, in this run or another; return their pks."""
        known = set(self._assignments(items).filter(status__in=ANSWERED).values_list("task_id", "repeat"))
        answered = [item for item in items if (item.task_id, item.repeat) in known]
        if answered:
            self._close(answered)
        return {item.pk for item in answered}

    def _assignments(self, items: Sequence[PlannedItem]) -> QuerySet[Assignment]:
        return Assignment.objects.filter(
            rater=self.rater, task__in={item.task_id for item in items}, repeat__in={item.repeat for item in items}
        )

    def _store_verdicts(self, verdicts: Sequence[tuple[PlannedItem, Verdict]]) -> None:
        items = [item for item, _verdict in verdicts]
        known = {(row.task_id, row.repeat): row for row in self._assignments(items)}
        fresh: list[tuple[PlannedItem, Verdict]] = []
        late: list[tuple[PlannedItem, Verdict]] = []
        for item, verdict in verdicts:
            (late if (item.task_id, item.repeat) in known else fresh).append((item, verdict))
        try:
            with transaction.atomic():
                self._insert(fresh)
        except IntegrityError:
            # Another worker stored one of them: each separately, so that the constraint decides for that one alone.
            late += fresh
        for item, verdict in late:
            self._store_late(item, verdict)
        self._close(items)

    def _insert(self, verdicts: Sequence[tuple[PlannedItem, Verdict]]) -> None:
        """Write with prepared statements, since this limits the number of replies per second of a worker."""
        now = self.clock()
        NEW_ASSIGNMENTS.insert(
            [
                (
                    new_public_id(),
                    item.task_id,
                    item.repeat,
                    self._status_of(item),
                    self._shown_first_of(item),
                    _conditions_of(item),
                )
                for item, _verdict in verdicts
            ],
            rater=self.rater.pk,
            reason="",
            created_at=now,
            submitted_at=now,
        )
        rows = self._assignments([item for item, _verdict in verdicts])
        known = {(task, repeat): pk for pk, task, repeat in rows.values_list("pk", "task_id", "repeat")}
        NEW_SCORES.insert(
            (
                (known[item.task_id, item.repeat], *self._score(item, answer))
                for item, verdict in verdicts
                for answer in verdict.answers
            ),
            revision=0,
            not_applicable=False,
            created_at=now,
        )

    def _store_late(self, item: PlannedItem, verdict: Verdict) -> None:
        """Write one verdict if an assignment exists already or was added meanwhile; an existing answer stays."""
        try:
            with transaction.atomic():
                assignment = self._assignment_of(item)
                if assignment.status in ANSWERED:
                    return
                NEW_SCORES.insert(
                    ((assignment.pk, *self._score(item, answer)) for answer in verdict.answers),
                    revision=0,
                    not_applicable=False,
                    created_at=self.clock(),
                )
                assignment.status = self._status_of(item)
                assignment.reason, assignment.reason_json = "", None
                assignment.shown_first = self._shown_first_of(item)
                assignment.submitted_at = self.clock()
                assignment.discredited = None
                assignment.save(
                    update_fields=["status", "reason", "reason_json", "shown_first", "submitted_at", "discredited"]
                )
        except IntegrityError:
            return

    def _store_unscored(self, item: PlannedItem, unscored: Unscored) -> None:
        """Record an unusable verdict: counted and shown, never turned into a score. An existing answer stays."""
        reason = stored("reason", unscored.reason, LONGEST_REASON)
        assignment = self._assignment_of(item)
        if assignment.status in ANSWERED:
            self._close([item])
            return
        assignment.status = Assignment.Status.UNSCORED
        assignment.reason, assignment.reason_json = reason["reason"], reason["reason_json"]
        assignment.shown_first = shown_first_of(item)
        assignment.conditions = _conditions_of(item)
        assignment.submitted_at = self.clock()
        assignment.discredited = None
        assignment.save(
            update_fields=[
                "status",
                "reason",
                "reason_json",
                "shown_first",
                "conditions",
                "submitted_at",
                "discredited",
            ]
        )
        PlannedItem.objects.filter(pk=item.pk).update(
            status=PlannedItem.Status.UNSCORED, assignment=assignment, leased_until=None, leased_by="", **reason
        )

    def _status_of(self, item: PlannedItem) -> str:
        status = _status_of(item)
        return Assignment.Status.DERIVED if self.derived and status == Assignment.Status.SUBMITTED else status

    def _shown_first_of(self, item: PlannedItem) -> str:
        return "" if self.derived else shown_first_of(item)

    def _assignment_of(self, item: PlannedItem) -> Assignment:
        assignment, _made = Assignment.objects.get_or_create(task_id=item.task_id, rater=self.rater, repeat=item.repeat)
        return Assignment.objects.select_for_update().get(pk=assignment.pk)

    def _close(self, items: Sequence[PlannedItem]) -> None:
        """Mark all of them as scored, with the judge's assignments, in one statement."""
        mine = Assignment.objects.filter(
            task_id=OuterRef("task_id"), rater=self.rater, repeat=OuterRef("repeat")
        ).values("pk")[:1]
        PlannedItem.objects.filter(pk__in=[item.pk for item in items]).update(
            status=PlannedItem.Status.SCORED,
            assignment=Subquery(mine),
            leased_until=None,
            leased_by="",
            **stored("reason", ""),
        )

    def _score(self, item: PlannedItem, answer: Answer) -> tuple[int, float, str, str, object]:
        """A criterion, its value and level, and the reason as text and as a message."""
        criterion = self._criterion(item, answer.key)
        level = getattr(answer, "level", "") or self._level(criterion, answer.value)
        return criterion.pk, answer.value, level, storable(answer.reason), to_json(answer.reason)

    def _criterion(self, item: PlannedItem, key: str) -> Criterion:
        pk = item.task.answer_rubric_id
        if pk not in self._criteria:
            criteria = self.questions.rubric(pk).criteria.all()
            self._criteria[pk] = {criterion.key: criterion for criterion in criteria}
        return self._criteria[pk][key]

    def _level(self, criterion: Criterion, value: float) -> str:
        place = criterion.pk, value
        if place not in self._levels:
            level = criterion.level_of(value)
            self._levels[place] = str(level["key"]) if level else ""
        return self._levels[place]


def _status_of(item: PlannedItem) -> str:
    """Say that a verdict on a canary text or on a task with `gold`, such as a probe's, counts nowhere."""
    checks = bool(item.canary) or item.task.gold is not None
    return Assignment.Status.CHECKED if checks else Assignment.Status.SUBMITTED


def _conditions_of(item: PlannedItem) -> dict[str, object]:
    return {"canary": item.canary} if item.canary else {}


def shown_first_of(item: PlannedItem) -> str:
    """'' for everything but pairs."""
    return item.shown_first if item.task.response_b_id else ""


def _store_replies(replies: Sequence[Reply]) -> None:
    try:
        with transaction.atomic():
            NEW_REPLIES.insert(
                [[getattr(reply, name) for name in REPLY_COLUMNS] for reply in replies], created_at=timezone.now()
            )
    except IntegrityError:
        # Another worker had the item meanwhile and used the number: what was paid for is kept all the same.
        for reply in replies:
            store_reply(reply)


def store_reply(reply: Reply) -> None:
    """Store under its own attempt number, or under the next free one."""
    PlannedItem.objects.select_for_update().get(pk=reply.item_id)
    taken = set(Reply.objects.filter(item=reply.item_id).values_list("attempt", flat=True))
    while reply.attempt in taken:
        reply.attempt += 1
    reply.save(force_insert=True)


def store_replies(run: JudgeRun, replies: Sequence[LoggedReply]) -> int:
    """Store replies from a write-ahead log, whatever else came for their items meanwhile; return how many were new."""
    with transaction.atomic():
        items = run.items.in_bulk([logged.item for logged in replies])
        stored = {
            (row.item_id, row.request_hash, row.text, row.seconds)
            for row in Reply.objects.filter(item__in=items, error="")
        }
        new = [
            logged
            for logged in replies
            if logged.item in items
            and (logged.item, logged.request_hash, storable(logged.text), logged.seconds) not in stored
        ]
        for logged in new:
            item, cost = items[logged.item], Decimal(logged.cost)
            row = reply_row(
                item, logged.reply, request_hash=logged.request_hash, attempt=item.attempts_before, cost=cost
            )
            store_reply(row)
    return len(new)


def spent_of(run: JudgeRun) -> Spend:
    """Every attempt that was sent counts as a call, including failed ones; reused replies cost nothing."""
    sums = sums_of(Reply.objects.filter(item__run=run), written="output_tokens", calls=PAID_CALLS)
    return Spend(sums["calls"], sums["read"] + sums["written"], Decimal(sums["money"]))
