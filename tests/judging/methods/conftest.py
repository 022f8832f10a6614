"""Questions and scales for the methods; preference scales are those that people answer on."""

import json
from pathlib import Path
from typing import Any

import pytest

from judging.methods.guided import GuidedQuestion
from judging.methods.prompts import Item, Level
from judging.methods.scales import Anchor, range_levels

ROOT = Path(__file__).resolve().parents[3]
RUBRICS = ROOT / "fixtures" / "rubrics"
PROMPTS = ROOT / "templates" / "judging" / "prompts"
CONVERSATION = (("user", "Name three uses of vinegar. It costs $2."),)
GUIDES = (
    Item("complete", "Are three uses named?", (Level(0, "no"), Level(1, "yes"))),
    Item("true", "Does each of them work?", (Level(0, "no"), Level(1, "yes"))),
)


def english_levels(levels: list[dict[str, Any]]) -> tuple[Level, ...]:
    rows = sorted(levels, key=lambda level: level["value"])
    return tuple(Level(float(row["value"]), row["label"]["en"], row["description"]["en"]) for row in rows)


def rubric_items(name: str, key: str, role: str) -> tuple[Item, ...]:
    data = json.loads((RUBRICS / f"{name}.json").read_text(encoding="utf-8"))
    rubric = next(rubric for rubric in data["rubrics"] if rubric["key"] == key)
    items = []
    for criterion in rubric["criteria"]:
        scale = data["scales"][criterion["scale"]]
        if criterion["role"] != role:
            continue
        if "levels" in scale:
            levels = english_levels(scale["levels"])
        else:
            anchors = [Anchor(a["from"], a["to"], a["description"]["en"]) for a in scale["anchors"]]
            levels = range_levels(scale["minimum"], scale["maximum"], scale["step"], anchors)
        items.append(Item(criterion["key"], criterion["question"]["en"], levels))
    return tuple(items)


@pytest.fixture(scope="session")
def three() -> tuple[Item, ...]:
    return rubric_items("preferences", "preference_of_three", "preference")


@pytest.fixture(scope="session")
def four() -> tuple[Item, ...]:
    return rubric_items("preferences", "preference_of_four", "preference")


@pytest.fixture(scope="session")
def five() -> tuple[Item, ...]:
    return rubric_items("preferences", "preference_of_five", "preference")


@pytest.fixture(scope="session")
def ten() -> tuple[Item, ...]:
    """HelloBench's overall criterion, 0 to 10."""
    return rubric_items("hellobench", "science", "overall")


@pytest.fixture
def pair(three: tuple[Item, ...]) -> GuidedQuestion:
    return GuidedQuestion(
        CONVERSATION,
        ("Cleaning, pickling, weeding.", "Cleaning only."),
        three,
        hint="Cleaning, cooking, killing weeds.",
        reference="Use it to clean, to pickle and to kill weeds.",
        guideline="Prefer the text that does what was asked.\n$ signs and {braces} stay as they are.",
        guides=GUIDES,
    )


@pytest.fixture
def single(ten: tuple[Item, ...]) -> GuidedQuestion:
    return GuidedQuestion(
        CONVERSATION, ("Cleaning, pickling, weeding.",), ten, hint="Cleaning, cooking, killing weeds.", guides=GUIDES
    )


def stock(template: str) -> str:
    return (PROMPTS / template).read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def stock_prompt() -> Any:
    return stock
