"""What leads do with a study over the API: settings, state, cohorts, tasks and known answers, as the pages do."""

import pytest
from django.urls import reverse

from accounts.api.tokens import issue_token
from accounts.models import ApiToken, Event
from annotation.models import Assignment, Cohort, Guideline, Rubric, Seat
from annotation.policies.policies import Selection
from generation.models import Import
from tests.factories import make_answer, make_checklist_study, make_rater, make_user, make_workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    study = make_checklist_study(instructions=2, models=2, status="draft")
    return study


@pytest.fixture
def lead(study):
    return make_user("lead", study.workspace, username="lena")


def head(user, *scopes, **options):
    _token, secret = issue_token(user=user, name="s", scopes=scopes or ApiToken.Scope.values, **options)
    return {"Authorization": f"Bearer {secret}"}


@pytest.fixture
def ask(client, study, lead):
    token = head(lead)

    def asked(method, name, *parts, sent=None, status=200, **headers):
        path = reverse(f"api:{name}", args=[study.workspace.slug, study.slug, *parts])
        options = {"headers": {**token, **headers}}
        if method != "get":
            options |= {"data": sent, "content_type": "application/json"}
        answer = getattr(client, method)(path, **options)
        assert answer.status_code == status, answer.content
        return answer

    return asked


def test_settings_are_read_and_changed(study, ask):
    before = ask("get", "study_settings")
    assert before.json()["overlap"] == 1 and before.json()["guideline"] is None
    changed = ask("patch", "study_settings", sent={"overlap": 2, "name_en": "Tea"}).json()
    assert (changed["overlap"], changed["name_en"]) == (2, "Tea")
    assert changed == {**before.json(), "overlap": 2, "name_en": "Tea"}
    study.refresh_from_db()
    assert study.names["en"] == "Tea"
    event = Event.objects.filter(verb="change_study").get()
    assert (event.before["overlap"], event.after["overlap"], event.actor.username) == (None, 2, "lena")
    assert ask("patch", "study_settings", sent=changed).json() == changed
    assert Event.objects.filter(verb="change_study").count() == 1


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"overlap": 0}, "overlap: "),
        ({"colour": "red"}, "no setting 'colour'"),
        ({"rubric": 1}, "rubric: There is no '1'"),
        ({"rubric": "none such"}, "rubric: There is no 'none such'"),
        ({"models": "model0"}, "models: Send a list"),
        ({"models": ["model0", "nobody"]}, "models: There is no 'nobody'"),
        ({"categories": [["a"]]}, "categories: There is no"),
        ({"stop_question": "better", "stop_models": ["model0"]}, "Choose exactly two"),
        ({}, "Send an object"),
        ([1], "Send an object"),
        ({"name_en": "", "name_zh": ""}, "name"),
        ({"qualification_of": 3, "qualification_pass": 4}, "higher than"),
    ],
    ids=str,
)
def test_a_setting_that_cannot_be_is_refused(study, ask, sent, said):
    before = ask("get", "study_settings").json()
    assert said in ask("patch", "study_settings", sent=sent, status=400).json()["detail"]
    assert ask("get", "study_settings").json() == before


def test_what_is_chosen_is_changed_by_name_until_the_launch(study, ask):
    rubric = study.tasks.first().answer_rubric
    for version in (1, 2):
        Guideline.objects.create(workspace=study.workspace, key="care", version=version, texts={"en": "Read."})
    chosen = {"models": ["model1"], "rubric": f"{rubric.key} v{rubric.version}", "guideline": "care"}
    changed = ask("patch", "study_settings", sent=chosen).json()
    assert (changed["models"], changed["rubric"], changed["guideline"]) == (["model1"], chosen["rubric"], "care v2")
    study.refresh_from_db()
    model = study.benchmark.instructions.first().responses.get(model__name="model1").model
    assert list(Selection.of(study).models) == [model.pk] and study.guideline.version == 2 and study.rubric == rubric
    again = ask("patch", "study_settings", sent={**changed, "rubric": None, "guideline": "care v1"}).json()
    assert (again["models"], again["rubric"], again["guideline"]) == (["model1"], None, "care v1")
    ask("patch", "study_settings", sent={"rubric": rubric.key})
    ask("post", "steer_study", "launch")
    assert ask("patch", "study_settings", sent={"models": ["model1"], "guideline": "care v2"}).json()["guideline"]
    fixed = ask("patch", "study_settings", sent={"models": ["model0", "model1"]}, status=400)
    assert "models is fixed" in fixed.json()["detail"]


def test_a_change_of_what_somebody_changed_meanwhile_is_refused(ask):
    tag = ask("get", "study_settings")["ETag"]
    ask("patch", "study_settings", sent={"overlap": 2}, **{"If-Match": tag})
    refused = ask("patch", "study_settings", sent={"overlap": 5}, status=412, **{"If-Match": tag})
    assert "Read it again" in refused.json()["detail"]
    tag = ask("get", "study_settings")["ETag"]
    assert ask("patch", "study_settings", sent={"overlap": 5}, **{"If-Match": tag}).json()["overlap"] == 5
    ask("patch", "study_settings", sent={"overlap": 6}, **{"If-Match": "*"})


def test_a_study_is_launched_paused_opened_and_closed(study, ask):
    assert "cannot be changed" in ask("post", "steer_study", "open", status=400).json()["detail"]
    for verb, status in (("launch", "open"), ("pause", "paused"), ("open", "open"), ("close", "closed")):
        assert ask("post", "steer_study", verb).json()["status"] == status
        assert ask("post", "steer_study", verb if verb != "launch" else "open").json()["status"] == status
    assert Seat.objects.filter(study=study).count() == 4
    ask("post", "steer_study", "open")
    fixed = ask("patch", "study_settings", sent={"overlap": 7}, status=400)
    assert "fixed" in fixed.json()["detail"]
    assert ask("patch", "study_settings", sent={"quota": 5}).json()["quota"] == 5


def test_a_cohort_is_made_once_listed_revoked_and_renewed(study, ask):
    sent = {"name": "Crowd", "kind": "crowd", "days": 3, "consent_en": "I agree."}
    made = ask("post", "cohorts", sent=sent, status=201, **{"Idempotency-Key": "k"}).json()
    assert ask("post", "cohorts", sent=sent, status=201, **{"Idempotency-Key": "k"}).json() == made
    assert "already has a cohort" in ask("post", "cohorts", sent=sent, status=400).json()["detail"]
    cohort = Cohort.objects.get()
    assert made["link"].endswith(f"/{cohort.entry_token}/") and made["codes"] == cohort.codes
    assert cohort.consents == {"en": "I agree."} and cohort.joins_per_hour == 30
    (listed,) = ask("get", "cohorts").json()["results"]
    assert listed["is_open"] and cohort.entry_token not in str(listed) and "codes" not in listed
    assert ask("get", "cohort", cohort.pk).json() == made
    revoked = ask("post", "steer_cohort", cohort.pk, "revoke").json()
    assert not revoked["is_open"]
    assert ask("post", "steer_cohort", cohort.pk, "revoke").json() == revoked
    renewed = ask("post", "steer_cohort", cohort.pk, "renew", sent={"days": 5}).json()
    assert renewed["is_open"] and renewed["link"] != made["link"]
    ask("post", "cohorts", sent={"name": "x", "kind": "cat"}, status=400)
    ask("get", "cohort", 10**17, status=404)


def test_raters_are_listed_by_pseudonym(study, ask):
    rater = make_rater(study, label="ann@example.org", pseudonym="rater 1")
    ask("post", "steer_study", "launch")
    make_answer(study.tasks.first(), rater, {"overall": 5})
    answer = ask("get", "raters")
    (row,) = answer.json()["results"]
    assert (row["id"], row["pseudonym"], row["answered"]) == (rater.public_id, "rater 1", 1)
    assert "example.org" not in answer.content.decode()


def test_a_task_gets_a_known_answer_and_loses_it(study, ask):
    ask("post", "steer_study", "launch")
    rows = ask("get", "tasks").json()["results"]
    assert len(rows) == 4 and {row["model_a"] for row in rows} == {"model0", "model1"}
    one = rows[0]["id"]
    tag = ask("get", "known_answer", one)["ETag"]
    sent = {"purpose": "gold", "expected": {"overall": [2, 3]}, "why": {"en": "It is thin."}}
    marked = ask("put", "known_answer", one, sent=sent, **{"If-Match": tag}).json()
    assert marked["known_answer"] == sent
    assert [row["id"] for row in ask("get", "tasks").json()["results"] if row["known_answer"]] == [one]
    ask("delete", "known_answer", one, status=412, **{"If-Match": tag})
    assert Seat.objects.filter(task__public_id=one).count() == 0
    assert ask("delete", "known_answer", one).json()["known_answer"] is None
    assert ask("delete", "known_answer", one).json()["known_answer"] is None
    assert Seat.objects.filter(task__public_id=one).count() == 1
    verbs = Event.objects.filter(object_type="task").values_list("verb", flat=True)
    assert sorted(verbs) == ["mark_known_answer", "unmark_known_answer"]
    task = study.tasks.get(public_id=one)
    make_answer(task, make_rater(study), {"overall": 5})
    assert "already been given" in ask("put", "known_answer", one, sent=sent, status=400).json()["detail"]


@pytest.mark.parametrize(
    "expected",
    [{}, {"overall": "x"}, {"overall": [3, 2]}, {"overall": 99}, {"nothing": 1}, {"overall": None}, {"overall": True}],
    ids=str,
)
def test_a_known_answer_that_cannot_be_is_refused(study, ask, expected):
    ask("post", "steer_study", "launch")
    one = study.tasks.first()
    ask("put", "known_answer", one.public_id, sent={"expected": expected}, status=400)
    one.refresh_from_db()
    assert one.gold is None


def test_rubrics_and_imports_are_listed(client, study, lead):
    Import.objects.create(workspace=study.workspace, command="load_table", file="a.csv", about="a", actor=lead)
    rubrics = client.get("/api/v1/rubrics/", {"benchmark": study.benchmark.slug}, headers=head(lead)).json()["results"]
    assert [one["key"] for one in rubrics] == list(Rubric.objects.values_list("key", flat=True))
    assert [one["key"] for one in rubrics[0]["criteria"]] == ["item0", "item1", "item2", "overall"]
    assert client.get("/api/v1/rubrics/", {"key": "none"}, headers=head(lead)).json()["results"] == []
    (row,) = client.get("/api/v1/imports/", headers=head(lead)).json()["results"]
    assert (row["file"], row["by"]) == ("a.csv", "lena")
    analyst = make_user("analyst", study.workspace, username="anna")
    assert client.get("/api/v1/imports/", headers=head(analyst)).json()["results"] == []


def test_a_workspace_is_sealed(client, study, lead):
    """The attack: ids of another workspace's things below an own study, and an own token below another's study."""
    other = make_checklist_study(instructions=1, models=1, slug="theirs", workspace=make_workspace("other"))
    cohort = Cohort.objects.create(study=other, name="theirs", kind="onsite")
    task = other.tasks.first()
    mine, theirs = (study.workspace.slug, study.slug), (other.workspace.slug, other.slug)
    before = (Assignment.objects.count(), cohort.entry_token, task.gold)
    known = {"expected": {"overall": 3}}
    calls = [
        ("get", "cohort", [*mine, cohort.pk], None),
        ("post", "steer_cohort", [*mine, cohort.pk, "renew"], {}),
        ("get", "known_answer", [*mine, task.public_id], None),
        ("put", "known_answer", [*mine, task.public_id], known),
        ("delete", "known_answer", [*mine, task.public_id], None),
        *(
            (method, name, [*theirs, *parts], {})
            for method, name, parts in (
                ("get", "study_settings", []),
                ("patch", "study_settings", []),
                ("post", "steer_study", ["close"]),
                ("get", "cohorts", []),
                ("post", "cohorts", []),
                ("get", "cohort", [cohort.pk]),
                ("post", "steer_cohort", [cohort.pk, "revoke"]),
                ("get", "raters", []),
                ("get", "tasks", []),
                ("put", "known_answer", [task.public_id]),
            )
        ),
    ]
    for method, name, parts, sent in calls:
        path = reverse(f"api:{name}", args=parts)
        options = {} if method == "get" else {"data": sent, "content_type": "application/json"}
        assert getattr(client, method)(path, headers=head(lead), **options).status_code == 404, (method, name)
    analyst = make_user("analyst", study.workspace, username="anna")
    for method, name, parts in (
        ("patch", "study_settings", []),
        ("post", "steer_study", ["launch"]),
        ("post", "cohorts", []),
    ):
        path = reverse(f"api:{name}", args=[*mine, *parts])
        sent = {"data": {"overlap": 2}, "content_type": "application/json"}
        assert getattr(client, method)(path, headers=head(analyst), **sent).status_code == 403, name
        unscoped = head(lead, "read", "ratings", "run")
        assert getattr(client, method)(path, headers=unscoped, **sent).status_code == 403, name
    cohort.refresh_from_db()
    task.refresh_from_db()
    study.refresh_from_db()
    assert before == (Assignment.objects.count(), cohort.entry_token, task.gold) and study.status == "draft"
