"""The work queue of one worker in a run: which questions to send next, and what to do with the replies.

Everything here uses the database and knows nothing of event loops. Each judge of a panel has a queue of its own.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.db import transaction

from core.clock import Clock
from core.messages.message import stored
from generation.endpoints.clients import remember_uncounted, terms_stand
from generation.endpoints.served_names import remember_served
from generation.execution.budget import Purse
from generation.execution.engine import Answered, Failed, Outcome, Retried, Traffic, Withheld
from generation.execution.throttling import PutOff
from generation.execution.worker import seems_down
from generation.execution.write_ahead_log import Journal, JournalFailed, Kept
from generation.llm.errors import TooLong
from generation.llm.protocol.call_limits import CallFailed
from generation.llm.protocol.prices import NOTHING, Ceiling, Spend
from generation.llm.requests import Reply as ChatReply
from judging.judges.questions import Questions
from judging.judges.transports import way_of
from judging.judges.ways import Asked, Held, canonical, shown
from judging.methods import messages as reply_messages
from judging.methods.parsing import FILTERED, Unscored, Verdict, Why
from judging.methods.registry import unanswerable
from judging.models import Judge, JudgeRun, PlannedItem, Reply
from judging.runs.asked_items import AskedItems, replies_of
from judging.runs.leases import lease_items, release, renew
from judging.runs.recording import LONGEST_REASON, Ledger, cost_of, failure_row, reply_row, reuse_row
from judging.runs.spending import spent_of

ATTEMPTS = 3
LONGEST_QUOTED_REPLY = 4_000
NO_TEXT = Unscored(Why.NO_TEXT, reply_messages.NO_TEXT())


@dataclass
class Worklist:
    """`gave_up` holds the endpoint's words once going on makes no sense.

    `refused` is the most that one of the calls could cost which the engine withheld. `outdated`: the endpoint's terms
    were changed, so that another worklist is to go on; so it does where that is so of one `beside` it, in this process.
    """

    run: JudgeRun
    worker: str
    clock: Clock
    judge: Judge | None = None
    juror: int = 0
    gave_up: str = ""
    answered: int = 0
    held: dict[int, Held] = field(default_factory=dict)
    failing: list[int] = field(default_factory=list)
    refused: Spend = NOTHING
    outdated: bool = False
    beside: Sequence["Worklist"] = ()

    def __post_init__(self) -> None:
        self.asked_judge = self.judge or self.run.judge
        self.way = way_of(self.asked_judge)
        self.prices = self.way.prices
        self.settings: dict[str, Any] = self.run.manifest.get("settings", {})
        self.purse = Purse(self.run, self.worker, self.clock, spent_of)
        self.put_off = PutOff(self.run, self.clock)
        self.questions = Questions(self.asked_judge.method, self.run.study)
        self.proven = self.run.items.filter(status=PlannedItem.Status.SCORED, juror=self.juror).exists()
        self.items = AskedItems()
        self.ledger = Ledger(self.asked_judge.rater, self.questions, self.clock)
        self.journal = Journal(self.run.public_id, self.worker)

    def next_questions(self, count: int) -> tuple[list[Asked], bool]:
        """Return at most `count` calls to send, and whether there may be more; items that need no call are settled
        here.
        """
        if self.purse.lowered:
            if self.held:
                return [], True
            self.purse.relent()
        pks = lease_items(self.run, self.worker, count, self.clock, self.juror)
        if not pks:
            return [], False
        items = self.items.read(pks)
        replies = replies_of(pks)
        with transaction.atomic():
            self.questions.learn(item.task for item in items)
            done = self.ledger.answered_already(items)
            open_ones = [item for item in items if item.pk not in done]
            held = [one for item in open_ones if (one := self._take_up(item, replies.get(item.pk, [])))]
            found = self._ask(held)
            self.ledger.write()
        self.purse.fill(self.in_hand)
        return found, len(pks) == count

    def take(self, outcomes: Sequence[Outcome[int, ChatReply]]) -> list[Asked]:
        """Store the replies in one transaction; return the calls to send again because a reply was unusable."""
        again: list[Held] = []
        with transaction.atomic():
            for outcome in outcomes:
                held = self.held[outcome.key]
                match outcome:
                    case Answered(result=reply):
                        again += self._read(held, reply)
                    case Retried(error=error):
                        self._note(held, error)
                    case Failed(error=error, fatal=fatal):
                        again += self._failed(held, error, fatal)
                    case Withheld():
                        if held.asked is not None:
                            self.refused = self.refused.at_least(held.asked.reserve)
                        self._drop([outcome.key])
            self.purse.pay(_cost_of(self.ledger.replies))
            found = self._ask(again)
            self.ledger.write()
        self.purse.fill(self.in_hand)
        return found

    def keep(self, key: int, reply: ChatReply) -> None:
        """Save the reply in the write-ahead log, in case this process is killed before `take` has stored it."""
        asked = self.held[key].asked
        assert asked is not None
        try:
            self.journal.keep(Kept.of(key, reply, cost_of(reply, self.prices), asked.request_hash))
        except JournalFailed as error:
            self._give_up(str(error))

    def stored(self, keys: Collection[int]) -> None:
        self.journal.stored(keys)

    def cost_of(self, reply: ChatReply) -> Spend:
        tokens = reply.input_tokens + reply.output_tokens
        return Spend(reply.calls, tokens, cost_of(reply, self.prices))

    @property
    def in_hand(self) -> Spend:
        """Return the maximum cost of all calls in flight."""
        return sum((held.asked.reserve for held in self.held.values() if held.asked), NOTHING)

    def begin_again(self) -> bool:
        """Whether the budget has room for the most expensive of the withheld calls; if so, reserve it."""
        if not self.purse.reopen(self.refused):
            return False
        self.refused = NOTHING
        return True

    def settle_failures(self) -> None:
        """Nothing is left to ask: failed items are unscored if others were answered, else the endpoint is down."""
        with transaction.atomic():
            last = self.held[self.failing[-1]] if self.failing else None
            if last is not None and not (last.refused or self.answered or self.gave_up):
                self._give_up(last.last_error)
            self._close_failing()
            self.ledger.write()

    def renew(self) -> None:
        renew(self.run, self.worker, list(self.held), self.clock)
        self.purse.renew()

    def leave(self) -> None:
        """Release all items and reservations still held; unsaved replies stay in the write-ahead log."""
        try:
            self._drop(list(self.held))
            self.purse.close()
            self.put_off.leave()
        finally:
            self.journal.close()

    def others_are_busy(self) -> bool:
        """Whether items wait that another worker holds, or has held until now."""
        waiting = self.run.items.filter(status=PlannedItem.Status.WAITING, juror=self.juror)
        return waiting.exclude(leased_by=self.worker).exists()

    def still_running(self) -> bool:
        found = JudgeRun.objects.filter(pk=self.run.pk, status=JudgeRun.Status.RUNNING)
        budget = found.values_list("budget_calls", "budget_tokens", "budget_money").first()
        if budget is None:
            return False
        self.purse.look(Ceiling(*budget))
        self.put_off.tell()
        if self.way.endpoint is not None and not terms_stand(self.way.endpoint):
            self.outdated = True
        return not any(one.outdated for one in (self, *self.beside))

    def tell(self, traffic: Traffic) -> None:
        self.purse.tell(traffic)

    def _take_up(self, item: PlannedItem, replies: Sequence[Reply]) -> Held | None:
        """Return the item with its conversation; None if it was closed without a call."""
        question = shown(item, self.questions.about(item.task))
        lack = unanswerable(self.asked_judge.method, question)
        if lack is None and not item.canary and not all(text.strip() for text in question.responses):
            lack = NO_TEXT
        begun = lack or self.way.begin(item, question)
        if isinstance(begun, Unscored):
            self.ledger.close(item, begun)
            return None
        for reply in replies:
            begun.attempts = reply.attempt + 1
            usable = not reply.error and reply.attempt >= item.attempts_before
            if usable and self._settled(begun, _as_chat(reply)):
                return None
        self.held[item.pk] = begun
        return begun

    def _ask(self, waiting: Sequence[Held]) -> list[Asked]:
        """Return the next calls for these items, except those settled by stored replies."""
        found: list[Asked] = []
        while waiting:
            for held in waiting:
                held.asked = self.way.ask(held)
            known = self._known_replies(waiting)
            again = []
            for held in waiting:
                assert held.asked is not None
                reply = known.get(held.asked.request_hash)
                if reply is None:
                    found.append(held.asked)
                elif not self._reused(held, reply):
                    again.append(held)
            waiting = again
        return found

    def _reused(self, held: Held, known: Reply) -> bool:
        """Whether a stored reply to the same question closes the item."""
        self.ledger.replies.append(reuse_row(held.item, known, attempt=held.attempts))
        held.attempts += 1
        if not self._settled(held, _as_chat(known)):
            return False
        self.held.pop(held.item.pk, None)
        return True

    def _known_replies(self, waiting: Sequence[Held]) -> dict[str, Reply]:
        """Return, by hash, stored replies to the same questions that led to a verdict."""
        if not self.settings.get("reuse", True):
            return {}
        wanted = {held.asked.request_hash for held in waiting if held.asked is not None}
        replies = Reply.objects.filter(
            request_hash__in=wanted,
            error="",
            item__status=PlannedItem.Status.SCORED,
            item__run__judge__workspace_id=self.asked_judge.workspace_id,
        ).exclude(item__in=[held.item.pk for held in waiting])
        return {reply.request_hash: reply for reply in replies.order_by("-pk")}

    def _read(self, held: Held, reply: ChatReply) -> list[Held]:
        assert held.asked is not None
        row = reply_row(
            held.item,
            reply,
            request_hash=held.asked.request_hash,
            attempt=held.attempts,
            cost=cost_of(reply, self.prices),
        )
        self.ledger.replies.append(row)
        remember_served(self.run, reply.served)
        if reply.estimated and self.way.endpoint is not None:
            remember_uncounted(self.way.endpoint, self.run)
        held.attempts += 1
        self.answered += 1
        self.put_off.answered()
        self._close_failing()
        if self._settled(held, reply):
            self.held.pop(held.item.pk, None)
            return []
        return [held]

    def _settled(self, held: Held, reply: ChatReply) -> bool:
        """Whether the reply closes the item, by a verdict or as its last attempt; otherwise the model is told what is
        wrong.
        """
        held.replies += 1
        match self.way.parse(held, reply):
            case Verdict() as verdict:
                self.ledger.close(held.item, canonical(held.item, verdict))
                return True
            case Unscored() as unscored:
                most = self.settings.get("attempts", ATTEMPTS)
                if not self.way.corrects or held.replies >= most or reply.finish_reason == FILTERED:
                    self.ledger.close(held.item, unscored)
                    return True
                first = held.messages[: _first_turn(held.messages)]
                said = {"role": "assistant", "content": reply.text[:LONGEST_QUOTED_REPLY].strip() or "(nothing)"}
                held.messages = [*first, said, dict(self.way.correction(unscored))]
        return False

    def _note(self, held: Held, error: CallFailed) -> None:
        assert held.asked is not None
        held.last_error = str(error)
        if error.patient:
            self.put_off.delayed(held.last_error)
            if error.came is None:
                return
        row = failure_row(
            held.item, error, request_hash=held.asked.request_hash, attempt=held.attempts, prices=self.prices
        )
        self.ledger.replies.append(row)
        held.attempts += 1

    def _failed(self, held: Held, error: CallFailed, fatal: bool) -> list[Held]:
        """Return the question to ask again at once."""
        self._note(held, error)
        held.refused = error.doubtful
        if fatal:
            self._give_up(str(error))
            self._drop([held.item.pk])
        elif isinstance(error, TooLong) and self.way.shorten(held, str(error)):
            return [held]
        elif isinstance(error, TooLong):
            self.ledger.close(held.item, Unscored(Why.TOO_LONG, str(error)))
            self.held.pop(held.item.pk)
        else:
            self.failing.append(held.item.pk)
            if seems_down(len(self.failing), held.refused):
                self._give_up(str(error))
                self._close_failing()
        return []

    def _give_up(self, words: str) -> None:
        self.gave_up = self.gave_up or words

    def _close_failing(self) -> None:
        """Handle a failed call: release the item if the run stops, else, or if the call was refused, mark it unscored."""
        for pk in self.failing:
            held = self.held.get(pk)
            if held is None:
                continue
            if self.gave_up and not held.refused:
                self._drop([pk])
            else:
                self.ledger.close(held.item, Unscored(Why.ENDPOINT, held.last_error))
                del self.held[pk]
        self.failing.clear()

    def _drop(self, pks: Iterable[int]) -> None:
        """Release items, each with the result of its last attempt."""
        by_error: dict[str, list[int]] = {}
        for pk in pks:
            by_error.setdefault(self.held.pop(pk).last_error, []).append(pk)
        for words, found in by_error.items():
            noted = stored("reason", words, LONGEST_REASON) if words else {}
            release(self.run, self.worker, found, **noted)


def _cost_of(replies: Sequence[Reply]) -> Spend:
    paid = [reply for reply in replies if reply.reused_from_id is None]
    return Spend(
        sum(reply.calls for reply in paid),
        sum(reply.input_tokens + reply.output_tokens for reply in paid),
        sum((Decimal(reply.cost) for reply in paid), Decimal(0)),
    )


def _as_chat(reply: Reply) -> ChatReply:
    return ChatReply(reply.text, reply.finish_reason, reply.input_tokens, reply.output_tokens, reply.seconds)


def _first_turn(messages: Sequence[dict[str, str]]) -> int:
    """Return the number of messages before the judge's first answer."""
    return next((n for n, message in enumerate(messages) if message["role"] == "assistant"), len(messages))
