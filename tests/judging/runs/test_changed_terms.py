"""An endpoint whose address and prices are changed while a run goes on: what is asked from then on goes by the new ones."""

from decimal import Decimal

import pytest
from django.utils import timezone

from generation.execution.worker import WorkerOptions
from generation.models import Endpoint, Response
from generation.responses.recording import spent_of as texts_spent
from generation.responses.worker import work_on as write_on
from judging.models import JudgeRun, Reply
from judging.runs.queue import JudgeQueue
from judging.runs.recording import spent_of
from judging.runs.worker import work_on
from tests.generation.hostile_server import Act, HostileServer, good_answer, says_or_streams
from tests.generation.responses.test_left_texts import started
from tests.judging.runs.test_runs import make_run

pytestmark = pytest.mark.django_db
ITEMS = {"judging": 8, "generation": 6}
OLD, NEW = Decimal("0.0004"), Decimal("0.4")
"""Of 100 tokens read at 2 a million and 20 written at 10; the new prices are a thousand times those."""


def slowly(answer):
    return lambda request, number: Act(**{**vars(answer(request)), "seconds": 0.4})


def changing(other):
    """A shift of one call at a time that moves the endpoint to another address when it has lasted a second."""
    looks = []

    def watch():
        looks.append(None)
        if len(looks) == 2:
            Endpoint.objects.update(base_url=other.base_url, input_price=2_000, output_price=10_000)

    return WorkerOptions(concurrency=1, watch=watch)


@pytest.mark.parametrize("kind", ["judging", "generation"])
def test_new_terms_hold_for_what_is_asked_from_then_on(kind):
    judges = kind == "judging"
    answer = slowly(good_answer if judges else lambda request: says_or_streams(request, "A river."))
    with HostileServer(answer) as before, HostileServer(answer) as after:
        if judges:
            run = make_run(before, input_price=Decimal(2), output_price=Decimal(10))
            done, spent = work_on(run, options=changing(after)), spent_of(run)
        else:
            run = started(before)
            done, spent = write_on(run, options=changing(after)), texts_spent(run)
    assert done.status == "finished"
    assert before.requests and after.requests
    assert len(before.requests) + len(after.requests) == ITEMS[kind]
    assert (Reply if judges else Response).objects.count() == ITEMS[kind]
    assert spent.money == len(before.requests) * OLD + len(after.requests) * NEW


def test_terms_that_are_put_back_still_begin_anew_and_so_does_what_stands_beside():
    with HostileServer(slowly(good_answer)) as server:
        run = make_run(server, input_price=Decimal(2), output_price=Decimal(10))
    run = JudgeRun.objects.select_related("judge__language_model__endpoint").get(pk=run.pk)
    one, other = JudgeQueue(run, "a", timezone.now), JudgeQueue(run, "b", timezone.now)
    one.beside = other.beside = [one, other]
    assert one.still_running() and other.still_running()
    Endpoint.objects.update(input_price=3)
    assert not one.still_running()
    Endpoint.objects.update(input_price=2)
    assert not one.still_running() and not other.still_running()
    assert (one.outdated, other.outdated) == (True, False)
