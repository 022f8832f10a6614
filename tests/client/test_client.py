"""The client against a server that runs: what is made is read again, and what the server asks for is done."""

import subprocess
import sys

import pyarrow.parquet
import pytest

from accounts.models import Workspace
from generation.models import Endpoint, LanguageModel
from plumbline.client import Plumbline, PlumblineError

pytestmark = pytest.mark.django_db(transaction=True)
TEA = [{"instruction": f"e{n}", "prompt": f"Write {n} words on tea.", "category": "essay"} for n in range(1, 7)]


def ratings(study_items=6):
    for number in range(1, study_items + 1):
        for model, good in (("model-a", 1), ("model-b", 3)):
            for rater, shift in (("ann", 0), ("bob", 1)):
                level = min(5, good + (number + shift) % 3)
                marks = {"clear": level, "true": min(5, level + number % 2), "overall": level}
                yield {
                    "item": f"e{number}-{model}",
                    "instruction": f"e{number}",
                    "model": model,
                    "rater": rater,
                    "criteria": marks,
                }


@pytest.fixture
def rated(server):
    """A study with 72 scores."""
    lab = server.workspace("lab")
    lab.add("ratings", list(ratings()), into="tea", options={"scale": "*=1:5", "overall": "overall"})
    return lab.study("tea")


def test_scores_are_the_same_row_by_row_page_by_page_and_as_a_table(server, rated):
    scores = server.study("tea").scores()
    rows = list(scores)
    paged = list(server.operations.scores("lab", "tea"))
    table = scores.to_pandas()
    assert len(rows) == 72 and rows == paged
    assert table["value"].tolist() == [row["value"] for row in rows]
    assert set(table["criterion"]) == {"clear", "true", "overall"}
    of_one = server.study("tea", "lab").scores(criterion="clear")
    assert {row["criterion"] for row in of_one} == {"clear"} and len(list(of_one)) == 24


def test_lists_longer_than_a_page_are_read_whole(server, rated, monkeypatch):
    monkeypatch.setattr("plumbline.client.transport.ROWS_PER_PAGE", 7)
    assert len(list(server.operations.scores("lab", "tea"))) == 72


def test_scores_are_saved_in_either_form(server, rated, tmp_path):
    scores = server.study("tea").scores()
    assert pyarrow.parquet.read_table(scores.save(tmp_path / "a.parquet")).num_rows == 72
    assert len(scores.save(tmp_path / "a.jsonl").read_text().splitlines()) == 72
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "a.parquet"]


def test_figures_are_saved_and_those_that_a_worker_computes_are_waited_for(server, rated, tmp_path, monkeypatch):
    listed = server.operations.result_page_files("lab", "tea", "agreement")["files"]
    name = next(one["name"] for one in listed if one["type"] == "image/svg+xml")
    saved = server.operations.result_page_file("lab", "tea", "agreement", name).save(tmp_path / name)
    assert saved.read_bytes().startswith(b"<svg")
    monkeypatch.setattr("calibration.reports.freshness.scores_of", lambda _study: 10**6)
    with monkeypatch.context() as hurried:
        hurried.setattr(server.operations._transport, "patience", 0.0)
        with pytest.raises(PlumblineError, match="being computed") as late:
            server.operations.result_page_file("lab", "tea", "rankings", "page.json")
        assert late.value.status == 202
    waits = []

    def slept(seconds):
        waits.append(seconds)
        monkeypatch.setattr("calibration.reports.freshness.scores_of", lambda _study: 1)

    monkeypatch.setattr("plumbline.client.transport.time.sleep", slept)
    file = server.operations.result_page_file("lab", "tea", "rankings", "page.json")
    assert b'"answer"' in b"".join(file) and waits == [5.0]


def test_errors_are_the_servers_sentences(server, rated):
    with pytest.raises(PlumblineError, match="Your workspaces have no study 'coffee'") as none:
        server.study("coffee")
    assert none.value.status == 404
    with pytest.raises(PlumblineError) as missing:
        server.study("coffee", "lab").state()
    assert missing.value.status == 404 and "coffee" in missing.value.sentence
    lab = server.workspace("lab")
    with pytest.raises(PlumblineError, match="row 2: ") as refused:
        lab.add("instructions", [TEA[0], {"prompt": "x"}], into="refused")
    assert refused.value.status == 400 and [one["row"] for one in refused.value.row_errors] == [2]
    assert "refused" not in {one["slug"] for one in server.operations.benchmarks()}
    stored = lab.add("instructions", [TEA[0], {"prompt": "x"}], into="skipping", on_error="skip")
    assert stored["counts"]["created"] == 1 and [one["row"] for one in stored["row_errors"]] == [2]
    assert sum(lab.undo(stored["imported"]).values()) > 0
    assert "skipping" not in {one["slug"] for one in server.operations.benchmarks()}


def test_a_token_without_a_scope_is_told_which(live, rated):
    with live.client(["read"]) as server:
        assert server.study("tea").state()["slug"] == "tea"
        with pytest.raises(PlumblineError, match="lacks the scope ratings") as refused:
            list(server.study("tea").scores())
    assert refused.value.status == 403


def test_a_wrong_token_and_a_wrong_address_are_said(live):
    with pytest.raises(PlumblineError) as refused:
        Plumbline(live.url, "plumbline_wrong").study("tea")
    assert refused.value.status == 401 and "secret" not in repr(Plumbline(live.url, "secret"))
    with pytest.raises(PlumblineError, match=r"No answer came from http://127\.0\.0\.1:1/api/v1/"):
        Plumbline("http://127.0.0.1:1", "x", patience=0).study("tea")
    with pytest.raises(PlumblineError, match="begins with http"):
        Plumbline("plumbline.example.org", "x")


def test_settings_are_changed_only_if_nobody_else_has(server, rated):
    study = server.study("tea")
    before = study.settings()
    assert study.settings() == before  # answered with 304 and read from memory
    study.change_settings(name_en="Tea", unchanged=True)
    with pytest.raises(PlumblineError) as changed:
        study.change_settings(name_en="Coffee", unchanged=True)
    assert changed.value.status == 412 and study.settings()["name_en"] == "Tea"


def test_a_run_is_priced_before_it_is_started(server, rated):
    lab = Workspace.objects.get(slug="lab")
    endpoint = Endpoint.objects.create(workspace=lab, name="script", kind="scripted")
    LanguageModel.objects.create(workspace=lab, name="scripted", endpoint=endpoint)
    run = {"model": "scripted", "method": "overall", "limit": 3, "canaries": False}
    price = server.study("tea").price_run(**run)
    assert (price["tasks"], price["unpriced"]) == (3, [])
    with pytest.raises(PlumblineError, match="no rubric"):
        server.benchmark("tea").price_run(**run)
    assert not list(server.operations.runs())
    assert server.study("tea").start_run(**run).state()["kind"] == "run"
    assert len(list(server.operations.runs())) == 1


def test_what_has_not_changed_is_not_sent_again(server, rated, monkeypatch):
    statuses = []
    send = server._transport._session.request

    def noted(*arguments, **options):
        answer = send(*arguments, **options)
        statuses.append(answer.status_code)
        return answer

    monkeypatch.setattr(server._transport._session, "request", noted)
    assert server.study("tea", "lab").state() == server.study("tea", "lab").state()
    assert statuses == [200, 304]


def test_a_request_that_broke_off_is_carried_out_once(server, monkeypatch):
    """The answer to the first sending is lost on the way; the second one has the same key."""
    send, sent = server._transport._session.request, []

    def lost(method, url, **options):
        answer = send(method, url, **options)
        sent.append((options["headers"].get("Idempotency-Key"), answer.headers.get("Idempotent-Replayed")))
        if len(sent) == 1:
            raise ConnectionLost
        return answer

    import requests

    class ConnectionLost(requests.ConnectionError):
        pass

    monkeypatch.setattr(server._transport._session, "request", lost)
    stored = server.workspace("lab").add("instructions", TEA[:2], into="once")
    assert stored["counts"]["created"] == 2
    (first, _), (second, replayed) = sent
    assert first == second and replayed == "true"


def test_it_waits_as_long_as_the_server_says(live, settings):
    settings.API_RATE = 2
    waits = []
    with live.client(patience=0) as server:
        list(server.operations.models())
        list(server.operations.judges())
        with pytest.raises(PlumblineError) as refused:
            list(server.operations.runs())
    assert refused.value.status == 429
    with live.client(patience=90) as server:

        def rest(seconds):
            waits.append(seconds)
            settings.API_RATE = 600

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("plumbline.client.transport.time.sleep", rest)
            assert [list(server.operations.models()) for _ in range(3)] == [[], [], []]
    assert len(waits) == 1 and 0 < waits[0] <= 60


def test_it_needs_neither_django_nor_settings():
    script = (
        "import sys; sys.modules['django'] = None; from plumbline.client import Plumbline; "
        "assert not {'config', 'core', 'annotation'} & set(sys.modules); print(Plumbline('http://127.0.0.1:1', 'x'))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.strip() == "Plumbline('http://127.0.0.1:1')", done.stderr
