"""Lists of people, rubrics and checklists as uploaded tables: recognised, checked with reasons, loaded and undone."""

import csv
import io
import re

import pytest
from django.core import mail
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Event
from annotation.importing.rater_lists import load_people
from annotation.models import Cohort, DoorKnock, MailedInvitation, Rater, Rubric
from annotation.recruitment.mailing import send_waiting
from annotation.rubrics.library import RubricsOf
from annotation.uploads.kept_files import kept_tables
from annotation.uploads.reading import masked
from config.identity import Identity
from core.tables.bad_rows import BadRow, Place
from core.tables.rows import Row
from generation.models import Import
from tests.annotation.raters_at_work import make_study
from tests.annotation.uploads.test_table_uploads import (
    INSTRUCTIONS,
    browser,
    do,
    folder,
    form_of,
    lead,
    loaded,
    the_upload,
    uploaded,
)
from tests.factories import make_workspace
from tests.markup import markup

pytestmark = pytest.mark.django_db
__all__ = ["browser", "folder", "lead"]
PEOPLE = "Full name,E-mail address,Group\nAda Lovelace,ada@example.org,night\nBo Li,bo@example.org,\n"
RUBRICS = (
    "rubric,criterion,question,question_zh,role,scale\n"
    "essay,clear,Is it clear?,清楚吗？,item,0=No: Nobody follows|1=Partly|2=Yes\n"
    "essay,true,Is it true?,,,1:5\n"
    "essay,all,How good is it?,,overall,overall10\n"
    "letter,polite,Is it polite?,,,yes_no\n"
)
BY_LEVEL = (
    "rubric,question,level_value,level_name,level_meaning\n"
    "essay,Is it clear?,1,Muddled,Nobody follows\n"
    "essay,Is it clear?,0,Empty,\n"
    "essay,Is it clear?,2.5,Clear,Everybody follows\n"
)


@pytest.fixture
def with_mail(settings):
    assert reverse("home")  # the addresses are those without the optional ways to sign in
    settings.IDENTITY = Identity(mail="smtp://localhost", mail_from="plumbline@example.org")


@pytest.fixture
def study(lead):
    return make_study(tasks=6, overlap=3, probe_rate=0)


def into(browser, study, content, name="people.csv"):
    """Upload a list and say into which study it goes; its address."""
    address = uploaded(browser, content, name)
    assert browser.post(address, form_of(the_upload(), do="update", into=study.slug)).status_code == 302
    return address


def test_listed_people_get_a_link_each_and_no_message(browser, study, with_mail):
    address = into(browser, study, PEOPLE)
    upload = the_upload()
    assert upload.kind == "raters"
    assert upload.columns == {"Full name": "name", "E-mail address": "email", "Group": "cohort"}
    assert "Nothing has been stored yet." in do(browser, address, "check")
    assert not MailedInvitation.objects.exists() and not Cohort.objects.filter(study=study, name="night").exists()
    page = do(browser, address, "load", cohort="day")
    rows = {one.name: one for one in MailedInvitation.objects.all()}
    assert {(one.name, one.address, one.cohort.name, one.state) for one in rows.values()} == {
        ("Ada Lovelace", "ada@example.org", "night", "held"),
        ("Bo Li", "bo@example.org", "day", "held"),
    }
    assert send_waiting(timezone.now) == 0 and not mail.outbox
    people = reverse("annotation:mail_invitations", args=[study, rows["Ada Lovelace"].cohort_id])
    assert people in page
    listed = browser.get(reverse("annotation:links", args=[study, rows["Ada Lovelace"].cohort_id]))
    (row,) = csv.DictReader(io.StringIO(listed.content.decode()))
    link = reverse("annotation:join", args=[rows["Ada Lovelace"].token])
    assert (row["name"], row["email"], row["link"]) == ("Ada Lovelace", "ada@example.org", f"http://testserver{link}")
    person = Client()
    assert person.post(link, {"answer": "yes"}).status_code == 302
    rows["Ada Lovelace"].refresh_from_db()
    assert rows["Ada Lovelace"].rater.identity.name == "Ada Lovelace" and rows["Ada Lovelace"].rater.name == "R1"
    assert Client().get(link).status_code == 410


def test_a_message_goes_out_only_after_a_confirmation(browser, study, with_mail):
    do(browser, into(browser, study, PEOPLE), "load")
    cohort = Cohort.objects.get(study=study, name="night")
    page = reverse("annotation:mail_invitations", args=[study, cohort.pk])
    for sent in ({"people": "1"}, {"confirmed": "on", "people": "2"}, {"confirmed": "on"}):
        assert browser.post(page, {"do": "send", **sent}).status_code == 422
    assert set(MailedInvitation.objects.values_list("state", flat=True)) == {"held"}
    assert browser.post(page, {"do": "send", "confirmed": "on", "people": "1"}).status_code == 302
    assert list(cohort.mailed_invitations.values_list("state", "language")) == [("waiting", "en")]
    assert MailedInvitation.objects.filter(state="held").count() == 1


def test_an_address_of_the_list_that_is_entered_by_hand_is_invited_once(browser, study, with_mail):
    do(browser, into(browser, study, PEOPLE), "load")
    cohort = Cohort.objects.get(study=study, name="night")
    page = reverse("annotation:mail_invitations", args=[study, cohort.pk])
    browser.post(page, {"do": "invite", "addresses": "ADA@example.org, cy@example.org"})
    assert sorted(cohort.mailed_invitations.values_list("address", "state")) == [
        ("ada@example.org", "waiting"),
        ("cy@example.org", "waiting"),
    ]


def test_names_and_addresses_are_masked_logged_and_in_no_list_of_bad_rows(browser, study, lead):
    address = into(browser, study, PEOPLE + "Cy Zed,cy-at-example,\nAda Lovelace,ADA@example.org,night\n")
    page = do(browser, address, "check")
    assert masked("Ada Lovelace") == "A… L…" and masked("ada@example.org") == "a…@e…"
    assert "A… L…" in page and "Lovelace" not in page and "ada@" not in page
    listed = browser.get(address + "bad-rows.csv").content.decode()
    assert [row.split(",")[1] for row in listed.splitlines()[1:]] == ["4", "5"]
    assert not re.search("(?i)zed|cy-at|ada", listed)
    do(browser, address, "load_without")
    cohort = Cohort.objects.get(study=study, name="night")
    assert not Event.objects.filter(verb="read_identities").exists()
    browser.get(reverse("annotation:links", args=[study, cohort.pk]))
    (event,) = Event.objects.filter(verb="read_identities")
    assert event.actor == lead
    for event in Event.objects.all():
        assert not re.search("(?i)lovelace|ada@", f"{event.before} {event.after}")


def test_a_list_is_undone_until_somebody_has_joined(browser, study):
    do(browser, into(browser, study, PEOPLE), "load")
    found = Import.objects.get()
    assert (found.command, found.about, found.counts) == ("load_raters", study.slug, {"created": 2})
    undo = reverse("annotation:undo_import", args=[found.pk])
    invitation = MailedInvitation.objects.get(name="Ada Lovelace")
    link = reverse("annotation:join", args=[invitation.token])
    assert Client().post(link, {"answer": "yes"}).status_code == 302
    assert browser.post(undo).status_code == 409 and MailedInvitation.objects.count() == 2
    Rater.objects.filter(study=study, mailed_invitation=invitation).delete()
    MailedInvitation.objects.update(used_at=None)
    DoorKnock.objects.all().delete()
    assert browser.post(undo).status_code == 302
    assert not MailedInvitation.objects.exists() and not Cohort.objects.filter(study=study, name="night").exists()


def test_a_list_that_was_mailed_stays(browser, study):
    do(browser, into(browser, study, PEOPLE), "load")
    MailedInvitation.objects.filter(name="Bo Li").update(state="sent")
    assert browser.post(reverse("annotation:undo_import", args=[Import.objects.get().pk])).status_code == 409


def test_the_same_list_again_adds_nobody_and_names_whom_it_knows_by_address(browser, study):
    do(browser, into(browser, study, PEOPLE), "load")
    MailedInvitation.objects.filter(name="Bo Li").update(name="")
    again = uploaded(browser, PEOPLE, "people.csv")
    upload = next(one for one in kept_tables() if one.public_id in again)
    assert upload.state == "new"
    page = loaded(browser, PEOPLE, "people.csv", into=study.slug)
    assert "has been loaded" in page and MailedInvitation.objects.count() == 2
    assert MailedInvitation.objects.filter(name="Bo Li").exists()


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({}, "tables.nobody"),
        ({"name": "x" * 101}, "tables.long_name"),
        ({"email": "nobody"}, "tables.no_address"),
        ({"name": "A", "rater_kind": "crowd"}, "tables.rater_kind"),
        ({"name": "A", "cohort": "prolific"}, "tables.crowd_cohort"),
    ],
)
def test_a_row_that_names_nobody_who_can_be_invited_is_bad(study, values, code):
    Cohort.objects.create(study=study, name="prolific", kind="crowd")
    with pytest.raises(BadRow) as refused:
        load_people(study, [Row(Place("a.csv", 2), values)], cohort="people", by=None, clock=lambda: None)
    assert refused.value.reason.code == code


def test_rubrics_are_checked_loaded_into_the_library_and_undone(browser):
    address = uploaded(browser, RUBRICS, "rubrics.csv")
    assert (the_upload().kind, the_upload().into) == ("rubrics", "")
    do(browser, address, "check")
    assert the_upload().counts == {"created": 2} and not Rubric.objects.exists()
    do(browser, address, "load")
    essay = Rubric.objects.get(key="essay")
    assert (essay.benchmark, essay.study, essay.version) == (None, None, 1)
    clear, true, overall = essay.criteria.all()
    assert clear.questions == {"en": "Is it clear?", "zh-hans": "清楚吗？"}
    assert [(one["value"], one["label"]["en"]) for one in clear.levels] == [(0, "No"), (1, "Partly"), (2, "Yes")]
    assert clear.levels[0]["description"] == {"en": "Nobody follows"}
    assert [one["value"] for one in true.levels] == [1, 2, 3, 4, 5]
    assert (overall.role, overall.ends) == ("overall", (0, 10))
    assert Rubric.objects.get(key="letter").criteria.get().role == "item"
    found = Import.objects.get()
    assert browser.post(reverse("annotation:undo_import", args=[found.pk])).status_code == 302
    assert not Rubric.objects.exists()


def test_a_rubric_that_a_study_uses_by_now_stays(browser, lead):
    do(browser, uploaded(browser, RUBRICS, "rubrics.csv"), "load")
    study = make_study(tasks=2, overlap=1, probe_rate=0)
    study.tasks.update(answer_rubric=Rubric.objects.get(key="essay"))
    assert browser.post(reverse("annotation:undo_import", args=[Import.objects.get().pk])).status_code == 302
    kept = Rubric.objects.get(key="essay")
    assert kept.criteria.count() == 3 and not Rubric.objects.filter(key="letter").exists()


def test_levels_in_rows_of_their_own_are_put_in_order_of_their_values(browser):
    do(browser, uploaded(browser, BY_LEVEL, "levels.csv"), "load")
    (criterion,) = Rubric.objects.get(key="essay").criteria.all()
    assert [(one["value"], one["label"]["en"]) for one in criterion.levels] == [
        (0, "Empty"),
        (1, "Muddled"),
        (2.5, "Clear"),
    ]
    assert criterion.levels[1]["description"] == {"en": "Nobody follows"}


def test_a_changed_rubric_is_a_new_version_and_the_same_one_is_there_already(browser):
    loaded(browser, RUBRICS, "a.csv")
    assert "Nothing has changed." in loaded(browser, RUBRICS, "b.csv")
    loaded(browser, RUBRICS.replace("Is it true?", "Is it so?"), "c.csv")
    assert list(Rubric.objects.filter(key="essay").values_list("version", flat=True).order_by("version")) == [1, 2]
    assert Rubric.objects.filter(key="letter").count() == 1


def test_a_rubric_for_a_category_of_a_benchmark_is_the_nearest_of_its_instructions(browser):
    loaded(browser, INSTRUCTIONS, "tasks.csv", into="tasks")
    table = "rubric,category,criterion,question,scale\nstories,story,good,Is it good?,1:5\n"
    assert "has been loaded" in loaded(browser, table, "rubrics.csv", into="tasks")
    benchmark = make_workspace().benchmarks.get(slug="tasks")
    story, summary = benchmark.instructions.order_by("external_id")
    nearest = RubricsOf(benchmark)
    assert nearest.nearest(story.pk, story.category_id).key == "tasks-stories"
    assert nearest.nearest(summary.pk, summary.category_id) is None


@pytest.mark.parametrize(
    ("rows", "line", "said"),
    [
        ("essay,,,,,\n", 6, "names neither"),
        ("essay,new,New?,,judge,1:5\n", 6, "role"),
        ("essay,new,New?,,,1:x\n", 6, "scale"),
        ("essay,new,New?,,,5:1\n", 6, "scale"),
        ("essay,new,New?,,item,overall10\n", 6, "role"),
        ("essay,a b,New?,,,1:5\n", 6, "characters"),
        (f"essay,new,{'x' * 501},,,1:5\n", 6, "longer"),
        ("essay,clear,Is it clear?,,,1:5\n", 6, "earlier row"),
    ],
)
def test_a_bad_criterion_is_named_by_its_row_and_left_out_as_a_whole(browser, rows, line, said):
    address = uploaded(browser, RUBRICS + rows, "rubrics.csv")
    page = do(browser, address, "load")
    alert = page.partition('role="alert"')[2].partition("</p>")[0]
    assert f"rubrics.csv line {line}" in alert and said in alert and not Rubric.objects.exists()
    do(browser, address, "load_without")
    keys = list(Rubric.objects.get(key="essay").criteria.values_list("key", flat=True))
    assert keys == (["true", "all"] if ",clear," in rows else ["clear", "true", "all"])


def test_checklists_of_instructions_and_of_categories(browser):
    loaded(browser, INSTRUCTIONS, "tasks.csv", into="tasks")
    table = "instruction,category,question,question_zh\na1,,Is it a story?,\na1,,Is it long?,长吗？\n,summary,Short?,\n"
    address = uploaded(browser, table, "checklists.csv")
    upload = next(one for one in kept_tables() if one.public_id in address)
    sent = {**form_of(upload), "kind": "checklists", "into": "tasks", "scale": "0:10"}
    for place, name in enumerate(("instruction", "category", "question", "question_zh")):
        sent[f"column-{place}"] = name
    page = _work(browser, address, {**sent, "do": "check"})
    assert "Nothing has been stored yet." in page and not Rubric.objects.exists()
    _work(browser, address, {**sent, "do": "load"})
    benchmark = make_workspace().benchmarks.get(slug="tasks")
    first, second = benchmark.instructions.order_by("external_id")
    own = RubricsOf(benchmark).nearest(first.pk, first.category_id)
    assert own.instruction == first
    assert [one.questions.get("zh-hans") for one in own.criteria.all()] == [
        None,
        "长吗？",
        "综合各方面，这篇回答有多好？",
    ]
    of_category = RubricsOf(benchmark).nearest(second.pk, second.category_id)
    assert of_category.category == second.category
    assert [one.role for one in of_category.criteria.all()] == ["item", "overall"]
    found = Import.objects.get(command="load_checklists")
    assert browser.post(reverse("annotation:undo_import", args=[found.pk])).status_code == 302
    assert not Rubric.objects.exists()


def _work(browser, address, sent):
    from annotation.tasks import load_table
    from core.models import RequestedTask

    answer = browser.post(address, sent)
    assert answer.status_code == 302, markup(answer)
    for task in RequestedTask.objects.filter(task="annotation.load_table"):
        task.delete()
        load_table(*task.arguments)
    return markup(browser.get(address))


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("nowhere,,Is it?", "has no instruction"),
        (",poems,Is it?", "has no category"),
        (",,Is it?", "names neither"),
        ("a1,,", "question is empty"),
        ("a1,,Is it a story?", "earlier row"),
    ],
)
def test_a_bad_row_of_a_checklist_is_named_and_may_be_left_out(browser, row, said):
    loaded(browser, INSTRUCTIONS, "tasks.csv", into="tasks")
    table = f"instruction,topic,question\na1,,Is it a story?\n{row}\n"
    address = uploaded(browser, table, "checklists.csv")
    upload = next(one for one in kept_tables() if one.public_id in address)
    sent = {**form_of(upload), "kind": "checklists", "into": "tasks"}
    sent |= {"column-0": "instruction", "column-1": "category", "column-2": "question"}
    page = _work(browser, address, {**sent, "do": "load"})
    alert = page.partition('role="alert"')[2].partition("</p>")[0]
    assert "checklists.csv line 3" in alert and said in alert and not Rubric.objects.exists()
    _work(browser, address, {**sent, "do": "load_without"})
    assert Rubric.objects.get().criteria.count() == 1


@pytest.mark.parametrize(
    ("kind", "column"), [("checklists", "question"), ("checks", "question"), ("rubrics", "question")]
)
def test_a_benchmark_that_does_not_exist_is_said_at_once(browser, kind, column):
    address = uploaded(browser, "id,question,scale\na1,Is it?,1:5\n", "a.csv")
    sent = {"kind": kind, "into": "nowhere", "column-0": "instruction", "column-1": column, "do": "load"}
    answer = browser.post(address, sent if kind != "rubrics" else {**sent, "column-0": ""})
    assert answer.status_code == 422 and "There is no benchmark nowhere." in markup(answer)
