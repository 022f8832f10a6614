"""The pages on which a lead makes a study: who may see them, what they keep, and the preview that keeps nothing."""

import pytest
from django.urls import reverse

from accounts.models import Event
from annotation.assignment.attention_checks import mark_gold
from annotation.models import Assignment, Draft, Guideline, Rater, Score, Seat, Study, Task
from annotation.studies.life_cycle import create_study, make_tasks
from annotation.studies.selection import planned_tasks
from tests.factories import make_checklist_study, make_rater, make_user, make_workspace
from tests.markup import markup

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


@pytest.fixture
def source():
    return make_checklist_study(instructions=3, models=2, slug="source")


@pytest.fixture
def lead(source):
    return make_user("lead", source.workspace, username="lena")


@pytest.fixture
def study(source, lead):
    return create_study(
        workspace=source.workspace, names={"en": "Draft"}, kind="checklist", benchmark=source.benchmark, by=lead
    )


@pytest.fixture
def as_lead(client, lead):
    client.force_login(lead)
    return client


def to(name, study, *more):
    return reverse(f"annotation:{name}", args=[study, *more])


def entered(**fields):
    """A set-up form as the browser sends it."""
    usual = {
        "name_en": "Draft",
        "overlap": "2",
        "order": "spread",
        "hints": "hidden",
        "samples": "first",
        "probe_percent": "2",
        "gold_percent": "5",
        "control_percent": "5",
        "probe_gap": "10",
        "checks_failed": "3",
        "checks_window": "10",
    }
    return usual | fields


PAGES = ["setup", "preview", "edit_guideline", "known_answers", "history"]


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(
    ("role", "status"), [("owner", 200), ("lead", 200), ("analyst", 404), ("rater", 403), (None, 403)]
)
def test_who_may_see_the_pages(client, study, page, role, status):
    client.force_login(make_user(role, study.workspace) if role else make_user())
    assert client.get(to(page, study)).status_code == status


@pytest.mark.parametrize("page", PAGES)
def test_the_lead_of_another_workspace_finds_nothing(client, study, page):
    client.force_login(make_user("lead", make_workspace("elsewhere")))
    assert client.get(to(page, study)).status_code == 404


@pytest.mark.parametrize("action", ["launch", "change_status"])
@pytest.mark.parametrize(("role", "status"), [("analyst", 404), ("rater", 403)])
def test_who_may_act(client, study, action, role, status):
    client.force_login(make_user(role, study.workspace))
    assert client.post(to(action, study), {"status": "open"}).status_code == status
    study.refresh_from_db()
    assert study.status == "draft"


def test_visitors_are_asked_to_sign_in(client, study):
    assert client.get(to("setup", study))["Location"].startswith("/sign-in/")


def test_a_study_is_made_in_the_browser(as_lead, source):
    page = as_lead.get(reverse("annotation:new_study"))
    assert "6 responses" in markup(page)
    sent = {
        "workspace": source.workspace_id,
        "name_en": "Poems",
        "name_zh": "诗",
        "kind": "pair",
        "benchmark": source.benchmark_id,
    }
    response = as_lead.post(reverse("annotation:new_study"), sent)
    study = Study.objects.get(slug="poems")
    assert response["Location"] == to("setup", study)
    assert (study.kind, study.status, study.names) == ("pair", "draft", {"en": "Poems", "zh-hans": "诗"})


def test_a_new_study_needs_a_name_and_a_benchmark_of_its_workspace(as_lead, lead, source):
    other = make_checklist_study(slug="other", workspace=make_workspace("elsewhere"))
    sent = {"workspace": source.workspace_id, "kind": "stars", "benchmark": other.benchmark_id}
    response = as_lead.post(reverse("annotation:new_study"), sent)
    assert response.status_code == 422
    assert set(response.context["form"].errors) == {"name_en", "benchmark"}


def test_the_set_up_keeps_every_choice(as_lead, study):
    model = study.benchmark.instructions.first().responses.first().model
    sent = entered(
        models=[model.pk],
        quota="20",
        hints="split",
        qualification_of="10",
        qualification_pass="9",
        probe_percent="4",
        consent_en="I agree.",
        payment_zh="报酬",
        raters="7",
        hourly_pay="12.50",
        currency="€",
        last_day="2030-05-01",
        training="on",
        pace_words="800",
        pace_told="4",
    )
    assert as_lead.post(to("setup", study), sent)["Location"] == to("setup", study)
    study.refresh_from_db()
    wanted = {
        "overlap": 2,
        "quota": 20,
        "hints": "split",
        "qualification": {"of": 10, "pass": 9},
        "probe_rate": 0.04,
        "consent": {"en": "I agree."},
        "payment": {"zh-hans": "报酬"},
        "last_day": "2030-05-01",
        "training": True,
        "reading_pace": {"words": 800, "told": 4, "paused": 5},
        "plan": {"raters": 7, "hourly_pay": "12.50", "currency": "€"},
        "selection": {"models": [model.pk], "samples": "first"},
    }
    assert {key: study.policies.get(key) for key in wanted} == wanted
    html = "".join(markup(as_lead.get(to("setup", study), {"step": step})) for step in ("checks", "texts"))
    assert "I agree." in html
    refused = as_lead.post(to("setup", study), sent | {"pace_words": "250"})
    assert list(refused.context["form"].errors) == ["pace_words"]
    assert 'value="12.50"' in html
    assert Event.objects.filter(verb="change_study", object_id=study.public_id).count() == 1


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"overlap": "0"}, "overlap"),
        ({"qualification_of": "5"}, "qualification_pass"),
        ({"qualification_of": "5", "qualification_pass": "6"}, "qualification_pass"),
        ({"probe_percent": "40"}, "probe_percent"),
        ({"name_en": ""}, "name_en"),
        ({"checks_failed": "12"}, "checks_failed"),
    ],
)
def test_a_choice_that_cannot_be_is_marked_and_nothing_kept(as_lead, study, fields, field):
    before = dict(study.policies)
    response = as_lead.post(to("setup", study), entered(**fields))
    assert response.status_code == 422
    assert field in response.context["form"].errors
    study.refresh_from_db()
    assert study.policies == before


def test_a_launched_study_keeps_what_its_answers_rest_on(as_lead, study):
    as_lead.post(to("launch", study))
    as_lead.post(to("setup", study), entered(overlap="9", hints="shown", quota="15", adjudicated_labels="on"))
    study.refresh_from_db()
    assert (study.policies["overlap"], study.policies["hints"], study.policies["quota"]) == (3, "hidden", 15)
    assert study.policies["adjudicated_labels"] is True
    assert 'id="id_adjudicated_labels" checked' in " ".join(
        markup(as_lead.get(to("setup", study), {"step": "checks"})).split()
    )


def test_launching_at_once_and_by_a_worker(as_lead, study, monkeypatch, django_capture_on_commit_callbacks):
    sent = []
    monkeypatch.setattr("annotation.studies.life_cycle.LARGE", 3)
    monkeypatch.setattr("annotation.tasks.launch.delay", sent.append)
    with django_capture_on_commit_callbacks(execute=True):
        assert as_lead.post(to("launch", study))["Location"] == to("setup", study)
    assert sent == [study.pk]
    assert "0 of 6 tasks" in markup(as_lead.get(to("setup", study)))
    part = as_lead.get(to("launching", study), headers=HTMX)
    assert b"<html" not in part.content
    from annotation.tasks import launch

    launch(study.pk)
    assert as_lead.get(to("launching", study), headers=HTMX)["HX-Redirect"] == to("desk", study)
    assert Seat.objects.filter(study=study).count() == 18


def test_opening_pausing_and_closing(as_lead, study):
    as_lead.post(to("launch", study))
    for status in ("paused", "open"):
        as_lead.post(to("change_status", study), {"status": status})
        study.refresh_from_db()
        assert study.status == status
    asked = as_lead.post(to("change_status", study), {"status": "closed"})
    assert asked["Location"] == to("close_study", study)
    study.refresh_from_db()
    assert study.status == "open"
    as_lead.post(to("close_study", study), {"confirmed": "yes"})
    study.refresh_from_db()
    assert study.status == "closed"
    as_lead.post(to("change_status", study), {"status": "draft"})
    study.refresh_from_db()
    assert study.status == "closed"


def test_the_plan_is_a_part_of_the_page(as_lead, study):
    html = markup(as_lead.get(to("setup", study)))
    address = reverse("calibration:plan_fragment", args=[study])
    assert address in html
    plan = markup(as_lead.get(address, headers=HTMX))
    assert "<html" not in plan
    assert "Tasks" in plan and "Total hours" in plan and "alpha" in plan


def test_the_plan_of_choices_that_make_no_task_says_so(as_lead, study):
    study.policies = {**study.policies, "selection": {"models": [10**9]}}
    study.save()
    assert "yield no tasks" in markup(as_lead.get(reverse("calibration:plan_fragment", args=[study])))


def test_a_rater_gets_no_plan(client, study):
    client.force_login(make_user("rater", study.workspace))
    assert client.get(reverse("calibration:plan_fragment", args=[study])).status_code == 403


# The preview
def counts():
    return [kind.objects.count() for kind in (Assignment, Score, Draft, Rater, Task, Seat)]


def test_the_preview_is_the_rating_page_and_stores_nothing(as_lead, study):
    before = counts()
    html = markup(as_lead.get(to("preview", study)))
    address = reverse("annotation:preview_rate", args=[1, study.public_id])
    assert address in html
    page = markup(as_lead.get(address))
    assert "nothing is saved" in page and 'name="c-item0"' in page and "Some words about it" in page
    answers = {"c-item0": "4", "c-item1": "2", "c-item2": "0", "c-overall": "7"}
    following = reverse("annotation:preview_rate", args=[2, study.public_id])
    assert as_lead.post(address, answers)["Location"] == following
    assert as_lead.post(address, answers, headers=HTMX)["HX-Redirect"] == following
    assert as_lead.post(address, {}, headers=HTMX).status_code == 422
    assert as_lead.post(address + "draft/", {"serial": "1"}).json() == {"kept": True}
    assert as_lead.post(address + "skip/")["Location"] == following
    assert as_lead.post(address + "hold/").status_code == 204
    assert counts() == before


@pytest.mark.parametrize(("role", "status"), [("rater", 403), (None, 403)])
def test_nobody_else_sees_a_preview(client, study, role, status):
    client.force_login(make_user(role, study.workspace) if role else make_user())
    assert client.get(reverse("annotation:preview_rate", args=[1, study.public_id])).status_code == status


def test_another_workspaces_lead_sees_no_preview(client, study):
    client.force_login(make_user("lead", make_workspace("elsewhere")))
    assert client.get(reverse("annotation:preview_rate", args=[1, study.public_id])).status_code == 404


# The guideline
def test_a_changed_guideline_is_another_version(as_lead, study):
    for text in ("# Read", "# Read", "# Read twice"):
        as_lead.post(to("edit_guideline", study), {"text_en": text, "text_zh": "", "do": "save"})
    study.refresh_from_db()
    assert Guideline.objects.count() == 2
    assert (study.guideline.version, study.guideline.texts) == (2, {"en": "# Read twice"})
    assert Event.objects.filter(verb="change_guideline").count() == 2


def test_a_guideline_that_others_save_at_the_same_moments_is_refused_in_a_sentence(as_lead, study, monkeypatch):
    """Whenever this lead looks for the newest version, somebody else has just saved the next one."""
    as_lead.post(to("edit_guideline", study), {"text_en": "# Read", "do": "save"})
    key, real = Study.objects.get(pk=study.pk).guideline.key, Guideline.objects.create

    def overtaken(**fields):
        real(**{**fields, "texts": {"en": "# Another's"}})
        return real(**fields)

    monkeypatch.setattr(Guideline.objects, "create", overtaken)
    answer = as_lead.post(to("edit_guideline", study), {"text_en": "# Read twice", "do": "save"})
    assert answer.status_code == 409
    page = markup(answer)
    assert "Someone else is changing the guideline. Try again." in page and "# Read twice" in page
    assert "Raters read" in page
    assert Guideline.objects.filter(key=key).count() == 1
    assert Study.objects.get(pk=study.pk).guideline.texts == {"en": "# Read"}


def test_the_guidelines_preview_is_safe_and_not_kept(as_lead, study):
    sent = {"text_en": "**bold** <script>alert(1)</script>", "text_zh": "", "do": "preview"}
    part = markup(as_lead.post(to("edit_guideline", study), sent, headers=HTMX))
    assert "<strong>bold</strong>" in part and "<script>" not in part and "<html" not in part
    whole = markup(as_lead.post(to("edit_guideline", study), sent))
    assert "<strong>bold</strong>" in whole and "<html" in whole
    assert not Guideline.objects.exists()


def test_an_empty_guideline_is_refused(as_lead, study):
    assert as_lead.post(to("edit_guideline", study), {"do": "save"}).status_code == 422


# Known answers
def test_a_task_is_marked_and_made_ordinary_again(as_lead, study):
    as_lead.post(to("known_answers", study))
    task = study.tasks.first()
    address = to("mark_task", study, task.public_id)
    assert "Some words about it" in markup(as_lead.get(address))
    sent = {
        "purpose": "training",
        "low-overall": "4",
        "high-overall": "7",
        "low-item0": "1",
        "high-item0": "1",
        "why_en": "Because.",
    }
    assert as_lead.post(address, sent)["Location"] == to("known_answers", study)
    task.refresh_from_db()
    expected = {"overall": [4.0, 7.0], "item0": 1.0}
    assert task.gold == {"purpose": "training", "expected": expected, "why": {"en": "Because."}}
    assert "Practice" in markup(as_lead.get(to("known_answers", study)))
    as_lead.post(to("unmark_task", study, task.public_id))
    task.refresh_from_db()
    assert task.gold is None
    verbs = list(Event.objects.filter(object_id=task.public_id).values_list("verb", flat=True))
    assert sorted(verbs) == ["mark_known_answer", "unmark_known_answer"]


@pytest.mark.parametrize("sent", [{"purpose": "gold"}, {"purpose": "gold", "low-overall": "8", "high-overall": "2"}])
def test_a_mark_without_a_sound_answer_is_refused(as_lead, study, sent):
    make_tasks(study)
    task = study.tasks.first()
    assert as_lead.post(to("mark_task", study, task.public_id), sent).status_code == 422
    task.refresh_from_db()
    assert task.gold is None


def test_a_known_answer_that_somebody_met_and_a_control_stay_as_they_are(as_lead, study):
    make_tasks(study)
    met, unmet, control = study.tasks.order_by("pk")[:3]
    for task in (met, unmet):
        mark_gold(task, {"overall": 5})
    Task.objects.filter(pk=control.pk).update(gold={"purpose": "control", "expected": {}})
    Assignment.objects.create(task=met, rater=make_rater(study))
    study.status = "open"
    study.save()
    for task in (met, unmet, control):
        as_lead.post(to("unmark_task", study, task.public_id))
    assert set(study.tasks.filter(gold__isnull=False)) == {met, control}
    assert unmet.seats.exists(), "in a launched study an ordinary task has its seats"


# History
def test_every_step_stands_in_the_history(as_lead, study, django_assert_max_num_queries):
    as_lead.post(to("setup", study), entered(quota="12"))
    as_lead.post(to("launch", study))
    as_lead.post(to("change_status", study), {"status": "paused"})
    with django_assert_max_num_queries(20):
        html = markup(as_lead.get(to("history", study)))
    for words in ("created the study", "changed the study", "launched the study", "paused the study", "lena"):
        assert words in html


def test_queries_of_the_set_up_are_bounded(as_lead, study, django_assert_max_num_queries):
    with django_assert_max_num_queries(24):
        as_lead.get(to("setup", study))


def test_a_policy_that_makes_no_sense_is_named_in_the_readers_language(as_lead, study):
    study.policies = {**study.policies, "probe_rate": 3}
    study.save()
    as_lead.post(reverse("set_language"), {"language": "zh-hans", "next": "/"})
    plan = markup(as_lead.get(reverse("calibration:plan_fragment", args=[study])))
    assert "probe_rate" in plan
    assert "is not a share" not in plan


def test_tasks_to_mark_are_told_apart_by_their_models_and_come_in_pages(as_lead, study):
    make_tasks(study)
    task = study.tasks.first()
    for number in range(40):
        Task.objects.create(
            study=study, kind="single", key=f"x{number}", response_a=task.response_a, answer_rubric=task.answer_rubric
        )
    first = markup(as_lead.get(to("known_answers", study)))
    second = markup(as_lead.get(to("known_answers", study), {"page": 2}))
    assert [page.count("Review and mark") for page in (first, second)] == [30, 16]
    assert "model0" in first
    found = markup(as_lead.get(to("known_answers", study), {"q": "model1"}))
    assert found.count("Review and mark") == 3


def test_a_marked_task_is_in_the_plan_no_more(as_lead, study):
    make_tasks(study)
    before = len(planned_tasks(study))
    mark_gold(study.tasks.first(), {"overall": 5})
    assert len(planned_tasks(study)) == before - 1
