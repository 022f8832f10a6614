"""What pages say of tables built to mislead: each claim is as strong as its evidence, and what is wrong is named."""

import re

import numpy as np
import pytest
from django.urls import reverse

from annotation.models import Rater
from judging.cards.card import judge_card
from judging.web.judges.card import use_words
from tests.calibration.pair_studies import pair_study
from tests.calibration.result_page_checks import (
    answer_of,
    claims_in_files,
    claims_of,
    never_nan,
    sentences_of,
    signed_in,
    text_of,
)
from tests.factories import make_answer, make_checklist_study, make_judge_rater, make_rater
from tests.markup import markup

pytestmark = pytest.mark.django_db
LEVELS = (0.0, 0.25, 0.5, 0.75, 1.0)


def page_of(name, study):
    page = markup(signed_in("lead", study.workspace).get(reverse(name, args=[study])))
    never_nan(page)
    return page


def scored(score, *, instructions=24, models=2, raters=3, judge=None):
    """score(place of the instruction, place of the model, number of the rater) is each person's overall score, None for
    no answer; judge(instruction, model) in 0..4 is the judge's level of the one item."""
    study = make_checklist_study(instructions=instructions, models=models, items=1)
    people = [make_rater(study, label=f"p{number}") for number in range(raters)]
    machine = make_judge_rater(study.workspace, "judge") if judge else None
    for place, task in enumerate(study.tasks.select_related("answer_rubric").order_by("pk")):
        where = place // models, place % models
        for number, rater in enumerate(people):
            value = score(*where, number)
            if value is not None:
                make_answer(task, rater, {"item0": 0.5, "overall": value})
        if machine is not None:
            make_answer(task, machine, {"item0": LEVELS[judge(*where)]})
    return study


def test_one_rater_a_response_has_nobody_to_be_compared_with():
    study = scored(lambda i, m, r: (i * 5 + m * 2) % 9 if r == (i + m) % 3 else None)
    assert "rated by two people" in text_of(page_of("calibration:agreement", study))
    assert "There is nobody to compare with" in answer_of(page_of("calibration:raters", study))


def test_judges_of_different_tasks_are_not_ranked():
    """One judges the easy half and always agrees; the other the hard half, on which people do not agree either."""
    study = make_checklist_study(instructions=40, models=1, items=1)
    people = [make_rater(study, label=f"p{number}") for number in range(3)]
    judges = {name: make_judge_rater(study.workspace, name) for name in ("easy", "hard")}
    for place, task in enumerate(study.tasks.order_by("pk")):
        for number, rater in enumerate(people):
            make_answer(task, rater, {"item0": LEVELS[place % 5 if place < 20 else (place * 3 + number * place) % 5]})
        make_answer(task, judges["easy" if place < 20 else "hard"], {"item0": LEVELS[place % 5]})
    said = answer_of(page_of("judging:judges_methods", study))
    assert said.startswith("The judges are not ranked: a ranking needs at least 20 tasks,")
    assert "agrees best" not in said


def test_a_model_with_3_of_60_instructions_never_leads():
    study = scored(
        lambda i, m, r: None if m == 2 and i >= 3 else [4 + i % 3, 6 + (i + r) % 3, 10][m], instructions=60, models=3
    )
    page = page_of("calibration:rankings", study)
    assert answer_of(page).startswith("model1 has the highest mean score")
    assert "fewer than half of the median number of instructions of all models: model2 (3)" in text_of(page)


def test_an_undefeated_model_has_a_bound_and_does_not_lead_by_few_raters():
    study = pair_study(models=3, instructions=24, raters=4, outcome=lambda i, j: 1 if i == 0 else (-1) ** j)
    page = page_of("calibration:rankings", study)
    assert answer_of(page).startswith("Which model leads is not shown: model0 never lost to or tied with the others")
    assert "at least" in text_of(page)


def test_simpsons_reversal_opens_the_judges_page():
    """Within each model the judge follows people; over the models it is the other way round."""
    noise = np.random.default_rng(0).integers(0, 2, size=(40, 2, 6))
    study = scored(
        lambda i, m, r: int(5 * m + 2 * (i % 3 > 0) + noise[i, m, r]),
        instructions=40,
        raters=6,
        judge=lambda i, m: (0 if m else 3) + min(i % 3, 1),
    )
    page = page_of("judging:judges", study)
    said = text_of(page)
    assert "judge agrees with people in one way and against them in another" in said
    found = re.search(r"correlation is (−?\d\.\d+) .*?over all responses, (−?\d\.\d+) .*?within models", said)
    assert found and found[1].startswith("−") and not found[2].startswith("−")
    assert said.index("against them in another") < said.index("have a Spearman correlation")


RESULT_PAGES = [
    "calibration:agreement",
    "calibration:agreement_detail",
    "calibration:raters",
    "calibration:rankings",
    "calibration:weights",
    "calibration:weights_depth",
    "calibration:summary",
    "calibration:desk_figures",
    "judging:judges",
    "judging:judges_depth",
    "judging:judges_methods",
    "judging:judges_metrics",
    "judging:judge_panel",
]


NO_CLAIMS = {
    "Can a judge replace people?",
    "The intervals are not corrected for the number of pairs: the highest and the lowest pair say little about these "
    "raters.",
    "Each interval is a 95 % interval of its pair alone, and p inverts the first that is stated.",
    "The corrected p allows for all pairs (Holm): where it is under 0.05, the difference is shown.",
    "By choices made without the task, the composite agrees with people on 1.00 of the tasks; the best single judge, chosen "
    "in the same way, on 1.00.",
}
"""Sentences with a word of claims that claim nothing."""


def claims_on_all_pages(study):
    client = signed_in("lead", study.workspace)
    found = {}
    for name in RESULT_PAGES:
        address = reverse(name, args=[study])
        page = markup(client.get(address))
        never_nan(page)
        assert sentences_of(page), name
        assert "1.00 to 1.00" not in text_of(page)
        claims = [*(said for said in claims_of(page) if said not in NO_CLAIMS), *claims_in_files(client, address)]
        if claims:
            found[name] = claims
    return found


def test_where_everything_is_constant_no_page_claims_anything():
    study = scored(lambda i, m, r: 7, models=3, judge=lambda i, m: 2)
    assert claims_on_all_pages(study) == {}
    agreement = page_of("calibration:agreement", study)
    assert answer_of(agreement).endswith("agreement by chance would be 1.00.")
    assert "Every rating is the same" in text_of(agreement)
    judges = text_of(page_of("judging:judges", study))
    assert "no correlation can be computed" in judges and "Every score is the same" in judges
    said = answer_of(page_of("calibration:rankings", study))
    assert said == "Which model leads is not shown: model0, model1, model2 have the same highest mean score, 7.00."
    assert "people gave no more than two different values" in text_of(page_of("calibration:raters", study))
    card = judge_card(Rater.objects.get(label="judge"))
    assert card.use == "not_shown" and use_words(card).startswith(
        "It is not shown what judge may be used for, because too little differs between its agreement with people and"
    )


def test_the_reading_of_claims_finds_them_where_there_are_some():
    """A rater inverts the scale, on which the agreement turns: else the test above would say nothing."""
    noise = np.random.default_rng(0).integers(-1, 2, size=(30, 2, 4))
    study = scored(
        lambda i, m, r: int(
            np.clip((3 + i % 3 + 3 * m + noise[i, m, r]) * (1 if r < 3 else -1) + 10 * (r == 3), 0, 10)
        ),
        instructions=30,
        raters=4,
        judge=lambda i, m: min(4, i % 3 + 2 * m),
    )
    found = claims_on_all_pages(study)
    raters = found["calibration:raters"]
    assert any(str(said).startswith("p3 inverts the scale") for said in raters)
    assert any(said[:2] == ("scale-use.csv", "p") for said in raters if not isinstance(said, str))
    assert any("comes from the choice of raters" in str(said) for said in found["calibration:agreement"])


def test_a_rater_who_inverts_the_scale_is_named():
    rng = np.random.default_rng(0)
    truth = rng.integers(1, 9, size=(40, 2))
    study = scored(
        lambda i, m, r: int(10 - truth[i, m] if r == 3 else np.clip(truth[i, m] + rng.integers(-1, 2), 0, 10)),
        instructions=40,
        raters=4,
    )
    said = text_of(page_of("calibration:raters", study))
    assert re.search(r"p3 inverts the scale: the correlation with the other raters is −\d\.\d\d \(95 % interval", said)
    assert "p0 inverts" not in said


@pytest.mark.parametrize("raters", [2, 3, 8])
def test_a_copy_of_a_person_as_judge_is_not_called_better_than_people(raters):
    """The judge repeats p0, whose answers stand among those that it is compared with."""
    rng = np.random.default_rng(1)
    study = make_checklist_study(instructions=60, models=1, items=1)
    people = [make_rater(study, label=f"p{number}") for number in range(raters)]
    copy = make_judge_rater(study.workspace, "copycat")
    for task in study.tasks.order_by("pk"):
        truth = rng.integers(0, 5)
        levels = [truth if rng.random() < 0.6 else rng.integers(0, 5) for _ in people]
        for level, rater in zip(levels, people, strict=True):
            make_answer(task, rater, {"item0": LEVELS[level], "overall": int(2 * level)})
        make_answer(task, copy, {"item0": LEVELS[levels[0]]})
    page = page_of("judging:judges_methods", study)
    assert "copycat gives the label of p0 on every task that both labelled." in text_of(page)
    assert answer_of(page).startswith("copycat agrees with people on") and "better" not in answer_of(page)
    card = judge_card(copy)
    assert card.use == "beside" and "that it can replace one is not shown" in use_words(card)


def test_of_four_models_no_correlation_of_means_has_an_interval_or_a_p():
    study = make_checklist_study(instructions=24, models=4, items=1)
    people = [make_rater(study, label=f"p{number}") for number in range(3)]
    judge = make_judge_rater(study.workspace, "judge")
    for place, task in enumerate(study.tasks.select_related("answer_rubric").order_by("pk")):
        for number, rater in enumerate(people):
            make_answer(task, rater, {"item0": 0.5, "overall": 2 * (place % 4) + (place // 4 + number) % 3})
        make_answer(task, judge, {"item0": 0.5, "overall": place % 4 + place // 4 % 2})
    page = page_of("judging:judges_depth", study)
    said = text_of(page)
    assert "Model means: with so few models, or where all orders agree, the values stand alone." in said
    rows = signed_in("lead", study.workspace).get(
        reverse("judging:judges_depth", args=[study]), {"file": "correlations-0.json"}
    )
    of_models = [row for row in rows.json()["rows"] if row[2] == 4]
    assert len(of_models) == 3
    for row in of_models:
        assert -1 <= row[3] <= 1 and set(row[4:]) == {None}
    # These raters answer in turn, so that leaving any of them out changes nothing: no interval of one number is printed.
    assert "0.913 0.913" not in said
