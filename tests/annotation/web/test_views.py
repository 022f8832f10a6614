"""The rating screen, as rater, stranger, returning rater and lead, with and without HTMX."""

import re
from datetime import timedelta
from pathlib import Path

import django_htmx
import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.assignment.new_slots import make_seats
from annotation.models import Assignment, Cohort, Draft, Flag, Guideline, Rater, Score, Seat
from generation.models import LanguageModel
from tests.factories import make_answer, make_checklist_study, make_judge_rater, make_rater, make_user, make_workspace
from tests.markup import markup

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true", "HX-Target": "task"}
GOOD = {"c-item0": "0", "c-item1": "3", "c-item2": "4", "c-overall": "7", "active": "12.5", "idle": "1"}
SECRET_MODELS = ("Zephyrion-70B", "Quillmaster-2")


@pytest.fixture
def study():
    study = make_checklist_study(instructions=3, models=2)
    for model, name in zip(LanguageModel.objects.order_by("pk"), SECRET_MODELS, strict=True):
        model.name = name
        model.save()
    study.guideline = Guideline.objects.create(
        workspace=study.workspace, key="checklist", texts={"en": "# Be fair\n\nRead it all.", "zh-hans": "# 要公平"}
    )
    study.save()
    make_seats(study)
    return study


@pytest.fixture
def rater(study):
    return make_user("rater", study.workspace, username="rosa")


@pytest.fixture
def page(client, study, rater):
    """The rater's first task, opened: (client, assignment)."""
    client.force_login(rater)
    client.post(reverse("annotation:start", args=[study]))
    return client, Assignment.objects.get()


def rate_url(assignment):
    return reverse("annotation:rate", args=[assignment.public_id])


def statements(queries):
    """What a page asked the database, transaction control aside."""
    control = ("SAVEPOINT", "RELEASE", "BEGIN", "COMMIT", "ROLLBACK")
    return [query["sql"] for query in queries if not query["sql"].startswith(control)]


def test_starting_claims_a_task_and_makes_the_rater(client, study, rater):
    client.force_login(rater)
    response = client.post(reverse("annotation:start", args=[study]))
    assignment = Assignment.objects.get()
    assert response.status_code == 302
    assert response["Location"] == rate_url(assignment)
    assert Rater.objects.get(user=rater).pseudonym == "R1"
    assert assignment.conditions == {"language": "en", "guideline": "checklist v1"}
    again = client.post(reverse("annotation:start", args=[study]))
    assert again["Location"] == rate_url(assignment)
    assert Seat.objects.filter(state="held").count() == 1


def test_a_visit_to_start_claims_nothing(client, study, rater):
    client.force_login(rater)
    response = client.get(reverse("annotation:start", args=[study]))
    assert response["Location"] == reverse("annotation:done", args=[study])
    assert not Assignment.objects.exists()


def test_the_screen_shows_text_questions_levels_and_keys(page):
    client, assignment = page
    html = markup(client.get(rate_url(assignment)))
    assert "Write about topic" in html
    assert "Some words about it." in html
    assert html.count('type="radio" name="c-item') == 15
    assert html.count('type="radio" name="c-overall"') == 11
    assert "Is quality 0 there?" in html
    assert "level 4" in html
    assert 'data-shortcut="10"' in html
    assert 'id="keys"' in html


def test_the_screen_in_chinese(page):
    client, assignment = page
    client.cookies["django_language"] = "zh-hans"
    html = markup(client.get(rate_url(assignment)))
    assert '<html lang="zh-hans">' in html
    assert "是否具备品质0?" in html
    assert "第4级" in html
    assert "总体如何?" in html


def test_submitting_with_htmx_brings_the_next_task_in_the_same_response(page):
    client, assignment = page
    assignment.shown_at -= timedelta(minutes=1)
    assignment.save()
    response = client.post(rate_url(assignment), GOOD, headers=HTMX)
    following = Assignment.objects.get(status="open")
    html = markup(response)
    assert response.status_code == 200
    assert response["HX-Push-Url"] == rate_url(following)
    assert assignment.public_id in response["HX-Trigger"]
    assert html.lstrip().startswith('<div id="task"')
    assert f'data-assignment="{following.public_id}"' in html
    assert "<html" not in html
    assert "HX-Request" in response["Vary"]
    assignment.refresh_from_db()
    assert (assignment.status, assignment.active_seconds) == ("submitted", 12.5)
    values = dict(Score.objects.values_list("criterion__key", "value"))
    assert values == {"item0": 0.0, "item1": 0.75, "item2": 1.0, "overall": 7.0}


def test_submitting_without_javascript_redirects_to_the_next_task(page):
    client, assignment = page
    response = client.post(rate_url(assignment), {k: v for k, v in GOOD.items() if k.startswith("c-")})
    following = Assignment.objects.get(status="open")
    assert response.status_code == 302
    assert response["Location"] == rate_url(following)
    html = markup(client.get(response["Location"]))
    assert "<html" in html
    assert 'method="post"' in html


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_an_unanswered_question_is_refused_and_the_rest_is_kept(page, headers):
    client, assignment = page
    partial = {k: v for k, v in GOOD.items() if k != "c-item1"}
    response = client.post(rate_url(assignment), partial, headers=headers)
    html = markup(response)
    assert response.status_code == 422
    assert "This question is not answered yet." in html
    assert re.search(r'name="c-overall" value="7" checked', html)
    assert ("<html" in html) == (not headers)
    assert not Score.objects.exists()


@pytest.mark.parametrize("value", ["5", "-1", "0.3", "n/a", "", "<script>"])
def test_a_value_off_the_scale_is_refused(page, value):
    client, assignment = page
    response = client.post(rate_url(assignment), GOOD | {"c-item0": value})
    assert response.status_code == 422
    assert "<script>" not in markup(response)
    assert not Score.objects.exists()


def test_not_applicable_where_the_rubric_offers_it(page):
    client, assignment = page
    assignment.task.answer_rubric.criteria.filter(key="item0").update(may_not_apply=True)
    assert 'value="n/a" data-shortcut="x"' in markup(client.get(rate_url(assignment)))
    client.post(rate_url(assignment), GOOD | {"c-item0": "n/a"})
    assert Score.objects.get(criterion__key="item0").not_applicable


def test_a_range_without_steps_is_a_number_field(page):
    client, assignment = page
    assignment.task.answer_rubric.criteria.filter(key="overall").update(step=None, maximum=100)
    assert 'type="number"' in markup(client.get(rate_url(assignment)))
    for bad in ("101", "-0.5", "abc", "nan", "1e999"):
        assert client.post(rate_url(assignment), GOOD | {"c-overall": bad}).status_code == 422
    assert client.post(rate_url(assignment), GOOD | {"c-overall": "66.25"}).status_code == 302
    assert Score.objects.get(criterion__key="overall").value == 66.25


def test_submitting_twice_stores_once(page):
    client, assignment = page
    client.post(rate_url(assignment), GOOD, headers=HTMX)
    client.post(rate_url(assignment), GOOD, headers=HTMX)
    assert assignment.scores.count() == 4
    assert Assignment.objects.filter(status="open").count() == 1


def test_the_last_task_leads_to_thanks(page, study):
    client, _assignment = page
    for _ in range(6):
        assignment = Assignment.objects.get(status="open")
        response = client.post(rate_url(assignment), GOOD, headers=HTMX)
    done = reverse("annotation:done", args=[study])
    assert response["HX-Redirect"] == done
    assert assignment.public_id in response["HX-Trigger"]
    html = markup(client.get(done))
    assert "Thank you. You have answered 6 tasks" in html
    assert html.count('<a href="/rate/') == 6


def test_a_returning_rater_continues_and_finds_the_draft(page, study):
    client, assignment = page
    draft = reverse("annotation:save_draft", args=[assignment.public_id])
    entered = {"c-item0": "2", "note": "half way", "serial": "1700000000000", "paragraph": "3"}
    assert client.post(draft, entered).json() == {"kept": True}
    assert client.post(draft, entered | {"c-item0": "1", "serial": "1"}).json() == {"kept": False}
    client.logout()
    client.force_login(Rater.objects.get().user)
    assert "Continue where you left off" in markup(client.get("/"))
    assert client.post(reverse("annotation:start", args=[study]))["Location"] == rate_url(assignment)
    html = markup(client.get(rate_url(assignment)))
    assert 'name="c-item0" value="2" checked' in html
    assert 'data-serial="1700000000000" data-paragraph="3"' in html
    assert "half way" in html


@pytest.mark.parametrize(
    ("fields", "status"),
    [({"serial": "x"}, 400), ({}, 400), ({"serial": "1" * 30}, 400), ({"serial": "1", "note": "x" * 100_001}, 413)],
)
def test_a_bad_draft_is_refused(page, fields, status):
    client, assignment = page
    response = client.post(reverse("annotation:save_draft", args=[assignment.public_id]), fields)
    assert response.status_code == status
    assert not Draft.objects.exists()


def test_a_draft_renews_the_lease(page):
    client, assignment = page
    Seat.objects.filter(pk=assignment.seat_id).update(leased_until="2020-01-01T00:00:00Z")
    client.post(reverse("annotation:save_draft", args=[assignment.public_id]), {"serial": "1"})
    assert Seat.objects.get(pk=assignment.seat_id).leased_until.year > 2020


def test_an_answer_can_be_changed_later(page):
    client, assignment = page
    client.post(rate_url(assignment), GOOD, headers=HTMX)
    html = markup(client.get(rate_url(assignment)))
    assert 'name="c-item1" value="3" checked' in html
    assert 'name="c-overall" value="7" checked' in html
    assert "Save change" in html
    client.post(rate_url(assignment), GOOD | {"c-item1": "1"}, headers=HTMX)
    assert list(Score.objects.filter(criterion__key="item1").values_list("revision", "value")) == [(0, 0.75), (1, 0.25)]


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_skipping_needs_a_reason_and_brings_another_task(page, headers):
    client, assignment = page
    skip = reverse("annotation:skip_task", args=[assignment.public_id])
    client.post(skip, {}, headers=headers)
    assignment.refresh_from_db()
    assert assignment.status == "open"
    response = client.post(skip, {"reason": "broken"}, headers=headers)
    assignment.refresh_from_db()
    assert (assignment.status, assignment.reason) == ("skipped", "broken")
    following = Assignment.objects.get(status="open")
    assert response["HX-Push-Url" if headers else "Location"] == rate_url(following)
    assert client.get(rate_url(assignment)).status_code == 302
    late = client.post(rate_url(assignment), GOOD)
    assert late["Location"] == reverse("annotation:done", args=["lab/essays"])
    assert not Score.objects.exists()


def test_an_answered_task_is_not_skipped(page):
    client, assignment = page
    client.post(rate_url(assignment), GOOD)
    response = client.post(reverse("annotation:skip_task", args=[assignment.public_id]), {"reason": "broken"})
    assert response["Location"] == rate_url(assignment)
    assignment.refresh_from_db()
    assert assignment.status == "submitted"


def test_a_note_reaches_the_lead(page):
    client, assignment = page
    client.post(rate_url(assignment), GOOD | {"note": "It ends in the middle."})
    assert Flag.objects.get().text == "It ends in the middle."


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_a_strangers_view_of_everything_is_not_found(page, client, study, headers):
    _client, assignment = page
    for user in (make_user(), make_user("rater", make_workspace("elsewhere"))):
        client.force_login(user)
        assert client.get(rate_url(assignment), headers=headers).status_code == 404
        assert client.post(rate_url(assignment), GOOD, headers=headers).status_code == 404
        for name in ("save_draft", "skip_task"):
            assert client.post(reverse(f"annotation:{name}", args=[assignment.public_id])).status_code == 404
        for name in ("done", "guideline"):
            assert client.get(reverse(f"annotation:{name}", args=[study]), headers=headers).status_code == 404
        assert client.post(reverse("annotation:start", args=[study]), headers=headers).status_code == 404
    assert not Score.objects.exists()


@pytest.mark.parametrize("role", ["rater", "lead"])
def test_another_member_does_not_see_somebodys_task(page, client, study, role):
    _client, assignment = page
    client.force_login(make_user(role, study.workspace))
    assert client.get(rate_url(assignment)).status_code == 404
    assert client.post(rate_url(assignment), GOOD).status_code == 404


def test_a_member_who_was_removed_ends_there(page, study):
    client, assignment = page
    rater = Rater.objects.get()
    study.workspace.memberships.filter(user=rater.user).delete()
    assert client.get(rate_url(assignment)).status_code == 404
    assert client.post(rate_url(assignment), GOOD).status_code == 404
    assert client.post(reverse("annotation:save_draft", args=[assignment.public_id]), {"serial": 1}).status_code == 404
    for name in ("done", "guideline"):
        assert client.get(reverse(f"annotation:{name}", args=[study])).status_code == 404
    assert client.post(reverse("annotation:start", args=[study])).status_code == 404
    assert not Score.objects.exists()
    assert study.slug not in client.get(reverse("home")).content.decode()


@pytest.mark.parametrize(("kind", "status"), [("public", 200), ("crowd", 200), ("onsite", 404)])
def test_who_also_joined_by_a_public_link_goes_on_by_it(page, study, kind, status):
    client, assignment = page
    rater = Rater.objects.get()
    rater.cohort = Cohort.objects.create(study=study, name="Others", kind=kind)
    rater.save()
    study.workspace.memberships.filter(user=rater.user).delete()
    assert client.get(rate_url(assignment)).status_code == status


def test_signed_out_visitors_are_asked_to_sign_in(client, study):
    response = client.get(reverse("annotation:desk", args=[study]))
    assert response["Location"].startswith("/sign-in/?next=")
    for name in ("start", "done", "guideline"):
        address = reverse(f"annotation:{name}", args=[study])
        response = client.get(address)
        assert response.status_code == 403
        assert f'href="/sign-in/?next={address}"' in response.content.decode()


def test_posts_need_a_token(page, study):
    from django.test import Client

    _client, assignment = page
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(Rater.objects.get().user)
    assert strict.post(rate_url(assignment), GOOD).status_code == 403
    assert strict.post(reverse("annotation:save_draft", args=[assignment.public_id]), {"serial": 1}).status_code == 403


@pytest.mark.parametrize("status", ["draft", "paused", "closed"])
def test_a_study_that_is_not_open_hands_out_nothing(client, study, rater, status):
    study.status = status
    study.save()
    client.force_login(rater)
    response = client.post(reverse("annotation:start", args=[study]))
    assert response.status_code == (404 if status == "draft" else 302)
    assert not Assignment.objects.exists()
    if status != "draft":
        assert "This study is not open" in markup(client.get(response["Location"]))


def test_a_late_answer_is_kept_after_the_study_closed(page, study):
    client, assignment = page
    study.status = "closed"
    study.save()
    response = client.post(rate_url(assignment), GOOD)
    assert response["Location"] == reverse("annotation:done", args=[study])
    assignment.refresh_from_db()
    assert (assignment.status, assignment.reason) == ("surplus", "closed")
    assert Score.objects.count() == 4


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_the_guideline_is_a_page_and_a_panel(page, study, headers):
    client, _assignment = page
    html = markup(client.get(reverse("annotation:guideline", args=[study]), headers=headers))
    assert "Be fair" in html
    assert ("<html" in html) == (not headers)
    client.cookies["django_language"] = "zh-hans"
    assert "要公平" in markup(client.get(reverse("annotation:guideline", args=[study])))


def test_nothing_sent_to_a_rater_names_a_model_a_judge_or_another_rater(page, study):
    """Every byte of every response of a rater's whole way through a study is searched."""
    client, assignment = page
    make_rater(study, label="other-person-label", pseudonym="other-person-pseudonym")
    judge = make_judge_rater(study.workspace, "stern-judge-4")
    for task in study.tasks.all():
        verdict = make_answer(task, judge, {"item0": 0.25, "overall": 3.0})
        assert verdict.scores.count() == 2
    sent = []

    def keep(response):
        sent.append(response.content + str(response.headers).encode())
        return response

    keep(client.get("/"))
    for round_ in range(6):
        assignment = Assignment.objects.get(status="open", rater__user__isnull=False)
        keep(client.get(rate_url(assignment)))
        keep(client.post(reverse("annotation:save_draft", args=[assignment.public_id]), {"serial": 1, "c-item0": "1"}))
        keep(client.post(rate_url(assignment), {}))
        keep(client.post(rate_url(assignment), GOOD, headers=HTMX if round_ % 2 else {}))
        keep(client.get(rate_url(assignment), headers=HTMX))
    keep(client.get(reverse("annotation:done", args=[study])))
    keep(client.get(reverse("annotation:guideline", args=[study])))
    everything = b"".join(sent).lower()
    assert len(everything) > 50_000
    assert b"some words about it" in everything
    secrets = [*SECRET_MODELS, "stern-judge", "other-person", *study.tasks.values_list("public_id", flat=True)]
    for secret in secrets:
        assert secret.lower().encode() not in everything, secret


def test_opaque_ids_say_nothing_about_order(page):
    _client, assignment = page
    assert not assignment.public_id.isdecimal()
    assert str(assignment.pk) != assignment.public_id


def test_no_inline_style_or_script_and_a_strict_policy(page):
    client, assignment = page
    response = client.get(rate_url(assignment))
    html = markup(response)
    assert " style=" not in html
    assert "<style" not in html
    assert not re.search(r"<script(?![^>]* src=)", html)
    assert not re.search(r"\son\w+=", html)
    policy = response["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def sizes_of(response):
    """The size of each style and script that a page loads, by its address."""
    addresses = re.findall(r'(?:src|href)="/static/([^"]+\.(?:js|css))"', markup(response))
    folders = [Path(settings.BASE_DIR) / "static", Path(django_htmx.__file__).parent / "static"]
    return {
        address: next((folder / address).stat().st_size for folder in folders if (folder / address).exists())
        for address in addresses
    }


def test_styles_and_scripts_of_a_raters_page_are_under_100_kb(page):
    """Before compression, with all that the page loads."""
    client, assignment = page
    sizes = sizes_of(client.get(rate_url(assignment)))
    assert {"plumbline.css", "js/rating-send.js", "js/rating-keys.js"} <= sizes.keys()
    assert sum(sizes.values()) < 100_000, sizes
    done = sizes_of(client.get(reverse("annotation:done", args=[assignment.task.study])))
    assert {"plumbline.css", "js/way-back.js"} <= done.keys()
    assert sum(done.values()) < 60_000, done


def test_a_next_costs_at_most_eight_queries(page):
    client, assignment = page
    with CaptureQueriesContext(connection) as captured:
        assert client.get(rate_url(assignment)).status_code == 200
    assert len(statements(captured)) <= 8, statements(captured)


def test_a_submit_with_its_next_costs_at_most_seventeen_queries(page):
    """Nine to store the answer, session, rater and exclusions included, and eight for the next task."""
    client, assignment = page
    with CaptureQueriesContext(connection) as captured:
        assert client.post(rate_url(assignment), GOOD, headers=HTMX).status_code == 200
    found = statements(captured)
    storing = next(index for index, sql in enumerate(found) if sql.startswith('DELETE FROM "annotation_draft"')) + 1
    assert storing <= 9, found[:storing]
    assert len(found) - storing <= 8, found[storing:]


def test_the_number_of_queries_does_not_grow_with_answers(page, study):
    # Where checks may come, whether one is due is drawn, and the draw decides how much is asked.
    study.policies |= {"probe_rate": 0, "gold_rate": 0, "control_rate": 0}
    study.save()
    client, assignment = page
    client.post(rate_url(assignment), GOOD, headers=HTMX)
    second = Assignment.objects.get(status="open")
    with CaptureQueriesContext(connection) as before:
        client.post(rate_url(second), GOOD, headers=HTMX)
    third = Assignment.objects.get(status="open")
    with CaptureQueriesContext(connection) as after:
        client.post(rate_url(third), GOOD, headers=HTMX)
    # The first of the two may still fill what later ones find prepared.
    assert len(statements(after)) <= len(statements(before)), statements(after)


def test_a_task_without_texts_says_so(page):
    client, assignment = page
    response, instruction = assignment.task.response_a, assignment.task.response_a.instruction
    response.text, instruction.messages = None, None
    response.save()
    instruction.save()
    html = markup(client.get(rate_url(assignment)))
    assert "The text of this response is not stored here." in html
    assert f"The text of instruction {instruction.external_id} is not stored here." in html


def test_earlier_turns_of_a_conversation_are_shown(page):
    client, assignment = page
    instruction = assignment.task.response_a.instruction
    instruction.messages = [
        {"role": "user", "content": "First question"},
        {"role": "assistant", "content": "First reply"},
        {"role": "user", "content": "Second question"},
    ]
    instruction.save()
    html = markup(client.get(rate_url(assignment)))
    assert html.index("First question") < html.index("First reply") < html.index("Second question")
