"""The batch transport against a server on a real socket that keeps files and batches as the protocol says."""

import errno
import io
import json
import threading
import time
import uuid
from decimal import Decimal
from email import message_from_bytes
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from generation.execution.budget import reserve
from generation.execution.monthly_limit import OVER_MONTH, month_of, set_limit
from generation.llm.protocol.messages import DISK_FULL
from generation.llm.protocol.prices import UNLIMITED, Ceiling, Spend
from generation.models import Endpoint, GenerationRun, Instruction, LanguageModel, Response, SurplusReply
from generation.responses.batch import SUBMITTING, _claim_of, _reserve, advance, in_batches
from generation.responses.plan import GenerationRequest, plan_generation
from generation.responses.recording import spent_of
from generation.responses.runs import GENERATION, start_run
from generation.tasks import work
from tests.factories import make_workspace
from tests.generation.hostile_server import completion, responds
from tests.generation.responses.test_sampling import TEXT, make_benchmark

pytestmark = pytest.mark.django_db


class BatchServer:
    """Files and batches; `answer(custom_id, body) -> (status, body)` fills the results once `finish()` is called."""

    def __init__(self, answer=None):
        self.files, self.batches, self.uploads = {}, {}, 0
        self.answer = answer or (lambda custom_id, body: (200, completion(TEXT, read=50, written=10)))
        self.refuses = self.away = None
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                place = self.path.split("?")[0].removeprefix("/v1")
                if outer.away:
                    return self.say({"detail": "Not Found"} if outer.away == 404 else "{", outer.away)
                if place == "/batches":
                    rows = list(reversed(outer.batches.values()))
                    return self.say({"object": "list", "data": rows, "has_more": False})
                if place.endswith("/content"):
                    return self.say(outer.files[place.split("/")[2]])
                return self.say({"error": {"message": "no such thing"}}, 404)

            def do_POST(self):
                raw = self.rfile.read(int(self.headers["Content-Length"]))
                if outer.refuses:
                    return self.say({"error": {"message": outer.refuses}}, 400)
                if self.path == "/v1/files":
                    outer.uploads += 1
                    key = f"file-{uuid.uuid4().hex[:8]}"
                    outer.files[key] = outer.part(self.headers["Content-Type"], raw)
                    return self.say(
                        {
                            "id": key,
                            "object": "file",
                            "bytes": 1,
                            "created_at": 0,
                            "filename": "x",
                            "purpose": "batch",
                            "status": "processed",
                        }
                    )
                given = json.loads(raw)
                key = f"batch_{uuid.uuid4().hex[:8]}"
                outer.batches[key] = {"id": key, "object": "batch", "status": "in_progress", "created_at": 0, **given}
                return self.say(outer.batches[key])

            def say(self, body, status=200):
                raw = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, *_):
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.base_url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @staticmethod
    def part(kind, raw):
        whole = message_from_bytes(b"Content-Type: " + kind.encode() + b"\r\n\r\n" + raw)
        parts = {part.get_param("name", header="content-disposition"): part for part in whole.get_payload()}
        return parts["file"].get_payload(decode=True)

    def lines(self, batch):
        return [json.loads(line) for line in self.files[batch["input_file_id"]].splitlines()]

    def finish(self, status="completed"):
        for batch in self.batches.values():
            if batch["status"] != "in_progress":
                continue
            good, bad = [], []
            for line in self.lines(batch):
                answered = self.answer(line["custom_id"], line["body"])
                if answered is None:
                    continue
                code, body = answered
                row = {"custom_id": line["custom_id"], "response": {"status_code": code, "body": body}, "error": None}
                (good if code == 200 else bad).append(json.dumps(row))
            batch["status"] = status
            for name, rows in (("output_file_id", good), ("error_file_id", bad)):
                if rows:
                    batch[name] = f"{batch['id']}-{name}"
                    # Results come in any order.
                    self.files[batch[name]] = "\n".join(reversed(rows)).encode()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()


def make_run(server, instructions=4, models=("m",), budget=UNLIMITED, **wanted):
    endpoint = Endpoint.objects.create(
        workspace=make_workspace(), name="hosted", base_url=server.base_url, output_price=10
    )
    made = [LanguageModel.objects.create(workspace=make_workspace(), name=name, endpoint=endpoint) for name in models]
    run = plan_generation(
        GenerationRequest(make_benchmark(instructions), models=made, batch=True, **wanted, budget=budget)
    )
    start_run(run, clock=timezone.now)
    return run


def look(run):
    found = advance(run)
    run.refresh_from_db()
    return found


def test_a_run_is_submitted_once_and_its_answers_become_the_same_rows():
    with BatchServer() as server:
        run = make_run(server)
        assert in_batches(run)
        assert look(run).submitted == 4
        assert look(run).submitted == 0
        assert (server.uploads, len(server.batches)) == (1, 1)
        line = server.lines(next(iter(server.batches.values())))[0]
        assert (line["method"], line["url"], line["body"]["model"]) == ("POST", "/v1/chat/completions", "m")
        assert (line["body"]["temperature"], line["body"]["max_tokens"]) == (0.8, 16384)
        assert "stream" not in line["body"]
        server.finish()
        found = look(run)
    assert (found.ingested, run.status) == (4, "finished")
    response = Response.objects.filter(run=run).first()
    assert (response.text, response.tokens, response.seconds) == (TEXT, 10, None)
    assert str(response.cost) == "0.000100"
    texts = {item.instruction.external_id: item.response.instruction.external_id for item in run.items.all()}
    assert all(asked == answered for asked, answered in texts.items())


def test_what_a_text_may_hold_parts_no_line_and_a_broken_line_costs_no_other():
    odd = "A river\u2028ran\x85past."

    def answer(custom_id, body):
        return 200, completion(odd)

    with BatchServer(answer) as server:
        run = make_run(server, instructions=2)
        look(run)
        server.finish()
        batch = next(iter(server.batches.values()))
        rows = [json.loads(line) for line in server.files[batch["output_file_id"]].split(b"\n")]
        plain = [json.dumps(row, ensure_ascii=False).encode() for row in rows]
        server.files[batch["output_file_id"]] = b"\n".join([plain[0], plain[1][:-9], b"[1]", b""])
        found = look(run)
    assert (found.ingested, run.status) == (1, "finished")
    assert Response.objects.get(run=run).text == odd
    assert "without a reply" in run.items.get(status="failed").error


def test_a_line_whose_item_has_moved_on_to_another_batch_is_stored_and_each_is_paid_for():
    with BatchServer() as server:
        run = make_run(server, instructions=2)
        look(run)
        # The first batch takes longer than it may: its items are free again, and asked for once more.
        run.items.update(leased_by="", leased_until=None)
        assert look(run).submitted == 2
        second = list(server.batches.values())[1]
        second["status"] = "validating"
        server.finish()
        assert look(run).ingested == 2
        second["status"] = "in_progress"
        GenerationRun.objects.filter(pk=run.pk).update(status="running")
        run.refresh_from_db()
        server.finish()
        for _ in range(2):
            look(run)
    assert [item.attempts for item in run.items.all()] == [2, 2]
    assert SurplusReply.objects.count() == 2
    # Four answers of 60 tokens, of which 10 at 10 a million.
    assert spent_of(run) == Spend(4, 240, Decimal("0.0004"))


def test_a_server_that_is_away_while_batches_lie_there_is_asked_again():
    with BatchServer() as server:
        server.away = 404
        run = make_run(server)
        look(run)
        assert run.status == "failed" and "(404: Not Found), so it seems to have no batch API" in run.message
        server.away = None
        start_run(run, clock=timezone.now)
        look(run)
        server.away = 409
        look(run)
        assert run.status == "running" and "asked again every minute" in run.message
        server.away = None
        look(run)
        assert (run.status, run.message) == ("running", "")
        server.finish()
        look(run)
    assert run.status == "finished"


def test_the_budget_counts_what_each_submitted_item_may_cost(monkeypatch):
    monkeypatch.setattr("generation.responses.batch.LINES_A_FILE", 1)
    with BatchServer() as server:
        run = make_run(server, 2, parameters={"max_tokens": 100}, budget=Ceiling(tokens=1_108 + 114 - 1))
        # A long prompt lies at the endpoint when the short one is weighed: 1,008 + 100 and 14 + 100 tokens.
        long = [{"role": "user", "content": "a" * 3000}]
        Instruction.objects.filter(external_id="essays-0").update(messages=long)
        look(run)
        assert (len(server.batches), run.status) == (1, "paused")
        GenerationRun.objects.filter(pk=run.pk).update(budget_tokens=1_108 + 114)
        run.refresh_from_db()
        start_run(run, clock=timezone.now)
        assert look(run).submitted == 1


def test_each_model_has_a_batch_of_its_own():
    with BatchServer() as server:
        run = make_run(server, models=("a", "b"), samples=2)
        look(run)
        assert len(server.batches) == 2
        server.finish()
        look(run)
    assert run.status == "finished" and Response.objects.filter(run=run).count() == 16


def test_what_the_endpoint_refused_in_a_batch_has_failed_in_its_words():
    def answer(custom_id, body):
        if "topic 1" in body["messages"][0]["content"]:
            return 400, {"error": {"message": "too spicy"}}
        return 200, completion(TEXT)

    with BatchServer(answer) as server:
        run = make_run(server)
        look(run)
        server.finish()
        found = look(run)
    assert (found.ingested, found.failed, run.status) == (3, 1, "finished")
    assert "too spicy" in run.items.get(status="failed").error


def test_an_expired_batchs_rest_is_submitted_again_and_nothing_twice():
    seen = []

    def answer(custom_id, body):
        if len(server.batches) == 1 and custom_id not in first:
            return None
        seen.append(custom_id)
        return 200, completion(TEXT)

    with BatchServer(answer) as server:
        run = make_run(server)
        look(run)
        first = {line["custom_id"] for line in server.lines(next(iter(server.batches.values())))[:2]}
        server.finish("expired")
        assert look(run).submitted == 2
        server.finish()
        look(run)
    assert run.status == "finished" and sorted(seen) == sorted(set(seen)) and len(seen) == 4


def test_a_submitter_that_died_before_recording_leaves_nothing_to_be_paid_twice():
    with BatchServer() as server:
        run = make_run(server)
        look(run)
        # As it stands where the process ended between the server's answer and the row.
        run.items.update(leased_by=SUBMITTING)
        GenerationRun.objects.filter(pk=run.pk).update(manifest={**run.manifest, "batches": {}})
        run.refresh_from_db()
        assert look(run).submitted == 0
        server.finish()
        look(run)
        assert (len(server.batches), run.status) == (1, "finished")


def test_a_claim_that_was_never_submitted_is_free_again_after_a_while():
    with BatchServer() as server:
        run = make_run(server)
        past = timezone.now() - timezone.timedelta(minutes=1)
        run.items.update(leased_by=SUBMITTING, leased_until=past)
        assert look(run).submitted == 4


def test_a_batch_that_might_cross_the_budget_is_not_sent():
    with BatchServer() as server:
        run = make_run(server, budget=Ceiling(calls=3))
        look(run)
        assert (run.status, server.uploads) == ("paused", 0)
        assert not run.items.exclude(leased_by="").exists()
        run.budget_calls = 4
        run.save()
        start_run(run, clock=timezone.now)
        assert look(run).submitted == 4


def test_a_refused_batch_fails_the_run_in_the_endpoints_words():
    with BatchServer() as server:
        server.refuses = "batches are not for this key"
        run = make_run(server)
        look(run)
    assert run.status == "failed" and "batches are not for this key" in run.message
    with BatchServer() as server:
        Endpoint.objects.update(base_url=server.base_url)
        start_run(run, clock=timezone.now)
        look(run)
        batch = next(iter(server.batches.values()))
        batch["status"], batch["errors"] = "failed", {"data": [{"message": "line 1 is no JSON"}]}
        look(run)
    assert run.status == "failed" and "line 1 is no JSON" in run.message


def finish_the_next(server):
    while all(batch["status"] != "in_progress" for batch in list(server.batches.values())):
        time.sleep(0.05)
    time.sleep(0.3)
    server.finish()


def test_the_worker_and_the_command_wait_for_batches(monkeypatch):
    monkeypatch.setattr("generation.management.commands.generate.POLL_SECONDS", 0.1)
    with BatchServer() as server:
        run = make_run(server)
        work(run.pk)
        server.finish()
        work(run.pk)
        run.refresh_from_db()
        assert run.status == "finished"
        threading.Thread(target=finish_the_next, args=[server]).start()
        out = io.StringIO()
        call_command("generate", "essays", "--model", "m", "--batch", stdout=out)
        assert "is finished: 4 of 4" in out.getvalue()


def test_a_scripted_model_takes_no_batches():
    benchmark = make_benchmark(1)
    endpoint = Endpoint.objects.create(workspace=benchmark.workspace, name="s", kind="scripted")
    LanguageModel.objects.create(workspace=benchmark.workspace, name="pen", endpoint=endpoint)
    with pytest.raises(CommandError, match="does not take batches"):
        call_command("generate", "essays", "--model", "pen", "--batch", stdout=io.StringIO())


# The workspace's month, and a full disk
def reserved_of(run):
    month = month_of(run.workspace_id, timezone.now)
    return month.reserved if month else None


def ends_with_time(run):
    """How long what is reserved stays so, for what lies at the endpoint."""
    return min(run.shares.values_list("leased_until", flat=True)) - timezone.now()


def test_what_a_batch_may_cost_is_reserved_in_the_month_until_its_answers_are_stored():
    with BatchServer() as server:
        run = make_run(server, parameters={"max_tokens": 100})
        set_limit(run.benchmark.workspace, Decimal("1"), by=None)
        look(run)
        # Four answers of up to 100 tokens, at 10 a million.
        assert reserved_of(run) == Decimal("0.004")
        assert ends_with_time(run) > timezone.timedelta(hours=25)
        other = GenerationRun.objects.create(benchmark=run.benchmark, name="other", status="running")
        added = reserve(other, "w", Spend(1, 0, Decimal(1)), timezone.now, spent_of)[1]
        assert added.money == Decimal("0.996")
        other.delete()
        server.finish()
        look(run)
    assert (run.status, reserved_of(run), run.shares.count()) == ("finished", 0, 0)
    assert month_of(run.workspace_id, timezone.now).spent == Decimal("0.0004")


def test_a_batch_waits_for_room_in_the_month_and_goes_on_by_itself(monkeypatch):
    monkeypatch.setattr("generation.responses.batch.LINES_A_FILE", 2)
    sent = []
    monkeypatch.setattr("generation.tasks.work.delay", sent.append)
    with BatchServer() as server:
        run = make_run(server, parameters={"max_tokens": 100})
        # One batch of two may lie there, and two would cost too much together.
        set_limit(run.benchmark.workspace, Decimal("0.0032"), by=None)
        look(run)
        assert (len(server.batches), run.status, run.message_json["code"]) == (1, "paused", OVER_MONTH.code)
        assert run.items.exclude(leased_by="").count() == 2
        GENERATION.sweep(timezone.now, unleased=in_batches)
        run.refresh_from_db()
        assert (run.status, sent) == ("paused", [])
        set_limit(run.benchmark.workspace, Decimal("0.004"), by=None)
        GENERATION.sweep(timezone.now, unleased=in_batches)
        run.refresh_from_db()
        assert run.status == "running" and run.pk in sent
        assert look(run).submitted == 2
        server.finish()
        look(run)
    assert run.status == "finished" and reserved_of(run) == 0


def test_two_parts_that_are_submitted_at_once_hold_a_reservation_each():
    with BatchServer() as server:
        run = make_run(server, parameters={"max_tokens": 100})
        cost = Spend(1, 100, Decimal("0.003"))
        set_limit(run.benchmark.workspace, Decimal("0.005"), by=None)
        assert _reserve(run, _claim_of("1-2"), cost, timezone.now) == ""
        assert _reserve(run, _claim_of("1-2"), cost, timezone.now) == ""
        assert _reserve(run, _claim_of("3-4"), cost, timezone.now).code == OVER_MONTH.code
        assert reserved_of(run) == Decimal("0.003")


def test_a_submission_that_is_refused_gives_its_reservation_back():
    with BatchServer() as server:
        server.refuses = "batches are not for this key"
        run = make_run(server)
        set_limit(run.benchmark.workspace, Decimal("10"), by=None)
        look(run)
    assert (run.status, reserved_of(run)) == ("failed", 0)


@pytest.mark.parametrize("known", [True, False])
def test_a_batch_whose_submitter_died_is_reserved_for(known):
    """Its claim is handed on to it; where nothing is known of that, it is weighed again."""
    with BatchServer() as server:
        run = make_run(server, parameters={"max_tokens": 100})
        set_limit(run.benchmark.workspace, Decimal("0.004"), by=None)
        look(run)
        (batch,) = server.batches.values()
        GenerationRun.objects.filter(pk=run.pk).update(manifest={**run.manifest, "batches": {}})
        run.refresh_from_db()
        run.items.update(leased_by=SUBMITTING)
        if known:
            run.shares.update(worker=_claim_of(batch["metadata"]["items"]), leased_until=timezone.now())
        else:
            run.shares.all().delete()
        look(run)
        assert list(run.shares.values_list("worker", "money")) == [("batch:" + batch["id"], Decimal("0.004"))]
        assert ends_with_time(run) > timezone.timedelta(hours=25)
        server.finish()
        look(run)
    assert (run.status, run.shares.count()) == ("finished", 0)


@pytest.mark.parametrize("where", ["before", "results"])
def test_a_full_disk_pauses_a_run_in_batches_which_goes_on_by_itself(where, settings, monkeypatch, tmp_path):
    settings.JOURNAL_DIR, settings.DISK_FREE = tmp_path / "journal", 0
    monkeypatch.setattr("generation.tasks.work.delay", lambda pk: advance(GenerationRun.objects.get(pk=pk)))
    with BatchServer() as server:
        run = make_run(server)
        if where == "before":
            settings.DISK_FREE = 10**12
            look(run)
            assert server.uploads == 0
        else:
            look(run)
            server.finish()

            def full(*_arguments, **_options):
                raise OSError(errno.ENOSPC, "No space left on device")

            with monkeypatch.context() as patched:
                patched.setattr("generation.execution.write_ahead_log.tempfile.SpooledTemporaryFile", full)
                look(run)
        assert (run.status, run.message_json["code"]) == ("paused", DISK_FULL.code)
        assert str(settings.JOURNAL_DIR) in run.message
        settings.DISK_FREE = 0
        GENERATION.sweep(timezone.now, unleased=in_batches)
        server.finish()
        look(GenerationRun.objects.get(pk=run.pk))
        run.refresh_from_db()
    assert run.status == "finished" and Response.objects.filter(run=run).count() == 4
    assert len(server.batches) == 1


@pytest.mark.parametrize("refused", [False, True])
def test_a_run_stops_after_fifty_results_in_a_row_that_cannot_be_used(refused, monkeypatch):
    monkeypatch.setattr("generation.responses.batch.LINES_A_FILE", 60)
    usable = set()

    def answer(custom_id, body):
        if custom_id in usable:
            return 200, completion(TEXT)
        return (400, {"error": {"message": "Filtered."}}) if refused else (200, completion(" \n"))

    with BatchServer(answer) as server:
        run = make_run(server, instructions=70)
        look(run)
        first, second = server.batches.values()
        second["status"] = "validating"
        ids = [line["custom_id"] for line in server.lines(first)]
        usable |= {ids[55]}  # results come last first: 4 that cannot be used, one that can, and 55 that cannot
        server.finish()
        look(run)
        assert run.status == "failed"
        assert run.message.startswith("The last 50 replies could not be used, so the run stopped; the last one:")
        assert ("Filtered." if refused else "it has no text (finish reason: stop)") in run.message
        # All that came back is stored; the other batch lies there until the run is started again.
        assert run.items.filter(status="waiting").count() == 10
        assert Response.objects.filter(run=run).count() == (1 if refused else 60)
        assert look(run).submitted == 0
        usable |= {line["custom_id"] for line in server.lines(second)}
        second["status"] = "in_progress"
        server.finish()
        start_run(run, clock=timezone.now)
        look(run)
    assert run.status == "finished" and not run.items.filter(status="waiting").exists()


def test_usable_results_in_between_let_a_run_go_on(monkeypatch):
    monkeypatch.setattr("generation.responses.batch_results.UNUSABLE_IN_A_ROW", 4)
    monkeypatch.setattr("generation.responses.batch.LINES_A_FILE", 12)
    with BatchServer(lambda custom_id, body: (200, completion(TEXT if int(custom_id[5:]) % 4 == 0 else ""))) as server:
        run = make_run(server, instructions=16)
        look(run)
        _first, second = server.batches.values()
        second["status"] = "validating"
        server.finish()
        look(run)
        assert (run.status, run.items.filter(status="done").count()) == ("running", 12)
        second["status"] = "in_progress"
        server.finish()
        look(run)
    assert (run.status, run.message) == ("finished", "")


def test_a_model_of_the_responses_form_is_batched_in_it():
    with BatchServer(lambda custom_id, body: (200, responds(TEXT, read=50, written=10).body)) as server:
        run = make_run(server, instructions=2, models=("pro",))
        Endpoint.objects.update(capabilities={"responses": ["pro"]})
        assert advance(run).submitted == 2
        (batch,) = server.batches.values()
        assert batch["endpoint"] == "/v1/responses"
        for line in server.lines(batch):
            assert line["url"] == "/v1/responses" and "messages" not in line["body"] and line["body"]["input"]
        server.finish()
        assert advance(run).ingested == 2
    assert {one.text for one in Response.objects.all()} == {TEXT}
    assert {(one.input_tokens, one.tokens) for one in Response.objects.all()} == {(50, 10)}
