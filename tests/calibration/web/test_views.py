import html
import json
import re

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone, translation

from accounts.models import Event
from annotation.models import Cohort, Rater
from calibration import tasks
from calibration.figures.drawing import decimals
from calibration.fits.categories import FIT_REFUSED, FitRefused
from calibration.fits.export import refit_from_json
from calibration.fits.store import run_fit
from calibration.models import CategoryFit, Fit, FittedWeight, Report
from calibration.reports import cache as report_cache
from calibration.reports.agreement import AGREEMENT
from calibration.statistics.errors import ConstantScores
from calibration.web.messages.statistics import refusal_facts, words_of_refusal
from generation.models import Category
from tests.calibration.answered_studies import answered_study
from tests.calibration.pair_studies import pair_study
from tests.factories import (
    make_answer,
    make_checklist_study,
    make_judge_rater,
    make_rater,
    make_user,
    make_workspace,
    remove,
)
from tests.markup import markup

pytestmark = pytest.mark.django_db

PAGES = ("weights", "agreement", "summary")
HTMX = {"HTTP_HX_REQUEST": "true"}


def address(name, *args):
    return reverse(f"calibration:{name}", args=args or ("lab/essays",))


def signed_in(role=None, workspace=None):
    client = Client()
    client.force_login(make_user(role, workspace))
    return client


@pytest.fixture
def study():
    return answered_study(judge="gpt-4o")


@pytest.fixture
def lead(study):
    return signed_in("lead", study.workspace)


# --- who may see what ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("headers", [{}, HTMX])
@pytest.mark.parametrize("role", ["owner", "lead", "analyst"])
def test_those_who_read_results_see_the_page(study, page, headers, role):
    run_fit(study=study, draws=10)
    response = signed_in(role, study.workspace).get(address(page), **headers)
    assert response.status_code == 200
    assert "HX-Request" in response["Vary"]


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("headers", [{}, HTMX])
@pytest.mark.parametrize("role", ["rater", "reviewer", None])
def test_raters_and_strangers_do_not(study, page, headers, role):
    response = signed_in(role, study.workspace).get(address(page), **headers)
    assert response.status_code == 403


@pytest.mark.parametrize("page", PAGES)
def test_the_signed_out_are_asked_to_sign_in(study, page):
    response = Client().get(address(page))
    assert response.status_code == 302
    assert response["Location"].startswith(reverse("accounts:sign_in"))


@pytest.mark.parametrize("page", PAGES)
def test_another_workspace_sees_nothing_of_the_study(study, page):
    other = signed_in("owner", make_workspace("other-lab"))
    response = other.get(address(page))
    assert response.status_code == 404


def test_a_fit_of_another_study_is_not_shown_or_given_away(study, lead):
    other = answered_study(slug="other", workspace=make_workspace("other-lab"))
    fit = run_fit(study=other, draws=0)
    assert lead.get(address("weights"), {"fit": fit.public_id}).status_code == 404
    assert lead.get(address("download_fit", "lab/essays", fit.public_id)).status_code == 404
    assert lead.post(address("publish", "lab/essays", fit.public_id), {"name": "x"}).status_code == 404


@pytest.mark.parametrize("role", ["analyst", "rater", None])
def test_only_leads_fit_and_publish(study, role):
    fit = run_fit(study=study, draws=0)
    client = signed_in(role, study.workspace)
    assert client.post(address("fit_now"), {"floor": "1"}).status_code in (403, 404)
    assert client.post(address("publish", "lab/essays", fit.public_id), {"name": "mine"}).status_code in (403, 404)
    assert Fit.objects.count() == 1
    fit.refresh_from_db()
    assert fit.published_name == ""


def test_an_analyst_is_offered_no_forms(study):
    run_fit(study=study, draws=0)
    page = markup(signed_in("analyst", study.workspace).get(address("weights")))
    assert address("fit_now") not in page
    assert "publish/" not in page


def test_pages_are_read_and_forms_are_posted(study, lead):
    assert lead.post(address("weights")).status_code == 405
    assert lead.get(address("fit_now")).status_code == 405


# --- the weights page ---------------------------------------------------------------------------------------


def test_without_answers_the_weights_page_says_what_to_do():
    study = make_checklist_study()
    page = markup(signed_in("lead", study.workspace).get(address("weights")))
    assert "No weights yet" in page
    assert reverse("annotation:desk", args=["lab/essays"]) in page
    assert "Fit now" not in page


def test_a_study_of_pairs_is_offered_its_rankings_and_no_fit():
    pairs = pair_study(models=2, instructions=2)
    page = markup(signed_in("lead", pairs.workspace).get(address("weights", "lab/duels")))
    assert "No weights for this study" in page
    assert reverse("calibration:rankings", args=["lab/duels"]) in page
    assert "fit the weights below" not in page and "Fit now" not in page


def test_verdicts_of_judges_alone_are_nothing_to_fit():
    study = make_checklist_study()
    judge = make_judge_rater(study.workspace, "gpt-4o")
    make_answer(study.tasks.first(), judge, {"item0": 1.0, "overall": 7})
    page = markup(signed_in("lead", study.workspace).get(address("weights")))
    assert "Fit them once raters have completed the checklist" in page
    assert "Fit now" not in page


def test_with_answers_a_lead_is_offered_the_fit(study, lead):
    page = markup(lead.get(address("weights")))
    assert "No weights yet" in page
    assert "Fit now" in page


def test_fitting_from_the_page_stores_a_fit_and_shows_it(study, lead):
    response = lead.post(address("fit_now"), {"floor": "0.25", "pool": "1"}, follow=True)
    fit = Fit.objects.get()
    assert fit.settings["floor"] == 0.25
    assert fit.settings["pool"] is True
    assert fit.created_by is not None
    page = markup(response)
    assert "There, they explain" in page
    assert "Is quality 0 there?" in page
    assert "Certificate" in page
    assert page.count("<svg") >= 1
    assert fit.data_hash[:8] in page


def test_the_page_opens_with_its_answer_then_figure_then_table_then_method(study, lead):
    run_fit(study=study, draws=10)
    page = markup(lead.get(address("weights")))
    places = [
        page.index(part) for part in ('class="answer"', 'class="chart"', 'class="data"', 'class="fold fold-method"')
    ]
    assert places == sorted(places)


def test_every_weight_shown_is_the_stored_one(study, lead):
    fit = run_fit(study=study, draws=10)
    page = markup(lead.get(address("weights")))
    for weight in FittedWeight.objects.filter(category_fit__fit=fit):
        assert f'<td class="num">{weight.weight:.2f}</td>' in page
    category = fit.categories.get()
    assert f"{category.diagnostics['certificate']['out_of_sample']['instruction']['r2']:.2f}" in page


def test_published_weights_stand_beside_ours(study, lead):
    fit = run_fit(study=study, draws=10)
    printed = Fit.objects.create(
        workspace=study.workspace, kind="published", published_name="paper", source="A paper, table 17"
    )
    category = CategoryFit.objects.create(fit=printed, key="essay", n=90, r2=0.77, mse=0.31)
    for position, weight in enumerate([11.0, 19.0, 31.0, 39.0]):
        FittedWeight.objects.create(
            category_fit=category, criterion_key=f"theirs{position}", position=position, weight=weight
        )
    page = markup(lead.get(address("weights")))
    assert "A paper, table 17" in page
    assert '<td class="num">31.00</td>' in page
    ours = FittedWeight.objects.get(category_fit__fit=fit, position=2).weight
    assert f'<td class="num">{decimals(ours - 31, 2)}</td>' in page


def test_what_the_paper_printed_stands_beside_a_study_of_its_benchmark(study, lead):
    study.benchmark.slug = "hellobench"
    study.benchmark.save()
    Category.objects.filter(key="essay").update(key="science")
    fit = run_fit(study=study, draws=10)
    printed = Fit.objects.create(workspace=study.workspace, kind="published", published_name="paper", source="A paper")
    category = CategoryFit.objects.create(fit=printed, key="science", category=fit.categories.get().category)
    for position in range(4):
        FittedWeight.objects.create(category_fit=category, criterion_key=f"i{position}", position=position, weight=25)
    page = markup(lead.get(address("weights")))
    assert "Published weights, on the authors' data" in html.unescape(page)
    assert '<td class="num">0.79</td><td class="num">0.18</td>' in page  # HelloBench, table 19, science
    page = markup(lead.get(address("agreement")))
    assert "table 18" in page
    assert "HM5" in page


def test_published_weights_of_another_number_of_items_are_not_compared(study, lead):
    run_fit(study=study, draws=10)
    printed = Fit.objects.create(workspace=study.workspace, kind="published", published_name="paper", source="A paper")
    category = CategoryFit.objects.create(fit=printed, key="essay")
    FittedWeight.objects.create(category_fit=category, criterion_key="one", position=0, weight=100)
    assert "A paper" not in markup(lead.get(address("weights")))


def test_an_earlier_fit_can_be_looked_at(study, lead):
    first = run_fit(study=study, draws=0, floor=0.1)
    run_fit(study=study, draws=0, floor=2.0)
    page = markup(lead.get(address("weights"), {"fit": first.public_id}))
    assert first.public_id in page
    assert "floor of 0.1" in page
    assert lead.get(address("weights"), {"fit": "no-such-fit"}).status_code == 404


def test_a_downloaded_fit_can_be_repeated(study, lead):
    fit = run_fit(study=study, draws=20)
    response = lead.get(address("download_fit", "lab/essays", fit.public_id))
    assert response["Content-Type"] == "application/json"
    assert "attachment" in response["Content-Disposition"]
    assert refit_from_json(json.loads(response.content)).differences == ()


def test_publishing_from_the_page_names_the_fit_once(study, lead):
    fit = run_fit(study=study, draws=0)
    lead.post(address("publish", "lab/essays", fit.public_id), {"name": "Essays 2024"})
    fit.refresh_from_db()
    assert fit.published_name == "essays-2024"
    page = markup(lead.post(address("publish", "lab/essays", fit.public_id), {"name": "other"}, follow=True))
    assert "already published" in page
    page = markup(lead.post(address("publish", "lab/essays", fit.public_id), {"name": "!!"}, follow=True))
    assert "Enter a name" in page


@pytest.mark.parametrize("floor", ["-1", "11", "nan", "a lot", ""])
def test_a_floor_off_its_range_is_refused(study, lead, floor):
    page = markup(lead.post(address("fit_now"), {"floor": floor}, follow=True))
    assert "The floor must be a number from 0 to 10." in page
    assert not Fit.objects.exists()


def test_too_few_answers_are_explained_on_the_page():
    study = answered_study(instructions=1, models=1)
    client = signed_in("lead", study.workspace)
    page = markup(client.post(address("fit_now"), {"floor": "0.5"}, follow=True))
    assert "essay: 3 answers, 4 items" in page
    assert not Fit.objects.exists()


def test_a_single_instruction_is_shown_with_what_cannot_be_said():
    study = answered_study(instructions=1, models=8)
    run_fit(study=study, draws=10)
    page = markup(signed_in("lead", study.workspace).get(address("weights")))
    assert "Only one instruction" in page
    assert "nan" not in page.lower().replace("instantan", "")


def test_a_large_study_is_fitted_by_the_worker_while_the_page_waits(
    study, lead, monkeypatch, django_capture_on_commit_callbacks
):
    monkeypatch.setattr(report_cache, "SLOW_SCORES", 10)
    sent = []
    monkeypatch.setattr(tasks.fit_study, "delay", lambda *args: sent.append(args))
    with django_capture_on_commit_callbacks(execute=True):
        response = lead.post(address("fit_now"), {"floor": "0.5"})
    assert response["Location"].endswith("?after=")
    waiting = markup(lead.get(response["Location"]))
    assert 'hx-trigger="every 3s"' in waiting
    tasks.fit_study(*sent[0])
    tasks.fit_study(*sent[0])
    assert Fit.objects.count() == 1
    part = markup(lead.get(response["Location"], **HTMX))
    assert "<html" not in part
    assert 'class="answer"' in part
    assert "hx-trigger" not in part


def test_a_refusal_of_the_worker_reaches_the_page(lead, study):
    remove(study.tasks.exclude(pk=study.tasks.first().pk))
    tasks.fit_study(study.pk, 0.5, False, False, None)
    assert Event.objects.filter(verb=FIT_REFUSED).count() == 1
    page = markup(lead.get(address("weights") + "?after="))
    assert "essay: 3 answers, 4 items" in page
    assert "hx-trigger" not in page
    lead.cookies["django_language"] = "zh-hans"
    page = markup(lead.get(address("weights") + "?after="))
    assert "answers" not in page and "完整作答少于" in page


# --- the agreement page -------------------------------------------------------------------------------------


def test_the_agreement_page_opens_with_alpha_and_its_interval(study, lead):
    page = markup(lead.get(address("agreement")))
    report = Report.objects.get(kind="agreement").result
    assert re.search(r'class="answer">The raters&#x27; agreement is an alpha of 0\.\d\d', page)
    assert f"an alpha of {report['alpha']['ordinal']['value']:.2f} (" in page
    assert "when one instruction is left out" in page  # twelve instructions are too few for a 95 % interval
    for part in (
        "nominal",
        "ordinal",
        "interval",
        "Judges against people",
        "gpt-4o",
        "Pairs of raters",
        "By criterion",
    ):
        assert part in page


def test_alpha_is_shown_for_the_criterion_asked_for(study, lead):
    page = markup(lead.get(address("agreement"), {"criterion": "item1"}))
    assert "“Is quality 1 there?”" in page
    assert Report.objects.get(kind="agreement").result["criterion"] == "item1"


def test_an_unknown_criterion_is_not_an_error_page(study, lead):
    response = lead.get(address("agreement"), {"criterion": "beauty"})
    assert response.status_code == 200
    assert "No agreement to show yet" in markup(response)


def test_the_report_is_kept_until_an_answer_is_added(study, lead, django_assert_max_num_queries):
    lead.get(address("agreement"))
    lead.get(address("agreement"))
    assert Report.objects.count() == 1
    with django_assert_max_num_queries(25):
        lead.get(address("agreement"))
    study.tasks.first().assignments.filter(rater__label="rater-0").update(status="surplus")
    lead.get(address("agreement"))
    assert Report.objects.count() == 2


def test_one_rater_is_told_that_a_second_is_needed():
    study = answered_study()
    remove(study.raters.exclude(label="rater-0"))
    page = markup(signed_in("lead", study.workspace).get(address("agreement")))
    assert "Have more people rate" in page


def test_without_answers_the_agreement_page_says_so():
    study = make_checklist_study()
    page = markup(signed_in("lead", study.workspace).get(address("agreement")))
    assert "There are no answers yet that can be used here" in page


def test_criteria_are_offered_where_none_is_overall():
    study = answered_study()
    study.tasks.first().answer_rubric.criteria.filter(key="overall").update(role="item")
    page = markup(signed_in("lead", study.workspace).get(address("agreement")))
    assert "Choose a criterion" in page
    assert "?criterion=item2" in page


def test_positions_in_a_data_set_have_no_matrix(study, lead):
    Rater.objects.filter(study=study).update(kind="slot")
    page = markup(lead.get(address("agreement")))
    assert "Pairs of raters" not in page
    assert "rater-1" not in page
    assert "positions, not persons" in page


def test_cohorts_are_compared_where_there_are_any(study, lead):
    cohort = Cohort.objects.create(study=study, name="Onsite")
    Rater.objects.filter(study=study).update(cohort=cohort)
    assert "Onsite" in markup(lead.get(address("agreement")))


def test_identical_answers_have_a_rate_but_no_alpha(lead, study):
    for rater in study.raters.exclude(label="rater-0"):
        remove(rater.assignments.all())
    remove(study.raters.exclude(label="rater-0"))
    first = study.raters.get()
    remove(first.assignments.all())
    second = make_rater(study, label="rater-9")
    for task in study.tasks.all():
        for rater in (first, second):
            make_answer(task, rater, {**{f"item{i}": 1.0 for i in range(4)}, "overall": 8})
    page = markup(lead.get(address("agreement")))
    assert "Every rating is the same" in page
    assert "1.00" in page


def test_a_large_agreement_report_is_computed_by_the_worker(
    study, lead, monkeypatch, django_capture_on_commit_callbacks
):
    monkeypatch.setitem(AGREEMENT.__dict__, "slow_from", 10)
    sent = []
    monkeypatch.setattr(tasks.build_report, "delay", lambda *args: sent.append(args))
    with django_capture_on_commit_callbacks(execute=True):
        page = markup(lead.get(address("agreement")))
    assert "waiting=0" in page
    with django_capture_on_commit_callbacks(execute=True):
        lead.get(address("agreement") + "?criterion=&waiting=0", **HTMX)
    assert len(sent) == 1
    tasks.build_report(*sent[0])
    part = markup(lead.get(address("agreement") + "?criterion=&waiting=0", **HTMX))
    assert 'class="answer"' in part
    assert "<html" not in part


# --- on every page ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", ["weights", "agreement"])
def test_simulated_and_scripted_answers_say_so(study, lead, page):
    run_fit(study=study, draws=0)
    assert "badge-simulated" not in markup(lead.get(address(page)))
    Rater.objects.filter(study=study).update(provenance="simulated")
    Rater.objects.filter(kind="judge").update(provenance="scripted")
    shown = markup(lead.get(address(page)))
    assert "badge-simulated" in shown
    assert "badge-scripted" in shown


@pytest.mark.parametrize("page", PAGES)
def test_nothing_on_a_page_needs_an_inline_style_or_script(study, lead, page):
    run_fit(study=study, draws=0)
    page_html = markup(lead.get(address(page)))
    assert not re.search(r"\sstyle=", page_html)
    assert not re.search(r"\son[a-z]+=", page_html)


@pytest.mark.parametrize("page", ["weights", "agreement"])
def test_names_from_data_are_escaped_in_figures_and_tables(study, lead, page):
    Rater.objects.filter(study=study, label="rater-0").update(pseudonym="<b>Eve</b>")
    criterion = study.tasks.first().answer_rubric.criteria.get(key="item0")
    criterion.questions = {"en": "<script>x</script>"}
    criterion.save()
    run_fit(study=study, draws=0)
    page_html = markup(lead.get(address(page)))
    assert "<script>x" not in page_html
    assert "<b>Eve" not in page_html


def test_the_summary_is_a_fragment_with_both_answers(study, lead):
    empty = markup(lead.get(address("summary"), **HTMX))
    assert "No weights have been fitted yet" in empty
    run_fit(study=study, draws=0)
    full = markup(lead.get(address("summary"), **HTMX))
    assert "<html" not in full
    assert "agreement is an alpha of" in full
    assert "There, they explain" in full


def test_pages_speak_chinese_to_those_who_ask(study, lead):
    run_fit(study=study, draws=0)
    lead.cookies["django_language"] = "zh-hans"
    page_html = markup(lead.get(address("weights")))
    assert "是否具备品质0?" in page_html


def test_a_refused_pooling_names_the_family_and_why_in_the_readers_language():
    refused = FitRefused("Pooling the categories of letters: All equal.", family="letters")
    refused.__cause__ = ConstantScores("overall scores", 7.0)
    facts = refusal_facts(refused)
    assert words_of_refusal(facts).startswith("Pooling the categories of letters: Every score is the same")
    with translation.override("zh-hans"):
        said = words_of_refusal(json.loads(json.dumps(facts)))
    assert "letters" in said and "Pooling" not in said and "score" not in said
    whole = FitRefused("Pooling the categories of the study: x", family="")
    assert words_of_refusal(refusal_facts(whole)).startswith("Pooling the categories of the study: ")


def test_a_fit_made_after_a_refusal_silences_it(study, lead):
    Event.objects.create(
        workspace=study.workspace,
        verb=FIT_REFUSED,
        object_type="study",
        object_id=study.public_id,
        after={"message": "Too few answers for a reason."},
    )
    assert "for a reason" in markup(lead.get(address("weights")))
    fit = run_fit(study=study, draws=0)
    Fit.objects.filter(pk=fit.pk).update(created_at=timezone.now())
    assert "for a reason" not in markup(lead.get(address("weights")))
