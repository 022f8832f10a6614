"""From an empty database to fitted weights, a judged leaderboard and its CSV, by clicks and files alone.

A server and its workers run as `serve` runs them, on a database file of their own. A click is a pointer press, a chosen
file or a submitted form; typing is not counted. Raters' answers come from a file, and the scripted provider judges.
"""

import csv
import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from random import Random

import pytest
from django.conf import settings
from django.utils import timezone

from annotation.answers.recording import Answer, record_answer
from annotation.models import Assignment, Standing
from annotation.studies.making import launch_at_once
from tests.annotation.raters_at_work import answers_to
from tests.e2e.rating_pages import SIZES, wait_until
from tests.e2e.test_making_studies import sign_in
from tests.factories import make_checklist_study, make_user

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
MOST_CLICKS, MOST_PAGES = 40, 12
INSTRUCTIONS, MODELS, RATERS = 12, ("amber", "birch", "cedar"), ("ann", "ben", "cem")
WAIT = 120_000
"""Milliseconds that a worker of a busy machine may take for one step."""


class Installation:
    """A web server and a worker for each queue, on an empty database, as one command starts them."""

    def __init__(self, folder):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        environment = {
            **os.environ,
            "DATABASE_URL": f"sqlite:///{folder / 'empty.sqlite3'}",
            "PLUMBLINE_DATA_DIR": str(folder),
        }
        manage = [sys.executable, str(settings.BASE_DIR / "manage.py")]
        subprocess.run([*manage, "migrate", "--verbosity", "0"], env=environment, check=True)
        self.log = (folder / "serve.log").open("wb")
        self.process = subprocess.Popen(
            [*manage, "serve", "--port", str(port)],
            env=environment,
            stdout=self.log,
            stderr=self.log,
            start_new_session=True,
        )

    def answers(self):
        assert self.process.poll() is None, "the server has ended"
        try:
            with urllib.request.urlopen(f"{self.url}/health/", timeout=5):
                return True
        except urllib.error.HTTPError:
            return True
        except OSError:
            return False

    def stop(self):
        os.killpg(self.process.pid, signal.SIGTERM)
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.log.close()


class Lead:
    """A lead at a browser, whose presses, chosen files and pages are counted."""

    def __init__(self, page):
        self.page, self.clicks, self.done, self.pages = page, 0, [], []
        page.set_default_timeout(WAIT)
        page.on("framenavigated", self._arrived)

    def _arrived(self, frame):
        path = re.sub(r"https?://[^/]+|[?#].*", "", frame.url)
        path = re.sub("/[A-Za-z0-9_-]{16}/", "/ID/", path)
        if frame == self.page.main_frame and path.startswith("/") and path not in self.pages:
            self.pages.append(path)

    def _counted(self, what):
        self.clicks += 1
        self.done.append(what)

    def press(self, name, role="button", within="main"):
        self._counted(name)
        pattern = name if isinstance(name, re.Pattern) else re.compile(f"^{re.escape(name)}$")
        self.page.locator(within).get_by_role(role, name=pattern).first.click()
        self.page.wait_for_load_state()

    def unfold(self, heading):
        self._counted(f"unfold {heading}")
        self.page.locator("main summary", has_text=heading).click()

    def follow(self, name, within="main"):
        self.press(name, "link", within)

    def choose(self, label, value=None, index=None):
        """Choose from a menu: a press that opens it, and one that chooses."""
        self._counted(f"open {label}")
        self._counted(f"choose {label}")
        self.page.get_by_label(label, exact=True).select_option(value, index=index)

    def tick(self, label):
        self._counted(f"tick {label}")
        self.page.get_by_label(label, exact=True).check()

    def give(self, file, content):
        self._counted(f"file {file}")
        self.page.set_input_files(
            "main input[type=file]", {"name": file, "mimeType": "text/csv", "buffer": content.encode()}
        )

    def write(self, label, text):
        self.page.get_by_label(label, exact=True).fill(text)

    def submit(self):
        """Press the button of the page's own form."""
        self._counted("submit")
        self.page.locator("main form button:not([value=discard])").first.click()
        self.page.wait_for_load_state()

    def sees(self, text):
        self.page.get_by_text(text).first.wait_for()


def responses():
    """Responses of every model to every instruction, as a table."""
    rows = [["instruction_id", "prompt", "model", "response"]]
    for number in range(INSTRUCTIONS):
        for model in MODELS:
            text = f"{model.title()} writes about river {number}. " * (3 + number % 4)
            rows.append([f"river-{number}", f"Tell of river {number}.", model, text])
    return as_csv(rows)


def ratings():
    """A checklist of three items and an overall score by every rater of every response, as a table."""
    random = Random(11)
    rows = [["instruction_id", "model", "rater", "clear", "complete", "vivid", "overall"]]
    for number in range(INSTRUCTIONS):
        for place, model in enumerate(MODELS):
            quality = random.random() * 0.6 + 0.2 * place
            for rater in RATERS:
                items = [int(random.random() < quality) for _item in range(3)]
                overall = 1 + 4 * items[0] + 3 * items[1] + 2 * items[2] + random.choice((-1, 0, 0))
                rows.append([f"river-{number}", model, rater, *items, min(10, max(0, overall))])
    return as_csv(rows)


def as_csv(rows):
    file = io.StringIO()
    csv.writer(file).writerows(rows)
    return file.getvalue()


@pytest.fixture
def installation(tmp_path):
    found = Installation(tmp_path)
    yield found
    found.stop()


@pytest.fixture
def lead(browser, installation):
    context = browser.new_context(viewport=SIZES["desktop"], base_url=installation.url, accept_downloads=True)
    page = context.new_page()
    wait_until(page, installation.answers, seconds=120)
    complaints = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield Lead(page)
    context.close()
    assert complaints == []


def upload(lead, file, content, **written):
    """Upload a table, check it and load it."""
    lead.give(file, content)
    lead.press("Upload")
    for label, text in written.items():
        lead.write(label.replace("_", " "), text)
    lead.press("Check without storing")
    lead.press("Load")
    lead.sees("The file has been loaded.")


def judge():
    """Sampling parameters of a scripted judge that has an answer for each response, and believes no canary text."""
    random = Random(5)
    answers = {
        f"river-{number}/{model}": {
            item: {"score": int(random.random() < 0.3 + 0.2 * place), "reason": "As it is written."}
            for item in ("clear", "complete", "vivid")
        }
        for number in range(INSTRUCTIONS)
        for place, model in enumerate(MODELS)
    }
    return json.dumps({"script": {"seed": 3, "quality": 0.0, "answers": answers}})


def test_from_an_empty_database_to_weights_a_leaderboard_and_a_csv(lead, capsys):
    page = lead.page
    page.goto("/")
    page.wait_for_url("**/begin/")
    lead.write("Name", "olga")
    lead.write("New password", "my own words 5")
    lead.write("New password confirmation", "my own words 5")
    lead.submit()
    lead.follow("Upload a file")
    upload(lead, "rivers.csv", responses())
    lead.follow("Upload another file")
    names = {"Short_name_of_the_study": "rivers-rated", "Scale": "0,1; overall=0:10"}
    names |= {"Criterion_with_the_overall_score,_if_any": "overall"}
    names |= {"Benchmark_of_the_items,_if_it_is_known_already": "rivers"}
    upload(lead, "ratings.csv", ratings(), **names)
    lead.follow("Open the study")

    lead.follow("Fit the weights")  # each page says the next step
    lead.press("Fit now")
    lead.unfold("Fits of this study")
    lead.write("Name", "of-rivers")
    lead.press("Publish")
    lead.sees("of-rivers")
    shown = page.locator("main").inner_text()
    assert all(item in shown for item in ("clear", "complete", "vivid"))
    lead.follow("Ask a judge")
    lead.follow("Add an endpoint")
    lead.write("Name", "Written down")
    lead.choose("Kind", "scripted")
    lead.submit()
    lead.write("Name", "ada")
    lead.write("Sampling parameters", judge())
    lead.submit()
    lead.choose("Model with a default prompt", index=1)
    lead.choose("Method for this model", "checklist")
    lead.press("Start the run")
    lead.follow("Leaderboard")
    page.locator("main option[value=of-rivers]:checked").wait_for(
        state="attached"
    )  # the fitted weights, not equal ones
    with page.expect_download() as asked:
        lead.follow("CSV")
    rows = list(csv.reader(asked.value.path().open(encoding="utf-8-sig")))
    with capsys.disabled():
        print(f"\n{lead.clicks} clicks on {len(lead.pages)} pages: {', '.join(lead.done)}")
    named = [next(cell for cell in row if cell in MODELS) for row in rows[1:]]
    assert named == ["cedar", "birch", "amber"], rows
    assert lead.clicks <= MOST_CLICKS and len(lead.pages) <= MOST_PAGES, lead.pages


MOST_CLICKS_OF_A_QUALIFICATION, QUALIFYING = 15, 3


def test_a_qualification_of_three_tasks_by_fifteen_clicks_and_a_rater_passes_it(open_page, capsys):
    study = make_checklist_study(instructions=6, models=1, slug="rivers", status="draft")
    study.tasks.all().delete()
    make_user("lead", study.workspace, username="olga")
    make_user("rater", study.workspace, username="ren")
    page = open_page()
    sign_in(page, "olga")
    lead = Lead(page)
    page.goto(f"/w/{study.workspace.slug}/studies/rivers/setup/")
    lead.follow(re.compile("Raters and checks"))
    lead.unfold("Qualification")
    lead.write("Number of qualification tasks", str(QUALIFYING))
    lead.write("Correct answers needed to pass", "3")
    lead.press("Save")
    lead.follow("Mark gold items, practice and qualification tasks")
    lead.press("Create tasks")
    page.locator("main a", has_text="Review and mark").first.wait_for()
    lead.follow("Review and mark")
    for number in range(1, QUALIFYING + 1):
        fields = page.get_by_role("group", name="How good is it overall?").get_by_role("spinbutton")
        fields.nth(0).fill("5")
        fields.nth(1).fill("5")
        lead.press("Mark task" if number == QUALIFYING else "Mark and show the next task")
        lead.sees("The task has been marked.")
    with capsys.disabled():
        print(f"\n{lead.clicks} clicks for a qualification: {', '.join(map(str, lead.done))}")
    assert study.tasks.filter(gold__purpose="qualification").count() == QUALIFYING
    assert lead.clicks <= MOST_CLICKS_OF_A_QUALIFICATION
    study.refresh_from_db()
    launch_at_once(study, by=None)
    rater = open_page()
    rater.fill("#id_username", "ren")
    rater.fill("#id_password", "plumb line 12")
    rater.keyboard.press("Enter")
    rater.locator("#id_password").wait_for(state="detached")
    rater.goto(f"/w/{study.workspace.slug}/studies/rivers/done/")
    rater.locator("main form button").first.click()
    rater.wait_for_url("**/rate/**")
    for _task in range(QUALIFYING):
        open_now = Assignment.objects.get(status="open", shown_at__isnull=False)
        assert open_now.conditions.get("qualification")
        record_answer(assignment=open_now, answers={**answers_to(open_now), "overall": Answer(5.0)}, clock=timezone.now)
        rater.goto(f"/w/{study.workspace.slug}/studies/rivers/done/")
        rater.locator("main form button").first.click()
        rater.wait_for_url("**/rate/**")
    assert Standing.objects.get().qualified_at is not None
    assert not Assignment.objects.get(status="open", shown_at__isnull=False).conditions.get("qualification")
