"""However many sign in at once, only so many passwords are hashed at a time, and the others hear at once."""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.contrib.auth.hashers import make_password
from django.db import connection
from django.test import Client

from accounts.models import SignInAttempt
from accounts.sign_in import hashing
from accounts.sign_in.hashing import BoundedHasher, HashingBusy
from tests.factories import make_user
from tests.many_connections import many_connections

THREADS = 50


@pytest.fixture
def slots(settings, tmp_path):
    settings.HASHING_DIR = tmp_path / "hashing"
    settings.PASSWORD_HASHINGS = 2
    settings.PASSWORD_HASHERS = ["accounts.sign_in.hashing.BoundedHasher"]


class Gauge:
    """A hasher's slow part that counts how many run at once."""

    def __init__(self):
        self.running = self.most = self.all = 0
        self.lock = threading.Lock()
        self.go_on = threading.Event()

    def __call__(self, *_anything, **_options):
        with self.lock:
            self.running += 1
            self.all += 1
            self.most = max(self.most, self.running)
        self.go_on.wait(20)
        with self.lock:
            self.running -= 1
        return b"x" * 32


def count_attempts():
    try:
        return SignInAttempt.objects.count()
    finally:
        connection.close()


@pytest.mark.django_db(transaction=True)
def test_fifty_who_sign_in_at_once_hash_two_at_a_time_from_the_first_request_on(slots, monkeypatch, tmp_path):
    """The attack: to keep all processors busy with passwords. Surplus requests neither wait nor count as guesses."""
    make_user(username="lena")
    gauge = Gauge()
    monkeypatch.setattr("django.contrib.auth.hashers.pbkdf2", gauge)
    begun = time.monotonic()

    def sign_in(number):
        try:
            name = "lena" if number % 2 else f"nobody{number}"
            answer = Client().post(
                "/sign-in/", {"username": name, "password": "wrong one 12"}, REMOTE_ADDR=f"198.51.100.{number}"
            )
            return answer.status_code, answer.get("Retry-After"), time.monotonic() - begun
        finally:
            connection.close()

    # Two hash until all but those that wait have been answered; then they go on.
    with many_connections(tmp_path), ThreadPoolExecutor(THREADS) as threads:
        answers = [threads.submit(sign_in, number) for number in range(THREADS)]
        while sum(answer.done() for answer in answers) < THREADS - 6 and time.monotonic() - begun < 20:
            threading.Event().wait(0.01)
        refused = [answer.result() for answer in answers if answer.done()]
        gauge.go_on.set()
        everybody = [answer.result() for answer in answers]
        counted = threads.submit(count_attempts).result()
    assert gauge.most == 2
    assert len(refused) >= THREADS - 6 and {(status, after) for status, after, _time in refused} == {(503, "2")}
    assert [status for status, _after, _time in everybody].count(200) == gauge.all >= 2
    assert counted == gauge.all


@pytest.mark.django_db
def test_the_refusal_is_a_page_that_says_what_to_do(slots, settings, monkeypatch, client):
    held = [hashing._free_slot(settings.HASHING_DIR, 2) for _other in range(2)]
    monkeypatch.setattr(hashing, "WAIT_SECONDS", 0.0)
    answer = client.post("/sign-in/", {"username": "lena", "password": "wrong one 12"})
    for slot in held:
        os.close(slot)
    assert (answer.status_code, answer["Cache-Control"]) == (503, "no-store")
    assert "Try again in a few seconds" in answer.content.decode()
    assert not SignInAttempt.objects.exists()


def test_the_bound_holds_across_processes_and_ends_with_a_process_that_dies(slots, settings, monkeypatch):
    """Another process is another open file; the system frees the lock of one that is killed, as of one that is closed."""
    monkeypatch.setattr(hashing, "WAIT_SECONDS", 0.0)
    first, second = (hashing._free_slot(settings.HASHING_DIR, 2) for _process in range(2))
    with pytest.raises(HashingBusy):
        hashing._free_slot(settings.HASHING_DIR, 2)
    os.close(first)
    os.close(hashing._free_slot(settings.HASHING_DIR, 2))
    os.close(second)


def test_passwords_stored_before_stay_valid_and_commands_are_not_bounded(slots, settings):
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.PBKDF2PasswordHasher"]
    before = make_password("plumb line 12")
    assert BoundedHasher().verify("plumb line 12", before)
    assert not settings.HASHING_DIR.exists()
