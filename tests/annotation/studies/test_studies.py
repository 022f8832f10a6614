"""A study's life: what its choices make, how it is launched, opened and closed, and that every step is on record."""

from collections import Counter
from random import Random

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.models import Event
from annotation.assignment.attention_checks import make_controls, mark_gold
from annotation.assignment.new_slots import make_seats
from annotation.assignment.next_task import has_more, next_assignment
from annotation.assignment.rater_progress import NoTaskLeft
from annotation.models import Assignment, Criterion, Rater, Rubric, Seat, Study, Task
from annotation.policies.hints import sees_hint
from annotation.rubrics.reviews import review_rubric
from annotation.studies.life_cycle import (
    StudyRefused,
    add_overlap,
    create_study,
    drop_unchosen,
    make_tasks,
    prepare_and_open,
    release_task,
    request_launch,
    save_study,
    set_status,
    settings_of,
)
from annotation.studies.selection import Candidate, even_pairs, fitting_rubrics, planned_tasks
from annotation.studies.study_size import size_of
from generation.models import Benchmark, Category, LanguageModel, Response
from tests.factories import make_answer, make_checklist_study, make_judge_rater, make_rater, make_user

pytestmark = pytest.mark.django_db
VALUES = {"item0": 1.0, "item1": 0.5, "item2": 0.0, "overall": 6.0}
COMPARES = [
    {"key": "a", "value": 1, "label": {"en": "A"}},
    {"key": "tie", "value": 0, "label": {"en": "Tie"}},
    {"key": "b", "value": -1, "label": {"en": "B"}},
]


@pytest.fixture
def lead():
    return make_user("lead")


@pytest.fixture
def source():
    """Four instructions answered by three models, with a checklist rubric; its own study is another one."""
    return make_checklist_study(instructions=4, models=3, slug="source")


def draft_of(source, lead, kind="checklist", **policies):
    study = create_study(
        workspace=source.workspace, names={"en": "Draft"}, kind=kind, benchmark=source.benchmark, by=lead
    )
    study.policies = {**study.policies, **policies}
    if kind == "pair":
        rubric = Rubric.objects.create(workspace=source.workspace, key=f"pair-{study.slug}")
        Criterion.objects.create(rubric=rubric, key="preference", role="preference", position=0, levels=COMPARES)
        study.rubric = rubric
    study.save()
    return study


def selection(**chosen):
    return {"selection": chosen}


def model(number):
    return LanguageModel.objects.get(name=f"model{number}").pk


def test_addresses_of_studies_are_their_own(source, lead):
    slugs = [draft_of(source, lead).slug for _time in range(3)]
    assert slugs == ["draft", "draft-2", "draft-3"]
    assert len(set(Study.objects.values_list("seed", flat=True)) - {0}) == 3


def test_a_study_called_new_does_not_hide_the_page_of_new_studies(source, lead, client):
    study = create_study(
        workspace=source.workspace, names={"en": "New"}, kind="stars", benchmark=source.benchmark, by=lead
    )
    client.force_login(lead)
    assert study.slug == "new"
    assert client.get(reverse("annotation:setup", args=[study])).context["study"] == study
    assert "study" not in client.get("/studies/new/").context


def test_every_response_is_a_task_by_default(source, lead):
    planned = planned_tasks(draft_of(source, lead))
    assert len(planned) == 12
    assert {task.key for task in planned.tasks} == set(source.tasks.values_list("key", flat=True))
    assert planned.without_rubric == 0


def test_models_and_categories_narrow_the_choice(source, lead):
    assert len(planned_tasks(draft_of(source, lead, **selection(models=[model(0)])))) == 4
    letter = Category.objects.create(benchmark=source.benchmark, key="letter", names={"en": "Letter"})
    source.benchmark.instructions.filter(external_id="source-0").update(category=letter)
    writing = Category.objects.get(benchmark=source.benchmark, key="writing")
    # A group stands for its subcategories: three of four instructions, three models.
    assert len(planned_tasks(draft_of(source, lead, **selection(categories=[writing.pk])))) == 9
    without = planned_tasks(draft_of(source, lead, **selection(categories=[letter.pk])))
    assert (len(without), without.without_rubric) == (0, 3)


def test_only_the_first_sample_unless_all_are_chosen(source, lead):
    first = Response.objects.filter(instruction__benchmark=source.benchmark).first()
    Response.objects.create(instruction=first.instruction, model=first.model, sample=1, text="Another.")
    assert len(planned_tasks(draft_of(source, lead))) == 12
    assert len(planned_tasks(draft_of(source, lead, **selection(samples="all")))) == 13


def test_only_rubrics_that_fit_are_offered(source, lead):
    study = draft_of(source, lead)
    workspace, elsewhere = study.workspace, Benchmark.objects.create(workspace=study.workspace, slug="elsewhere")
    made = {
        "anywhere": {},
        "here": {"benchmark": study.benchmark},
        "of-another-benchmark": {"benchmark": elsewhere},
        "of-another-category": {"category": Category.objects.create(benchmark=elsewhere, key="c")},
        "of-another-kind": {},
    }
    for key, about in made.items():
        rubric = Rubric.objects.create(workspace=workspace, key=key, **about)
        role = "preference" if key == "of-another-kind" else "item"
        Criterion.objects.create(rubric=rubric, key="a", role=role, position=0, minimum=0, maximum=1)
    offered = set(fitting_rubrics(study).values_list("key", flat=True))
    assert offered & set(made) == {"anywhere", "here"}
    assert study.rubric is None or study.rubric.key in offered
    study.rubric = Rubric.objects.get(key="of-another-benchmark")
    assert "of-another-benchmark" in fitting_rubrics(study).values_list("key", flat=True)


def test_a_rubric_of_another_kind_makes_no_task(source, lead):
    study = draft_of(source, lead, kind="pair")
    study.rubric = None
    planned = planned_tasks(study)
    assert (len(planned), planned.without_rubric) == (0, 12)


def test_all_pairs_and_pairs_against_a_baseline(source, lead):
    everything = planned_tasks(draft_of(source, lead, kind="pair")).tasks
    assert len(everything) == 4 * 3
    assert all(task.response_a < task.response_b for task in everything)
    against = planned_tasks(draft_of(source, lead, kind="pair", **selection(pairs="baselines", baselines=[model(0)])))
    assert len(against) == 4 * 2
    base = set(Response.objects.filter(model=model(0)).values_list("pk", flat=True))
    assert all((task.response_a in base) != (task.response_b in base) for task in against.tasks)


@pytest.mark.parametrize("wanted", [1, 7, 30, 45, 999])
def test_pairs_sampled_evenly(wanted):
    """Five models, six instructions: ten pairs of models on six instructions are sixty pairs."""
    held = {i: [Candidate(100 * i + m, i, None, m, 10) for m in range(1, 6)] for i in range(6)}
    pairs = list(even_pairs(held, wanted, Random(3)))
    assert len(pairs) == min(wanted, 60)
    assert len({(one.pk, two.pk) for one, two in pairs}) == len(pairs)
    meetings = Counter((one.model, two.model) for one, two in pairs)
    instructions = Counter(one.instruction for one, two in pairs)
    assert max(meetings.values()) - min(meetings[c] for c in meetings) <= 1
    assert len(meetings) == min(wanted, 10)
    assert max(instructions.values()) - min(instructions.values()) <= 1
    assert pairs == list(even_pairs(held, wanted, Random(3)))


def test_pairs_are_sampled_from_what_there_is():
    """A model that answered one instruction meets each other model there, and no more."""
    held = {i: [Candidate(10 * i + m, i, None, m, 10) for m in (1, 2)] for i in range(3)}
    held[0].append(Candidate(9, 0, None, 3, 10))
    pairs = list(even_pairs(held, 50, Random(1)))
    assert Counter((one.model, two.model) for one, two in pairs) == {(1, 2): 3, (1, 3): 1, (2, 3): 1}


def test_a_review_rates_each_verdict_of_the_judges(source, lead):
    judge, other = make_judge_rater(source.workspace), make_judge_rater(source.workspace, "other")
    for task in source.tasks.all():
        make_answer(task, judge, VALUES)
    make_answer(source.tasks.first(), other, VALUES)
    study = draft_of(source, lead, kind="review", **selection(judges=[judge.pk]))
    planned = planned_tasks(study)
    assert len(planned) == 12
    make_tasks(study)
    task = study.tasks.select_related("reviews", "answer_rubric", "guide_rubric").first()
    assert (task.kind, task.reviews.rater, task.key) == ("review", judge, f"v:{task.reviews_id}")
    assert task.guide_rubric == task.reviews.task.answer_rubric
    keys = list(task.answer_rubric.criteria.values_list("key", flat=True))
    assert keys == list(task.guide_rubric.criteria.values_list("key", flat=True))
    assert review_rubric(task.guide_rubric) == task.answer_rubric  # not another version of the same


def test_the_size_of_a_study(source, lead):
    size = size_of(draft_of(source, lead))
    assert (size.tasks, size.instructions, size.items) == (12, 4, 3)
    assert size.words_a_task == 7
    assert size.words_an_instruction == 5  # "Write about topic 0.": the full stop is a token, as in every count


def launched(source, lead, **policies):
    study = draft_of(source, lead, **policies)
    request_launch(study, by=lead)
    prepare_and_open(study)
    return study


def test_launching_makes_tasks_and_seats_and_opens(source, lead):
    study = launched(source, lead, overlap=2)
    assert study.status == "open"
    assert study.tasks.count() == 12
    assert Seat.objects.filter(study=study, state="free").count() == 24
    assert "launching" not in study.policies


def test_preparing_twice_or_after_a_halt_makes_nothing_twice(source, lead):
    study = draft_of(source, lead, overlap=2)
    request_launch(study, by=lead)
    make_tasks(study)  # a worker that died after the tasks
    prepare_and_open(study)
    prepare_and_open(study)
    assert study.tasks.count() == 12
    assert Seat.objects.filter(study=study).count() == 24
    assert Event.objects.filter(object_id=study.public_id, verb="study_opened").count() == 1


def test_controls_are_made_at_launch(source, lead):
    text = "# One\n\n" + "\n\n".join(f"Paragraph {i} has a few words that say something." for i in range(8))
    Response.objects.filter(instruction__benchmark=source.benchmark).update(text=text)
    study = launched(source, lead, controls=5)
    controls = study.tasks.filter(gold__purpose="control")
    assert controls.count() == 5
    assert not Seat.objects.filter(task__in=controls).exists()
    assert make_controls(study, 0) == []


def test_a_study_without_tasks_is_not_launched(source, lead):
    empty = Benchmark.objects.create(workspace=source.workspace, slug="empty")
    study = create_study(workspace=source.workspace, names={"en": "E"}, kind="stars", benchmark=empty, by=lead)
    with pytest.raises(StudyRefused, match="do not give any tasks"):
        request_launch(study, by=lead)


@pytest.mark.parametrize(
    ("policies", "said"),
    [
        ({"overlap": 0}, "overlap"),
        ({"probe_rate": 0.9}, "probe_rate"),
        ({"training": True}, "practice tasks"),
        ({"qualification": {"of": 3, "pass": 2}}, "qualification"),
        ({"checks": {"window": 2, "failed": 5}}, "checks"),
        ({"minimum": {"answers": 0}}, "minimum answers"),
        ({"minimum": {"speed": 3}}, "minimum speed"),
    ],
)
def test_a_launch_that_cannot_work_is_refused(source, lead, policies, said):
    study = draft_of(source, lead, **policies)
    with pytest.raises(StudyRefused, match=said):
        request_launch(study, by=lead)
    study.refresh_from_db()
    assert (study.status, "launching" in study.policies) == ("draft", False)


def test_tasks_marked_in_the_draft_have_no_seats(source, lead):
    study = draft_of(source, lead, overlap=2, qualification={"of": 2, "pass": 1})
    make_tasks(study)
    for task in study.tasks.all()[:2]:
        mark_gold(task, {"overall": [5, 8]}, purpose="qualification")
    request_launch(study, by=lead)
    prepare_and_open(study)
    assert Seat.objects.filter(study=study).count() == 20


def test_a_draft_loses_tasks_that_are_no_longer_chosen(source, lead):
    study = draft_of(source, lead)
    make_tasks(study)
    kept = study.tasks.filter(response_a__model=model(1)).first()
    mark_gold(kept, {"overall": 5})
    before = settings_of(study)
    study.policies = {**study.policies, **selection(models=[model(0)])}
    save_study(study, by=lead, before=before)
    assert study.tasks.filter(gold__isnull=True).count() == 4
    assert study.tasks.filter(pk=kept.pk).exists()
    assert drop_unchosen(study) == 0


def test_what_changed_is_on_record_and_nothing_else(source, lead):
    study = draft_of(source, lead)
    before = settings_of(study)
    save_study(study, by=lead, before=before)
    assert not Event.objects.filter(verb="change_study").exists()
    study.policies = {**study.policies, "quota": 20}
    save_study(study, by=lead, before=before)
    event = Event.objects.get(verb="change_study")
    assert (event.actor, event.before, event.after) == (lead, {"quota": None}, {"quota": 20})


def test_states_follow_each_other(source, lead):
    study = launched(source, lead)
    for status in ("paused", "open", "closed", "open"):
        set_status(study, status, by=lead)
    with pytest.raises(StudyRefused):
        set_status(study, "draft", by=lead)
    stale = Study.objects.get(pk=study.pk)
    set_status(study, "paused", by=lead)
    with pytest.raises(StudyRefused, match="Someone else"):
        set_status(stale, "closed", by=lead)
    verbs = Event.objects.filter(object_id=study.public_id).values_list("verb", flat=True)
    assert Counter(verbs)["open_study"] == 2


def test_more_overlap_comes_first_and_only_to_others(source, lead):
    study = launched(source, lead, overlap=1)
    one, two = make_rater(study), make_rater(study)
    first, _progress = next_assignment(one, study, clock=timezone.now)
    assert add_overlap(study, [first.task], 2, by=lead) == 2
    assert Seat.objects.filter(task=first.task).count() == 3
    again, _progress = next_assignment(two, study, clock=timezone.now)
    assert again.task == first.task
    assert make_seats(study) == 0


def test_taking_a_task_back_frees_its_seat(source, lead):
    study = launched(source, lead, overlap=1)
    assignment, _progress = next_assignment(make_rater(study), study, clock=timezone.now)
    assert release_task(assignment.task, by=lead) == 1
    assert Seat.objects.get(task=assignment.task).state == "free"
    assert Assignment.objects.get(pk=assignment.pk).seat is None
    assert release_task(assignment.task, by=lead) == 0


def test_nothing_is_handed_out_after_the_last_day(source, lead):
    study = launched(source, lead, last_day="2020-01-01")
    rater = make_rater(study)
    assert not has_more(study, rater, clock=timezone.now)
    with pytest.raises(NoTaskLeft):
        next_assignment(rater, study, clock=timezone.now)
    study.policies["last_day"] = timezone.now().date().isoformat()
    begun, _progress = next_assignment(rater, study, clock=timezone.now)
    study.policies["last_day"] = "2020-01-01"
    assert next_assignment(rater, study, clock=timezone.now)[0] == begun


def test_hints_are_split_between_raters(source, lead):
    study = draft_of(source, lead, hints="split")
    seen = [sees_hint(study, number) for number in range(2, 42)]
    assert sum(seen) == 20
    assert seen == [sees_hint(study, number) for number in range(2, 42)]
    assert [sees_hint(Study(policies={"hints": policy}), 3) for policy in ("shown", "hidden")] == [True, False]
    assert not sees_hint(Study(), 3)
    assert Rater.objects.count() == 0 and Task.objects.filter(study=study).count() == 0
