"""Hostile calls over every address, role and method, and generated calls over the schema of the API.

    python tests/benchmarks/fuzz.py [--calls 14000] [--api-calls 7000] [--seed 1] [--keep]

Makes the demonstration with every row that a page needs, and beside it another workspace with people of each role. Every
person calls every address with every method: with the parts of rows that exist, with parts of other rows, and with
hostile ones; with hostile queries and bodies in the fields that the pages and views read. Each call is rolled back, so
all of them meet the same rows; --keep leaves them, so that each meets what the others did. A leak is a public id, a
text or a name of the demonstration in a response to a person of the other workspace or to nobody, or a model's name in
a response to a rater of the demonstration, that was not part of the call. Then Schemathesis draws valid and invalid
calls for every operation of the API's schema; undeclared are responses whose status the schema does not name.

A fresh database: a file of SQLite's, or one made on the PostgreSQL server that DATABASE_URL names, dropped after.
Ends with one line of JSON: calls, http_5xx, undeclared, leaks; what went wrong is on standard error. The exit status is
1 if anything did. The search for leaks is tried out on the pages of the demonstration's own lead, where it must find some.
"""

import argparse
import importlib
import json
import logging
import os
import re
import sys
import tempfile
import traceback
import types
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

from django.core.exceptions import FieldError

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
HOSTILE = (
    "",
    " ",
    "0",
    "-1",
    "1e309",
    "NaN",
    "inf",
    "9" * 40,
    "2147483648",
    "9223372036854775808",
    "²",
    "x" * 12_000,
    "\x00",
    "a\x00b",
    "\ud800",
    "\U0001f600" * 50,
    "\u202e",
    "%s%n{}{{}}",
    "'\"><script>alert(1)</script>",
    "'; DROP TABLE accounts_user; --",
    "../../../etc/passwd",
    "..%2f..%2fetc",
    "http://169.254.169.254/",
    "2026-13-45T99:99",
    "0001-01-01",
    "=1+1",
    "[]",
    "{}",
    "[[[[",
    '{"a": ' * 500,
    "null",
    "true",
    "on",
    "en-US;q=1",
)
OWNERS = [
    "workspace",
    *(f"{path}__workspace" for path in ("study", "benchmark", "rater", "endpoint")),
    *("instruction__benchmark__workspace", "task__study__workspace", "run__study__workspace"),
    "participant__study__workspace",
]
STUDIES = ("study", "task__study", "participant__study")
"""Paths to the study to which a row belongs."""
FIELDS = re.compile(r"(?:GET|POST|query_params|data)(?:\.get|\.getlist)?[\(\[]\"([a-z_0-9-]+)\"")
NAMED = re.compile(rb'name="([^"]{1,60})"')
shown: Counter[str] = Counter()


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def finding(kind: str, text: str) -> None:
    """Report a finding, each shape of it three times."""
    shape = f"{kind} {re.sub(r'[0-9]+', '#', text)[:90]}"
    shown[shape] += 1
    if shown[shape] <= 3:
        say(f"{kind}: {text}")


@contextmanager
def fresh_database(folder: str) -> Iterator[str]:
    """The address of an empty database, gone afterwards."""
    given = os.environ.get("DATABASE_URL", "")
    if not given.startswith("postgres"):
        yield f"sqlite:///{folder}/fuzz.sqlite3"
        return
    import psycopg

    name = f"plumbline_fuzz_{os.getpid()}"
    with psycopg.connect(given, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}")
    try:
        yield urlunsplit(urlsplit(given)._replace(path=f"/{name}"))
    finally:
        from django.db import connections

        connections.close_all()
        with psycopg.connect(given, autocommit=True) as server:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")


FREE_PARTS = ("verb", "moment", "page", "number", "name", "job_id", "kind")
NAMED_IN_PATHS = {
    "w": ("accounts.Workspace", "slug"),
    "studies": ("annotation.Study", "slug"),
    "benchmarks": ("generation.Benchmark", "slug"),
    "leaderboards": ("generation.Benchmark", "slug"),
    "alignments": ("judging.Alignment", "public_id"),
    "bonuses": ("annotation.BonusBatch", "public_id"),
    "browser-requests": ("annotation.BrowserRequest", "pk"),
    "checklists": ("annotation.Checklist", "public_id"),
    "proposals": ("annotation.ProposedCriterion", "pk"),
    "cohorts": ("annotation.Cohort", "pk"),
    "flags": ("annotation.Flag", "pk"),
    "raters": ("annotation.Rater", "public_id"),
    "tasks": ("annotation.Task", "public_id"),
    "deliveries": ("accounts.WebhookDelivery", "public_id"),
    "webhooks": ("accounts.Webhook", "public_id"),
    "drafted-checklists": ("generation.Instruction", "public_id"),
    "instructions": ("generation.Instruction", "public_id"),
    "endpoints": ("generation.Endpoint", "pk"),
    "models": ("generation.LanguageModel", "pk"),
    "generation": ("generation.GenerationRun", "public_id"),
    "imports": ("generation.Import", "pk"),
    "mappings": ("annotation.SavedMapping", "pk"),
    "fits": ("calibration.Fit", "public_id"),
    "judges": ("judging.Judge", "rater__public_id"),
    "monitors": ("judging.Watch", "public_id"),
    "runs": ("judging.JudgeRun", "public_id"),
    "trials": ("judging.PromptTrial", "public_id"),
    "verdicts": ("judging.PlannedItem", "pk"),
    "members": ("accounts.User", "public_id"),
    "invitations": ("accounts.Invitation", "public_id"),
}
"""Which rows a part of an address of the API names, by what stands before it."""
FILES_OF_PAGES = [
    *("page.json", "board.json", "items.csv", "tables.md", "table.tex", "pace.svg", "scores.svg", "scores.png"),
    *("scores.pdf", "judges.tex", "lengths.svg", "means.csv", "effects.md", "weights-1.csv", "overlap.pdf"),
]
"""What the addresses of figures and tables end in."""

NAMED_BY_PAGES = {
    "archives": "judging:study_archive",
    "benchmark-files": "judging:upload",
    "uploads": "annotation:table",
    "exports": "judging:made_file",
}
"""The same where the rows are files: the page whose address names one."""


class Rows:
    """The demonstration and the other workspace: the people who call, the values for parts, and the secrets."""

    def __init__(self, random: Random) -> None:
        from django.apps import apps
        from django.contrib.auth import get_user_model
        from django.core.management import call_command
        from django.test import Client

        from accounts.api.tokens import issue_token
        from accounts.models import ApiToken

        call_command("migrate", verbosity=0)
        sys.modules["tests"] = types.ModuleType("tests")  # installed packages bring a "tests" of their own
        sys.modules["tests"].__path__ = [str(ROOT / "tests")]
        self.addresses = importlib.import_module("tests.e2e.addresses")
        factories = importlib.import_module("tests.factories")
        self.addresses.make_every_row()
        users = get_user_model().objects
        lead = users.get(username="lead")
        self.home = lead.memberships.get().workspace
        self._make_what_has_no_page()
        away = factories.make_workspace("elsewhere")
        factories.make_checklist_study(slug="elsewhere-essays", workspace=away)
        people: dict[str, Any] = {"visitor": None}
        for role in ("owner", "lead", "analyst", "reviewer", "rater"):
            people[f"foreign {role}"] = factories.make_user(role, away)
            people[f"own {role}"] = factories.make_user(role, self.home)
        people["own rater"] = users.get(username="rater")
        self.clients = {}
        for name, user in people.items():
            self.clients[name] = Client(raise_request_exception=False)
            if user:
                self.clients[name].force_login(user)
        for name in ("own lead", "foreign lead", "own rater"):
            _token, secret = issue_token(user=people[name], name="fuzz", scopes=list(ApiToken.Scope.values))
            self.clients[f"{name} by token"] = Client(
                raise_request_exception=False, headers={"authorization": f"Bearer {secret}"}
            )
        self.pools: dict[str, list[str]] = {"pk": [str(n) for n in range(1, 12)]}
        ids = set()
        models: list[Any] = list(apps.get_models())
        for model in models:
            names = {field.name for field in model._meta.fields}
            for field in ("public_id", "slug"):
                if field in names:
                    values = [str(value) for value in model.objects.values_list(field, flat=True)[:40]]
                    self.pools.setdefault(field, []).extend(values)
                    if field == "public_id" and self._at_home(model) is not None:
                        ids |= set(self._at_home(model).values_list(field, flat=True))
        self.ids = ids
        from annotation.models import Rater
        from generation.models import Instruction, LanguageModel, Response

        texts = [
            *Response.objects.filter(instruction__benchmark__workspace=self.home).values_list("text", flat=True)[:60]
        ]
        texts += [
            (row.messages or [{"content": ""}])[0]["content"]
            for row in Instruction.objects.filter(benchmark__workspace=self.home)[:60]
        ]
        self.models = {name for name in LanguageModel.objects.values_list("name", flat=True) if len(name) > 7}
        judges = Rater.objects.filter(workspace=self.home, kind="judge").values_list("label", flat=True)
        self.secrets = [text[:60] for text in texts if text and len(text) > 40]
        self.blind = [*self.models, *judges]
        self.random = random

    def _make_what_has_no_page(self) -> None:
        """Add what the API has addresses of and pages have none: notes on tasks, requests of browsers, a saved mapping."""
        from django.utils import timezone

        from annotation.models import BrowserRequest, Flag, Participant, SavedMapping, Study

        held = {"file_columns": ["item", "text"], "columns": {"item": "instruction", "text": "prompt"}}
        SavedMapping.objects.create(workspace=self.home, name="tasks", kind="instructions", **held)
        for study in Study.objects.filter(raters__kind="person", tasks__isnull=False).distinct():
            rater, task = study.raters.filter(kind="person").first(), study.tasks.first()
            Flag.objects.create(task=task, rater=rater, kind="note", text="Unclear.")
            participant, _made = Participant.objects.get_or_create(study=study, rater=rater, defaults={"mark": "fuzz"})
            for number in ("1234", "5678"):
                BrowserRequest.objects.create(participant=participant, browser=number, number=number, at=timezone.now())

    def named_in(self, path: str) -> dict[str, list[str]]:
        """The values of the parts of an address of the API that name rows of the demonstration, as far as it has any.

        `slug_of` then has the study of each value that names a row of one.
        """
        from django.apps import apps

        found: dict[str, list[str]] = {}
        self.slug_of: dict[tuple[str, str], str] = {}
        if path.endswith("/files/{name}/"):
            found["name"] = FILES_OF_PAGES
        for before, part in re.findall(r"([\w-]+)/\{(\w+)\}", path):
            label, field = NAMED_IN_PATHS.get(before, ("", ""))
            if before in NAMED_BY_PAGES:
                found[part] = [str(self.addresses.parts_of(NAMED_BY_PAGES[before])["public_id"])]
            if not label:
                continue
            model = apps.get_model(label)
            rows = model.objects.filter(pk=self.home.pk) if model is type(self.home) else self._at_home(model)
            rows = model.objects.all() if rows is None else rows
            values = rows.values_list(field, flat=True)[:40]
            if values:
                found[part] = [str(value) for value in values]
            for study in STUDIES:
                with suppress(FieldError):
                    known = rows.values_list(field, f"{study}__slug")
                    self.slug_of |= {(part, str(value)): slug for value, slug in known[:1000]}
        return found

    def _at_home(self, model: Any) -> Any:
        """Query the rows of a model that belong to the demonstration's workspace, if a path of foreign keys says so."""
        for path in OWNERS:
            with suppress(FieldError):
                return model.objects.filter(**{path: self.home})
        return None

    def leaks(self, person: str, sent: str, body: bytes) -> list[str]:
        """List what of the demonstration a response tells a person who may not know it."""
        if person.startswith("own rater"):
            return [name for name in self.blind if name.encode() in body and name not in sent]
        if person.startswith("own "):
            return []
        known = {token.decode() for token in set(re.findall(rb"[A-Za-z0-9_-]{10,32}", body))} & self.ids
        told = [text for text in self.secrets if text.encode() in body]
        return [*(token for token in known if token not in sent), *told]


def routes() -> list[tuple[str, str, list[str]]]:
    """Every address of the program as (name, template of its path, names of its parts)."""
    from django.urls import URLPattern, get_resolver

    found = []

    def walk(patterns: list[Any], prefix: str, namespace: str) -> None:
        for entry in patterns:
            inner = f"{namespace}{getattr(entry, 'namespace', None) or ''}".rstrip(":")
            text = prefix + str(entry.pattern).replace("^", "").replace("\\Z", "").replace("$", "")
            if isinstance(entry, URLPattern):
                text = re.sub(r"\(\?P<(\w+)>[^)]*\)", r"<\1>", text)
                text = re.sub(r"<(?:\w+:)?(\w+)>", r"<\1>", text)
                found.append((f"{namespace}{entry.name}", "/" + text, re.findall(r"<(\w+)>", text)))
            else:
                walk(entry.url_patterns, text, f"{inner}:" if inner else "")

    walk(get_resolver().url_patterns, "", "")
    return found


def fields_read() -> list[str]:
    """The names of the fields that views read from queries and bodies."""
    sources = [
        path
        for app in ("accounts", "generation", "annotation", "calibration", "judging", "config", "core")
        for path in (ROOT / app).rglob("*.py")
    ]
    return sorted({name for path in sources for name in FIELDS.findall(path.read_text(encoding="utf-8"))})


class Calls:
    """Makes the calls and counts what went wrong."""

    def __init__(self, rows: Rows, random: Random, *, keep: bool) -> None:
        self.rows, self.random, self.keep = rows, random, keep
        self.made = self.failed = self.leaked = self.found_at_home = 0
        self.fields: dict[str, list[str]] = {}
        self.everywhere = fields_read()
        self.error = ""

    def path(self, name: str, template: str, parts: list[str], kind: str) -> str:
        with suppress(Exception):
            known = self.rows.addresses.parts_of(name) if kind == "own" else {}
        values = {}
        for part in parts:
            pool = self.rows.pools.get(part) or self.rows.pools["slug" if "slug" in part else "public_id"]
            drawn = self.random.choice(pool) if kind != "hostile" else self.random.choice(HOSTILE)
            values[part] = str((locals().get("known") or {}).get(part, drawn))
        text = template
        for part, value in values.items():
            text = text.replace(f"<{part}>", quote(value.encode("utf-8", "surrogatepass"), safe=""))
        return text

    def sent(self, template: str) -> dict[str, str]:
        known = self.fields.get(template, [])
        names = self.random.sample(known, min(len(known), 8)) + self.random.sample(self.everywhere, 3)
        return {name: self.value() for name in names}

    def value(self) -> str:
        if self.random.random() < 0.6:
            return self.random.choice(HOSTILE)
        return self.random.choice(self.random.choice(list(self.rows.pools.values())))

    def call(self, person: str, method: str, template: str, path: str) -> None:
        from django.db import transaction

        query = self.sent(template) if self.random.random() < 0.5 else {}
        address = path + ("?" + urlencode(query, errors="surrogatepass") if query else "")
        client = self.rows.clients[person]
        body: dict[str, Any] = {}
        if method in ("POST", "PUT", "PATCH"):
            fields = self.sent(template)
            shape = self.random.choice(("form", "form", "json", "raw"))
            text = urlencode(fields, errors="surrogatepass") if shape == "form" else json.dumps(fields)
            if shape == "raw":
                text = self.random.choice(HOSTILE)
            kind = "application/x-www-form-urlencoded" if shape == "form" else "application/json"
            body = {"data": text.encode("utf-8", "surrogatepass"), "content_type": kind}
        headers = {"HX-Request": "true"} if self.random.random() < 0.3 else {}
        self.error = ""
        cookies = client.cookies.output()
        with transaction.atomic():
            response: Any = client.generic(method, address, headers=headers, **body)
            content = b"".join(response.streaming_content) if response.streaming else response.content
            if not self.keep:
                transaction.set_rollback(True)
        if not self.keep and client.cookies.output() != cookies:
            client.cookies.load(cookies.replace("Set-Cookie: ", ""))
        self.made += 1
        # No worker lives beside the calls, which is what /health/ready/ tells by its 503.
        if response.status_code >= 500 and not path.startswith("/health/ready/"):
            self.failed += 1
            finding("5xx", f"{response.status_code} {person} {method} {address[:300]} {body}\n{self.error}")
        if person == "own lead":
            self.found_at_home += len(self.rows.leaks("visitor", "", content))
        if method == "GET" and response.status_code == 200 and template not in self.fields:
            self.fields[template] = sorted({name.decode() for name in NAMED.findall(content)})
        request = address + str(body)
        for secret in self.rows.leaks(person, request, content + str(response.headers).encode()):
            self.leaked += 1
            finding("leak", f"{person} {method} {address[:200]} -> {response.status_code}: {secret!r}")

    def remember(self, sender: object, request: object, **_: object) -> None:
        self.error = traceback.format_exc(limit=-4)

    def all(self, wanted: int) -> None:
        from django.core.signals import got_request_exception

        got_request_exception.connect(self.remember)
        every = routes()
        say(f"{len(every)} addresses, {len(self.rows.clients)} people, {len(METHODS)} methods")
        for name, template, parts in every:  # the forms' own fields, as those see them who may
            for person in ("own lead", "own rater"):
                self.call(person, "GET", template, self.path(name, template, parts, "own"))
        if self.found_at_home < 100:
            raise SystemExit("The search for leaks finds nothing even where everything may be seen: mend it first.")
        plan = [
            (person, method, route, kind)
            for route in every
            for person in self.rows.clients
            for method in METHODS
            for kind in (("own", "any", "hostile") if route[2] else ("own",))
        ]
        self.random.shuffle(plan)
        while len(plan) < wanted:
            plan += plan[: wanted - len(plan)]
        for number, (person, method, (name, template, parts), kind) in enumerate(plan[:wanted]):
            self.call(person, method, template, self.path(name, template, parts, kind))
            if number % 2000 == 1999:
                say(f"{self.made} calls, {self.failed} server errors, {self.leaked} leaks")


def over_the_schema(rows: Rows, calls: Calls, wanted: int, seed: int) -> tuple[int, int, int]:
    """Make calls that Schemathesis draws for each operation; return calls, server errors and undeclared responses."""
    import schemathesis
    from django.core.signals import request_finished, request_started
    from django.core.wsgi import get_wsgi_application
    from django.db import close_old_connections, transaction
    from hypothesis import HealthCheck, Phase, given, seed as seeded, settings
    from hypothesis.errors import Unsatisfiable
    from schemathesis.core.result import Ok
    from schemathesis.generation import GenerationMode
    from schemathesis.openapi.checks import UndefinedContentType, UndefinedStatusCode
    from schemathesis.specs.openapi.checks import content_type_conformance, status_code_conformance

    request_started.disconnect(close_old_connections)  # each call stands in a transaction that is rolled back
    request_finished.disconnect(close_old_connections)
    app = get_wsgi_application()
    bearer = rows.clients["own lead by token"].defaults["HTTP_AUTHORIZATION"]
    api = schemathesis.openapi.from_wsgi("/api/v1/schema/", app, headers={"Authorization": bearer})
    operations = [result.ok() for result in api.get_all_operations() if isinstance(result, Ok)]
    counts, random = Counter[str](), Random(seed)
    unnamed: set[str] = set()
    each = -(-wanted // (2 * len(operations)))
    quiet = settings(
        max_examples=each,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate,),
    )

    def call(case: Any, named: dict[str, list[str]], of_study: dict[tuple[str, str], str]) -> None:
        # Most calls are about rows that there are, so that what is drawn reaches beyond the search for them.
        real = random.random() < 0.8
        for part in case.path_parameters or {}:
            if part in named and (real or random.random() < 0.5):
                case.path_parameters[part] = random.choice(named[part])
            elif random.random() < 0.3:
                case.path_parameters[part] = random.choice(rows.pools.get(part) or rows.pools["public_id"])
        # A row of a study stands below its own study, else it would not be found.
        for part, value in (case.path_parameters or {}).items() if real else ():
            if (slug := of_study.get((part, value))) is not None:
                case.path_parameters["slug"] = slug
                break
        with transaction.atomic():
            response = case.call(headers={"Authorization": bearer})
            transaction.set_rollback(True)
        counts["calls"] += 1
        counts["found"] += response.status_code < 300
        told = f"{case.method} {case.formatted_path} {case.query} -> {response.status_code}: {response.content[:200]!r}"
        if response.status_code >= 500:
            counts["failed"] += 1
            finding("5xx", f"{told}\n{calls.error}")
        try:
            case.validate_response(response, checks=[status_code_conformance, content_type_conformance])
        except* (UndefinedStatusCode, UndefinedContentType):
            counts["undeclared"] += 1
            finding("undeclared", told)

    def about(named: dict[str, list[str]], of_study: dict[tuple[str, str], str]) -> Callable[[Any], None]:
        def drawn(case: Any) -> None:
            call(case, named, of_study)

        return drawn

    for operation in operations:
        named = rows.named_in(operation.path)
        of_study = rows.slug_of if "/studies/{slug}/" in operation.path else {}
        for part in {one.name for one in operation.path_parameters} - named.keys() - set(FREE_PARTS):
            unnamed.add(f"{operation.path}: {part}")
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            strategy = operation.as_strategy(generation_mode=mode)
            with suppress(Unsatisfiable):  # an operation without any invalid input has nothing to draw
                quiet(seeded(seed)(given(strategy)(about(named, of_study))))()
        say(f"{operation.method.upper()} {operation.path}: {counts['calls']} calls of the schema so far")
    say(f"{counts['found']} calls were answered with a status below 300")
    for one in sorted(unnamed):
        say(f"no row is named in {one}")
    return counts["calls"], counts["failed"], counts["undeclared"]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=14_000)
    parser.add_argument("--api-calls", type=int, default=7_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, fresh_database(folder) as database:
        os.environ.update(DATABASE_URL=database, PLUMBLINE_DATA_DIR=folder, DJANGO_SETTINGS_MODULE="config.settings")
        import django
        from django.test.utils import setup_test_environment

        django.setup()
        setup_test_environment()
        logging.disable(logging.CRITICAL)
        random = Random(options.seed)
        rows = Rows(random)
        calls = Calls(rows, random, keep=options.keep)
        calls.all(options.calls)
        made, failed, undeclared = over_the_schema(rows, calls, options.api_calls, options.seed)
    wrong = {"http_5xx": calls.failed + failed, "undeclared": undeclared, "leaks": calls.leaked}
    print(json.dumps({"calls": calls.made + made, **wrong}))
    sys.exit(any(wrong.values()))


if __name__ == "__main__":
    main()
