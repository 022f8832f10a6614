"""The dashboard and the pages of its raters state the same numbers, whatever was answered, excluded or changed."""

from html.parser import HTMLParser
from random import Random

import pytest
from django.urls import reverse
from django.utils import timezone

from annotation.models import Assignment, CheckOutcome, Cohort, Score, Standing
from annotation.monitoring.exclusion import exclude
from annotation.policies.policies import CONTROL, GOLD
from generation.models import Response
from tests.factories import make_answer, make_checklist_study, make_rater, make_user

pytestmark = pytest.mark.django_db
STATES = ["rating", "rating", "paused", "failed", "rating", "rating"]
QUALITY = {f"item{number}" for number in range(3)}


class Page(HTMLParser):
    """The text of every row of a table by cell, of every term of a list by its name, and of every item of a list."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.terms: dict[str, str] = {}
        self.items: list[str] = []
        self._open: list[str] = []
        self._text: dict[str, str] = {}
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.rows.append([])
        if tag in ("th", "td", "dt", "dd", "li"):
            self._open.append(tag)
            self._text[tag] = ""

    def handle_endtag(self, tag):
        if tag not in self._open:
            return
        self._open.remove(tag)
        text = " ".join(self._text[tag].split())
        if tag in ("th", "td") and self.rows:
            self.rows[-1].append(text)
        elif tag == "dd":
            self.terms[" ".join(self._text["dt"].split())] = text
        elif tag == "li":
            self.items.append(text)

    def handle_data(self, data):
        for tag in self._open:
            self._text[tag] += data

    def row(self, name: str, cells: int) -> list[str]:
        """The only row that begins with this name and has at least so many cells."""
        [found] = [row for row in self.rows if row and len(row) >= cells and row[0].split(" ")[0] == name]
        return found


def random_study(seed):
    """Six raters, two of them stopped, one excluded: answers, changes, repeats, skips, surplus, checks, times."""
    random = Random(seed)
    study = make_checklist_study(instructions=10, models=2)
    Response.objects.update(words=300)
    spring = Cohort.objects.create(study=study, name="Spring", kind="crowd")
    tasks = list(study.tasks.order_by("pk"))
    for task in tasks[-4:]:
        task.gold = {"purpose": random.choice([CONTROL, GOLD]), "expected": {}}
        task.save()
    raters = []
    for number, state in enumerate(STATES):
        rater = make_rater(study, label=f"rater-{number}", cohort=random.choice([spring, None]))
        Standing.objects.create(rater=rater, state=state)
        raters.append(rater)
        for task in tasks[:-4]:
            status = random.choices(["submitted", "skipped", "surplus", "none"], [14, 2, 2, 2])[0]
            if status == "none":
                continue
            flat = number == 1 or random.random() < 0.3
            base = random.randint(0, 4) / 4
            values = {key: base if flat else random.randint(0, 4) / 4 for key in QUALITY}
            values["overall"] = 10 * base if flat else random.randint(0, 10)
            seconds = random.uniform(1, 9) if number == 0 and random.random() < 0.5 else random.uniform(30, 400)
            times = {"active_seconds": seconds, "submitted_at": timezone.now()}
            answer = make_answer(task, rater, {} if status == "skipped" else values, status=status, **times)
            if status == "submitted" and random.random() < 0.2:
                overall = task.answer_rubric.criteria.get(key="overall")
                Score.objects.create(assignment=answer, criterion=overall, revision=1, value=random.randint(0, 10))
            if status == "submitted" and random.random() < 0.1:
                make_answer(task, rater, values, repeat=1, **times)
        for place in range(random.randint(0, 9)):
            task = tasks[-4 + place % 4]
            given = make_answer(task, rater, {}, status="checked", repeat=place // 4, submitted_at=timezone.now())
            purpose = task.gold["purpose"]
            CheckOutcome.objects.create(assignment=given, purpose=purpose, passed=random.random() < 0.4)
    Assignment.objects.create(task=tasks[0], rater=make_rater(study, label="rater-6"), status="open")
    exclude(study, raters[4], since=None, reason="Did not read.", by=None)
    return study


@pytest.fixture
def as_lead(client):
    def signed_in(study):
        client.force_login(make_user("lead", study.workspace))
        return client

    return signed_in


def read(client, name, study, *more):
    return Page(client.get(reverse(name, args=[study, *more])).content.decode())


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_number_of_a_rater_is_the_same_on_both_pages(as_lead, seed):
    study = random_study(seed)
    client = as_lead(study)
    desk, figures = read(client, "annotation:desk", study), read(client, "calibration:desk_figures", study)
    sums: dict[str, list[int]] = {}
    seen = 0
    for rater in study.raters.select_related("cohort", "standing").order_by("label"):
        own = read(client, "annotation:rater", study, rater.public_id)
        row = desk.row(rater.label, 7)
        _name, cohort, ratings, skipped, minutes, checks, last = row
        words = ratings.replace("excluded", "").split()
        surplus = next((word[1:] for word in words if word.startswith("+")), "0")
        plain = [word for word in words if not word.startswith("+")]
        assert plain[0] == own.terms["Ratings"]
        assert plain[1:] == ([own.terms["Excluded"]] if "Excluded" in own.terms else [])
        assert (surplus, skipped) == (own.terms["Surplus"], own.terms["Skipped"])
        assert (minutes, checks, last) == (
            own.terms["Minutes per task"],
            own.terms["Checks failed"],
            own.terms["Last active"],
        )
        failed, of = (int(part) for part in checks.split(" / ")) if checks != "–" else (0, 0)
        counted = sums.setdefault(cohort if cohort != "–" else "Members", [0, 0, 0, 0])
        for place, value in enumerate((int(plain[0]), int(skipped), failed, of)):
            counted[place] += value
        seen += _same_figures(client, study, rater, figures)
    assert seen >= 4
    for name, counted in sums.items():
        cells = desk.row(name, 6)
        failed = f"{counted[2]} / {counted[3]}" if counted[3] else "–"
        assert cells[3:] == [str(counted[0]), str(counted[1]), failed]


def _same_figures(client, study, rater, figures):
    """Compare agreement, pace and the reasons for which the rater is named; return whether there was a pace."""
    own = read(client, "calibration:rater_figures", study, rater.public_id)
    cells = {row[0]: row[1] for row in own.rows if len(row) == 2}
    named = [item.split(": ", 1)[1] for item in figures.items if item.startswith(f"{rater.label}:")]
    shown = [words for words in own.items if words]
    assert len(named) == len(shown)
    for words, reason in zip(named, shown, strict=True):
        assert words.startswith(reason)
    pace = cells.get("Median s per 100 words")
    if pace is None:
        assert not [row for row in figures.rows if row and row[0] == rater.label]
        return 0
    dots = next(row for row in figures.rows if row and row[0] == rater.label)
    assert float(dots[1]) == pytest.approx(float(pace.split()[0]), abs=0.051)
    assert f"answers: {dots[2]}" in pace
    agreement = cells["Share of answers within one sigma"]
    assert dots[3].startswith(agreement.split()[0])
    assert agreement.endswith(f"scores: {dots[-1]}")
    return 1


def test_the_reasons_of_both_pages_are_there_to_compare(as_lead):
    """The random studies have raters who are named, so that the comparison above compares something."""
    study = random_study(1)
    client = as_lead(study)
    named = {item.split(":")[0] for item in read(client, "calibration:desk_figures", study).items if ": " in item}
    assert named & {rater.label for rater in study.raters.all()}
    assert "rater-4" not in named


def test_a_name_that_two_raters_have_is_told_apart_by_counts_alone(as_lead):
    study = random_study(2)
    first, second = study.raters.order_by("label")[:2]
    for rater in (first, second):
        rater.pseudonym = "Same"
        rater.save()
    client = as_lead(study)
    html = client.get(reverse("calibration:rater_figures", args=[study, first.public_id])).content.decode()
    assert "has the same name" in html and "data-figure" not in html
