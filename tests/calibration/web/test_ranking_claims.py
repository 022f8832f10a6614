"""What the rankings page says of tables made to mislead it: its opening sentence claims no more than they show."""

import numpy as np
import pytest

from calibration.data.frames import ROLES, ScoreFrame
from calibration.data.played_games import PlayedGames
from calibration.reports.pair_rankings import _strength
from calibration.reports.rankings import _ranked_means
from calibration.statistics.ranking.comparisons import as_games
from calibration.statistics.ranking.rank_correlations import rank_correlations
from calibration.web.rankings.differences import differences_block
from calibration.web.rankings.page import _pairs_opening, _scores_opening
from calibration.web.rankings.pairs import _strength as strength_block

pytestmark = pytest.mark.django_db
NAMES = {1: "alpha", 2: "beta", 3: "gamma", 4: "delta"}


def frame(rows):
    """A frame of rows (model, instruction, rater, value, category) on one criterion."""
    model, instruction, rater, value, category = (np.array(column) for column in zip(*rows, strict=True))
    n, none, names = len(rows), np.zeros(len(rows), dtype=np.int64), {}
    codes = dict.fromkeys(("response_b", "model_b", "parent", "criterion", "position", "variant", "repeat"), none)
    return ScoreFrame(
        **codes,
        assignment=np.arange(n),
        task=np.arange(n),
        response=np.arange(n),
        instruction=instruction,
        category=category,
        model=model,
        rater=rater + 10_000,
        role=np.full(n, ROLES.index("overall")),
        value=value.astype(float),
        low=np.ones(n),
        high=np.full(n, 10.0),
        applicable=np.ones(n, dtype=bool),
        is_judge=np.zeros(n, dtype=bool),
        criterion_keys=("overall",),
        model_names=NAMES,
        rater_names=names,
        category_names={0: "all", 1: "easy", 2: "hard"},
        instruction_ids=names,
    )


def opening(rows):
    found = frame(rows)
    report = _ranked_means(found.value, found, 200, 0)
    return _scores_opening(report, "instructions", items=False), report


def rated(gaps, instructions=60, raters=5, *, each=None, seed=0):
    """Rows of models with these gaps, rated by all raters or by `each` of them on every instruction."""
    rng = np.random.default_rng(seed)
    quality, severity = rng.normal(scale=0.5, size=instructions), rng.normal(scale=0.3, size=raters)
    rows = []
    for instruction in range(instructions):
        for rater in rng.permutation(raters)[: each or raters]:
            for model, gap in gaps.items():
                value = 5 + gap + quality[instruction] + severity[rater] + rng.normal(scale=0.4)
                rows.append((model, instruction, int(rater), value, 0))
    return rows


def test_a_clear_lead_is_stated_with_both_intervals():
    said, report = opening(rated({1: 2.0, 2: 1.0, 3: 0.0}))
    assert said.startswith("alpha has the highest mean score") and "not shown" not in said
    assert "for raters like these" in said and "for exactly these raters" in said
    assert [row.rank_high for row in report.models] == [1, 2, 3] and all(row.shown for row in report.differences)


def test_equal_models_have_no_leader_and_it_is_said_how_many_instructions_would_do():
    said, report = opening(rated({1: 0.03, 2: 0.0, 3: 0.0}))
    assert said.startswith("Which model leads is not shown") and "Its true rank lies between 1 and 3" in said
    assert "instructions in all would show" in said or "would take more raters" in said
    assert differences_block(report, "instructions", items=False).answer.startswith("0 of 3")


def test_a_model_with_3_of_60_instructions_never_leads():
    rows = rated({1: 1.0, 2: 0.0, 3: -1.0})
    rows += [(4, instruction, rater, 9.9, 0) for instruction in range(3) for rater in range(5)]
    said, report = opening(rows)
    assert said.startswith("alpha has the highest") and "delta" not in said
    assert report.models[-1].model == "delta" and report.models[-1].rank is None
    assert not any("delta" in (row.first, row.second) for row in report.differences)


def test_simpsons_reversal_is_named():
    """alpha was rated mostly on easy instructions, beta mostly on hard ones, and beta is better on both."""
    rng = np.random.default_rng(1)
    rows = []
    for instruction in range(60):
        easy = instruction < 30
        for model, gap in ((1, 0.0), (2, 0.8)):
            for rater in range(4 if easy == (model == 1) else 1):
                rows.append(
                    (model, instruction, rater, (8 if easy else 3) + gap + rng.normal(scale=0.3), 1 if easy else 2)
                )
    said, report = opening(rows)
    assert report.models[0].model == "alpha" and report.differences[0].value < 0
    assert said.startswith("Which model leads is not shown")
    assert "In each of the 2 categories that both have, however, beta has the higher mean" in said


def test_constant_scores_have_no_leader():
    said, report = opening([(model, i, rater, 5.0, 0) for model in (1, 2) for i in range(30) for rater in range(3)])
    assert (
        said.startswith("Which model leads is not shown: alpha, beta have the same highest mean score")
        and not report.differences[0].shown
    )


def test_one_rater_a_response_still_has_an_interval_for_raters_like_these():
    _, report = opening(rated({1: 0.5, 2: 0.0}, raters=8, each=1))
    assert report.not_stated == "" and report.models[0].such_low < report.models[0].mean


def test_one_rater_has_none_and_it_is_said_why():
    _, report = opening(rated({1: 0.5, 2: 0.0}, raters=1))
    notes = " ".join(differences_block(report, "instructions", items=False).notes)
    assert "that needs at least 2 raters, and there is 1" in notes
    assert report.models[0].such_low is None and report.differences[0].these_low is not None


def test_under_20_instructions_nothing_is_clear():
    said, report = opening(rated({1: 3.0, 2: 0.0}, instructions=12))
    assert said.startswith("Which model leads is not shown") and report.differences[0].p is None


def test_four_models_have_no_correlation_with_an_interval():
    found = rank_correlations(np.array([1.0, 2, 3, 4]), np.array([1.0, 2, 4, 3]))
    assert found.kendall.p is None and found.kendall.kind == "none"


def played(rows):
    """Games of rows (first, second, score, instruction, rater)."""
    first, second, score, instruction, rater = (np.array(column) for column in zip(*rows, strict=True))
    none = np.zeros(len(rows), dtype=np.int64)
    no = none.astype(bool)
    games = as_games(first, second, score.astype(float), clusters=instruction)
    return PlayedGames(games, NAMES, no, none, none, no, none, {}, instruction, rater)


def games(instructions=30, raters=6, *, undefeated=(1,), winless=()):
    rng = np.random.default_rng(4)
    rows = []
    for instruction in range(instructions):
        for place, (a, b) in enumerate(((1, 2), (1, 3), (2, 3))):
            score = float(rng.integers(2))
            score = 1.0 if a in undefeated or b in winless else score
            rows.append((a, b, score, instruction, (instruction + place) % raters))
    return played(rows)


def test_an_undefeated_model_is_estimated_with_virtual_ties_and_a_one_sided_bound():
    found = _strength(games(), 100, 0)
    first = found.models[0]
    assert (first.model, first.bound, found.virtual_ties) == ("alpha", "at_least", 1.0)
    assert first.bound_at < first.strength and first.such_low is None
    said = _pairs_opening(found, "instructions")
    # Six raters, all of the same mind: 2 x .5^6 = .031, .094 for the three pairs.
    assert said.startswith("Which model leads is not shown: alpha never lost to or tied with the others")
    assert any("at least" in note for note in strength_block(found, "instructions").notes)


def test_an_undefeated_model_leads_where_enough_raters_say_so():
    said = _pairs_opening(_strength(games(raters=15), 100, 0), "instructions")
    assert said.startswith("alpha ranks first: it never lost to or tied with the others")


def test_a_model_that_never_won_has_an_upper_bound():
    found = _strength(games(undefeated=(), winless=(3,)), 100, 0)
    last = found.models[-1]
    assert (last.model, last.bound) == ("gamma", "at_most") and last.bound_at > last.strength
