"""What moved when a monitor says "changed", and the new baseline with which later rounds are compared."""

import pytest
from django.urls import reverse

from accounts.models import Event
from judging.models import DriftBaseline
from judging.monitoring.monitors import WatchRefused, set_baseline
from judging.monitoring.moved_verdicts import moved_verdicts
from judging.monitoring.readings import last_check, readings
from tests.factories import make_checklist_study, make_user, make_workspace
from tests.judging.monitoring.test_watches import harsher, make_judge, ran, steady, watch_of
from tests.markup import markup

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return make_checklist_study(instructions=12, models=2)


@pytest.fixture
def watch(study):
    return watch_of(study, make_judge(study))


def address(watch, name="watch"):
    return reverse(f"judging:{name}", args=[watch.public_id])


def test_the_answers_that_moved_come_largest_first(watch):
    first, _ = ran(watch, lambda name: 1.0)
    one, other = sorted(watch.study.tasks.all(), key=lambda task: task.pk)[:2]
    moves = {f"{t.response_a.instruction.external_id}/{t.response_a.model}": v for t, v in ((one, 0.75), (other, 0.25))}
    second, _ = ran(watch, lambda name: moves.get(name, 1.0))
    moved = moved_verdicts(watch, first, second)
    assert [(row.task.pk, row.before, row.after, row.share) for row in moved] == (
        [(other.pk, 1.0, 0.25, -0.75)] * 3 + [(one.pk, 1.0, 0.75, -0.25)] * 3
    )
    assert {row.item_after.run_id for row in moved} == {second.pk}
    assert {row.item_before.run_id for row in moved} == {first.pk}


def test_a_new_baseline_ends_the_change_and_later_rounds_are_compared_with_it(watch):
    ran(watch, steady)
    second, _ = ran(watch, harsher)
    assert last_check(watch) == (second, True)
    user = make_user("lead", watch.study.workspace)
    set_baseline(watch, second, user=user)
    assert last_check(watch) == (second, False)
    ran(watch, harsher)
    ran(watch, steady)
    rounds = readings(watch).rounds
    assert [(row.baseline, row.flagged) for row in rounds] == [(1, False), (1, True), (2, False), (2, True)]
    made = DriftBaseline.objects.get()
    assert (made.run, made.created_by, made.flagged) == (second, user, True)
    assert Event.objects.filter(verb="watch baseline changed", actor=user).count() == 1


def test_setting_it_twice_changes_nothing(watch):
    ran(watch, steady)
    second, _ = ran(watch, harsher)
    set_baseline(watch, second)
    set_baseline(watch, second)
    assert DriftBaseline.objects.count() == 1


def test_only_the_latest_round_that_changed_can_become_the_baseline(watch):
    first, _ = ran(watch, steady)
    with pytest.raises(WatchRefused):
        set_baseline(watch, first)
    second, _ = ran(watch, harsher)
    ran(watch, harsher)
    with pytest.raises(WatchRefused):
        set_baseline(watch, second)
    assert not DriftBaseline.objects.exists()


def test_a_lead_reads_what_moved_and_sets_the_baseline_on_a_page_that_asks(watch, client):
    user = make_user("lead", watch.study.workspace)
    client.force_login(user)
    ran(watch, steady)
    assert "Verdicts that moved" not in markup(client.get(address(watch)))
    second, _ = ran(watch, harsher)
    page = markup(client.get(address(watch)))
    assert "72 answers differ between round 1 and round 2" in page and "The first 50 are shown." in page
    item = second.items.order_by("task_id").first()
    assert reverse("judging:verdict", args=[second.public_id, item.pk]) in page
    assert address(watch, "new_baseline") in page
    asked = markup(client.get(address(watch, "new_baseline")))
    assert "Use round 2 as the new baseline?" in asked and not DriftBaseline.objects.exists()
    assert client.post(address(watch, "new_baseline"), {"run": second.public_id}).status_code == 302
    after = client.get(address(watch))
    assert not after.context["panel"].flagged and "Round 2 is the new baseline" in markup(after)
    assert "set after the check of round 2" in markup(after) and str(user) in markup(after)
    assert address(watch, "new_baseline") not in markup(after)
    assert "Verdicts that moved" in markup(after)
    assert DriftBaseline.objects.get().run_id == second.pk


def test_a_round_that_finished_meanwhile_is_not_made_the_baseline_unseen(watch, client):
    client.force_login(make_user("lead", watch.study.workspace))
    ran(watch, steady)
    second, _ = ran(watch, harsher)
    ran(watch, harsher)
    client.post(address(watch, "new_baseline"), {"run": second.public_id})
    assert not DriftBaseline.objects.exists()


@pytest.mark.parametrize(("role", "elsewhere", "status"), [("analyst", False, 403), ("lead", True, 404)])
def test_nobody_but_a_lead_of_the_workspace_sets_a_baseline(watch, client, role, elsewhere, status):
    ran(watch, steady)
    second, _ = ran(watch, harsher)
    client.force_login(make_user(role, make_workspace("elsewhere") if elsewhere else watch.study.workspace))
    assert client.post(address(watch, "new_baseline"), {"run": second.public_id}).status_code == status
    assert not DriftBaseline.objects.exists()


def test_a_baseline_is_a_record(watch):
    ran(watch, steady)
    second, _ = ran(watch, harsher)
    made = set_baseline(watch, second)
    with pytest.raises(Exception, match="judging_driftbaseline"):
        DriftBaseline.objects.filter(pk=made.pk).update(flagged=False)
