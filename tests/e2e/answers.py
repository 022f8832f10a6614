"""What a rater answers on each of the four screens, by key or by touch, and how it is then stored."""

from dataclasses import dataclass

from annotation.assignment.new_slots import make_seats
from tests.factories import make_checklist_study, make_user
from tests.screen_studies import make_pair_study, make_review_study, make_stars_study, make_yes_or_no_study

KINDS = ["checklist", "stars", "pair", "review"]
STARS = ("accuracy", "informativeness", "fluency", "logicality", "harmlessness")
LEFT = "\n\n".join(
    f"## Part {n}: {name}\n\n" + "The left text speaks of trees 🌳 and of shade. " * 40
    for n, name in enumerate(("Start", "Costs", "Benefits", "End"))
)
RIGHT = "\n\n".join(
    f"## {name}\n\n" + "右边的文字讲城市里的树木。" * 40 for name in ("Start", "History", "Benefits", "End")
)
WHY = "It says no such thing 🌳 也没有这样说。"


@dataclass(frozen=True)
class Step:
    """One answer: what is pressed, or which choice (from 0) of which question (from 1) is touched; then why, if asked."""

    keys: str
    question: int
    choice: int
    why: str = ""


STEPS = {
    "checklist": (Step("y", 1, 4), Step("n", 2, 0), Step("3", 3, 2), Step("7", 4, 7)),
    "stars": (Step("1", 1, 0), Step("2", 2, 1), Step("y", 3, 2), Step("3", 4, 2), Step("n", 5, 0)),
    "pair": (Step("a", 1, 0), Step("d", 1, 3)),
    "review": (Step("y", 1, 0), Step("n", 2, 1, WHY), Step("1", 3, 0)),
}


def make_study(kind, tasks=2, *, one_key=False):
    """A study of this kind with its slots; `one_key`: a single question's answer is sent when it is chosen."""
    study = {
        "checklist": lambda: make_checklist_study(instructions=tasks, models=1),
        "stars": lambda: make_stars_study(instructions=tasks, models=1),
        "pair": lambda: make_pair_study("four", texts=(LEFT, RIGHT), instructions=tasks),
        "review": lambda: make_review_study(instructions=tasks),
        "check": lambda: make_yes_or_no_study(instructions=tasks, models=1),
    }[kind]()
    study.policies = {**study.policies, "one_key": one_key}
    study.save()
    make_seats(study)
    make_user("rater", study.workspace, username="rosa")
    return study


def answers_of(assignment):
    scores = assignment.scores.values_list("criterion__key", "level", "value")
    return {key: (level, value) for key, level, value in scores}


def pair_answer(assignment, key):
    """How a choice on the screen is stored: by the task's own letters."""
    turned = {"a": "b", "b": "a"} if assignment.shown_first == "b" else {}
    stored = turned.get(key, key)
    return {"preference": (stored, {"a": 1.0, "b": -1.0}.get(stored, 0.0))}


def stored_of(kind, assignment):
    """What is stored once all STEPS of this kind are taken."""
    if kind == "checklist":
        return {"item0": ("4", 1.0), "item1": ("0", 0.0), "item2": ("2", 0.5), "overall": ("", 7.0)}
    if kind == "stars":
        levels = dict(zip(STARS, "12331", strict=True))
        return {key: (level, float(level)) for key, level in levels.items()}
    if kind == "pair":
        return pair_answer(assignment, "both_bad")
    return {"item0": ("reasonable", 1.0), "item1": ("not-reasonable", 0.0), "item2": ("reasonable", 1.0)}


def press(page, keys):
    for key in keys:
        page.keyboard.press(key)


def take_by_keyboard(page, step):
    """Answers the question in hand, which is the first without an answer or the one after the last answered."""
    press(page, step.keys)
    if step.why:
        page.wait_for_function("() => document.activeElement.matches('.why textarea')")
        page.keyboard.insert_text(step.why)
        press(page, ["Escape", "j"])


def take_by_touch(page, step):
    raise_sheet(page)
    page.locator(f"#question-{step.question} .level").nth(step.choice).tap()
    if step.why:
        page.locator(f"#question-{step.question} .why textarea").fill(step.why)


def raise_sheet(page):
    """On a phone the questions are a sheet that is down when a text comes."""
    if page.locator(".rail:not(.is-open)").count():
        page.locator(".sheet-toggle").tap()


def do_by_keyboard(page, kind, assignment):
    """Answers everything on the screen by keys; what is then to be stored."""
    for step in STEPS[kind]:
        take_by_keyboard(page, step)
    return stored_of(kind, assignment)
