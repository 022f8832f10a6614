"""The five steps of the setup: what each shows and keeps, what the review misses, and a launch without touching anything."""

import pytest
from django.urls import reverse

from accounts.models import Event
from annotation.models import Criterion, Rubric, Study
from annotation.policies.policies import Policies, choose
from annotation.studies.life_cycle import create_study
from annotation.web.study.forms import StudyForm
from annotation.web.study.setup_steps import STEPS
from generation.models import Benchmark, Response
from tests.factories import make_checklist_study, make_user
from tests.markup import markup

pytestmark = pytest.mark.django_db


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


def setup(study, step=""):
    address = reverse("annotation:setup", args=[study])
    return f"{address}?step={step}" if step else address


def workspace_rubric(source, role=Criterion.Role.ITEM, *, key="shared", **fields):
    rubric = Rubric.objects.create(workspace=source.workspace, key=key, names={"en": key}, **fields)
    levels = [{"key": str(n), "value": n, "label": {"en": str(n)}, "description": {}} for n in (0, 1)]
    Criterion.objects.create(rubric=rubric, key="good", role=role, position=0, levels=levels)
    return rubric


def new(as_lead, source, **sent):
    usual = {"workspace": source.workspace_id, "name_en": "Poems", "kind": "checklist"}
    return as_lead.post(
        reverse("annotation:new_study"), {**usual, "benchmark": source.benchmark_id, **sent}, follow=True
    )


@pytest.mark.parametrize("kind", Study.Kind.values)
def test_every_setting_stands_in_exactly_one_step(study, kind):
    study.kind = kind
    placed = [name for step in STEPS for name in step.names]
    assert len(placed) == len(set(placed))
    assert set(StudyForm(study).fields) <= set(placed)


def test_a_step_keeps_its_own_settings_and_leaves_the_others(as_lead, study):
    choose(study, hints="split", quota=7, consent={"en": "I agree."}, selection={"samples": "all"})
    study.save()
    sent = {"overlap": "2", "raters": "5", "order": "finish", "hints": "shown", "pace_words": "0", "gold_percent": "1"}
    assert as_lead.post(setup(study, "checks"), sent)["Location"] == setup(study, "checks")
    study.refresh_from_db()
    policies = Policies.of(study)
    assert (policies.overlap, policies.quota, policies.order, policies.hints) == (2, None, "finish", "shown")
    assert (policies.expected.raters, policies.reading_pace.words) == (5, 0)
    assert float(policies.check_plan.rates["gold"]) == 0.01
    assert study.policies["consent"] == {"en": "I agree."}
    assert study.policies["selection"] == {"samples": "all"}
    assert study.names == {"en": "Draft"}


def test_save_and_continue_goes_through_the_steps(as_lead, study):
    sent = {"name_en": "Renamed", "samples": "first"}
    assert as_lead.post(setup(study, "rated"), sent | {"do": "next"})["Location"] == setup(study, "questions")
    rubric = Rubric.objects.get(benchmark=study.benchmark)
    assert as_lead.post(setup(study, "questions"), {"rubric": rubric.pk, "do": "next"})["Location"] == setup(
        study, "checks"
    )
    study.refresh_from_db()
    assert (study.names, study.rubric) == ({"en": "Renamed"}, rubric)


def test_a_refused_setting_opens_its_fold_and_nothing_is_kept(as_lead, study):
    sent = {"overlap": "2", "order": "spread", "hints": "hidden", "qualification_of": "5"}
    response = as_lead.post(setup(study, "checks"), sent)
    page = " ".join(markup(response).split())
    assert response.status_code == 422
    assert 'id="fold-qualification" open' in page
    assert 'id="fold-order" open' not in page
    study.refresh_from_db()
    assert Policies.of(study).overlap == 3


def test_a_fold_says_what_its_setting_does_now(as_lead, study):
    page = markup(as_lead.get(setup(study, "checks")))
    assert "Every task is rated once before any task is rated a second time." in page
    assert "Nobody has to qualify." in page
    assert "2 percent of a rater" in page and "after at least 10 others" in page
    choose(study, order="random", qualification={"of": 4, "pass": 3}, probe_rate=0.0)
    study.save()
    page = markup(as_lead.get(setup(study, "checks")))
    assert "Tasks are assigned at random." in page
    assert "3 of 4 qualification tasks" in page
    assert "No task is repeated." in page


def test_the_second_language_is_open_only_where_the_study_uses_it(as_lead, study):
    page = markup(as_lead.get(setup(study, "texts")))
    assert page.index('id="fold-language"') < page.index('name="consent_zh"')
    study.names = {"en": "Draft", "zh-hans": "草稿"}
    study.save()
    page = markup(as_lead.get(setup(study, "texts")))
    assert "fold-language" not in page and 'name="consent_zh"' in page
    study.names = {"zh-hans": "草稿"}
    study.save()
    page = markup(as_lead.get(setup(study, "texts")))
    assert page.index('id="fold-language"') < page.index('name="consent_en"')


def test_the_new_study_page_asks_for_name_kind_and_what_is_rated(as_lead, source):
    first = source.benchmark.instructions.first()
    Response.objects.create(instruction=first, kind=Response.Kind.CONTROL, text="Cut off", external_id="control:1")
    page = markup(as_lead.get(reverse("annotation:new_study")))
    assert 'name="name_en"' in page and 'name="name_zh"' not in page
    assert "(6 responses)" in page, "degraded copies are not counted"
    as_lead.post(reverse("set_language"), {"language": "zh-hans", "next": "/"})
    page = markup(as_lead.get(reverse("annotation:new_study")))
    assert 'name="name_zh"' in page and 'name="name_en"' not in page


def test_a_new_study_is_launched_without_touching_a_setting(as_lead, source):
    page = new(as_lead, source)
    study = Study.objects.get(slug="poems")
    assert "?step=review" in markup(page)
    review = markup(as_lead.get(setup(study, "review")))
    assert "Nothing is missing" in review
    answer = as_lead.post(setup(study, "review"), {"mask_self_naming": "on", "do": "launch"})
    assert answer["Location"] == reverse("annotation:desk", args=[study])
    study.refresh_from_db()
    assert (study.status, study.seats.count()) == ("open", 18)
    assert Policies.of(study).mask_self_naming
    assert Event.objects.filter(object_id=study.public_id, verb="mask_response").count() == 1


def test_a_response_that_names_its_model_stops_no_launch_by_default(as_lead, source):
    answer = source.benchmark.instructions.first().responses.first()
    answer.text = "As model0, a large language model trained by OpenAI, I am ChatGPT."
    answer.save()
    new(as_lead, source)
    study = Study.objects.get(slug="poems")
    as_lead.post(setup(study, "review"), {"do": "launch"})
    study.refresh_from_db()
    assert study.status == "draft", "without the choice, the lead decides about each"
    assert "says which model wrote it" in markup(as_lead.get(setup(study, "review")))
    as_lead.post(setup(study, "review"), {"mask_self_naming": "on", "do": "launch"})
    study.refresh_from_db()
    assert study.status == "open"


def test_a_new_study_without_a_rubric_of_its_benchmark_begins_with_one_that_fits(as_lead, source):
    Rubric.objects.filter(benchmark=source.benchmark).update(benchmark=None)
    fitting = Rubric.objects.get(workspace=source.workspace)
    workspace_rubric(source, Criterion.Role.PREFERENCE)
    new(as_lead, source)
    study = Study.objects.get(slug="poems")
    assert study.rubric == fitting
    assert "Nothing is missing" in markup(as_lead.get(setup(study, "review")))


def test_rubrics_that_do_not_fit_are_named_with_the_reason(as_lead, study, source):
    workspace_rubric(source, Criterion.Role.PREFERENCE)
    other = Benchmark.objects.create(workspace=source.workspace, slug="other", names={"en": "Other texts"})
    workspace_rubric(source, key="theirs", benchmark=other)
    page = as_lead.get(setup(study, "questions"))
    reasons = {one.rubric.key: one.reason for one in page.context["unfitting"]}
    assert set(reasons) == {"shared", "theirs"}
    assert "Preference" in reasons["shared"]
    assert "Other texts" in reasons["theirs"]
    offered = set(page.context["form"].fields["rubric"].queryset.values_list("key", flat=True))
    assert offered and not offered & set(reasons)


@pytest.mark.parametrize(
    ("change", "said", "link"),
    [
        ({"selection": {"models": [10**9]}}, "No response matches the choices", "?step=rated"),
        ({"training": True}, "no task is marked as practice", "/known/"),
        ({"qualification": {"of": 2, "pass": 1}}, "no task is marked for it", "/known/"),
        ({"probe_rate": 3}, "probe_rate 3 is not a share", "?step=checks"),
    ],
)
def test_the_review_says_what_is_missing_with_a_link(as_lead, study, change, said, link):
    study.policies = {**study.policies, **change}
    study.save()
    response = as_lead.get(setup(study, "review"))
    [remark] = response.context["review"].missing
    assert said in remark.text and link in remark.url
    page = " ".join(markup(response).split())
    assert f'href="{remark.url}"' in page
    assert 'value="launch" disabled' in page


def test_the_review_of_a_study_without_a_fitting_rubric_leads_to_the_questions(as_lead, study):
    study.kind = Study.Kind.PAIR
    study.save()
    [remark] = as_lead.get(setup(study, "review")).context["review"].missing
    assert "No rubric fits" in remark.text and "?step=questions" in remark.url


@pytest.mark.parametrize("step", [step.key for step in STEPS])
def test_queries_of_each_step_are_bounded(as_lead, study, step, django_assert_max_num_queries):
    with django_assert_max_num_queries(30):
        as_lead.get(setup(study, step))
