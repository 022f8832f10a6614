"""A checklist that members write together, over the API: from the first proposal to the rubric, each by their own token."""

import pytest

from accounts.models import AnsweredRequest, Event
from annotation.authoring.drafting import BEGINNING
from annotation.authoring.voting import close_vote, vote
from annotation.models import Ballot, Checklist, ProposedCriterion, Rubric
from generation.models import Benchmark, Category, Endpoint, GenerationRun, LanguageModel
from generation.responses.worker import work_on
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
from tests.api_calls import read, send
from tests.factories import make_user, make_workspace

pytestmark = pytest.mark.django_db
STEPS = ("close-proposals", "open-vote", "close-vote", "start-review", "finish")


@pytest.fixture
def workspace():
    return make_workspace()


@pytest.fixture
def lead(workspace):
    return make_user("lead", workspace, username="lena")


@pytest.fixture
def other(workspace):
    return make_user("lead", workspace, username="otto")


def state(client, user, checklist):
    return read(client, user, "shared_checklist", checklist.public_id)


def step(client, user, checklist, verb):
    return send(client, user, "steer_checklist", checklist.public_id, verb)


def test_the_whole_course(client, workspace, lead, other):
    started = send(client, lead, "start_checklist", workspace.slug, sent={"name_en": "Essays", "keeps": 4})
    assert started.status_code == 201 and started.json()["stage"] == "propose"
    checklist = Checklist.objects.get(public_id=started.json()["id"])
    (listed,) = read(client, other, "shared_checklists")["results"]
    assert (listed["id"], listed["workspace"], listed["keeps"]) == (checklist.public_id, "lab", 4)
    for user, proposals in ((lead, PROPOSALS[:4]), (other, PROPOSALS[4:])):
        for name, explanation in proposals:
            sent = {"name": name, "explanation": explanation}
            assert send(client, user, "propose_criterion", checklist.public_id, sent=sent).status_code == 201
    assert step(client, lead, checklist, "close-proposals").json()["stage"] == "merge"
    opened_now = step(client, lead, checklist, "open-vote").json()
    assert opened_now["stage"] == "vote" and opened_now["proposals"] == [] and not opened_now["voted"]
    by_name = {one["name"]: one["id"] for one in opened_now["criteria"]}
    third = make_user("owner", workspace, username="olga")
    for user, names in zip((lead, other, third), CLEAR, strict=True):
        sent = {"choices": [by_name[name] for name in names]}
        assert send(client, user, "vote_on_criteria", checklist.public_id, sent=sent).json()["voted"]
    counted = step(client, lead, checklist, "close-vote").json()
    assert [(one["name"], one["votes"], one["certain"]) for one in counted["criteria"][:4]] == [
        ("Depth", 3, True),
        ("Coverage", 3, True),
        ("Accuracy", 3, True),
        ("Structure", 2, True),
    ]
    assert counted["participants"]["voters"]["number"] == 3
    kept = send(client, lead, "keep_criteria", checklist.public_id).json()
    assert kept["stage"] == "questions" and sum(bool(one["kept"]) for one in kept["criteria"]) == 4
    questions = [{"criterion": one["id"], "en": f"{one['name']}?"} for one in kept["criteria"] if one["kept"]]
    sent = {"questions": questions}
    written = send(client, lead, "write_checklist_questions", checklist.public_id, method="put", sent=sent).json()
    assert [one["en"] for one in written["questions"]] == ["Depth?", "Coverage?", "Accuracy?", "Structure?"]
    assert step(client, lead, checklist, "start-review").json()["stage"] == "review"
    reviews = [{"question": one["id"], "sound": True} for one in state(client, other, checklist)["questions"]]
    reviewed = send(client, other, "review_questions", checklist.public_id, sent={"reviews": reviews}).json()
    assert [one["sound"] for one in reviewed["questions"]] == [1, 1, 1, 1]
    done = step(client, lead, checklist, "finish").json()
    assert done["stage"] == "done" and done["steps"][0]["what"] == "created the rubric"
    rubric = Rubric.objects.get(key=done["rubrics"][0])
    assert [one.questions.get("en") for one in rubric.criteria.all()][:4] == [
        "Depth?",
        "Coverage?",
        "Accuracy?",
        "Structure?",
    ]


def test_who_may(client, workspace, lead):
    checklist = proposed(new_checklist(workspace, lead), lead)
    number = checklist.proposals.first().pk
    elsewhere = make_user("owner", make_workspace("elsewhere"), username="else")
    analyst, rater = (make_user(role, workspace) for role in ("analyst", "rater"))
    key = checklist.public_id
    calls = [
        ("propose_criterion", (key,), "post", {"name": "A", "explanation": "B"}),
        ("withdraw_criterion", (key, number), "post", {}),
        ("merge_criteria", (key,), "put", {}),
        ("vote_on_criteria", (key,), "post", {"choices": [1]}),
        ("keep_criteria", (key,), "post", {}),
        ("write_checklist_questions", (key,), "put", {"questions": [{"criterion": 1}]}),
        ("review_questions", (key,), "post", {"reviews": [{"question": 1, "sound": True}]}),
        ("draft_checklist_questions", (key,), "post", {"model": "a"}),
        *(("steer_checklist", (key, verb), "post", {}) for verb in STEPS),
        ("start_checklist", (workspace.slug,), "post", {"name_en": "A"}),
    ]
    events = Event.objects.exclude(verb="token created").count()
    for name, parts, method, sent in calls:
        for user, status in ((elsewhere, 404), (analyst, 403), (rater, 403)):
            assert send(client, user, name, *parts, method=method, sent=sent).status_code == status, (name, user)
        narrow = send(client, lead, name, *parts, method=method, sent=sent, scopes=["read", "ratings"])
        assert narrow.status_code == 403, name
    for name, parts in (("shared_checklist", (key,)), ("shared_checklists", ())):
        assert send(client, analyst, name, *parts, method="get").status_code == 200
        assert send(client, rater, name, *parts, method="get").status_code == 403
    assert send(client, elsewhere, "shared_checklist", key, method="get").status_code == 404
    assert read(client, elsewhere, "shared_checklists")["results"] == []
    assert Event.objects.exclude(verb="token created").count() == events
    # Who leads one workspace and rates in another takes part there as on the page, and leads nothing.
    both = make_user("owner", make_workspace("third"), username="both")
    both.memberships.create(workspace=workspace, role="rater")
    sent = {"name": "Wit", "explanation": "Is witty."}
    assert send(client, both, "propose_criterion", key, sent=sent).status_code == 201
    assert step(client, both, checklist, "close-proposals").status_code == 403
    seen = state(client, both, checklist)
    assert [one["name"] for one in seen["proposals"]] == ["Wit"] and seen["steps"] == []
    assert seen["number_of_proposals"] == len(PROPOSALS) + 1


class TestStarting:
    def test_is_for_a_benchmark_and_its_categories(self, client, workspace, lead):
        benchmark = Benchmark.objects.create(workspace=workspace, slug="essays", names={"en": "Essays"})
        Category.objects.create(benchmark=benchmark, key="essay", names={"en": "Essay"})
        sent = {"name_zh": "文章", "benchmark": "essays", "categories": ["essay"], "overall": False, "votes_each": 3}
        said = send(client, lead, "start_checklist", workspace.slug, sent=sent).json()
        assert (
            said.items()
            >= {
                "benchmark": "essays",
                "categories": ["essay"],
                "names": {"zh-hans": "文章"},
                "overall": False,
                "votes_each": 3,
                "keeps": 6,
                "scale": "yes_no",
            }.items()
        )
        assert read(client, lead, "shared_checklists", query="?stage=vote")["results"] == []

    @pytest.mark.parametrize(
        ("sent", "said"),
        [
            ({}, "Enter a name in at least one language."),
            ({"name_en": "A", "keeps": 7}, "keeps: "),
            ({"name_en": "A", "votes_each": 21}, "votes_each: "),
            ({"name_en": "A", "scale": "stars"}, "scale: "),
            ({"name_en": "A", "benchmark": "none"}, "There is no benchmark 'none'"),
            ({"name_en": "A", "categories": ["essay"]}, "There is no category 'essay'"),
            ({"name_en": "A" * 151}, "name_en: "),
        ],
    )
    def test_refuses_what_its_page_refuses(self, client, workspace, lead, sent, said):
        answer = send(client, lead, "start_checklist", workspace.slug, sent=sent)
        assert answer.status_code == 400 and said in answer.json()["detail"], answer.json()
        assert not Checklist.objects.exists()


class TestProposals:
    def test_of_others_are_not_shown_and_not_withdrawn(self, client, workspace, lead, other):
        checklist = proposed(new_checklist(workspace, lead), other, PROPOSALS[:1])
        number = ProposedCriterion.objects.get().pk
        (seen,) = state(client, lead, checklist)["proposals"]
        assert (seen["name"], seen["own"]) == ("Depth", False) and "by" not in seen
        refused = send(client, lead, "withdraw_criterion", checklist.public_id, number)
        assert refused.status_code == 400 and "is not yours" in refused.json()["detail"]
        assert send(client, lead, "withdraw_criterion", checklist.public_id, 2**63).status_code == 400
        taken = send(client, other, "withdraw_criterion", checklist.public_id, number).json()
        assert taken["proposals"] == [] and taken["number_of_proposals"] == 0

    @pytest.mark.parametrize(
        ("sent", "said"),
        [
            ({}, "name: "),
            ({"name": "Depth"}, "explanation: "),
            ({"name": "D" * 101, "explanation": "Deep."}, "name: "),
            ({"name": "Depth", "explanation": PROPOSALS[0][1]}, "You have already proposed"),
        ],
    )
    def test_are_refused_as_on_the_page(self, client, workspace, lead, sent, said):
        checklist = proposed(new_checklist(workspace, lead), lead, PROPOSALS[:1])
        answer = send(client, lead, "propose_criterion", checklist.public_id, sent=sent)
        assert answer.status_code == 400 and said in answer.json()["detail"], answer.json()
        few = step(client, lead, checklist, "close-proposals")
        assert few.status_code == 400 and "Collect more proposals" in few.json()["detail"]


class TestMerging:
    @pytest.fixture
    def checklist(self, client, workspace, lead):
        made = proposed(new_checklist(workspace, lead), lead)
        assert step(client, lead, made, "close-proposals").status_code == 200
        return made

    def put(self, client, lead, checklist, sent, **headers):
        return send(client, lead, "merge_criteria", checklist.public_id, method="put", sent=sent, **headers)

    def test_moves_proposals_and_words_criteria(self, client, lead, checklist):
        first = send(client, lead, "shared_checklist", checklist.public_id, method="get")
        seen = first.json()
        depth, coverage = seen["criteria"][:2]
        moved = next(one["id"] for one in seen["proposals"] if one["criterion"] == coverage["id"])
        sent = {
            "wordings": [{"criterion": depth["id"], "name": "Depth and breadth", "explanation": "Both."}],
            "places": [{"proposal": moved, "criterion": depth["id"]}],
        }
        said = self.put(client, lead, checklist, sent, **{"If-Match": first["ETag"]}).json()
        assert len(said["criteria"]) == 6 and said["criteria"][0]["name"] == "Depth and breadth"
        late = self.put(client, lead, checklist, sent, **{"If-Match": first["ETag"]})
        assert late.status_code == 412
        alone = self.put(client, lead, checklist, {"places": [{"proposal": moved, "criterion": None}]}).json()
        assert len(alone["criteria"]) == 7 and alone["criteria"][-1]["name"] == "Coverage"

    def test_refuses_what_is_not_there(self, client, lead, checklist):
        seen = state(client, lead, checklist)
        criterion, proposal = seen["criteria"][0]["id"], seen["proposals"][0]["id"]
        for sent, said in (
            ({"wordings": [{"criterion": 0, "name": "A", "explanation": "B"}]}, "no criterion 0"),
            ({"wordings": [{"criterion": criterion, "name": "A" * 101, "explanation": "B"}]}, "name: "),
            ({"places": [{"proposal": 0, "criterion": criterion}]}, "no proposal 0"),
            ({"places": [{"proposal": proposal, "criterion": 0}]}, "no criterion 0"),
            ({"places": [{"proposal": proposal}]}, "places: "),
        ):
            answer = self.put(client, lead, checklist, sent)
            assert answer.status_code == 400 and said in answer.json()["detail"], answer.json()
        assert state(client, lead, checklist) == seen
        together = {"places": [{"proposal": one["id"], "criterion": criterion} for one in seen["proposals"]]}
        assert len(self.put(client, lead, checklist, together).json()["criteria"]) == 1
        few = step(client, lead, checklist, "open-vote")
        assert few.status_code == 400 and "Merge fewer" in few.json()["detail"]


class TestTheVote:
    @pytest.fixture
    def checklist(self, workspace, lead):
        return opened(proposed(new_checklist(workspace, lead), lead), lead)

    def ballot(self, client, user, checklist, *names, **headers):
        sent = {"choices": keys_of(checklist, *names)}
        return send(client, user, "vote_on_criteria", checklist.public_id, sent=sent, **headers)

    def test_is_secret_and_given_once(self, client, lead, other, checklist):
        answer = self.ballot(client, lead, checklist, "Depth", "Tone", **{"Idempotency-Key": "my-vote"})
        assert answer.json()["voted"] and all(one["votes"] is None for one in answer.json()["criteria"])
        assert not AnsweredRequest.objects.exists(), "the hash of a stored request would tell what was chosen"
        again = self.ballot(client, lead, checklist, "Depth")
        assert again.status_code == 400 and "You have already voted" in again.json()["detail"]
        assert Ballot.objects.count() == 1
        seen = state(client, other, checklist)
        assert not seen["voted"] and seen["participants"]["voters"]["names"] == ["lena"]
        assert {one["name"] for one in seen["criteria"]} == {name for name, _why in PROPOSALS}
        early = step(client, lead, checklist, "close-vote")
        assert early.status_code == 400 and "So far there are 1" in early.json()["detail"]

    def test_refuses_what_is_no_ballot(self, client, workspace, lead, checklist):
        for choices, said in (
            ([], "Choose at least one"),
            ([0], "choices: "),
            ([2**70], "choices: "),
            ("x", "choices"),
        ):
            sent = {"choices": choices}
            answer = send(client, lead, "vote_on_criteria", checklist.public_id, sent=sent)
            assert answer.status_code == 400 and said in answer.json()["detail"], answer.json()
        many = self.ballot(client, lead, checklist, *(name for name, _why in PROPOSALS[:5]))
        assert many.status_code == 400 and "Choose fewer criteria" in many.json()["detail"]
        analyst = make_user("analyst", workspace)
        assert state(client, analyst, checklist)["criteria"] == []

    def test_with_a_tie_needs_a_choice_and_a_reason(self, client, lead, checklist):
        voted(
            checklist, ["Depth", "Coverage", "Accuracy"], ["Depth", "Coverage", "Accuracy"], ["Depth", "Tone", "Length"]
        )
        counted = step(client, lead, checklist, "close-vote").json()
        tied = {one["name"]: one["id"] for one in counted["criteria"] if one["tied"]}
        assert set(tied) == {"Tone", "Length"}
        for sent, said in (
            ({}, "reason: "),
            ({"reason": "Because."}, "Choose only among"),
            ({"chosen": [0], "reason": "Because."}, "chosen: "),
            ({"chosen": [tied["Tone"]]}, "reason: "),
        ):
            answer = send(client, lead, "keep_criteria", checklist.public_id, sent=sent)
            assert answer.status_code == 400 and said in answer.json()["detail"], answer.json()
        sent = {"chosen": [tied["Tone"]], "reason": "It can be checked."}
        said = send(client, lead, "keep_criteria", checklist.public_id, sent=sent).json()
        assert said["choice_reason"] == "It can be checked." and said["stage"] == "questions"

    def test_without_a_tie_leaves_nothing_to_choose(self, client, lead, checklist):
        voted(checklist, *CLEAR)
        close_vote(checklist, by=lead)
        sent = {"chosen": keys_of(checklist, "Tone"), "reason": "I like it."}
        answer = send(client, lead, "keep_criteria", checklist.public_id, sent=sent)
        assert answer.status_code == 400 and "Choose only among" in answer.json()["detail"]
        assert send(client, lead, "keep_criteria", checklist.public_id).json()["stage"] == "questions"


class TestQuestions:
    def put(self, client, user, checklist, *questions, **headers):
        sent = {"questions": list(questions)}
        key = checklist.public_id
        return send(client, user, "write_checklist_questions", key, method="put", sent=sent, **headers)

    def test_are_drafted_by_a_model_and_saved_with_their_origin(self, client, workspace, lead):
        checklist = chosen(workspace, lead)
        depth = keys_of(checklist, "Depth")[0]
        endpoint = Endpoint.objects.create(workspace=workspace, name="script", kind="scripted")
        script = {"script": {"replies": {f"{BEGINNING}{depth}/drafter": "Is it deep?"}}}
        LanguageModel.objects.create(workspace=workspace, name="drafter", endpoint=endpoint, parameters=script)
        key = checklist.public_id
        for sent, said in (
            ({}, "model: "),
            ({"model": "none"}, "“none” is not served"),
            ({"model": "drafter", "budget_calls": 0}, "budget_calls: "),
        ):
            refused = send(client, lead, "draft_checklist_questions", key, sent=sent)
            assert refused.status_code == 400 and said in refused.json()["detail"], refused.json()
        narrow = send(client, lead, "draft_checklist_questions", key, sent={"model": "drafter"}, scopes=["change"])
        assert narrow.status_code == 403
        made = send(client, lead, "draft_checklist_questions", key, sent={"model": "drafter", "budget_calls": 9})
        run = GenerationRun.objects.get(public_id=made.json()["run"])
        assert made.status_code == 201 and made.json()["job"] == f"generation-{run.public_id}" and run.budget_calls == 9
        again = send(client, lead, "draft_checklist_questions", key, sent={"model": "drafter"})
        assert again.status_code == 400 and "still drafting" in again.json()["detail"]
        work_on(run)
        seen = state(client, lead, checklist)
        assert seen["drafting_run"] == run.public_id
        assert {one["criterion"]: one["draft_en"] for one in seen["questions"]}[depth] == "Is it deep?"
        said = self.put(client, lead, checklist, {"criterion": depth, "en": "Is it deep?"}).json()
        question = next(one for one in said["questions"] if one["criterion"] == depth)
        assert (question["source"], question["model"], question["own"]) == ("model", "drafter", False)

    def test_are_left_as_they_are_where_none_is_sent(self, client, workspace, lead):
        checklist = written_checklist(workspace, lead)
        first = send(client, lead, "shared_checklist", checklist.public_id, method="get")
        before = first.json()["questions"]
        depth = keys_of(checklist, "Depth")[0]
        sent = {"criterion": depth, "en": "How deep?", "zh": "有多深？"}
        said = self.put(client, lead, checklist, sent, **{"If-Match": first["ETag"]}).json()["questions"]
        assert (said[0]["en"], said[0]["zh"], said[0]["own"]) == ("How deep?", "有多深？", True)
        assert said[1:] == before[1:]
        assert self.put(client, lead, checklist, sent, **{"If-Match": first["ETag"]}).status_code == 412

    def test_are_refused_where_no_criterion_is(self, client, workspace, lead):
        checklist = chosen(workspace, lead)
        depth, tone = keys_of(checklist, "Depth", "Tone")
        for question, said in (
            ({"criterion": tone, "en": "A?"}, f"no criterion {tone}"),
            ({"criterion": depth, "en": "A" * 1001}, "question_en: "),
            ({"en": "A?"}, "questions: "),
        ):
            answer = self.put(client, lead, checklist, question)
            assert answer.status_code == 400 and said in answer.json()["detail"], answer.json()
        unwritten = step(client, lead, checklist, "start-review")
        assert unwritten.status_code == 400 and "have no question yet" in unwritten.json()["detail"]


class TestTheReview:
    @pytest.fixture
    def checklist(self, client, workspace, lead):
        made = written_checklist(workspace, lead)
        assert step(client, lead, made, "start-review").status_code == 200
        return made

    def test_is_by_others_and_holds_up_the_rubric(self, client, workspace, lead, other, checklist):
        questions = state(client, other, checklist)["questions"]
        ids = [one["id"] for one in questions]

        def say(user, *reviews):
            return send(client, user, "review_questions", checklist.public_id, sent={"reviews": list(reviews)})

        for user, one, said in (
            (lead, {"question": ids[0], "sound": True}, "You wrote the question"),
            (other, {"question": 0, "sound": True}, "has been changed in the meantime"),
            (other, {"question": ids[0], "sound": False}, "comment: Say what should change."),
            (other, {"question": ids[0], "sound": False, "comment": "a" * 1001}, "comment: "),
            (other, {"question": ids[0]}, "reviews: "),
        ):
            answer = say(user, one)
            assert answer.status_code == 400 and said in answer.json()["detail"], answer.json()
        assert "Nobody has called" in step(client, lead, checklist, "finish").json()["detail"]
        sound = [{"question": one, "sound": True} for one in ids[1:]]
        said = say(other, {"question": ids[0], "sound": False, "comment": "Too vague."}, *sound).json()
        assert said["questions"][0]["objections"] == [{"comment": "Too vague.", "by": "otto"}]
        assert "ask for changes" in step(client, lead, checklist, "finish").json()["detail"]
        changed = say(other, {"question": ids[0], "sound": True}).json()
        assert [one["sound"] for one in changed["questions"]] == [1, 1, 1, 1]
        assert step(client, lead, checklist, "finish").status_code == 200
        late = step(client, lead, checklist, "finish")
        assert late.status_code == 409 and "has moved on" in late.json()["detail"]
        assert Rubric.objects.filter(authored__checklist=checklist.public_id).count() == 1


def test_every_step_has_its_stage(client, workspace, lead, other):
    checklist = proposed(new_checklist(workspace, lead), lead)
    key = checklist.public_id
    for name, sent, method in (
        ("merge_criteria", {}, "put"),
        ("vote_on_criteria", {"choices": [1]}, "post"),
        ("keep_criteria", {}, "post"),
        ("write_checklist_questions", {"questions": [{"criterion": 1}]}, "put"),
        ("review_questions", {"reviews": [{"question": 1, "sound": True}]}, "post"),
        ("draft_checklist_questions", {"model": "a"}, "post"),
    ):
        assert send(client, lead, name, key, method=method, sent=sent).status_code == 409, name
    for verb in STEPS[1:]:
        assert step(client, lead, checklist, verb).status_code == 409, verb
    opened(checklist, lead)
    vote(checklist, keys_of(checklist, "Depth"), by=other)
    sent = {"name": "Late", "explanation": "Too late."}
    assert send(client, lead, "propose_criterion", key, sent=sent).status_code == 409
