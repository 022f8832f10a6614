"""Tasks of LongGenBench's kind: what each asks for, that what is checked stands in the prompt, and that seeds hold."""

import json
from collections import Counter

import pytest
from django.conf import settings
from hypothesis import given, settings as limits, strategies as st

from core.errors import UserError
from generation.task_making.longgenbench import LEAST_ENTRIES, LISTS, long_tasks, read_scenarios

DATA = json.loads((settings.BASE_DIR / "fixtures/long_tasks/scenarios.json").read_text(encoding="utf-8"))
SCENARIOS = read_scenarios(DATA)
PARTS = {
    ("diary", "short"): 52,
    ("diary", "long"): 365,
    ("menu", "short"): 52,
    ("menu", "long"): 365,
    ("skyscraper_design", "short"): 100,
    ("skyscraper_design", "long"): 300,
    ("urban_planning", "short"): 100,
    ("urban_planning", "long"): 361,
}
"""LongGenBench (arXiv 2409.02076), table 1 and its description of the long tower."""


def test_there_are_four_scenarios_in_two_versions_with_lists_of_twenty():
    assert {
        (key, version): scenario.versions[version].parts
        for key, scenario in SCENARIOS.items()
        for version in ("short", "long")
    } == PARTS
    for scenario in SCENARIOS.values():
        assert all(len(set(scenario.lists[name])) >= LEAST_ENTRIES for name in LISTS)


@limits(max_examples=25, deadline=None)
@given(st.sampled_from(sorted(PARTS)), st.integers(0, 10_000))
def test_every_task_has_five_single_one_range_and_one_periodic_instruction(place, seed):
    key, version = place
    (task,) = long_tasks(SCENARIOS[key], version, 1, seed=seed)
    kinds = Counter(check.kind for check in task.checks.checks)
    assert kinds == {"single": 5, "range": 1, "periodic": 1}
    text, parts = task.instruction.text, PARTS[place]
    taken = Counter()
    for check in task.checks.checks:
        assert set(check.numbers) <= set(range(1, parts + 1))
        assert check.asked == parts
        # What is asked of people and judges stands in the prompt.
        assert check.question.removeprefix("Does this part include the following: ").removesuffix("?") in text
        steps = {after - before for before, after in zip(check.numbers, check.numbers[1:], strict=False)}
        if check.kind == "range":
            assert steps == {1}
        if check.kind == "periodic":
            assert len(check.numbers) >= 4
            assert len(steps) == 1
            assert f"{check.mark} {check.numbers[0]} and then" in text
            assert check.numbers[-1] + steps.pop() > parts
        if check.kind == "single":
            assert f"{check.mark} {check.numbers[0]}: " in text
        taken.update(check.numbers if check.kind == "single" else set(check.numbers))
    singles = [number for check in task.checks.checks if check.kind == "single" for number in check.numbers]
    assert len(set(singles)) == 5
    # No part with a single instruction has another one.
    assert all(taken[number] == 1 for number in singles)
    assert task.instruction.tags == (version,)
    assert text.endswith(task.instruction.prefill)


def test_a_seed_gives_the_same_tasks_whatever_their_number():
    few = list(long_tasks(SCENARIOS["diary"], "short", 3, seed=4))
    many = list(long_tasks(SCENARIOS["diary"], "short", 9, seed=4))
    assert many[:3] == few
    assert len({task.instruction.external_id for task in many}) == 9
    assert len({task.instruction.text for task in many}) == 9
    assert next(long_tasks(SCENARIOS["diary"], "short", 1, seed=5)).instruction.text != few[0].instruction.text


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"single": ["a bakery"] * 30}, "the list 'single' has 1 different entries of 30"),
        ({"range": [str(n) for n in range(19)]}, "the list 'range' has 19 different entries of 19"),
        ({"periodic": None}, "cannot be read"),
        ({"versions": {"short": {}, "long": {}}}, "cannot be read"),
    ],
)
def test_a_file_that_lacks_something_is_refused(change, said):
    with pytest.raises(UserError, match=said):
        read_scenarios({"scenarios": {"diary": {**DATA["scenarios"]["diary"], **change}}})
