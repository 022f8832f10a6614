"""All scores in one stream say what the pages of scores say, hold little at a time, and are as sealed."""

import io
import json

import pytest
from django.urls import reverse
from pyarrow.parquet import ParquetFile

from accounts.api.tokens import issue_token
from accounts.models import Event
from annotation.answers import all_scores
from annotation.models import Score
from tests.factories import make_answer, make_checklist_study, make_judge_rater, make_rater, make_user, make_workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    study = make_checklist_study(instructions=3, models=2)
    raters = [make_rater(study, label="ann"), make_rater(study, label="bob"), make_judge_rater(study.workspace)]
    for task in study.tasks.order_by("pk"):
        for rater in raters:
            make_answer(task, rater, {"item0": 1.0, "item1": 0.5, "item2": 0.0, "overall": 6})
    first = Score.objects.filter(criterion__key="overall").order_by("pk").first()
    Score.objects.create(assignment=first.assignment, criterion=first.criterion, revision=1, value=3)
    Score.objects.create(
        assignment=first.assignment,
        criterion=first.criterion,
        revision=2,
        value=2.5,
        reason="写得不好 😀",
        evidence=[{"response": "a", "start": 0, "end": 2}],
    )
    return study


@pytest.fixture
def lead(study):
    return make_user("lead", study.workspace, username="lena")


def head(user, *scopes):
    _token, secret = issue_token(user=user, name="s", scopes=scopes or ("ratings",))
    return {"headers": {"Authorization": f"Bearer {secret}"}}


def address(name, study):
    return reverse(f"api:{name}", args=[study.workspace.slug, study.slug])


def read(client, study, user, **asked):
    answer = client.get(address("all_scores", study), asked, **head(user))
    assert answer.status_code == 200, answer.content
    return b"".join(answer.streaming_content)


@pytest.mark.parametrize(
    "asked", [{}, {"criterion": "overall"}, {"rater_kind": "judge"}, {"every_revision": "true"}], ids=str
)
@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_the_stream_says_what_the_pages_say(client, study, lead, monkeypatch, form, asked):
    monkeypatch.setattr(all_scores, "BATCH", 5)
    monkeypatch.setattr(all_scores, "ROW_GROUP", 10)
    pages = client.get(address("scores", study), {**asked, "size": 1000}, **head(lead)).json()["results"]
    content = read(client, study, lead, **asked, **{"as": form})
    if form == "jsonl":
        rows = [json.loads(line) for line in content.decode().splitlines()]
    else:
        rows = ParquetFile(io.BytesIO(content)).read().to_pylist()
        for row in rows:
            row["evidence"] = row["evidence"] and json.loads(row["evidence"])
    assert len(rows) == len(pages) > 0

    def known(row):
        return json.dumps({**row, "submitted_at": bool(row["submitted_at"])}, sort_keys=True)

    assert sorted(map(known, rows)) == sorted(map(known, pages))


def test_it_is_read_in_batches(client, study, lead, monkeypatch, django_assert_num_queries):
    monkeypatch.setattr(all_scores, "BATCH", 6)
    batches = all_scores.score_rows(study, all_scores.WantedScores())
    with django_assert_num_queries(4):  # keys, answers, scores, criteria
        assert len(next(batches)) == 6 * 4
    with django_assert_num_queries(2):
        assert len(next(batches)) == 6 * 4


def test_a_study_without_scores_is_an_empty_table(client, lead):
    empty = make_checklist_study(instructions=1, models=1, slug="empty")
    assert read(client, empty, lead) == b""
    table = ParquetFile(io.BytesIO(read(client, empty, lead, **{"as": "parquet"})))
    assert table.metadata.num_rows == 0 and table.schema_arrow.names == list(all_scores.COLUMNS)


def test_only_who_may_read_ratings_reads_them_and_it_is_noted(client, study, lead):
    other = make_user("owner", make_workspace("other"), username="otto")
    path = address("all_scores", study)
    assert client.get(path).status_code == 401
    assert client.get(path, **head(lead, "read", "change", "run")).status_code == 403
    assert client.get(path, **head(other)).status_code == 404
    assert not Event.objects.filter(verb="export_answers").exists()
    read(client, study, lead)
    assert Event.objects.get(verb="export_answers").actor == lead


@pytest.mark.parametrize("asked", [{"as": "xml"}, {"rater_kind": "cat"}], ids=str)
def test_what_does_not_exist_is_said(client, study, lead, asked):
    answer = client.get(address("all_scores", study), asked, **head(lead))
    assert answer.status_code == 400 and "must be one of" in answer.json()["detail"]
