"""A checklist in the browser: from the first proposal to a study that uses its rubric, and who may do what."""

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Event, Membership
from annotation.authoring.questions import current_questions, start_review
from annotation.models import Checklist, QuestionDraft, Rubric, Study
from generation.models import Category
from tests.annotation.authoring.checklists import (
    CLEAR,
    PROPOSALS,
    chosen,
    keys_of,
    new_checklist,
    opened,
    proposed,
    voted,
    written_checklist,
)
from tests.factories import make_checklist_study, make_rubric, make_user, make_workspace
from tests.markup import markup

pytestmark = pytest.mark.django_db
LIST = "/library/checklists/"


class Person:
    """A member in a browser, who presses the buttons of one checklist's page."""

    def __init__(self, role, workspace=None):
        self.user = make_user(role, workspace)
        self.client = Client()
        self.client.force_login(self.user)

    def page(self, checklist, status=200):
        response = self.client.get(address(checklist))
        assert response.status_code == status
        return markup(response) if status == 200 else None

    def press(self, checklist, do, status=302, *, stage=None, **fields):
        checklist.refresh_from_db()
        sent = {"do": do, "stage": stage or checklist.stage, **fields}
        response = self.client.post(address(checklist), sent)
        assert response.status_code == status, response.content.decode()[:3000]
        checklist.refresh_from_db()
        return markup(response) if status != 302 else None


def address(checklist):
    return reverse("library:checklist", args=[checklist.public_id])


@pytest.fixture
def lead():
    return Person("lead")


@pytest.fixture
def raters():
    return [Person("rater") for _n in range(3)]


@pytest.fixture
def workspace(lead):
    return make_workspace()


def merge_fields(checklist):
    fields = {}
    for one in checklist.criteria.all():
        fields |= {f"g{one.pk}-name": one.name, f"g{one.pk}-explanation": one.explanation}
    for one in checklist.proposals.filter(withdrawn_at=None):
        fields[f"p{one.pk}-group"] = str(one.merged_id)
    return fields


def test_a_checklist_is_written_by_pages_alone_and_a_study_uses_it(lead, raters, workspace):
    study = make_checklist_study(workspace=workspace, instructions=2, models=1, status="draft")
    study.tasks.all().delete()
    category = Category.objects.get(key="essay")
    form = {
        "workspace": workspace.pk,
        "name_en": "Essays <b>here</b>",
        "benchmark": study.benchmark_id,
        "keeps": "5",
        "votes_each": "4",
        "scale": "yes_no",
        "overall": "on",
    }
    new = reverse("library:new_checklist")
    page = markup(lead.client.post(new, {**form, "do": "categories"}))
    assert "Writing · Essay" in page and 'value="Essays &lt;b&gt;here&lt;/b&gt;"' in page
    assert not Checklist.objects.exists()
    answer = lead.client.post(new, {**form, "categories": [category.pk], "do": "start"})
    checklist = Checklist.objects.get()
    assert answer["Location"] == address(checklist)
    assert (checklist.keeps, checklist.votes_each, list(checklist.categories.all())) == (5, 4, [category])

    assert checklist.name.replace("<", "&lt;").replace(">", "&gt;") in markup(raters[0].client.get("/"))
    for person, (name, explanation) in zip([*raters, *raters, lead], PROPOSALS, strict=True):
        assert "Propose a criterion" in person.page(checklist)
        person.press(checklist, "propose", name=name, explanation=explanation)
    raters[0].press(checklist, "propose", name="depth", explanation="Goes below the surface.")
    raters[1].press(checklist, "propose", 422, name="", explanation="No name.")
    raters[1].press(checklist, "propose", name="Wrong", explanation="By mistake.")
    mine = raters[1].page(checklist)
    assert "Coverage" in mine and "Withdraw Wrong" in mine and "instead of generalities" not in mine
    raters[1].press(checklist, "withdraw", proposal=checklist.proposals.get(name="Wrong").pk)
    assert "Goes below the surface." in lead.page(checklist)
    lead.press(checklist, "close_proposals")

    assert "A lead is merging" in raters[0].page(checklist)
    assert "Criterion 7" in lead.page(checklist) and "Criterion 8" not in lead.page(checklist)
    fields = merge_fields(checklist)
    (depth,) = keys_of(checklist, "Depth")
    lead.press(checklist, "merge", **fields | {f"g{depth}-name": "Substance"})
    lead.press(checklist, "open_vote", 422, **fields | {f"g{depth}-name": ""})
    lead.press(checklist, "open_vote", **merge_fields(checklist))

    ballots = (
        ["Substance", "Coverage", "Accuracy", "Structure"],
        ["Substance", "Coverage", "Accuracy", "Tone"],
        ["Substance", "Coverage", "Accuracy", "Length"],
    )
    page = raters[0].press(checklist, "vote", 422, choices=keys_of(checklist, *ballots[0], "Tone"))
    assert "You have 4 votes. Choose fewer criteria." in page
    for person, ballot in zip(raters, ballots, strict=True):
        person.press(checklist, "vote", choices=keys_of(checklist, *ballot))
        assert "You have voted." in person.page(checklist)
    waiting = lead.page(checklist)
    assert all(str(person.user) in waiting for person in raters)
    assert "3 people have voted" in waiting and '<th scope="col" class="num">Votes</th>' not in waiting
    assert str(raters[1].user) not in raters[0].page(checklist)
    lead.press(checklist, "close_vote")

    page = raters[0].page(checklist)
    assert "tied" in page and "A lead confirms which criteria stay." in page
    structure, tone = keys_of(checklist, "Structure", "Tone")
    lead.press(checklist, "keep", 422, chosen=[structure, tone], reason="")
    lead.press(checklist, "keep", chosen=[structure, tone], reason="Length is counted anyway.")

    texts = {f"c{one.pk}-question_en": f"Is {one.name} there?" for one in checklist.criteria.filter(kept=True)}
    assert len(texts) == 5
    some = dict(list(texts.items())[:2])
    page = lead.press(checklist, "start_review", 409, **some)
    assert "have no question yet" in page and next(iter(some.values())) in page
    assert not QuestionDraft.objects.exists()
    lead.press(checklist, "write", **some)
    lead.press(checklist, "start_review", **texts)

    reviewed = {f"q{one.question.pk}-decision": "sound" for one in current_questions(checklist)}
    first = next(iter(reviewed)).removesuffix("-decision")
    assert "You wrote this question." in lead.page(checklist)
    assert "Nobody has called these questions sound yet" in lead.press(checklist, "finish", 409)
    raters[0].press(checklist, "review", 422, **reviewed | {f"{first}-decision": "change"})
    raters[0].press(
        checklist, "review", **reviewed | {f"{first}-decision": "change", f"{first}-comment": "Say what Substance is."}
    )
    page = lead.page(checklist)
    assert "Say what Substance is." in page and str(raters[0].user) in page
    assert str(raters[0].user) not in raters[1].page(checklist)
    substance = checklist.criteria.get(name="Substance").pk
    lead.press(checklist, "write", **texts | {f"c{substance}-question_en": "Does it give details?"})
    newest = current_questions(checklist)[0].question.pk
    raters[1].press(checklist, "review", **{f"q{newest}-decision": "sound"})
    lead.press(checklist, "finish")

    rubric = Rubric.objects.get(authored__isnull=False)
    assert (rubric.benchmark, rubric.category) == (study.benchmark, category)
    for person in (lead, raters[0]):
        page = person.page(checklist)
        assert "Does it give details?" in page and "Length is counted anyway." in page
    page = markup(lead.client.get(reverse("library:rubric", args=[rubric.pk])))
    assert "merged into 7 criteria, on which 3 people voted" in page and address(checklist) in page
    assert "substance · Item · 3 votes" in page

    setup = reverse("annotation:setup", args=[study])
    assert f'<option value="{rubric.pk}">' in markup(lead.client.get(setup, {"step": "questions"}))
    settings = {"name_en": "Essays", "rubric": rubric.pk, "overlap": "1", "order": "spread", "hints": "hidden"}
    answer = lead.client.post(setup, {**settings, "do": "launch"})
    assert answer.status_code == 302, answer.content.decode()[:3000]
    study = Study.objects.get()
    assert (study.rubric, study.status, study.tasks.count()) == (rubric, "open", 2)
    raters[0].client.post(reverse("annotation:start", args=[study]))
    task = study.tasks.filter(assignments__rater__user=raters[0].user).get()
    page = raters[0].client.get(reverse("annotation:rate", args=[task.assignments.get().public_id]))
    assert "Does it give details?" in page.content.decode()
    verbs = set(Event.objects.filter(object_type="checklist").values_list("verb", flat=True))
    assert verbs == {
        "start_checklist",
        "propose_criterion",
        "withdraw_criterion",
        "close_proposals",
        "merge_criteria",
        "open_vote",
        "vote_on_criteria",
        "close_vote",
        "keep_criteria",
        "write_question",
        "start_review",
        "review_question",
        "finish_checklist",
    }
    record = lead.page(checklist)
    assert "closed and counted the vote" in record and '<h2 id="record">' not in raters[0].page(checklist)


def test_a_click_on_an_older_page_changes_nothing(lead, workspace):
    checklist = proposed(new_checklist(workspace, lead.user), lead.user)
    other = Person("lead")
    lead.press(checklist, "close_proposals")
    page = other.press(checklist, "close_proposals", 409, stage="propose")
    assert "has moved on to another stage" in page and "Save and open the vote" in page
    assert Event.objects.filter(verb="close_proposals").count() == 1


@pytest.mark.parametrize("role", ["rater", "reviewer"])
def test_raters_take_part_and_lead_nothing(lead, workspace, role):
    checklist = proposed(new_checklist(workspace, lead.user), lead.user)
    person = Person(role)
    assert "End the proposals" not in person.page(checklist)
    person.press(checklist, "propose", name="Wit", explanation="Makes one smile.")
    for step in (
        "close_proposals",
        "merge",
        "open_vote",
        "close_vote",
        "keep",
        "draft",
        "write",
        "start_review",
        "finish",
    ):
        person.press(checklist, step, 403)
    person.press(checklist, "nonsense", 404)
    assert person.client.get(reverse("library:new_checklist")).status_code in (403, 404)
    assert checklist.stage == "propose"


def test_analysts_read_the_record_and_take_no_part(lead, workspace):
    checklist = opened(proposed(new_checklist(workspace, lead.user), lead.user), lead.user)
    analyst = Person("analyst")
    page = analyst.page(checklist)
    assert "As an analyst you can read the record" in page and 'value="vote"' not in page
    analyst.press(checklist, "vote", 403, choices=keys_of(checklist, "Depth"))
    assert not checklist.receipts.exists()
    assert analyst.client.get(reverse("library:new_checklist")).status_code == 404


def test_other_workspaces_and_visitors_see_nothing(lead, workspace):
    checklist = new_checklist(workspace, lead.user)
    stranger = Person("owner", make_workspace("elsewhere"))
    stranger.page(checklist, 404)
    stranger.press(checklist, "propose", 404, name="Wit", explanation="…")
    assert checklist.public_id not in markup(stranger.client.get(LIST))
    assert stranger.client.get(address(checklist) + "x").status_code == 404
    assert Client().get(address(checklist)).status_code == 302
    assert Client().get(LIST).status_code == 302
    assert checklist.public_id in markup(lead.client.get(LIST))
    benchmark = make_checklist_study(workspace=workspace, instructions=1, models=1).benchmark
    form = {"name_en": "X", "keeps": "4", "votes_each": "4", "scale": "yes_no"}
    made = {"workspace": make_workspace("elsewhere").pk, "benchmark": benchmark.pk, "categories": ["9" * 30]}
    assert stranger.client.post(reverse("library:new_checklist"), form | made).status_code == 422
    Membership.objects.filter(user=lead.user).delete()
    lead.page(checklist, 404)


@pytest.mark.parametrize(
    "bad", [{"keeps": "3"}, {"keeps": "7"}, {"votes_each": "0"}, {"name_en": ""}, {"scale": "stars"}]
)
def test_settings_out_of_range_start_nothing(lead, workspace, bad):
    form = {"workspace": workspace.pk, "name_en": "X", "keeps": "4", "votes_each": "4", "scale": "yes_no"}
    assert lead.client.post(reverse("library:new_checklist"), form | bad).status_code == 422
    assert not Checklist.objects.exists()


def test_forged_numbers_are_refused(lead, workspace):
    checklist = proposed(new_checklist(workspace, lead.user), lead.user)
    lead.press(checklist, "withdraw", 409, proposal="9" * 40)
    opened(checklist, lead.user)
    elsewhere = opened(proposed(new_checklist(workspace, lead.user), lead.user), lead.user)
    lead.press(checklist, "vote", 422, choices=keys_of(elsewhere, "Depth"))
    voted(checklist, *CLEAR)
    lead.press(checklist, "close_vote")
    lead.press(checklist, "keep", choices=["x"], chosen=["x"], reason="")
    assert checklist.criteria.filter(kept=True).count() == 4


def test_pages_of_all_stages_are_shown_in_chinese(lead, workspace):
    stages = [
        new_checklist(workspace, lead.user),
        opened(proposed(new_checklist(workspace, lead.user), lead.user), lead.user),
        chosen(workspace, lead.user),
    ]
    under_review = written_checklist(workspace, lead.user)
    start_review(under_review, by=lead.user)
    lead.client.post(reverse("set_language"), {"language": "zh-hans"})
    for checklist in (*stages, under_review):
        assert "文章" in lead.page(checklist)


def test_a_rubric_of_other_origin_says_nothing_of_votes(lead, workspace):
    rubric = make_rubric(workspace)
    assert "written as a checklist" not in markup(lead.client.get(reverse("library:rubric", args=[rubric.pk])))
