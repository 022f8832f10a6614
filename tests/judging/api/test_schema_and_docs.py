"""The schema against what is served, its examples against itself, and the examples of docs/api.md against the server."""

import json
import re
from pathlib import Path

import pytest
import schemathesis
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django.utils import timezone
from jsonschema_rs import Draft4Validator
from schemathesis.core.failures import Failure
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from accounts.api.tokens import issue_token
from accounts.models import ApiToken
from annotation.models import Checklist, Cohort
from calibration.fits.store import run_fit
from generation.models import Endpoint, Import, Instruction, LanguageModel
from judging.archive.made_files import ask_for
from judging.judges.making import create_judge, stock_prompt
from judging.models import Watch
from judging.trials.records import begin_trial, draft_judge
from tests.factories import make_answer, make_checklist_study, make_rater, make_user, plan_run

pytestmark = pytest.mark.django_db
CHECKS = [status_code_conformance, content_type_conformance, response_schema_conformance]
DOCS = Path(__file__).resolve().parents[3] / "docs" / "api.md"


@pytest.fixture(autouse=True)
def folder(settings, tmp_path):
    settings.DATA_DIR = tmp_path


@pytest.fixture
def study():
    study = make_checklist_study(instructions=4, models=2)
    for shift, label in enumerate(("ann", "bob")):
        rater = make_rater(study, label=label, pseudonym=f"rater {shift}")
        for number, task in enumerate(study.tasks.order_by("pk")):
            level = (number + shift) % 5 / 4
            values = {"item0": level, "item1": 1 - level, "item2": 0.5, "overall": (number + shift) % 11}
            make_answer(task, rater, values)
    return study


@pytest.fixture
def token(study):
    lead = make_user("owner", study.workspace, username="lena")
    return f"Bearer {issue_token(user=lead, name='s', scopes=ApiToken.Scope.values)[1]}"


@pytest.fixture
def operations(study, token):
    """The operations of the schema, called in this process and within the test's transaction."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    api = schemathesis.openapi.from_wsgi("/api/v1/schema/", WSGIHandler(), headers={"Authorization": token})
    yield [found.ok() for found in api.get_all_operations() if isinstance(found, Ok)]
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


def test_what_is_served_is_what_the_schema_says(study, token, operations):
    """Every address that is read, with rows to show in each, and for things that do not exist."""
    endpoint = Endpoint.objects.create(workspace=study.workspace, name="script", kind="scripted")
    model = LanguageModel.objects.create(workspace=study.workspace, name="scripted", endpoint=endpoint)
    run = plan_run(judge=create_judge(model=model), study=study)
    fit = run_fit(study=study, draws=0, skip_small=True)
    Import.objects.create(workspace=study.workspace, command="load_table", file="a.csv", about="a")
    cohort = Cohort.objects.create(study=study, name="crowd", kind="crowd", codes={"pass": "ABC"})
    monitor = Watch.objects.create(
        study=study, judge=run.judge, tasks=list(study.tasks.values_list("pk", flat=True)), next_at=timezone.now()
    )
    judge = draft_judge(model, "checklist", stock_prompt("checklist"), {})
    trial = begin_trial(judge, study.tasks.all()[:1], source="study:1", number=1, clock=timezone.now)
    ask_for(study, make_user(username="asker"), "csv")
    by_path = {"/benchmarks/": study.benchmark.slug, "/leaderboards/": study.benchmark.slug}
    checklist = Checklist.objects.create(workspace=study.workspace, names={"en": "Essays"})
    owners = {
        "/checklists/": checklist.public_id,
        "/fits/": fit.public_id,
        "/monitors/": monitor.public_id,
        "/trials/": trial.public_id,
    }
    seen, wrong = set(), []
    for operation in operations:
        if operation.method != "get":
            continue
        slug = next((known for part, known in by_path.items() if part in operation.path), study.slug)
        known = {
            "workspace": study.workspace.slug,
            "slug": slug,
            "id": cohort.pk,
            "pk": cohort.pk,
            "task": study.tasks.first().public_id,
            "job_id": f"run-{run.public_id}",
            "number": "2",
            "item": run.items.first().pk,
            "name": "report.json" if re.search("(runs|generation)/{public_id}/files/", operation.path) else "page.json",
            "page": "agreement",
            "moment": "before",
            "instruction": study.benchmark.instructions.first().public_id,
            "public_id": next((own for part, own in owners.items() if part in operation.path), run.public_id),
        }
        for parts in (known, {**dict.fromkeys(known, "nothing"), "id": 10**9, "pk": 10**9, "item": 10**9}):
            named = {one.name for one in operation.path_parameters}
            case = operation.Case(path_parameters={name: parts[name] for name in named})
            response = case.call(headers={"Authorization": token})
            seen.add(response.status_code)
            try:
                case.validate_response(response, checks=CHECKS)
            except* Failure as group:
                wrong += [f"{operation.path}: {one}" for one in group.exceptions]
            if not named:
                break
    assert not wrong, "\n".join(wrong)
    assert {200, 404} <= seen and not any(status >= 500 for status in seen)


def test_examples_are_what_the_schema_says(operations):
    checked = 0
    for operation in operations:
        raw = operation.definition.resolved if hasattr(operation.definition, "resolved") else operation.definition.raw
        sent = (raw.get("requestBody") or {}).get("content", {}).get("application/json", {})
        for example in sent.get("examples", {}).values():
            schema = sent["schema"]
            if "$ref" in schema:
                whole = operation.schema.raw_schema
                schema = {**schema, "components": whole["components"]}
            errors = [str(one) for one in Draft4Validator(schema).iter_errors(example["value"])]
            assert not errors, (operation.path, errors)
            checked += 1
    assert checked >= 18


def test_the_examples_of_the_documentation_are_carried_out(client, token, settings):
    """Each indented request of docs/api.md that has a body is sent as it stands."""
    settings.ALLOWED_HOSTS = ["*"]
    requests = re.findall(r"^    POST (/api/v1/\S+)\n    (\{.*\})$", DOCS.read_text(), re.MULTILINE)
    assert requests
    for path, body in requests:
        answer = client.post(path, json.loads(body), "application/json", headers={"Authorization": token})
        assert answer.status_code == 201, answer.content
    assert Instruction.objects.filter(benchmark__slug="essays", external_id="e1").exists()


SHORT = {
    "STUDY/": "w/WORKSPACE/studies/SLUG/",
    "BENCHMARK/": "w/WORKSPACE/benchmarks/SLUG/",
    "BOARD/": "w/WORKSPACE/leaderboards/SLUG/",
}
METHOD = re.compile(r"(GET|POST|PUT|PATCH|DELETE)\b ?")
PLACEHOLDER = re.compile(r"\b[A-Z]{2}[A-Za-z-]*\b")


def documented():
    """Yield (address, scopes) of every row of the tables of docs/api.md, with * for the parts that are filled in.

    What stands in place of the end of the address before it is joined to each of its beginnings.
    """
    for line in DOCS.read_text().splitlines():
        if not line.startswith("| `") or len(line.split(" | ")) < 3:
            continue
        cell, scopes = line.split(" | ")[:2]
        before: list[str] = []
        for span in re.findall(r"`([^`]+)`", cell):
            path = METHOD.sub("", span).partition("?")[0]
            for short, whole in SHORT.items():
                path = path.replace(short, whole)
            parts = PLACEHOLDER.sub("*", path.removeprefix("…/")).strip("/").split("/")
            for end in range(len(before) + 1):
                yield "/".join([*before[:end], *parts]), scopes
            if not path.startswith("…/") and "/" in path.strip("/"):
                before = parts


def test_every_address_is_in_the_documentation_with_its_scope(operations):
    named: dict[str, str] = {}
    for address, scopes in documented():
        named[address] = named.get(address, "") + scopes
    kinds = re.search(r"\| KIND \| into.*?\n\n", DOCS.read_text(), re.DOTALL)
    assert kinds is not None
    named |= {f"w/*/{kind}": "`change`" for kind in re.findall(r"^\| `(\w+)`", kinds[0], re.MULTILINE)}
    missing = []
    for operation in operations:
        raw = operation.definition.raw
        path = operation.path.removeprefix("/api/v1/").strip("/")
        verbs = next((one["schema"]["enum"] for one in raw.get("parameters", []) if one["name"] == "verb"), [""])
        for verb in verbs:
            address = re.sub(r"\{\w+\}", "*", path.replace("{verb}", verb))
            scope = raw.get("x-scope-by-verb", {}).get(verb, raw["x-scope"])
            if f"`{scope}`" not in named.get(address, ""):
                missing.append(f"{operation.method} {address}: {scope}, not {named.get(address, 'named')}")
    assert not missing, "\n".join(missing)
