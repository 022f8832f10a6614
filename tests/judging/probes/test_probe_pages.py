"""Probes from the browser, by command and by API: priced first, refused in a sentence, shown with their files."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from accounts.api.tokens import issue_token
from judging.judges.making import create_rule_judge
from judging.models import JudgeRun
from judging.probes.request import Group, ProbeRequest
from tests.factories import make_checklist_study, make_user
from tests.judging.probes.test_probe_runs import checklist_judge, honest, judge_of, longer, probed, written
from tests.markup import markup
from tests.page_files import check_files

pytestmark = pytest.mark.django_db
STARTED = {"groups": ["padding"], "size": "24", "author": "an expert", "action": "start"}


@pytest.fixture
def study():
    return written(make_checklist_study(instructions=24, models=1))


@pytest.fixture
def judge(study):
    return judge_of(study)


@pytest.fixture
def lead(study, client):
    client.force_login(make_user("lead", study.workspace))
    return client


def text(page):
    return " ".join(markup(page).split())


def address(judge, study):
    return reverse("judging:probe_judge", args=[judge.rater.public_id, study.public_id])


def test_a_lead_prices_the_probes_and_starts_them_once(lead, judge, study):
    page = lead.get(address(judge, study))
    assert "Probe a judge" in text(page) and "the pair the other way round" not in text(page)
    priced = lead.post(address(judge, study), {**STARTED, "action": "preview"})
    assert "96 calls for 96 questions" in text(priced) and not JudgeRun.objects.exists()
    started = lead.post(address(judge, study), STARTED)
    again = lead.post(address(judge, study), STARTED)
    (run,) = JudgeRun.objects.all()
    assert started.url == again.url == reverse("judging:run", args=[run.public_id])
    assert "No result yet" in text(lead.get(reverse("judging:run_probes", args=[run.public_id])))
    assert "0 of 96 questions answered" in text(lead.get(started.url))


def test_what_cannot_be_probed_is_said_in_a_sentence_and_starts_nothing(lead, judge, study):
    wrong = lead.post(address(judge, study), {**STARTED, "groups": ["wording"], "wording_1": "@@ user\nnothing"})
    assert wrong.status_code == 422 and "lacks the placeholder" in text(wrong)
    none = lead.post(address(judge, study), {**STARTED, "groups": []})
    assert none.status_code == 422
    rule = create_rule_judge(workspace=study.workspace, method="shorter")
    assert "reads no text with a prompt" in text(lead.get(address(rule, study)))
    small = written(make_checklist_study(instructions=5, models=1, slug="small", workspace=study.workspace))
    few = lead.post(address(judge, small), STARTED)
    assert few.status_code == 422 and "at least 20 instructions" in text(few)
    assert not JudgeRun.objects.exists()


def test_strangers_see_neither_the_form_nor_the_result(client, judge, study):
    run, _chat = probed(ProbeRequest(judge, study, groups=(Group.AUTHOR,)), checklist_judge(honest))
    client.force_login(make_user("rater", study.workspace, username="nobody"))
    assert client.get(address(judge, study)).status_code in (403, 404)
    assert client.get(reverse("judging:run_probes", args=[run.public_id])).status_code in (403, 404)


def test_the_result_says_what_moves_the_judge_and_offers_its_table(lead, judge, study):
    run, _chat = probed(ProbeRequest(judge, study, groups=(Group.PADDING, Group.AUTHOR)), checklist_judge(longer))
    path = reverse("judging:run_probes", args=[run.public_id])
    page = text(lead.get(path))
    assert "2 changes that must not matter move the verdicts of probed checklist, above all “Padding, 25 % more" in page
    assert "by 25.0 points of 100" in page and "Create a variant" in page
    rows = lead.get(path, {"file": "effects.csv"}).content.decode("utf-8-sig").splitlines()
    assert len(rows) == 4 and rows[1].startswith("padding_25,25")
    assert r"\begin{tabular}" in lead.get(path, {"file": "effects.tex"}).content.decode()
    assert lead.get(path, {"file": "nothing.csv"}).status_code == 404
    judge_page = text(lead.get(reverse("judging:judge", args=[judge.rater.public_id])))
    assert "probe it there" in judge_page
    listed = text(lead.get(reverse("judging:runs")))
    assert "probes" in listed

    out = StringIO()
    call_command("probe_judge", show=run.public_id, json=True, stdout=out)
    report = json.loads(out.getvalue())
    assert [row["key"] for row in report["rows"]] == ["padding_25", "padding_50", "author"]
    for shape, part in (("csv", "padding_25,25"), ("latex", "tabular"), ("markdown", "move the verdicts")):
        out = StringIO()
        call_command("probe_judge", show=run.public_id, stdout=out, **{shape: True})
        assert part in out.getvalue()
    user = make_user("lead", study.workspace, username="api")
    _token, secret = issue_token(user=user, name="script", scopes=["read", "run"])
    head = {"headers": {"Authorization": f"Bearer {secret}"}}
    assert lead.get(f"/api/v1/runs/{run.public_id}/probes/", **head).json() == report
    page = reverse("judging:run_probes", args=[run.public_id])
    assert "effects.csv" in check_files(lead, f"/api/v1/runs/{run.public_id}/probes/", page)


def test_the_command_and_the_api_price_start_and_refuse(client, judge, study):
    out = StringIO()
    call_command("probe_judge", study.slug, judge="probed checklist", change="author", price=True, stdout=out)
    assert "72 questions, 0 answered from stored replies: at most 72 calls" in out.getvalue()
    with pytest.raises(CommandError, match="no probe of 'colour'"):
        call_command("probe_judge", study.slug, judge="probed checklist", change="colour")
    with pytest.raises(CommandError, match="no judge 'nobody'"):
        call_command("probe_judge", study.slug, judge="nobody")
    user = make_user("lead", study.workspace)
    _token, secret = issue_token(user=user, name="script", scopes=["read", "run"])
    head = {"headers": {"Authorization": f"Bearer {secret}"}, "content_type": "application/json"}
    path = f"/api/v1/judges/{judge.rater.public_id}/probes/"
    price = client.post(path, {"study": study.slug, "change": ["author"], "price_only": True}, **head)
    assert price.status_code == 200 and price.json()["most"]["calls"] == 72 and not JudgeRun.objects.exists()
    assert client.post(path, {"study": "nothing"}, **head).status_code == 400
    head["headers"]["Idempotency-Key"] = "once"
    wanted = {"study": study.slug, "change": ["author"], "budget_calls": 80}
    made, again = (client.post(path, wanted, **head) for _time in range(2))
    assert made.status_code == 201 and made.json()["budget_calls"] == 80
    assert again.status_code == 201 and again.json() == made.json()
    assert JudgeRun.objects.get().probes["arms"] == [
        {"key": "author", "growth": JudgeRun.objects.get().probes["arms"][0]["growth"]}
    ]
