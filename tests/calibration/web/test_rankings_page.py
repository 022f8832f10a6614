"""The page 'which model is better?' for pairs and for scores."""

import re
from collections import Counter

import numpy as np
import pytest
from django.urls import reverse

from annotation.models import Study
from calibration.reports.rankings import ALL, RANKINGS, ranking_settings
from calibration.reports.registry import report_of
from calibration.statistics.errors import TooFewRatings
from calibration.statistics.ranking.scores import complete_table, mean_scores
from tests.calibration.answered_studies import answered_study
from tests.calibration.pair_studies import pair_study
from tests.calibration.result_page_checks import (
    answer_of,
    check_access,
    check_files,
    load,
    never_nan,
    signed_in,
    text_of,
)
from tests.factories import make_answer, make_checklist_study, make_rater
from tests.markup import markup

pytestmark = pytest.mark.django_db


def address(study, query=""):
    return reverse("calibration:rankings", args=[study]) + query


def report(study, **asked):
    return report_of(study, RANKINGS, ranking_settings(**asked))


def page_of(study, query=""):
    return markup(signed_in("lead", study.workspace).get(address(study, query)))


def test_only_those_who_read_results_see_it():
    check_access("calibration:rankings", pair_study(models=3, instructions=4))


def test_pairs_recover_the_planted_order_with_every_figure():
    study = pair_study(position=0.8)
    found = report(study)
    assert [row.model for row in found.parts.strength.models] == ["model0", "model1", "model2", "model3"]
    for place, row in enumerate(found.parts.strength.models, start=1):
        assert row.rank_low <= place <= row.rank_high
    lead = found.parts.strength.differences[0]
    assert (lead.first, lead.second) == ("model0", "model1") and lead.value > 0 and lead.p is not None
    assert found.parts.effects.effects == ("position", "length") and found.parts.effects.first_wins > 0.55
    assert found.parts.position.first_wins.low > 0.5
    names = check_files(signed_in("lead", study.workspace), address(study))
    wanted = {"strength.svg", "elo.png", "ahead.csv", "points.csv", "davidson.svg", "effects.csv", "length.csv"}
    assert wanted <= set(names)
    said = answer_of(page_of(study))
    assert "model0 ranks first" in said and "95 % interval for" in said


def test_both_of_elos_spreads_stand_in_one_figure():
    study = pair_study(models=3, instructions=25)
    page = page_of(study)
    figure = page[page.index('id="elo"') : page.index('id="points"')]
    assert (
        "over the last 100 comparisons" in figure and "over 200 shuffled orders" in figure and "Bradley-Terry" in figure
    )


def test_the_law_of_elos_variance_stands_beside_its_spread():
    study = pair_study(models=3, instructions=4)
    # sqrt(7222.3 x .7 x .3) = 38.9 points; the simulated variance near .7 is 1490, 38.6 points.
    assert "standard deviation of about 39 points by LLMEval" in page_of(study)
    answer = signed_in("analyst", study.workspace).get(address(study), {"file": "elo_law.csv"})
    rows = [line.split(",") for line in answer.content.decode("utf-8-sig").splitlines()]
    assert rows[3][0] == "0.7"
    assert [float(cell) for cell in rows[3][1:]] == pytest.approx([1516.7, 38.94, 38.6], rel=0.03)


def test_points_and_elo_of_a_hand_calculation():
    # Three games, model0 beats model1 each time: 3 points to 0; Elo 1500 -> 1516, then by Eq. 3 and 4.
    study = pair_study(models=2, instructions=3, raters=1, sides=False, outcome=lambda i, j: 1)
    found = report(study)
    assert found.parts.points.total.tolist() == [3.0, 0.0] and found.parts.points.wins.tolist() == [3, 0]
    rating, rival = 1500.0, 1500.0
    for _ in range(3):
        gain = 32 * (1 - 1 / (1 + 10 ** ((rival - rating) / 400)))
        rating, rival = rating + gain, rival - gain
    assert [row.rating for row in found.parts.elo.models] == pytest.approx([rating, rival])
    assert [(row.bound, row.such_low) for row in found.parts.strength.models] == [("at_least", None), ("at_most", None)]
    page = page_of(study)
    never_nan(page)
    # One rater and three instructions: nothing is shown however they ended.
    assert answer_of(page).startswith("Which model leads is not shown: model0 never lost to or tied with the others")


def test_all_ties_put_every_model_on_the_same_strength():
    study = pair_study(models=3, instructions=22, raters=1, outcome=lambda i, j: 0)
    found = report(study)
    assert [row.strength for row in found.parts.strength.models] == pytest.approx([1500, 1500, 1500])
    assert found.parts.davidson.why == "NoTieModel" and found.parts.position.why == "TooFewRatings"
    page = page_of(study)
    never_nan(page)
    assert "not shown: model0, model1, model2 have the same highest Elo strength, 1,500." in answer_of(page)


def test_a_first_place_that_may_be_chance_is_no_lead():
    # model0 wins 12 of 22 games against model1 and loses 10; both win 17 of 22 against model2.
    played = Counter()

    def outcome(first, second):
        played[first, second] += 1
        lost = played[first, second] <= 10 if (first, second) == (0, 1) else played[first, second] % 5 == 0
        return -1 if lost else 1

    study = pair_study(models=3, instructions=22, raters=1, outcome=outcome)
    found = report(study).parts.strength
    lead = found.differences[0]
    assert found.models[0].rank_high > 1 and lead.low < 0 < lead.value and not lead.shown
    said = answer_of(page_of(study))
    assert "Which model leads is not shown: model0 ranks first" in said and "true rank lies between 1 and" in said


def test_groups_that_never_met_are_named():
    study = pair_study(models=4, instructions=5, raters=1)
    # Only 0-1 and 2-3 stay: two islands.
    for task in study.tasks.select_related("response_a__model", "response_b__model"):
        pair = {task.response_a.model.name, task.response_b.model.name}
        if pair not in ({"model0", "model1"}, {"model2", "model3"}):
            task.assignments.update(status="surplus")
    assert report(study).parts.strength.why == "DisconnectedComparisons"
    assert "never compared with the others" in answer_of(page_of(study))


def test_without_sides_and_texts_the_effects_say_so():
    study = pair_study(models=3, instructions=21, raters=1, sides=False, texts=False)
    found = report(study)
    assert (found.parts.effects.why, found.parts.position.why) == ("NoPositions", "NoPositions")
    assert found.parts.length[0].why == "NoLengths"
    never_nan(page_of(study))


def test_scores_rank_models_with_intervals_shared_ranks_and_power():
    study = make_checklist_study(instructions=25, models=3, items=2)
    rng = np.random.default_rng(4)
    raters = [make_rater(study) for _ in range(4)]
    for task in study.tasks.select_related("response_a__model"):
        level = 3 + 2 * int(task.response_a.model.name[-1])
        for rater in raters:
            overall = float(np.clip(round(level + rng.normal(0, 1)), 0, 10))
            make_answer(task, rater, {"item0": 0.5, "item1": 1.0, "overall": overall})
    found = report(study)
    assert [row.model for row in found.parts.scores.models] == ["model2", "model1", "model0"]
    assert [row.rank_low for row in found.parts.scores.models] == [1, 2, 3]
    assert found.parts.shared.rank.tolist() == [1, 2, 3]
    assert found.parts.power.separating[0.9] <= 25
    names = check_files(signed_in("lead", study.workspace), address(study))
    assert {"means.svg", "power.svg", "power.csv", "ahead.csv"} <= set(names)
    assert answer_of(page_of(study)).startswith("model2 has the highest mean score")
    every = report(study, criterion=ALL)
    assert every.parts.scale == [0.0, 1.0] and {row.mean for row in every.parts.scores.models} == {0.75}


def test_a_judges_verdicts_rank_models_when_asked():
    study = answered_study(instructions=21, judge="gpt-4o")
    judge = study.tasks.first().assignments.get(rater__kind="judge").rater
    found = report(study, by=judge.public_id)
    assert found.n_raters == 1 and [row.clusters for row in found.parts.scores.models] == [21, 21]
    page = page_of(study, f"?by={judge.public_id}")
    assert f'<option value="{judge.public_id}" selected>' in page


@pytest.mark.parametrize("answers", ["none", "one model", "constant"])
def test_degenerate_scores_give_sentences(answers):
    study = make_checklist_study(instructions=4, models=1 if answers == "one model" else 2)
    if answers != "none":
        rater = make_rater(study)
        for task in study.tasks.all():
            make_answer(task, rater, {"overall": 5})
    page = page_of(study)
    never_nan(page)
    if answers == "one model":
        assert "Only one model has been rated" in answer_of(page)
    if answers == "constant":
        assert "Which model leads is not shown: model0, model1 have the same highest mean score, 5.00." in answer_of(
            page
        )


def test_means_that_instructions_leave_open_name_no_leader():
    study = make_checklist_study(instructions=22, models=2)
    rater, rng = make_rater(study), np.random.default_rng(2)
    for task in study.tasks.all():
        make_answer(task, rater, {"overall": int(rng.integers(3, 8))})
    found = report(study).parts.scores.models
    assert found[0].mean > found[1].mean and found[0].rank_high == 2
    assert "Which model leads is not shown: " in answer_of(page_of(study))


def test_pandalm_is_ranked(shared_data):
    load(
        "preferences",
        shared_data("pandalm_wide.csv"),
        "pandalm",
        "--wide",
        "annotator1,annotator2,annotator3,judge_gpt35,judge_pandalm7b",
        "--judge-prefix",
        "judge_",
        "--map",
        "1=A",
        "--map",
        "2=B",
        "--map",
        "0=tie",
        "--off-scale",
        "unscored",
        item="item_id",
        model_a="model1",
        model_b="model2",
    )
    study = Study.objects.get(slug="pandalm")
    found = report(study)
    assert found.parts.n_games == 2997 and len(found.parts.strength.models) == 5
    assert sum(found.parts.points.total) == 2997
    low = [row.rank_low for row in found.parts.strength.models]
    assert low == sorted(low) and found.parts.strength.interval_kind == "bootstrap95"
    assert "llama-7b ranks first" in text_of(page_of(study))


def test_recipes_rank_each_model_by_its_own_items(shared_data):
    load(
        "ratings",
        shared_data("recipes.csv.gz"),
        "recipes",
        "--overall",
        "overall",
        "--scale",
        "*=1:6",
        item="item_id",
        rater="annotator",
        criterion="criterion",
        value="score",
        model="system",
    )
    study = Study.objects.get(slug="recipes")
    rows = {row.model: row for row in report(study).parts.scores.models}
    kinds = {name: (row.interval_kind, row.clusters) for name, row in rows.items()}
    ranged = ("leave_one_out_range", 10)
    assert kinds == {
        "original": ranged,
        "no_context": ranged,
        "dependency": ranged,
        "context": ranged,
        "coref": ranged,
        "coherence": ("none", 1),
        "grammaticality": ("none", 1),
    }
    assert all(row.low < row.mean < row.high for row in rows.values() if row.clusters == 10)
    # Ten items are too few to show that any is ahead; the fillers have no rank.
    assert {(row.rank_low, row.rank_high) for row in rows.values() if row.rank} == {(1, 5)}
    fillers = [rows[name] for name in ("coherence", "grammaticality")]
    assert {(row.rank, row.rank_low, row.rank_high, row.not_ranked) for row in fillers} == {(None, None, None, "few")}
    page = page_of(study)
    never_nan(page)
    said = text_of(page)
    assert answer_of(page).startswith(
        "Which model leads is not shown: original has the highest mean score, 5.07 (5.02 to 5.14"
    )
    blocks = text_of(page[page.index('<p class="answer">') :])
    assert "one cluster" not in said and "instruction" not in blocks
    assert "fewer than half of the median number of items of all models: " in said and "coherence (1)" in said
    table = page[page.index('id="means"') : page.index('id="ahead"')]
    filler = text_of(table[table.index('<th scope="row">coherence') :].split("</tr>")[0]).split()
    mean = rows["coherence"].mean
    assert filler[2:] == ["1", f"{mean:.3f}", "–", "–", "–", "–", "–", "rated", "too", "seldom"]


class TestMeanScores:
    def test_means_and_ranks_by_hand(self):
        found = mean_scores(np.array([1.0, 3, 2, 2]), [1, 2, 1, 2], clusters=[0, 0, 1, 1], draws=0)
        assert found.mean.tolist() == [1.5, 2.5] and found.rank.tolist() == [2, 1]
        assert found.kinds == ("none", "none") and found.low.tolist() == [1.5, 2.5]
        assert (found.rank_low.tolist(), found.rank_high.tolist()) == ([1, 1], [2, 2])

    def test_few_clusters_give_the_range_over_leaving_one_out(self):
        found = mean_scores(np.array([1.0, 3, 2, 2]), [1, 2, 1, 2], clusters=[0, 0, 1, 1])
        assert set(found.kinds) == {"leave_one_out_range"} and found.clusters.tolist() == [2, 2]
        assert (found.low.tolist(), found.high.tolist()) == ([1, 2], [2, 3])

    def test_each_model_rests_on_its_own_clusters(self):
        # Models 1 and 2 answer 30 instructions, 3 answers 3 of them, 4 answers one: by the rules an interval, an
        # interval, the range over leaving one out (scores 0, 1, 5: means of two are .5, 2.5, 3) and nothing.
        rng = np.random.default_rng(3)
        one, two = 8 + rng.normal(0, 0.1, 30), 6 + rng.normal(0, 0.1, 30)
        scores = np.concatenate([one, two, [0.0, 1, 5], [7.0]])
        models, clusters = [1] * 30 + [2] * 30 + [3] * 3 + [4], [*range(30), *range(30), 0, 1, 2, 0]
        found = mean_scores(scores, models, clusters=clusters)
        assert found.kinds == ("bootstrap95", "bootstrap95", "leave_one_out_range", "none")
        assert found.clusters.tolist() == [30, 30, 3, 1]
        assert (found.low[2], found.high[2]) == (0.5, 3.0) and found.low[3] == found.high[3] == 7.0
        alone = mean_scores(scores[:60], models[:60], clusters=clusters[:60])
        assert found.low[:2].tolist() == alone.low.tolist() and found.high[:2].tolist() == alone.high.tolist()
        # 1 is clearly ahead of 2; 3 and 4 have no interval, so that both may be ahead of them or behind them. 3 stays
        # behind 1 and 2 whatever is left out; where 4 stands is unknown.
        assert found.rank_low.tolist() == [1, 2, 3, 1] and found.rank_high.tolist() == [3, 4, 4, 4]

    def test_the_ends_widen_with_few_own_clusters(self):
        # The same 25 scores of model 1, beside a model 2 with as many or with 2,000 clusters: t(24), never t(1999).
        rng = np.random.default_rng(5)
        one, two = rng.normal(5, 1, 25), rng.normal(5, 1, 2000)
        few = mean_scores(np.concatenate([one, two[:25]]), [1] * 25 + [2] * 25, clusters=np.arange(50), draws=4000)
        many = mean_scores(np.concatenate([one, two]), [1] * 25 + [2] * 2000, clusters=np.arange(2025), draws=4000)
        for found in (few, many):
            reach = 2.064 * one.std(ddof=1) / 5
            assert (found.high[0] - found.low[0]) / 2 == pytest.approx(reach, rel=0.04)

    def test_one_model_is_not_a_ranking(self):
        with pytest.raises(TooFewRatings):
            mean_scores(np.ones(3), [1, 1, 1], clusters=[0, 1, 2])

    def test_only_tasks_with_every_model_enter_the_table(self):
        table, tasks, models = complete_table(
            np.array([1.0, 2, 3, 4, 5, 9]), np.array([7, 7, 8, 8, 9, 7]), np.array([1, 2, 1, 2, 1, 2])
        )
        assert table.tolist() == [[1, 5.5], [3, 4]] and tasks.tolist() == [7, 8] and models.tolist() == [1, 2]


def test_the_effect_of_being_shown_first_names_for_whom_its_interval_holds():
    study = pair_study(models=3, instructions=24, raters=3, position=0.5)
    said = text_of(page_of(study))
    found = re.search(
        r"the one shown first is preferred 0\.\d\d \(95 % interval for exactly these raters 0\.\d\d to", said
    )
    assert found
    assert "Intervals are 95 % intervals for exactly these raters, from Student's t" in said
    assert "The models are taken as given: no interval takes them as drawn from more models." in said
