"""The OpenAI batch API as a second transport: write the file, submit, poll, ingest. It results in the same rows.

A run with settings.transport "batch" is divided into parts of one model each. The items of a part are leased to
"batch:<id>" until the batch's window is over, so that no other worker takes them, and what they may cost is reserved for
as long under the same name, in the run's budget and in the workspace's month (generation/execution/budget.py). The
server knows what was submitted by run and part, so a part whose submission was not recorded is found there and not sent
twice.
"""

import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta
from typing import IO, Any, Literal

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from core.clock import Clock
from core.messages.message import stored
from generation.endpoints.clients import NoEndpoint, endpoint_of, form_of
from generation.endpoints.grants import callable_reach, key_of
from generation.endpoints.pricing import prices_of
from generation.execution.budget import end_reservation, reserve
from generation.execution.monthly_limit import month_of
from generation.execution.states import check_room, stopping_at_faults
from generation.execution.write_ahead_log import spool
from generation.llm.errors import (
    ChatError,
    HostNotAllowed,
    Refused,
    ReplyNotRead,
    ServerFailed,
    TimedOut,
    Unreachable,
    error_of_answer,
)
from generation.llm.forms import CHAT, RESPONSES, Form
from generation.llm.protocol import messages as call_messages
from generation.llm.protocol.allowed_hosts import HostRefused
from generation.llm.protocol.bodies import beginning
from generation.llm.protocol.prices import NOTHING, Prices, Spend
from generation.llm.protocol.reply_sizes import LARGEST_REPLY, ReplyRefused
from generation.models import Endpoint, GenerationItem, GenerationRun, LanguageModel
from generation.responses.batch_results import Advance, UnusableResults
from generation.responses.manifest import models_of
from generation.responses.queue import GenerationQueue, TextCall
from generation.responses.recording import note_attempt, record_failure, record_response, record_surplus, spent_of
from generation.responses.runs import fail_run, finish_if_done, pause_run

LINES_A_FILE = 50_000
BYTES_A_FILE = 200_000_000
"""The protocol's limits of a file, whose batch is done within 24 hours."""
MOST_BATCHES = 10_000
SPOOLED = 32_000_000
"""Bytes of a result file that are kept in memory."""
UNSURE = (Unreachable, TimedOut, ServerFailed)
"""Failures after which a batch may have started nevertheless."""
COMPLETION_WINDOW: Literal["24h"] = "24h"
WINDOW = timedelta(hours=26)
CLAIM = timedelta(minutes=30)
OPEN = ("validating", "in_progress", "finalizing", "cancelling")
OWNER = "batch:"
SUBMITTING = "batch:submitting"
SUBMITTED, INGESTED = "submitted", "ingested"
VERSION = "/v1"
"""What the addresses of requests in a batch begin with."""


def in_batches(run: GenerationRun) -> bool:
    return bool(run.manifest.get("settings", {}).get("transport") == "batch")


def advance(run: GenerationRun, *, clock: Clock = timezone.now) -> Advance:
    """Ingest what is ready and submit what waits, in a running run. Safe to call repeatedly.

    A refusal by the endpoint fails the run with its message, as do UNUSABLE_IN_A_ROW unusable results. An endpoint that has
    batches of the run and is unavailable is asked again the next time.
    """
    if run.status != GenerationRun.Status.RUNNING:
        return Advance()
    total, unusable = Advance(), UnusableResults()
    with stopping_at_faults(run, clock=clock):
        check_room()
        away = ""
        for model in models_of(run):
            if not _goes_on(run):
                return total
            try:
                endpoint = endpoint_of(model)
                if endpoint.kind != Endpoint.Kind.OPENAI:
                    raise Refused(call_messages.NO_BATCHES(endpoint=endpoint.name, model=model.name))
                with _Files(endpoint) as files:
                    total += _advance_model(run, model, endpoint, files, clock, unusable)
            except (ChatError, NoEndpoint) as error:
                if not (getattr(error, "retryable", False) and SUBMITTED in _known_batches(run).values()):
                    fail_run(run, str(error), clock=clock)
                    return total
                away = call_messages.BATCHES_AWAY(words=error)
            if unusable.why:
                # What came back is stored; what is left is not asked until somebody starts the run again.
                if not finish_if_done(run, clock=clock):
                    fail_run(run, unusable.why, clock=clock)
                return total
        if not finish_if_done(run, clock=clock):
            _set_message(run, away)
    return total


def _set_message(run: GenerationRun, message: str) -> None:
    """Set the message of a running run."""
    if run.message != message:
        rows = GenerationRun.objects.filter(pk=run.pk, status=GenerationRun.Status.RUNNING)
        rows.update(**stored("message", message))


def _advance_model(
    run: GenerationRun,
    model: LanguageModel,
    endpoint: Endpoint,
    files: "_Files",
    clock: Clock,
    unusable: UnusableResults,
) -> Advance:
    total = Advance()
    for batch in files.batches_of(run, model):
        if batch["id"] not in _known_batches(run):
            _adopt(run, model, batch, clock)
        if batch["status"] in OPEN:
            _keep_reservation(run, model, endpoint, OWNER + batch["id"], clock)
            total += Advance(open_batches=1)
        elif _known_batches(run)[batch["id"]] != INGESTED:
            total += _ingest(run, batch, files, prices_of(model), unusable)
        if unusable.why:
            return total
    while lines := _next_part(run, model, endpoint, clock):
        pks, cost = [call.key for call, _line in lines], sum((call.reserve for call, _line in lines), NOTHING)
        claim = _claim_of(f"{pks[0]}-{pks[-1]}")
        if why := _reserve(run, claim, cost, clock):
            _lease(run, pks, "", None)
            pause_run(run, why, clock=clock)
            return total
        try:
            begun = files.submit(run, model, [line for _call, line in lines], go_on=lambda: _goes_on(run))
        except ChatError as error:
            if not isinstance(error, UNSURE):
                # Nothing was started, so the claim can end at once.
                _give_back(run, pks, claim)
            raise
        if begun is None:
            _give_back(run, pks, claim)
            return total
        with transaction.atomic():
            _lease(run, pks, OWNER + begun["id"], clock() + WINDOW)
            _hand_on(run, claim, OWNER + begun["id"], clock)
            _know(run, begun["id"], SUBMITTED)
        total += Advance(submitted=len(lines), open_batches=1)
    return total


def _goes_on(run: GenerationRun) -> bool:
    """Whether the run is still running."""
    return GenerationRun.objects.filter(pk=run.pk, status=GenerationRun.Status.RUNNING).exists()


def _known_batches(run: GenerationRun) -> dict[str, str]:
    """Return the run's recorded batches: id -> SUBMITTED or INGESTED."""
    return dict(run.manifest.get("batches", {}))


def _know(run: GenerationRun, batch: str, state: str) -> bool:
    """Record a batch's state, which never goes back; return whether it is new. Others wait for the transaction to end."""
    locked = GenerationRun.objects.select_for_update().get(pk=run.pk)
    known = locked.manifest.get("batches", {})
    run.manifest = locked.manifest
    if known.get(batch) in (state, INGESTED):
        return False
    run.manifest = {**locked.manifest, "batches": {**known, batch: state}}
    GenerationRun.objects.filter(pk=run.pk).update(manifest=run.manifest)
    return True


def _waiting(run: GenerationRun, model: LanguageModel, clock: Clock) -> QuerySet[GenerationItem]:
    free = Q(leased_until=None) | Q(leased_until__lt=clock())
    return run.items.filter(free, status=GenerationItem.Status.WAITING, model=model)


def _next_part(
    run: GenerationRun, model: LanguageModel, endpoint: Endpoint, clock: Clock
) -> list[tuple[TextCall, bytes]]:
    """Claim the next waiting items of a model for a while, as many as one file may hold; return their calls and lines.

    Empty once the run is stopped.
    """
    queue = GenerationQueue(run, endpoint, SUBMITTING, clock, models=(model.pk,))
    lines: list[tuple[TextCall, bytes]] = []
    size, form = 0, form_of(model)
    with transaction.atomic():
        locked = GenerationRun.objects.select_for_update().get(pk=run.pk)
        if locked.status != GenerationRun.Status.RUNNING:
            return []
        items = _waiting(run, model, clock).select_related("instruction", "model").order_by("position")
        for item in items[:LINES_A_FILE]:
            call = queue.take_up(item)
            if call is None:
                continue
            queue.prepare(call)
            line = _line(call, form)
            if size + len(line) > BYTES_A_FILE:
                break
            size += len(line)
            lines.append((call, line))
        _lease(run, [call.key for call, _line in lines], SUBMITTING, clock() + CLAIM)
    return lines


def _line(call: TextCall, form: Form) -> bytes:
    body = form.body(call.request)
    whole = {"custom_id": f"item-{call.key}", "method": "POST", "url": VERSION + form.path, "body": body}
    return json.dumps(whole, ensure_ascii=False).encode() + b"\n"


def _reserve(run: GenerationRun, owner: str, cost: Spend, clock: Clock) -> str:
    """Reserve all that a batch may cost, or nothing; return why not: the month's limit of the workspace, or the budget."""
    end_reservation(run, owner)
    _ceiling, added = reserve(run, owner, cost, clock, spent_of, whole=True)
    if added == cost:
        run.shares.filter(worker=owner).update(leased_until=clock() + CLAIM)
        return ""
    month = month_of(run.workspace_id, clock)
    if month is not None and cost.money > month.room:
        return month.why_paused(cost.money)
    return call_messages.BATCH_OVER_BUDGET()


def _claim_of(items: str) -> str:
    """Under which name the part of these items, as its batch names them, is reserved for until its batch has an id."""
    return f"{SUBMITTING}:{items}"[:64]


def _hand_on(run: GenerationRun, claim: str, owner: str, clock: Clock) -> None:
    """Let the batch have what was reserved while it was submitted, until its window is over."""
    run.shares.filter(worker=claim).update(worker=owner[:64], leased_until=clock() + WINDOW)


def _give_back(run: GenerationRun, pks: Sequence[int], claim: str) -> None:
    _lease(run, pks, "", None)
    end_reservation(run, claim)


def _keep_reservation(run: GenerationRun, model: LanguageModel, endpoint: Endpoint, owner: str, clock: Clock) -> None:
    """Reserve what the open batch may cost if nothing is reserved for it, as where its submitter was killed.

    It will be paid for, so this is done whether or not the limits have room.
    """
    held = run.items.filter(status=GenerationItem.Status.WAITING, leased_by=owner[:64])
    if run.shares.filter(worker=owner[:64]).exists() or not held.exists():
        return
    queue, cost = GenerationQueue(run, endpoint, SUBMITTING, clock, models=(model.pk,)), NOTHING
    for item in held.select_related("instruction", "model").iterator(2_000):
        if (call := queue.take_up(item)) is not None:
            queue.prepare(call)
            cost += call.reserve
    parts = {"calls": cost.calls, "tokens": cost.tokens, "money": cost.money, "leased_until": clock() + WINDOW}
    run.shares.get_or_create(worker=owner[:64], defaults=parts)


def _lease(run: GenerationRun, pks: Sequence[int], owner: str, until: datetime | None) -> None:
    waiting = run.items.filter(pk__in=pks, status=GenerationItem.Status.WAITING)
    waiting.update(leased_until=until, leased_by=owner[:64])


def _adopt(run: GenerationRun, model: LanguageModel, batch: Mapping[str, Any], clock: Clock) -> None:
    """Record a batch of this run whose submitter was killed before it could, and lease its items to it."""
    ends = [int(pk) for pk in str(batch["metadata"].get("items", "")).split("-") if pk.isdigit()]
    if len(ends) == 2:
        free = _waiting(run, model, clock) | run.items.filter(
            status=GenerationItem.Status.WAITING, model=model, leased_by=SUBMITTING
        )
        pks = list(free.filter(pk__range=(ends[0], ends[1])).values_list("pk", flat=True))
        _lease(run, pks, OWNER + batch["id"], clock() + WINDOW)
    with transaction.atomic():
        if _know(run, batch["id"], SUBMITTED):
            _hand_on(run, _claim_of(str(batch["metadata"].get("items", ""))), OWNER + batch["id"], clock)


def _ingest(
    run: GenerationRun, batch: Mapping[str, Any], files: "_Files", prices: Prices, unusable: UnusableResults
) -> Advance:
    """Store the batch's answers and errors, once; release the items that it left unanswered."""
    with ExitStack() as opened:
        names = [batch[name] for name in ("output_file_id", "error_file_id") if batch.get(name)]
        results = [opened.enter_context(files.content(name)) for name in names]
        return _ingest_files(run, batch, results, prices, unusable)


def _ingest_files(
    run: GenerationRun,
    batch: Mapping[str, Any],
    results: Sequence[IO[bytes]],
    prices: Prices,
    unusable: UnusableResults,
) -> Advance:
    owner = (OWNER + batch["id"])[:64]
    done = failed = 0
    with transaction.atomic():
        if not _know(run, batch["id"], INGESTED):
            return Advance()
        held = run.items.filter(leased_by=owner, status=GenerationItem.Status.WAITING)
        waiting = {item.pk: item for item in held.select_related("instruction", "model")}
        for row in (row for content in results for row in _rows(content)):
            item = waiting.pop(_item_of(row), None)
            if item is None:
                done += _record_late(run, row, prices)
            elif _record(item, row, prices, unusable):
                done += 1
            else:
                failed += 1
        if batch["status"] == "completed":
            for item in waiting.values():
                record_failure(item, call_messages.LEFT_OUT_OF_BATCH(batch=batch["id"]))
        else:
            _lease(run, list(waiting), "", None)
        end_reservation(run, owner)
    if batch["status"] == "failed":
        raise Refused(call_messages.BATCH_REFUSED(batch=batch["id"], words=_errors_of(batch)))
    return Advance(ingested=done, failed=failed)


def _rows(content: IO[bytes]) -> Iterator[dict[str, Any]]:
    """Yield the lines of a result file that are JSON objects."""
    for line in _lines(content):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict):
            yield row


def _lines(content: IO[bytes]) -> Iterator[bytes]:
    """Yield the lines, without those that are longer than a reply may be."""
    beginning_of_line = True
    while part := content.readline(LARGEST_REPLY):
        ends = part.endswith(b"\n") or len(part) < LARGEST_REPLY
        if beginning_of_line and ends:
            yield part
        beginning_of_line = ends


def _item_of(row: Mapping[str, Any]) -> int:
    number = str(row.get("custom_id", "")).removeprefix("item-")
    return int(number) if number.isascii() and number.isdigit() and len(number) < 19 else 0


def _record(item: GenerationItem, row: Mapping[str, Any], prices: Prices, unusable: UnusableResults) -> bool:
    """Store one line of a result file: a response, or the item's failure with the endpoint's message."""
    response = _mapping(row.get("response"))
    try:
        if response.get("status_code") != 200:
            raise Refused(beginning(_mapping(response.get("body")).get("error") or row.get("error") or row, 2_000))
        reply = _form_of(response).reply(response.get("body"), 0.0)
    except ChatError as error:
        note_attempt(item, str(error))
        record_failure(item, str(error))
        unusable.count(str(error))
        return False
    record_response(item, reply, prices, timed=False)
    finish = reply.finish_reason or "-"
    unusable.count("" if reply.text.strip() else call_messages.NO_TEXT(finish=finish))
    return True


def _record_late(run: GenerationRun, row: Mapping[str, Any], prices: Prices) -> bool:
    """Store an answer to an item that this batch no longer holds: as its response, if it has none yet, else as surplus.

    It is paid for either way. Return whether it became the response.
    """
    item = run.items.filter(pk=_item_of(row)).first()
    response = _mapping(row.get("response"))
    if item is None or response.get("status_code") != 200:
        return False
    try:
        reply = _form_of(response).reply(response.get("body"), 0.0)
    except ChatError:
        return False
    if item.status == GenerationItem.Status.DONE:
        record_surplus(item, reply, prices)
        return False
    return record_response(item, reply, prices, timed=False)


def _form_of(response: Mapping[str, Any]) -> Form:
    """Return the form of an answer, by what its body says that it is."""
    return RESPONSES if _mapping(response.get("body")).get("object") == "response" else CHAT


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _errors_of(batch: Mapping[str, Any]) -> str:
    rows = _mapping(batch.get("errors")).get("data")
    reasons = [beginning(_mapping(row).get("message", row)) for row in (rows if isinstance(rows, list) else [])[:3]]
    return "; ".join(reasons) or call_messages.NO_REASON_GIVEN()


class _Files:
    """The files and batches of one endpoint."""

    def __init__(self, endpoint: Endpoint) -> None:
        from generation.llm.batch_api import batch_client

        self._name = endpoint.name
        self._client = batch_client(
            base_url=endpoint.base_url,
            key=key_of(endpoint),
            timeout_seconds=endpoint.timeout_seconds,
            reach=callable_reach(endpoint),
        )

    def __enter__(self) -> "_Files":
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def batches_of(self, run: GenerationRun, model: LanguageModel) -> list[dict[str, Any]]:
        """Return every batch that was submitted for this run and model, whether or not it is recorded."""
        try:
            with _as_chat_errors():
                found = [
                    batch.model_dump() for batch in itertools.islice(self._client.batches.list(limit=100), MOST_BATCHES)
                ]
        except Refused as error:
            raise Refused(call_messages.NO_BATCH_API(endpoint=self._name, words=error)) from error
        return [
            {**batch, "metadata": batch.get("metadata") or {}}
            for batch in found
            if (batch.get("metadata") or {}).get("run") == run.public_id
            and (batch.get("metadata") or {}).get("model") == str(model.pk)
        ]

    def submit(
        self, run: GenerationRun, model: LanguageModel, lines: Sequence[bytes], *, go_on: Callable[[], bool]
    ) -> dict[str, Any] | None:
        """Return the started batch; None if `go_on` says, before or after the file is sent, that none may be started."""
        pks = [_item_of(json.loads(line)) for line in (lines[0], lines[-1])]
        metadata = {"run": run.public_id, "model": str(model.pk), "items": f"{pks[0]}-{pks[1]}"}
        if not go_on():
            return None
        with _as_chat_errors():
            file = self._client.files.create(file=("requests.jsonl", b"".join(lines)), purpose="batch")
        if not go_on():
            return None
        with _as_chat_errors():
            batch = self._client.batches.create(
                input_file_id=file.id,
                endpoint="/v1/responses" if form_of(model) is RESPONSES else "/v1/chat/completions",
                completion_window=COMPLETION_WINDOW,
                metadata=metadata,
            )
        return batch.model_dump()

    @contextmanager
    def content(self, file: str) -> Iterator[IO[bytes]]:
        """Yield the file from its beginning; a long one is spooled to disk."""
        with spool(SPOOLED) as kept:
            with _as_chat_errors(), self._client.files.with_streaming_response.content(file) as response:
                for piece in response.iter_bytes():
                    kept.write(piece)
            kept.seek(0)
            yield kept


class _as_chat_errors:
    """Raise the exceptions of the openai library as ChatError."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        import httpx2
        import openai

        from generation.llm.batch_api import answer_of

        cause = error.__cause__ if isinstance(error, openai.APIConnectionError) else error
        if isinstance(cause, HostRefused):
            raise HostNotAllowed(*cause.args) from error
        if isinstance(cause, ReplyRefused):
            raise ReplyNotRead(*cause.args) from error
        if isinstance(error, openai.APIStatusError):
            raise error_of_answer(answer_of(error.response)) from error
        if isinstance(error, openai.APIError | httpx2.TransportError):
            raise Unreachable(str(error)) from error
