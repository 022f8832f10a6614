"""Every address, file and command that tells of a study's results, fetched as a reader would follow them."""

import csv
import html
import io
import json
import re
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from annotation.models import Assignment, Rater, Study
from tests.factories import make_user

FILES = re.compile(r'href="([^"]*[?&](?:amp;)?file=[^"]+)"')
RESULTS = (
    "calibration:weights",
    "calibration:weights_depth",
    "calibration:planner",
    "calibration:raters",
    "calibration:rankings",
    "calibration:agreement",
    "calibration:agreement_detail",
    "calibration:summary",
    "calibration:plan_fragment",
    "calibration:desk_figures",
    "judging:judges",
    "judging:judges_depth",
    "judging:judges_methods",
    "judging:judges_metrics",
    "judging:export",
    "judging:start_run",
    "annotation:desk",
    "annotation:live_progress",
    "annotation:live_raters",
    "annotation:disagreements",
    "annotation:attention",
    "annotation:known_answers",
)
"""Pages of one study; those of calibration and judging say in a sentence why there is nothing where there is nothing."""
COMPUTED = re.compile(r' "(computed_at|answers_since)": [^\n]*\n')
"""When the numbers of a page were computed, which no two visits have in common."""
SAME_FILES = re.compile(r"rising=|measure=|/leaderboards/[^/?]+/$")
"""Views of a leaderboard whose files another view offers as well."""
STATE = ("state", "beside", "reviews", "study", "shape", "choices")
VOLATILE = (
    (re.compile(r'<input[^>]*csrfmiddlewaretoken[^>]*>|nonce="[^"]*"|data-since="[^"]*"'), ""),
    (re.compile(r"<select.*?</select>", re.DOTALL), ""),
    (re.compile(r"\b\d\d:\d\d(:\d\d)?\b"), "(time)"),
)


def reader_of(study: Study) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(make_user("lead", study.workspace))
    return client


def addresses_of(study: Study, judges: list[Rater]) -> list[str]:
    """Result pages of the study and of its benchmark, as every judge has them, and what programs read."""
    found = [reverse(name, args=[study]) for name in RESULTS]
    found += [f"{reverse('calibration:rankings', args=[study])}?by={one.public_id}" for one in judges]
    board = reverse("judging:leaderboard", args=[study.benchmark])
    pair = reverse("judging:compare_models", args=[study.benchmark])
    found += [reverse("judging:leaderboards"), board]
    for one in judges:
        asked = f"?judge={one.public_id}&weights=equal"
        found += [board + asked, f"{board}{asked}&measure=wins", f"{board}{asked}&rising=1", pair + asked]
        found.append(f"{reverse('api:board', args=[study.workspace.slug, study.benchmark.slug])}?judge={one.label}")
    own = [study.workspace.slug, study.slug]
    found += [reverse("api:study", args=own), reverse("api:scores", args=own), reverse("api:fits")]
    found += [f"{reverse('annotation:task', args=[study, task.public_id])}" for task in study.tasks.all()[:2]]
    people = study.raters.filter(kind=Rater.Kind.PERSON)[:2]
    pages = ("annotation:rater", "calibration:rater_figures")
    return found + [reverse(page, args=[study, one.public_id]) for page in pages for one in people]


def item_addresses(client: Client, study: Study, judges: list[Rater]) -> list[str]:
    """Two models item by item, where a judge has two models with an instruction in common."""
    found = []
    for judge in judges:
        asked = {"judge": judge.public_id, "weights": "equal"}
        page = client.get(reverse("judging:compare_models", args=[study.benchmark]), asked)
        links = re.findall(r'href="([^"]*/compare/item/[^"]*)"', page.content.decode())
        found += [html.unescape(link) for link in links[:1]]
    return found


def metric_messages(page: str) -> str:
    """The words that a reader sees, a figure's included, without what changes from one look to the next."""
    main = re.search(r"<main.*?</main>", page, re.DOTALL)
    text = main[0] if main else page
    for pattern, instead in VOLATILE:
        text = pattern.sub(instead, text)
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", text))).strip()


def files_on(address: str, page: str) -> list[str]:
    """Addresses of the tables and figures that the page offers; figures as SVG, which is drawn quickest."""
    links = [html.unescape(link) for link in FILES.findall(page) if ".png" not in link and ".pdf" not in link]
    plain = address.split("?")[0]
    return [link if link.startswith("/") else plain + link for link in dict.fromkeys(links)]


def walk(
    study: Study, judges: list[Rater], *, client: Client | None = None, figures: bool = True
) -> dict[str, tuple[int, str]]:
    """By address or command: the status (of commands 0, or 1 where it refused) and what was said.

    Figures, most of the time of a walk, are drawn from the numbers of the tables beneath them.
    """
    client = client or reader_of(study)
    found: dict[str, tuple[int, str]] = {}
    for address in [*addresses_of(study, judges), *item_addresses(client, study, judges)]:
        answer = client.get(address)
        content = answer.content.decode() if not answer.streaming else ""
        is_page = "text/html" in answer["Content-Type"]
        found[address] = answer.status_code, metric_messages(content) if is_page else content
        if is_page and answer.status_code == 200 and not SAME_FILES.search(address):
            for file in files_on(address, content):
                if not figures and file.endswith(".svg"):
                    continue
                taken = client.get(file)
                found[file] = taken.status_code, COMPUTED.sub("", taken.content.decode(errors="replace"))
    own = [study.workspace.slug, study.slug]
    for address in (reverse("judging:export_file", args=[study]), reverse("api:export", args=own)):
        answer = client.get(address)
        assert b"".join(answer)  # read to its end, so that the client closes it and the database stays connected
        found[address] = answer.status_code, ""
    return found | commands(study, judges) | reports_of(client, study)


def reports_of(client: Client, study: Study) -> dict[str, tuple[int, str]]:
    """What the pages computed, as programs read it; asked for after the pages, which compute it."""
    answer = client.get(reverse("api:reports", args=[study.workspace.slug, study.slug]))
    assert answer.status_code == 200
    return _by_settings("report", json.loads(answer.content))


def _by_settings(name: str, reports: list[dict[str, Any]]) -> dict[str, tuple[int, str]]:
    """Each report under what was asked for, without the state of the rows that it was computed from."""
    found = {}
    for one in reports:
        asked = {key: value for key, value in one["settings"].items() if key not in STATE}
        key = f"{name}: {one['kind']} {json.dumps(asked, sort_keys=True)}"
        found[key] = 0, json.dumps(one["result"], sort_keys=True)
    return found


def commands(study: Study, judges: list[Rater]) -> dict[str, tuple[int, str]]:
    """The commands' output; a refusal is a sentence, and anything else that is raised goes up to the test."""
    found = {
        "report_agreement": said_by("report_agreement", study.slug),
        "fit_weights": said_by("fit_weights", study.slug),
    }
    for judge in judges:
        name = judge.label
        found[f"leaderboard {name}"] = said_by("leaderboard", study.benchmark.slug, judge=name, json=True, details=True)
        found[f"board {name}"] = said_by("leaderboard", study.benchmark.slug, judge=name)
        found[f"compare_judge {name}"] = said_by("compare_judge", study.slug, judge=name)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "study.zip"
        found["export"] = said_by("export", study.slug, to=path)
        if path.exists():
            with zipfile.ZipFile(path) as archive:
                lines = archive.read("reports.jsonl").splitlines()
                found |= _by_settings("exported report", [json.loads(line) for line in lines])
                found["export: scores.csv"] = 0, archive.read("tables/scores.csv").decode()
    return found


def said_by(command: str, *args: str, **options: object) -> tuple[int, str]:
    out = io.StringIO()
    try:
        call_command(command, *args, stdout=out, stderr=io.StringIO(), **options)
    except CommandError as error:
        return 1, str(error)
    return 0, out.getvalue()


def rows_of(file: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(file.lstrip("\ufeff"))))


def judges_of(study: Study) -> list[Rater]:
    """Judges with an answer, or an attempt at one, on the study's benchmark, by name."""
    own = Assignment.objects.filter(task__response_a__instruction__benchmark=study.benchmark_id)
    return list(Rater.objects.filter(kind="judge", pk__in=own.values("rater")).order_by("label"))
