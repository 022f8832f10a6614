"""Sending messages to real receivers on loopback: retries, silence, redirects, forbidden addresses, two workers at once."""

import gzip
import json
import re
import socket
import threading
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connections, transaction
from django.utils import timezone

from accounts.models import Event, Webhook, WebhookDelivery
from core.errors import UserError
from generation.tasks import sweep
from generation.webhooks import events, sending
from generation.webhooks.events import EventName, announce
from generation.webhooks.sending import LEASE, WAITS, claim, send_due, send_waiting, settle
from generation.webhooks.signing import signature
from generation.webhooks.subscriptions import add_webhook, change_webhook, remove_old_messages, send_again, send_test
from tests.factories import make_workspace
from tests.generation.webhooks.receiver import Receiver, Says
from tests.many_connections import many_connections

pytestmark = pytest.mark.django_db
ABOUT = {"run": {"id": "r1", "kind": "judging", "status": "finished"}}
State = WebhookDelivery.State


def hooked(url, workspace=None, events=("run.finished",)):
    return add_webhook(workspace=workspace or make_workspace(), url=url, events=events)


def tell(hook, clock=timezone.now):
    with transaction.atomic():
        announce(hook.workspace_id, EventName.RUN_FINISHED, ABOUT, clock=clock)
    return hook.deliveries.order_by("-pk").first()


def later(**time):
    now = timezone.now() + timedelta(**time)
    return lambda: now


def test_a_message_is_signed_and_a_failure_is_sent_again_with_the_same_id():
    with Receiver(lambda _came, number: Says(500, b"<b>broken</b>") if number == 0 else Says()) as receiver:
        hook, secret = hooked(receiver.url)
        delivery = tell(hook)
        assert send_due(hook.pk) == 1
        delivery.refresh_from_db()
        assert (delivery.state, delivery.http_status, delivery.reply) == ("waiting", 500, "<b>broken</b>")
        assert "answered with status 500" in delivery.problem
        assert timedelta(0) < delivery.next_at - delivery.tried_at <= WAITS[0]
        assert send_due(hook.pk) == 0, "not before it is due"
        assert send_due(hook.pk, clock=later(minutes=2)) == 1
        delivery.refresh_from_db()
        assert (delivery.state, delivery.http_status, delivery.attempts, delivery.problem) == ("delivered", 200, 2, "")
    first, second = receiver.came
    assert first.path == "/hooks/", "the address is called as it was entered"
    assert first.body == second.body == delivery.body.encode()
    body = json.loads(first.body)
    assert body.items() >= {**ABOUT, "event": "run.finished", "workspace": "lab"}.items()
    for came in receiver.came:
        assert came.headers["Plumbline-Event-Id"] == body["id"] == delivery.event_id
        assert "Authorization" not in came.headers and "Cookie" not in came.headers
        assert came.headers["Plumbline-Signature"] == signature(secret, came.headers["Plumbline-Timestamp"], came.body)
    assert int(second.headers["Plumbline-Timestamp"]) - int(first.headers["Plumbline-Timestamp"]) >= 110


def test_the_code_of_the_documentation_checks_what_a_real_receiver_gets():
    text = (Path(__file__).parents[3] / "docs" / "webhooks.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len([line for line in code.splitlines() if line.strip()]) <= 10
    space = {}
    exec(code, space)
    is_genuine, known = space["is_genuine"], {}

    def play(came, _number):
        return Says(200 if is_genuine(came.headers, came.body, known["secret"]) else 401)

    with Receiver(play) as receiver:
        hook, known["secret"] = hooked(receiver.url)
        delivery = tell(hook)
        send_due(hook.pk)
        delivery.refresh_from_db()
        assert delivery.state == "delivered"
        (came,) = receiver.came
        assert is_genuine(came.headers, came.body, known["secret"])
        assert not is_genuine(came.headers, came.body + b" ", known["secret"])
        assert not is_genuine(came.headers, came.body, known["secret"] + "x")
        for time in ("", "x", "٣", str(int(came.headers["Plumbline-Timestamp"]) + 1)):
            assert not is_genuine({**dict(came.headers), "Plumbline-Timestamp": time}, came.body, known["secret"])
        old = str(int(came.headers["Plumbline-Timestamp"]) - 600)
        signed = {"Plumbline-Timestamp": old, "Plumbline-Signature": signature(known["secret"], old, came.body)}
        assert not is_genuine(signed, came.body, known["secret"])
        known["secret"] = "whsec_another"
        other = tell(hook)
        send_due(hook.pk)
        other.refresh_from_db()
        assert other.http_status == 401


def test_a_receiver_that_never_answers_holds_nobody_up_for_long(monkeypatch):
    monkeypatch.setattr(sending, "SECONDS", 0.4)
    with Receiver(lambda _came, _number: Says(seconds=3)) as receiver:
        hook, _secret = hooked(receiver.url)
        first, second = tell(hook), tell(hook)
        assert send_due(hook.pk) == 1, "the rest is left to another turn"
        first.refresh_from_db()
        second.refresh_from_db()
        assert first.problem == "The receiver did not answer within 0.4 seconds."
        assert (first.http_status, first.attempts, second.attempts) == (None, 1, 0)


def test_a_receiver_that_drips_is_cut_off_at_the_same_time(monkeypatch):
    monkeypatch.setattr(sending, "SECONDS", 0.5)
    listening = socket.create_server(("127.0.0.1", 0))
    ended = threading.Event()

    def drip():
        held, _from = listening.accept()
        held.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        while not ended.wait(0.05):
            try:
                held.sendall(b"a")
            except OSError:
                break
        held.close()

    thread = threading.Thread(target=drip, daemon=True)
    thread.start()
    hook, _secret = hooked(f"http://127.0.0.1:{listening.getsockname()[1]}/")
    delivery = tell(hook)
    begun = timezone.now()
    send_due(hook.pk)
    assert timezone.now() - begun < timedelta(seconds=5)
    ended.set()
    thread.join(5)
    listening.close()
    delivery.refresh_from_db()
    assert delivery.state == "waiting" and "did not answer" in delivery.problem


def test_a_redirect_is_not_followed():
    with Receiver() as other:
        moved = Says(307, b"", {"Location": other.url})
        with Receiver(lambda _came, _number: moved) as receiver:
            hook, _secret = hooked(receiver.url)
            delivery = tell(hook)
            send_due(hook.pk)
    delivery.refresh_from_db()
    assert len(receiver.came) == 1 and other.came == []
    assert delivery.http_status == 307 and "redirects are not followed" in delivery.problem


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:9/",
        "http://localhost/",
        "http://[::1]/",
        "http://10.0.0.5/",
        "http://169.254.169.254/latest/",
        "http://[::ffff:10.0.0.5]/",
    ],
)
def test_a_forbidden_address_is_refused_when_it_is_added_and_when_it_is_called(settings, url):
    hook, _secret = hooked("https://example.org/")
    settings.ON_LOOPBACK = False
    with pytest.raises(UserError, match="may not be called"):
        change_webhook(hook, url=url)
    Webhook.objects.filter(pk=hook.pk).update(url=url)
    delivery = tell(hook)
    send_due(hook.pk)
    delivery.refresh_from_db()
    assert "may not be called" in delivery.problem and delivery.http_status is None


def test_a_name_that_resolves_to_this_machine_is_never_connected_to(settings, monkeypatch):
    real = socket.getaddrinfo

    def resolve(host, *args, **options):
        return real("127.0.0.1" if host == "hooks.example.org" else host, *args, **options)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    with Receiver() as receiver:
        hook, _secret = hooked(receiver.url.replace("127.0.0.1", "hooks.example.org"))
        delivery = tell(hook)
        settings.ON_LOOPBACK = False
        send_due(hook.pk)
        delivery.refresh_from_db()
        assert receiver.came == [] and "may not be called" in delivery.problem


@pytest.mark.parametrize(
    "url", ["ftp://a.org", "https://a:b@a.org", "https://a.org/?x=1", "https://a.org/#x", "a.org", ""]
)
def test_an_address_that_is_not_plain_is_refused(url):
    with pytest.raises(UserError, match=r"https://example\.org/hooks"):
        hooked(url)
    assert not Webhook.objects.exists()


def test_events_that_do_not_exist_are_refused_and_so_are_none():
    with pytest.raises(UserError, match=r"no event 'all'; there are: study.finished"):
        hooked("https://example.org/", events=["all"])
    with pytest.raises(UserError, match="at least one"):
        hooked("https://example.org/", events=[])


def test_after_eight_attempts_a_message_is_given_up_until_somebody_sends_it_again():
    accepted = []
    with Receiver(lambda _came, _number: Says(200 if accepted else 503)) as receiver:
        hook, _secret = hooked(receiver.url)
        delivery = tell(hook)
        clock = later()
        for _attempt in range(20):
            if not send_due(hook.pk, clock=clock):
                break
            delivery.refresh_from_db()
            moment = delivery.next_at
            clock = lambda moment=moment: moment  # noqa: E731
        delivery.refresh_from_db()
        assert (delivery.state, delivery.attempts, len(receiver.came)) == ("failed", 8, 8)
        accepted.append(True)
        send_again(delivery)
        send_due(hook.pk)
        delivery.refresh_from_db()
        assert (delivery.state, delivery.attempts) == ("delivered", 1)
        assert len({came.headers["Plumbline-Event-Id"] for came in receiver.came}) == 1


def test_what_a_receiver_replies_is_bounded_and_storable():
    large = Says(200, gzip.compress(b"a\0\xff" * 4_000_000), {"Content-Encoding": "gzip"})
    odd = Says(200, b"zzzz", {"Content-Encoding": "br"})
    with Receiver(lambda _came, number: (large, odd)[number]) as receiver:
        hook, _secret = hooked(receiver.url)
        first, second = tell(hook), tell(hook)
        send_due(hook.pk)
    first.refresh_from_db()
    second.refresh_from_db()
    assert (first.state, len(first.reply), first.reply[:3]) == ("delivered", 500, "a\ufffd\ufffd")
    assert (second.state, second.reply) == ("delivered", "")


@pytest.mark.django_db(transaction=True)
def test_two_workers_at_once_send_each_message_once_and_one_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr(events, "send_after_commit", lambda *_args, **_options: None)
    states = []
    with Receiver(lambda _came, _number: Says(seconds=0.1)) as receiver:
        hook, _secret = hooked(receiver.url)
        told = {tell(hook).event_id for _ in range(3)}
        gate = threading.Barrier(3)

        def work():
            gate.wait()
            try:
                for _turn in range(4):
                    send_due(hook.pk)
                states.append(list(hook.deliveries.values_list("state", "attempts")))
            finally:
                connections.close_all()

        with many_connections(tmp_path):
            workers = [threading.Thread(target=work) for _ in range(3)]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join(60)
    sent = [came.headers["Plumbline-Event-Id"] for came in receiver.came]
    assert sorted(sent) == sorted(told), "each exactly once"
    assert len(states) == 3 and states[-1] == [("delivered", 1)] * 3


def test_while_a_message_is_being_sent_nobody_else_claims_it():
    hook, _secret = hooked("https://example.org/")
    tell(hook)
    assert claim(hook.pk, clock=timezone.now) is not None
    assert claim(hook.pk, clock=timezone.now) is None
    with pytest.raises(UserError, match="being sent"):
        send_again(hook.deliveries.get())


def test_a_worker_that_dies_while_sending_costs_a_repeat_and_its_late_word_counts_nothing():
    with Receiver() as receiver:
        hook, _secret = hooked(receiver.url)
        tell(hook)
        dead = claim(hook.pk, clock=timezone.now)
        sending.attempted(dead, clock=timezone.now)  # and it is killed before it notes so
        after = later(seconds=LEASE.total_seconds() + 1)
        assert send_due(hook.pk, clock=after) == 1
        assert len({came.headers["Plumbline-Event-Id"] for came in receiver.came}) == 1 and len(receiver.came) == 2
        assert settle(dead, sending.Outcome(500, "late", "late"), clock=after) is False
        delivery = hook.deliveries.get()
        assert (delivery.state, delivery.attempts, delivery.reply) == ("delivered", 2, "ok")


def test_a_message_whose_sending_was_never_asked_for_is_sent_by_the_sweep(settings, django_capture_on_commit_callbacks):
    """The process was killed between the commit and the message to the worker: the row is all there is."""
    settings.CELERY_TASK_ALWAYS_EAGER = True
    with Receiver() as receiver:
        hook, _secret = hooked(receiver.url)
        delivery = tell(hook)  # its callbacks never run, as those of a killed process
        assert receiver.came == []
        with django_capture_on_commit_callbacks(execute=True):
            sweep()
        delivery.refresh_from_db()
        assert (delivery.state, len(receiver.came)) == ("delivered", 1)


def test_once_it_is_committed_a_worker_sends_it_and_what_was_rolled_back_is_never_sent(
    settings, django_capture_on_commit_callbacks
):
    settings.CELERY_TASK_ALWAYS_EAGER = True
    with Receiver() as receiver:
        hook, _secret = hooked(receiver.url)
        with django_capture_on_commit_callbacks(execute=True):
            tell(hook)
        assert len(receiver.came) == 1
        with django_capture_on_commit_callbacks(execute=True), transaction.atomic():
            announce(hook.workspace_id, EventName.RUN_FINISHED, ABOUT)
            transaction.set_rollback(True)
        send_waiting(timezone.now)
        assert len(receiver.came) == 1 and hook.deliveries.count() == 1


def test_a_webhook_that_is_switched_off_gets_nothing_and_keeps_nothing():
    with Receiver() as receiver:
        hook, _secret = hooked(receiver.url)
        waits = tell(hook)
        change_webhook(hook, active=False)
        with transaction.atomic():
            announce(hook.workspace_id, EventName.RUN_FINISHED, ABOUT)
        assert send_due(hook.pk) == 0 and hook.deliveries.count() == 1
        for act in (lambda: send_test(hook), lambda: send_again(WebhookDelivery.objects.get(pk=waits.pk))):
            with pytest.raises(UserError, match="switched off"):
                act()
        change_webhook(hook, active=True)
        assert send_due(hook.pk) == 1 and len(receiver.came) == 1
    assert list(Event.objects.filter(object_id=hook.public_id).values_list("verb", flat=True)) == [
        "webhook changed",
        "webhook changed",
        "webhook added",
    ]


def test_only_webhooks_of_the_workspace_that_chose_the_event_are_told():
    hook, _secret = hooked("https://example.org/")
    other, _secret = hooked("https://example.org/", workspace=make_workspace("other"))
    deaf, _secret = hooked("https://example.org/", workspace=hook.workspace, events=["drift.found"])
    tell(hook)
    assert [one.deliveries.count() for one in (hook, other, deaf)] == [1, 0, 0]


def test_a_workspace_has_a_bounded_number_of_webhooks_and_a_webhook_of_messages(monkeypatch):
    workspace = make_workspace()
    hooks = [hooked("https://example.org/", workspace)[0] for _ in range(20)]
    with pytest.raises(UserError, match="at most 20"):
        hooked("https://example.org/", workspace)
    monkeypatch.setattr(sending, "MOST_WAITING", 3)
    monkeypatch.setattr(sending, "send", lambda *_: None)
    for _ in range(5):
        tell(hooks[0])
    send_waiting(timezone.now)
    states = list(hooks[0].deliveries.order_by("pk").values_list("state", flat=True))
    assert states == ["failed", "failed", "waiting", "waiting", "waiting"]
    assert "More than 3" in hooks[0].deliveries.order_by("pk").first().problem


def test_old_messages_are_deleted_by_the_hourly_clean_up(settings):
    from annotation.tasks import retain

    hook, _secret = hooked("https://example.org/")
    old, new = tell(hook, later(days=-31)), tell(hook, later(days=-29))
    retain()
    assert list(hook.deliveries.all()) == [new] and old.pk != new.pk
    settings.WEBHOOK_DAYS = 28
    assert remove_old_messages(timezone.now) == 1


def test_a_secret_is_stored_encrypted_and_survives_a_new_key_of_the_server(settings):
    with Receiver() as receiver:
        hook, secret = hooked(receiver.url)
        assert secret not in Webhook.objects.values_list("secret", flat=True).get()
        assert secret not in str(list(Event.objects.values()))
        settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
        settings.SECRET_KEY = "another key of the server, long enough"
        tell(hook)
        send_due(hook.pk)
        assert len(receiver.came) == 1
        settings.SECRET_KEY_FALLBACKS = []
        delivery = tell(hook)
        send_due(hook.pk)
        delivery.refresh_from_db()
        assert len(receiver.came) == 1 and "secret key has changed" in delivery.problem
