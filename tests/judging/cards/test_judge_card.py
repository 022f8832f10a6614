"""A judge's card: one sentence on its use that claims only what is shown, on the page, by command and by API."""

import json
from io import StringIO

import pytest
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.urls import reverse

from accounts.api.tokens import issue_token
from annotation.models import Assignment
from judging.cards.card import judge_card
from judging.probes.request import Group, ProbeRequest
from judging.web.judges.card import use_words
from tests.factories import make_answer, make_checklist_study, make_judge_rater, make_rater, make_user
from tests.judging.probes.test_probe_runs import checklist_judge, judge_of, longer, probed, written
from tests.markup import markup
from tests.page_files import check_files

pytestmark = pytest.mark.django_db
LEVELS = (0.0, 0.25, 0.5, 0.75, 1.0)


@pytest.fixture(autouse=True)
def _nothing_kept():
    cache.clear()


def text(page):
    return " ".join(markup(page).split())


def rated(study, judge, verdict, people=3):
    """Everybody answers item0 of every response: people alike but for one in five, the judge by `verdict`."""
    raters = [make_rater(study) for _ in range(people)]
    for number, task in enumerate(study.tasks.filter(gold__isnull=True).order_by("pk")):
        level = number % 4
        for place, rater in enumerate(raters):
            said = level + (number % 5 == place)
            make_answer(task, rater, {f"item{n}": LEVELS[said] for n in range(3)})
        make_answer(task, judge, {f"item{n}": LEVELS[verdict(level)] for n in range(3)})


def test_a_judge_that_nobody_can_be_compared_with_may_be_used_for_nothing_that_is_shown():
    study = make_checklist_study(instructions=3, models=1)
    judge = make_judge_rater(study.workspace, "stranger")
    for task in study.tasks.all():
        make_answer(task, judge, {"item0": 0.5})
    card = judge_card(judge)
    assert (card.use, card.probes, card.judge.method) == ("not_shown", None, "")
    assert use_words(card) == (
        "It is not shown what stranger may be used for, because no task has both its verdict and ratings by two people; "
        "whether length, format or wording moves it has not been probed."
    )


def test_a_judge_beside_people_on_few_instructions_is_not_said_to_be_of_use():
    study = make_checklist_study(instructions=12, models=2)
    judge = make_judge_rater(study.workspace, "newcomer")
    rated(study, judge, lambda level: level)
    card = judge_card(judge)
    assert card.use == "not_shown"
    assert use_words(card).startswith(
        "It is not shown what newcomer may be used for: that needs at least 20 instructions with its verdicts and ratings "
        "by two people, and there are 12; "
    )


def test_a_judge_that_agrees_less_than_people_do_is_said_to_and_one_that_is_like_them_is_not():
    study = make_checklist_study(instructions=30, models=1)
    bad = make_judge_rater(study.workspace, "contrary")
    rated(study, bad, lambda level: 4 - level if level != 2 else 0)
    card = judge_card(bad)
    (row,) = card.studies
    assert card.use == "worse" and row.beside.judge.value < row.beside.people.value
    assert "may not stand in for a person" in use_words(card)
    good = make_judge_rater(study.workspace, "faithful")
    for number, task in enumerate(study.tasks.order_by("pk")):
        make_answer(task, good, {f"item{n}": LEVELS[number % 4] for n in range(3)})
    card = judge_card(good)
    assert card.use in ("beside", "better")
    assert "may be used beside people on responses like those of “Essays”" in use_words(card)


def test_a_judge_that_failed_its_canary_texts_may_be_used_for_nothing():
    study = make_checklist_study(instructions=20, models=1)
    judge = make_judge_rater(study.workspace, "fooled")
    rated(study, judge, lambda level: level)
    Assignment.objects.filter(rater=judge).update(discredited=True)
    assert use_words(judge_card(judge)).startswith("fooled failed its canary texts: use none of its verdicts")


def test_the_card_says_what_its_probes_found_and_is_one_page_and_one_json(client):
    study = written(make_checklist_study(instructions=24, models=1))
    judge = judge_of(study)
    run, _chat = probed(ProbeRequest(judge, study, groups=(Group.PADDING,)), checklist_judge(longer))
    rated(study, judge.rater, lambda level: level)
    client.force_login(make_user("lead", study.workspace))
    path = reverse("judging:judge_card", args=[judge.rater.public_id])
    page = text(client.get(path))
    assert "it may not compare what differs in length, which moves it" in page
    assert "Open the probes" in page and run.public_id in page and "priced" in page
    whole = json.loads(client.get(path, {"file": "page.json"}).content)
    assert [block["key"] for block in whole["blocks"]] == ["agreement", "probes", "biases", "costs"]
    assert b"tabular" in client.get(path, {"file": "agreement.tex"}).content

    out = StringIO()
    call_command("judge_card", judge.rater.label, json=True, stdout=out)
    card = json.loads(out.getvalue())
    assert card["avoid"] == ["padding"] and card["judge"]["provider"] == "priced"
    assert card["probes"]["run"] == run.public_id
    for shape, part in (("latex", "tabular"), ("markdown", "## ")):
        out = StringIO()
        call_command("judge_card", judge.rater.label, stdout=out, **{shape: True})
        assert part in out.getvalue()
    with pytest.raises(CommandError, match="no judge 'nobody'"):
        call_command("judge_card", "nobody")
    user = make_user("lead", study.workspace, username="api")
    _token, secret = issue_token(user=user, name="script", scopes=["read"])
    head = {"headers": {"Authorization": f"Bearer {secret}"}}
    assert client.get(f"/api/v1/judges/{judge.rater.public_id}/card/", **head).json() == card
    assert "probes.md" in check_files(client, f"/api/v1/judges/{judge.rater.public_id}/card/", path)
    client.force_login(make_user("rater", study.workspace, username="nobody"))
    assert client.get(path).status_code in (403, 404)
