"""A study of each benchmark made over the API from its loaded files: what `make_study` makes in the terminal."""

import io

import pytest
from django.core.management import call_command
from django.urls import reverse

from accounts.api.tokens import issue_token
from accounts.models import ApiToken
from annotation.models import Study
from generation.models import Benchmark
from tests.factories import make_user
from tests.judging.documents.files_of_pages import WRITERS, write_files

pytestmark = pytest.mark.django_db

WANTED = {
    "hellobench": {"kind": "checklist", "experiment": "length-4k", "categories": ["heuristic_text_generation"]},
    "href": {"kind": "pair", "baselines": ["Llama-3.1-405B-Instruct-FP8"], "rubric": "preference_of_three"},
    "llmeval1": {"kind": "pair", "rubric": "preference_of_three"},
    "llmeval2": {"kind": "stars", "instructions": 2, "seed": 1},
    "wildbench": {"kind": "pair", "baselines": ["claude-3-haiku-20240307"], "rubric": "preference_of_five"},
    "longgenbench": {"kind": "check", "tags": ["short"]},
}
LOADED = {
    "hellobench": ["HelloBench"],
    "href": ["FOLDER"],
    "llmeval1": ["path/to/LLMEval-1"],
    "llmeval2": ["path/to/LLMEval-2"],
    "wildbench": ["path/to/WildBench", "--tasks", "path/to/test-00000-of-00001.parquet"],
    "longgenbench": ["LongGenBench"],
}


@pytest.mark.parametrize("slug", WRITERS)
def test_a_study_of_a_benchmark_is_made_over_the_api(slug, tmp_path, monkeypatch, settings, client):
    settings.DATA_DIR = tmp_path / "data"
    settings.DATA_DIR.mkdir()
    monkeypatch.chdir(tmp_path)
    write_files(WRITERS[slug], tmp_path)

    def said(*words):
        call_command(*words, stdout=(out := io.StringIO()), stderr=out)
        return out.getvalue()

    said("load_library")
    said("load_benchmark", slug, *LOADED[slug])
    if slug == "longgenbench":
        said("add_model", "writer", "--script", "script.json")
        said("generate", slug, "--model", "writer", "--tag", "short")
    workspace = Benchmark.objects.get(slug=slug).workspace
    user = make_user("lead", workspace)
    _token, secret = issue_token(user=user, name="s", scopes=ApiToken.Scope.values)
    answer = client.post(
        reverse("api:make_study", args=[workspace.slug]),
        {"benchmark": slug, "name": "Ours", "overlap": 2, "launch": True, **WANTED[slug]},
        "application/json",
        headers={"Authorization": f"Bearer {secret}"},
    )
    made = answer.json()
    assert (answer.status_code, made.get("status"), made.get("without_rubric")) == (201, "open", 0), made
    study = Study.objects.get(slug="ours")
    assert study.tasks.count() == made["planned_tasks"] > 0
    assert study.experiment == WANTED[slug].get("experiment", "main")
