"""What a study's result pages say over the API, the planner, the progress of a study, and what deletions would remove."""

import pytest
from django.urls import reverse
from django.utils import timezone

from annotation.models import Assignment, Guideline, StoppingQuestion, Study
from annotation.monitoring.exclusion import exclude
from annotation.studies.life_cycle import set_status
from calibration.models import Fit
from calibration.reports.agreement import AGREEMENT
from calibration.reports.progress.stopping import STOPPING, stopping_settings
from calibration.reports.registry import report_of
from calibration.tasks import build_report
from core.models import RequestedTask
from generation.models import Import, Response
from judging.api.result_pages import OF_ONE_REPORT
from tests.factories import make_answer, make_checklist_study, make_judge_rater, make_rater, make_user, make_workspace
from tests.page_files import check_files

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    study = make_checklist_study(instructions=4, models=2)
    for shift, label in enumerate(("ann", "bob", "cyd")):
        rater = make_rater(study, label=label)
        for number, task in enumerate(study.tasks.order_by("pk")):
            level = (number + shift) % 5 / 4
            values = {"item0": level, "item1": 1 - level, "item2": 0.5, "overall": (number + shift) % 11}
            make_answer(task, rater, values)
    return study


def own(study):
    return study.workspace.slug, study.slug


@pytest.mark.parametrize("page", [*OF_ONE_REPORT, "judges"])
def test_a_result_page_says_what_its_file_says(study, call, client, lead, page):
    judge = make_judge_rater(study.workspace, "judge")
    for number, task in enumerate(study.tasks.order_by("pk")):
        make_answer(task, judge, {"item0": number % 5 / 4, "item1": 0.5, "item2": 0.5, "overall": number})
    found = call("get", "result_page", *own(study), page).json()
    assert found["title"] and found["answer"]
    names = {"weights-depth": "calibration:weights_depth", "judges-depth": "judging:judges_depth"}
    names |= {"judges-metrics": "judging:judges_metrics", "judges-methods": "judging:judges_methods"}
    names |= {"judge-table": "judging:judge_table", "judges": "judging:judges"}
    names |= {
        "causes": "judging:causes",
        "panel": "judging:judge_panel",
        "agreement-detail": "calibration:agreement_detail",
    }
    client.force_login(lead)
    file = client.get(reverse(names.get(page, f"calibration:{page}"), args=[study]), {"file": "page.json"}).json()
    assert found == file


def test_a_result_page_is_of_what_is_asked(study, call):
    whole = call("get", "result_page", *own(study), "agreement").json()
    item = call("get", "result_page", *own(study), "agreement", sent={"criterion": "item0"}).json()
    assert item["blocks"] != whole["blocks"]
    assert (
        call("get", "result_page", *own(study), "nothing", status=404).json()["detail"].startswith("There is no result")
    )


def test_a_page_that_a_worker_computes_is_asked_for_again(study, call, monkeypatch):
    monkeypatch.setattr("calibration.reports.freshness.scores_of", lambda _study: AGREEMENT.slow_from + 1)
    answer = call("get", "result_page", *own(study), "agreement", status=202)
    assert answer["Retry-After"] and "ask again" in answer.json()["detail"]
    assert RequestedTask.objects.filter(task="calibration.build_report").exists()


@pytest.fixture
def asked(study):
    """The study with a question of when to stop, stated before launch, and the times of its answers."""
    Assignment.objects.filter(rater__study=study).update(submitted_at=timezone.now(), active_seconds=60.0)
    Response.objects.update(words=120)
    order = [
        [one.pk, list(study.tasks.filter(response_a__instruction=one).values_list("pk", flat=True))]
        for one in study.benchmark.instructions.all()
    ]
    StoppingQuestion.objects.create(
        study=study,
        question="agreement",
        threshold=0.5,
        error=0.05,
        overlap=3,
        instructions=order,
        criteria=["overall"],
    )
    return Study.objects.get(pk=study.pk)


def kinds(call, study):
    return {row["kind"] for row in call("get", "reports", *own(study)).json()}


def test_looking_at_excluded_answers_changes_nothing_for_those_who_do_not(asked, call, lead):
    def stopping(**sent):
        blocks = call("get", "result_page", *own(asked), "dashboard", sent=sent).json()["blocks"]
        return next(block["answer"] for block in blocks if block["key"] == "stopping")

    exclude(asked, asked.raters.get(label="cyd"), since=None, by=lead, reason="careless")
    without = stopping()
    assert stopping(excluded="shown") != without
    assert stopping() == without


def test_the_dashboards_figures_are_computed_when_they_are_asked_for(asked, call, client, lead):
    assert kinds(call, asked) == set()
    found = call("get", "result_page", *own(asked), "dashboard").json()
    assert found["computed_at"] and found["answers_since"] == 0
    blocks = {block["key"]: block for block in found["blocks"]}
    assert list(blocks) == ["stopping", "pace", "dots", "ceiling"]
    assert blocks["stopping"]["answer"] in found["answer"] and blocks["pace"]["answer"] in found["answer"]
    assert sum(row[1] for row in blocks["pace"]["table"]["rows"]) == 24
    assert {"pace", "stopping"} <= kinds(call, asked)
    client.force_login(lead)
    file = client.get(reverse("calibration:desk_figures", args=[asked]), {"file": "page.json"}).json()
    assert file["blocks"] == found["blocks"]


def test_a_worker_computes_the_dashboards_figures_of_a_large_study(asked, call, monkeypatch):
    monkeypatch.setattr("calibration.reports.freshness.scores_of", lambda _study: STOPPING.slow_from + 1)
    answer = call("get", "result_page", *own(asked), "dashboard", status=202)
    assert answer["Retry-After"]
    tasks = {one.arguments[1]: one.arguments for one in RequestedTask.objects.filter(task="calibration.build_report")}
    assert set(tasks) == {"agreement", "raters", "pace", "stopping"}
    for kind in ("agreement", "raters", "pace"):
        build_report(*tasks[kind])
    call("get", "result_page", *own(asked), "dashboard", status=202)
    assert RequestedTask.objects.filter(task="calibration.build_report").count() == 4, "none is asked for twice"
    build_report(*tasks["stopping"])
    found = call("get", "result_page", *own(asked), "dashboard").json()
    assert found["blocks"][0]["key"] == "stopping"


def test_when_to_stop_is_what_was_known_yesterday_until_a_worker_knows_more(asked, call, monkeypatch):
    call("get", "result_page", *own(asked), "dashboard")
    monkeypatch.setattr("calibration.reports.freshness.scores_of", lambda _study: STOPPING.slow_from + 1)
    monkeypatch.setattr("calibration.web.dashboard.stopping_settings", lambda: {"day": "2099-01-01"})
    found = call("get", "result_page", *own(asked), "dashboard").json()
    assert found["blocks"][0]["key"] == "stopping"
    assert report_of(asked, STOPPING, stopping_settings()).size == 4


def test_a_dashboard_without_answers_has_no_figures(call, lead):
    empty = make_checklist_study(instructions=1, models=1, slug="empty", workspace=lead.memberships.get().workspace)
    found = call("get", "result_page", *own(empty), "dashboard").json()
    assert found["blocks"] == [] and found["answer"]


def test_result_pages_are_for_those_who_read_results(study, call):
    for user, status in (
        (make_user("analyst", study.workspace, username="ana"), 200),
        (make_user("rater", study.workspace, username="rob"), 403),
        (make_user("lead", make_workspace("else"), username="eve"), 404),
    ):
        pages = [("result_page", page) for page in ("agreement", "dashboard", "judges")]
        pages += [("result_page_files", "agreement"), ("result_page_file", "agreement", "page.json"), ("plan_files",)]
        pages += [("questionnaire_files",), ("questionnaire_file", "page.json")]
        for name, *more in (*pages, ("plan",), ("study_progress",)):
            call("get", name, *own(study), *more, status=status, user=user)


def test_a_plan_is_that_of_the_planner(study, call, client, lead):
    asked = {"instructions": 10, "models": 2, "raters": 4, "overlap": 2, "hourly_pay": 12}
    found = call("get", "plan", *own(study), sent=asked).json()
    assert (found["planned"]["raters"] == "4" and "costs" in found["answer"]) or "cost" in found["answer"]
    client.force_login(lead)
    file = client.get(reverse("calibration:planner", args=[study]), {**asked, "file": "page.json"}).json()
    assert {name: value for name, value in found.items() if name != "planned"} == file
    assert call("get", "plan", *own(study), sent={"overlap": 9, "raters": 2}, status=400).json()["detail"]
    assert call("get", "plan", *own(study), sent={"models": "two"}, status=400).json()["detail"].startswith("models: ")


def test_progress_is_that_of_the_dashboard(study, call):
    found = call("get", "study_progress", *own(study)).json()
    assert [row["answered"] for row in found["raters"]] == [8, 8, 8]
    assert sum(row["people"] for row in found["categories"] if not row["is_group"]) == 24
    assert (found["launching"], found["launch_refused"]) == (0, "")
    assert found["cohorts"] == [] or sum(row["answered"] for row in found["cohorts"]) == 24


@pytest.mark.parametrize("page", ["agreement", "rankings", "judges", "judge-table"])
def test_figures_and_tables_of_result_pages_are_files(study, client, lead, page):
    judge = make_judge_rater(study.workspace, "judge")
    for number, task in enumerate(study.tasks.order_by("pk")):
        make_answer(task, judge, {"item0": number % 5 / 4, "item1": 0.5, "item2": 0.5, "overall": number})
    client.force_login(lead)
    of_page = {"judges": "judging:judges", "judge-table": "judging:judge_table"}.get(page, f"calibration:{page}")
    names = check_files(
        client,
        reverse("api:result_page", args=[*own(study), page]),
        reverse(of_page, args=[study]),
        {"excluded": "shown"},
    )
    ends = {name.rpartition(".")[2] for name in names}
    assert ends == {"svg", "png", "pdf", "csv", "json", "tex", "md"}


def test_the_dashboards_figures_are_files(asked, client, lead):
    client.force_login(lead)
    address = reverse("api:result_page", args=[*own(asked), "dashboard"])
    page = reverse("calibration:desk_figures", args=[asked])
    names = check_files(client, address, page, without=("page.json",))
    assert {"stopping.csv", "pace.svg", "pace.tex"} <= set(names)


def test_files_of_what_is_computed_are_asked_for_again(study, call, monkeypatch):
    monkeypatch.setattr("calibration.reports.freshness.scores_of", lambda _study: AGREEMENT.slow_from + 1)
    for name, *more in (("result_page_files",), ("result_page_file", "alpha.svg")):
        answer = call("get", name, *own(study), "agreement", *more, status=202)
        assert answer["Retry-After"] and "ask again" in answer.json()["detail"]


@pytest.mark.parametrize(
    "name", ["nothing.svg", "alpha", "alpha.exe", "..", ".svg", "page.csv", "alpha.svg.pdf", "x" * 900]
)
def test_files_that_a_page_does_not_have_are_not_there(study, call, name):
    answer = call("get", "result_page_file", *own(study), "agreement", name, status=404)
    assert answer["Content-Type"] == "application/json" and "no such file" in answer.json()["detail"]


def test_files_are_those_of_the_choices_and_of_a_plan(study, call, client, lead):
    whole, item = (
        call("get", "result_page_file", *own(study), "agreement", "page.json", sent=sent).content
        for sent in ({}, {"criterion": "item0"})
    )
    assert whole != item
    client.force_login(lead)
    asked = {"instructions": 10, "models": 2, "raters": 4, "overlap": 2}
    names = check_files(
        client, reverse("api:plan", args=own(study)), reverse("calibration:planner", args=[study]), asked
    )
    assert "overlap.tex" in names
    call("get", "plan_files", *own(study), sent={"models": "two"}, status=400)
    call("get", "result_page_files", *own(study), "nothing", status=404)


def test_figures_and_tables_of_weights_are_files(study, call, client, lead):
    made = call("post", "make_fit", *own(study), sent={"skip_small": True}, status=201).json()
    client.force_login(lead)
    page = reverse("calibration:weights", args=[study])
    names = check_files(client, reverse("api:fit", args=[made["id"]]), page, asked_of_page={"fit": made["id"]})
    assert "weights-1.csv" in names or names == ["page.json"]
    published = Fit.objects.create(workspace=study.workspace, kind="published", published_name="table-1")
    assert "published elsewhere" in call("get", "fit_files", published.public_id, status=400).json()["detail"]


def test_guidelines_are_listed_with_their_texts(study, call):
    Guideline.objects.create(workspace=study.workspace, key="care", texts={"en": "Read with care."})
    Guideline.objects.create(workspace=make_workspace("else"), key="other", texts={"en": "Hidden."})
    (one,) = call("get", "guidelines").json()["results"]
    assert (one["key"], one["version"], one["texts"]) == ("care", 1, {"en": "Read with care."})
    assert call("get", "guidelines", sent={"key": "none"}).json()["results"] == []


def test_what_a_deletion_removes_is_said_before(study, call):
    owner = make_user("owner", study.workspace, username="olga")
    call("get", "delete_study", *own(study), status=403)
    found = call("get", "delete_study", *own(study), user=owner).json()
    assert found["removed"] == {} and "Pause or close" in found["stays"]
    set_status(Study.objects.get(pk=study.pk), "closed", by=owner)
    found = call("get", "delete_study", *own(study), user=owner).json()
    assert found["removed"]["annotation.Task"] == 8 and found["stays"] == ""
    gone = call("post", "delete_study", *own(study), user=owner, sent={"slug": study.slug}).json()["removed"]
    assert gone["annotation.Task"] == 8


def test_what_an_undo_removes_is_said_before(study, call):
    made = Import.objects.create(
        workspace=study.workspace,
        command="load_table",
        file="a.csv",
        about="a",
        created={"generation.Benchmark": [[study.benchmark_id, study.benchmark_id]]},
    )
    found = call("get", "undo_loading", made.pk).json()
    assert set(found) == {"removed", "kept", "restored", "stays"} and found["kept"] == {"generation.Benchmark": 1}
    call("get", "undo_loading", made.pk, user=make_user("analyst", study.workspace, username="ana"), status=404)


def test_a_study_says_its_state_and_an_instruction_its_tags(study, call):
    assert call("get", "studies").json()["results"][0]["status"] == study.status
    call("post", "steer_study", *own(study), "close")
    call("post", "archive_study", *own(study))
    assert call("get", "study", *own(study)).json()["archived_at"]
    found = call("get", "instructions", study.workspace.slug, study.benchmark.slug).json()["results"]
    assert found[0]["tags"] == []
