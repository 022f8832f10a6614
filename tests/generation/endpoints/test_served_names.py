"""Under which name an endpoint says that it answers: kept with the run, told on its page, warned of where it changes."""

import json

import pytest
from django.urls import reverse

from generation.responses.worker import work_on as write_on
from judging.runs.worker import work_on
from tests.factories import make_user
from tests.generation.hostile_server import Act, HostileServer, good_answer, says_or_streams
from tests.generation.responses.test_left_texts import started
from tests.judging.runs.test_runs import QUICK, make_run
from tests.markup import markup

pytestmark = pytest.mark.django_db


def named(act, name):
    """The same answer, whole or streamed, by a model of this name."""
    if isinstance(act.body, dict):
        return Act(body={**act.body, "model": name}, headers=act.headers)
    said = f'"model": {json.dumps(name)}, "choices"'.encode()
    return Act(body=act.body.replace(b'"choices"', said), headers=act.headers)


def page_of(client, run, app):
    if "_auth_user_id" not in client.session:
        client.force_login(make_user("lead"))
    return markup(client.get(reverse(f"{app}:run", args=[run.public_id])))


@pytest.mark.parametrize("app", ["judging", "generation"])
def test_a_model_that_changes_its_name_on_the_way_is_told(client, app):
    def play(request, number):
        answer = good_answer(request) if app == "judging" else says_or_streams(request, "A river.")
        return named(answer, "big-2026-05" if number < 3 else "big-2026-11")

    with HostileServer(play) as server:
        run = work_on(make_run(server), options=QUICK) if app == "judging" else write_on(started(server))
    assert run.status == "finished"
    assert sorted(run.manifest["served"]) == ["big-2026-05", "big-2026-11"]
    page = page_of(client, run, app)
    assert "reported several model names" in page and "big-2026-11" in page
    run.manifest["served"] = ["big-2026-05"]
    run.save(update_fields=["manifest"])
    page = page_of(client, run, app)
    assert "reported the model name big-2026-05" in page and "several model names" not in page
