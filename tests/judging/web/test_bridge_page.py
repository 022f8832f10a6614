"""The page, command and address of a bridge between two runs: what they say, and what they refuse."""

import json
from io import StringIO

import pytest
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.urls import reverse

from judging.models import PlannedItem
from tests.factories import make_checklist_study, make_user, make_workspace
from tests.judging.comparison.test_run_pairs import judged, text
from tests.page_files import check_files

pytestmark = pytest.mark.django_db
LEVELS = (0, 0.25, 0.5, 0.75, 1)


@pytest.fixture(autouse=True)
def _nothing_kept():
    cache.clear()


@pytest.fixture
def runs():
    """The old judge scored 24 of 30 instructions, the new one all of them, one level lower where it can."""
    study = make_checklist_study(instructions=30, models=2)
    old = judged(study, lambda n: LEVELS[n % 5] if n < 24 else None, "old judge")
    new = judged(study, lambda n: LEVELS[max(0, n % 5 - 1)], "new judge")
    return old, new


def address(new, old=None, **query):
    query |= {"old": old.public_id} if old else {}
    return reverse("judging:bridge_runs", args=[new.public_id], query=query)


def test_the_page_says_what_is_shown_and_offers_its_tables(client, runs):
    old, new = runs
    client.force_login(make_user("lead"))
    page = text(client.get(address(new, old)))
    assert "Model means on the scale of old judge" in page
    assert "prediction, corrected by its own anchors" in page
    table = client.get(address(new, old, file="means.csv")).content.decode("utf-8-sig").splitlines()
    assert len(table) == 3 and table[0].startswith("Model,Mean,From,To")
    whole = json.loads(client.get(address(new, old, file="page.json")).content)
    assert [block["key"] for block in whole["blocks"]][:3] == ["means", "board", "models"]
    assert client.get(address(new, old, file="nothing.csv")).status_code == 404


def test_a_margin_is_taken_from_the_address_and_nonsense_is_refused_in_a_sentence(client, runs):
    old, new = runs
    client.force_login(make_user("lead"))
    assert "within the margin of 1 points" in text(client.get(address(new, old, margin="1")))
    for wrong in ("nan", "-1", "abc", "1e999", "2"):
        page = client.get(address(new, old, margin=wrong))
        assert page.status_code == 200
        assert "The margin must be above 0 and at most the length of the old scale, which is 1." in text(page)


def test_the_command_and_the_api_give_what_the_page_shows(client, runs):
    old, new = runs
    client.force_login(make_user("lead"))
    out = StringIO()
    call_command("bridge", old.public_id, new.public_id, "--json", stdout=out)
    told = json.loads(out.getvalue())
    served = client.get(reverse("api:bridge", args=[new.public_id], query={"old": old.public_id})).json()
    assert served == told
    of_api, of_page = reverse("api:bridge", args=[new.public_id]), reverse("judging:bridge_runs", args=[new.public_id])
    assert "line.md" in check_files(client, of_api, of_page, {"old": old.public_id})
    assert told["bridge"]["n_anchors"] == 48 and told["bridge"]["n"] == 60
    table = client.get(address(new, old, file="means.json")).json()
    assert sorted(row[1] for row in table["rows"]) == sorted(mean["value"] for mean in told["bridge"]["models"])
    for shape in ("--csv", "--latex", "--markdown"):
        out = StringIO()
        call_command("bridge", old.public_id, new.public_id, shape, stdout=out)
        assert "anchored" in out.getvalue() or "corrected by its own anchors" in out.getvalue()


def test_strangers_other_benchmarks_and_failed_canaries_get_no_bridge(client, runs):
    old, new = runs
    other = judged(make_checklist_study(instructions=3, models=1, slug="poems"), lambda n: 1, "elsewhere")
    client.force_login(make_user("lead"))
    assert client.get(address(new, other)).status_code == 404
    with pytest.raises(CommandError, match="different benchmarks"):
        call_command("bridge", other.public_id, new.public_id)
    client.force_login(make_user("lead", workspace=make_workspace("elsewhere")))
    assert client.get(address(new, old)).status_code == 404
    assert client.get(reverse("api:bridge", args=[new.public_id], query={"old": old.public_id})).status_code == 404


def test_too_few_anchors_are_a_sentence_with_the_number_needed(client, runs):
    old, new = runs
    kept = old.items.filter(status=PlannedItem.Status.SCORED).values_list("pk", flat=True)[:19]
    old.items.exclude(pk__in=list(kept)).update(status=PlannedItem.Status.WAITING)
    client.force_login(make_user("lead"))
    page = text(client.get(address(new, old)))
    assert "19 responses that both judges scored where at least 20 are needed" in page
    with pytest.raises(CommandError, match="at least 20 are needed"):
        call_command("bridge", old.public_id, new.public_id)
