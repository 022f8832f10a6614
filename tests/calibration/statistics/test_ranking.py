"""Points, Elo, Bradley-Terry, Davidson and effects: by hand, against evalica and statsmodels, and as properties."""

from dataclasses import asdict

import evalica
import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import assume, given, settings, strategies as st
from scipy.optimize import minimize
from scipy.special import expit

from calibration.statistics.errors import ConstantScores, TooFewRatings
from calibration.statistics.ranking.comparisons import pair_tables
from calibration.statistics.ranking.pairs import (
    UnboundedStrength,
    as_games,
    bradley_terry,
    bradley_terry_intervals,
    davidson,
    elo,
    elo_orders,
    elo_variance_law,
    length_contrast,
    on_elo_scale,
    paired_effects,
    points,
    ranks,
    scores_of_first,
    simulate_elo_variance,
)
from calibration.statistics.ranking.strength_populations import win_rates
from tests.calibration.undefined import undefined


def simulated(seed=0, models=5, n=1500, clusters=60, tie=0.2, spread=1.0, position=0.0):
    rng = np.random.default_rng(seed)
    truth = np.linspace(spread, -spread, models)
    first = rng.integers(0, models, n)
    second = (first + rng.integers(1, models, n)) % models
    won = rng.random(n) < expit(truth[first] - truth[second] + position)
    score = np.where(rng.random(n) < tie, 0.5, won)
    return as_games(first, second, score, clusters=rng.integers(0, clusters, n)), truth


@st.composite
def tournaments(draw, connected=True):
    """Games in which, when `connected`, every two models have drawn once, so that a maximum exists."""
    models = draw(st.integers(2, 5))
    pair = st.tuples(st.integers(0, models - 1), st.integers(0, models - 1)).filter(lambda p: p[0] != p[1])
    played = draw(st.lists(st.tuples(pair, st.sampled_from([0.0, 0.5, 1.0])), min_size=1, max_size=40))
    if connected:
        played += [((i, j), 0.5) for i in range(models) for j in range(i)]
    return [p[0] for p, _ in played], [p[1] for p, _ in played], [s for _, s in played]


# Games and points


def test_both_bad_is_a_tie():
    assert scores_of_first(["first", "tie", "both_bad", "second"]).tolist() == [1, 0.5, 0.5, 0]
    with pytest.raises(ValueError, match="'draw'"):
        scores_of_first(["draw"])


def test_points_by_hand():
    # a beats b, a ties c, c beats a: a has 1 + .5 + 0 of 3 games, b 0 of 1, c .5 + 1 of 2.
    games = as_games(["a", "a", "c"], ["b", "c", "a"], [1, 0.5, 1])
    result = points(games)
    assert result.models == ("a", "b", "c")
    assert result.total.tolist() == [1.5, 0, 1.5]
    assert result.per_game.tolist() == [0.5, 0, 0.75]
    assert result.rank.tolist() == [1, 3, 1]
    assert result.rank_per_game.tolist() == [2, 3, 1]
    assert (result.wins.tolist(), result.ties.tolist(), result.losses.tolist()) == ([1, 0, 1], [1, 0, 1], [1, 1, 0])
    assert result.interval_kind == "none"


@given(tournaments())
def test_points_of_all_models_are_the_number_of_games(played):
    result = points(as_games(*played))
    assert result.total.sum() == len(played[2])
    assert (result.wins + result.ties + result.losses).sum() == 2 * len(played[2])


@given(tournaments(connected=False), st.randoms(use_true_random=False))
def test_order_and_sides_of_games_leave_points_alone(played, random):
    first, second, score = played
    lines = list(zip(second, first, [1 - s for s in score], strict=True))
    random.shuffle(lines)
    turned = points(as_games(*zip(*lines, strict=True)))
    assert turned.total.tolist() == points(as_games(*played)).total.tolist()


def test_points_interval_covers_and_uses_clusters():
    games, _ = simulated()
    result = points(games, draws=400)
    assert result.interval_kind == "wilson95"
    assert result.clusters == 60
    assert ((result.per_game_low < result.per_game) & (result.per_game < result.per_game_high)).all()


def test_a_model_that_won_every_comparison_is_not_certain_to_win_all_others():
    n = 30
    games = as_games(
        np.zeros(2 * n, dtype=int), np.tile([1, 2], n), np.ones(2 * n), clusters=np.repeat(np.arange(n), 2)
    )
    result = points(games, draws=200)
    assert result.per_game[0] == result.per_game_high[0] == 1
    assert 0.8 < result.per_game_low[0] < 0.95
    three = win_rates(games, np.tile([0, 1, 2], 2 * n)[: 2 * n])
    assert three.not_stated == "" and three.such_low[0] < three.these_low[0] < 1
    assert three.such_high[0] == 1
    assert win_rates(games, None).not_stated == "positions"


@pytest.mark.parametrize("clusters", [40, 3000])
def test_resampled_counts_hold_as_many_clusters_as_the_data(clusters):
    # One game a cluster: every draw must hold exactly `clusters` games, merged into patterns or not.
    rng = np.random.default_rng(1)
    games = as_games(rng.integers(0, 2, clusters), np.full(clusters, 2), rng.integers(0, 3, clusters) / 2)
    tables = pair_tables(games, draws=200)
    assert (tables.resampled.sum(axis=(1, 2)) == clusters).all()
    assert tables.resampled.mean(axis=0) == pytest.approx(tables.total, rel=0.2, abs=3)
    assert tables.resampled.var(axis=0) == pytest.approx(tables.total * (1 - tables.total / clusters), rel=0.5, abs=3)


def test_merged_patterns_draw_what_separate_clusters_draw():
    # 1,200 clusters of two games of few kinds are merged; the spread of every count must be that of whole clusters.
    rng = np.random.default_rng(2)
    first = np.repeat(rng.integers(0, 2, 1200), 2)
    games = as_games(first, 1 - first, np.repeat(rng.integers(0, 3, 1200) / 2, 2), clusters=np.arange(2400) // 2)
    tables = pair_tables(games, draws=3000, seed=3)
    share = tables.total[0] / 2400
    # Both games of a cluster end alike, so a count is twice a binomial of 1,200.
    assert tables.resampled[:, 0].std(axis=0) == pytest.approx(2 * np.sqrt(1200 * share * (1 - share)), rel=0.06)
    assert (tables.resampled % 2 == 0).all()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (([], [], []), TooFewRatings),
        ((["a"], ["a"], [1]), ValueError),
        ((["a"], ["b"], [0.7]), ValueError),
        ((["a", "a"], ["b"], [1]), ValueError),
    ],
)
def test_games_that_cannot_be_ranked(arguments, error):
    with pytest.raises(error):
        as_games(*arguments)


# Elo


def test_elo_by_hand():
    # Equals: E = .5, so a wins 16. Then a (1516) ties c (1500): E_a = 1/(1 + 10^(-16/400)) = .5230, so a loses .7363.
    games = as_games(["a", "a"], ["b", "c"], [1, 0.5])
    result = elo(games)
    gain = 32 * (0.5 - 1 / (1 + 10 ** (-16 / 400)))
    assert gain == pytest.approx(-0.7363, abs=1e-4)
    assert result.rating == pytest.approx([1516 + gain, 1484, 1500 - gain])
    assert result.rank.tolist() == [1, 3, 2]
    assert result.last_games == 2
    assert result.last_low == pytest.approx([1500, 1484, 1500])
    assert result.last_rank_low.tolist() == [1, 1, 1]
    assert result.last_rank_high.tolist() == [1, 3, 2]


def test_elo_equals_evalica():
    games, _ = simulated(n=700)
    winners = [{1.0: evalica.Winner.X, 0.5: evalica.Winner.Draw, 0.0: evalica.Winner.Y}[s] for s in games.score]
    theirs = evalica.elo(games.first.tolist(), games.second.tolist(), winners, initial=1500, k=32)
    assert elo(games).rating == pytest.approx(theirs.scores.sort_index().to_numpy(), abs=1e-7)


@given(tournaments(connected=False), st.integers(0, 3))
def test_elo_keeps_the_sum_of_ratings_and_every_order_is_a_pass(played, seed):
    games = as_games(*played)
    spread = elo_orders(games, orders=3, seed=seed)
    k = len(games.models)
    assert spread.ratings.sum(axis=1) == pytest.approx(np.full(3, 1500.0 * k))
    assert elo(games).rating.sum() == pytest.approx(1500 * k)
    # The shuffles are those of the seed: play the first one alone.
    line = np.arange(len(games))
    kind = (games.first * k + games.second) * 3 + np.rint(games.score * 2).astype(np.int64)
    np.random.default_rng(seed).shuffle(kind)
    alone = elo(as_games(kind // 3 // k, kind // 3 % k, kind % 3 / 2)) if len(line) else None
    played_models = sorted(set((kind // 3 // k).tolist()) | set((kind // 3 % k).tolist()))
    assert spread.ratings[0][played_models] == pytest.approx(alone.rating)


def test_elo_depends_on_the_order_where_bradley_terry_does_not():
    games, _ = simulated(n=3000)
    spread = elo_orders(games, orders=50, seed=1)
    assert (spread.high - spread.low > 30).all()
    assert (spread.rank_low <= spread.rank_high).all()
    assert spread.rank_low.min() == 1
    again = np.random.default_rng(0).permutation(len(games))
    turned = as_games(games.first[again], games.second[again], games.score[again])
    assert bradley_terry(turned).strength == pytest.approx(bradley_terry(games).strength, abs=1e-12)
    with pytest.raises(TooFewRatings):
        elo_orders(games, orders=0)


def test_elo_variance_law_has_the_constant_its_formula_gives():
    # 32^2/(1 - .9264^2) = 1024/.14178304 = 7222.3; LLMEval prints 7211.27.
    assert elo_variance_law(0.5) * 4 == pytest.approx(7222.3, abs=0.05)
    assert [round(elo_variance_law(p)) for p in (0.5, 0.7, 0.9)] == [1806, 1517, 650]
    with undefined("OutOfRange"):
        elo_variance_law(1.1)


@pytest.mark.parametrize(("accuracy", "variance"), [(0.5, 1517), (0.7, 1490), (0.9, 1409)])
def test_simulated_elo_variance_leaves_the_law_away_from_its_tangent(accuracy, variance):
    assert simulate_elo_variance(accuracy, games=500, chains=40_000, seed=5) == pytest.approx(variance, rel=0.025)


# Bradley-Terry


def test_bradley_terry_of_two_models_by_hand():
    # 3 wins, 1 loss, 2 ties: 4 of 6 half-tie wins, so the odds are 2 and the strengths are half of ln 2 apart from 0.
    games = as_games(["x"] * 6, ["y"] * 6, [1, 1, 1, 0, 0.5, 0.5])
    fit = bradley_terry(games)
    assert fit.strength == pytest.approx([np.log(2) / 2, -np.log(2) / 2], abs=1e-12)
    assert fit.beats == pytest.approx(np.array([[0.5, 2 / 3], [1 / 3, 0.5]]))
    assert fit.rank.tolist() == [1, 2]
    # On Elo's scale Eq. 3 gives the same chance.
    high, low = on_elo_scale(fit.strength)
    assert 1 / (1 + 10 ** ((low - high) / 400)) == pytest.approx(2 / 3)
    assert (high + low) / 2 == pytest.approx(1500)


@settings(deadline=None, max_examples=60)
@given(tournaments())
def test_bradley_terry_equals_evalica(played):
    first, second, score = played
    winners = [{1.0: evalica.Winner.X, 0.5: evalica.Winner.Draw, 0.0: evalica.Winner.Y}[s] for s in score]
    theirs = evalica.bradley_terry(first, second, winners, tolerance=1e-13, limit=100_000)
    ours = bradley_terry(as_games(*played)).strength
    assert ours == pytest.approx(np.log(theirs.scores.sort_index().to_numpy()), abs=1e-7)


@settings(deadline=None)
@given(tournaments())
def test_expected_wins_are_the_wins_and_turning_all_results_turns_strengths(played):
    first, second, score = played
    fit = bradley_terry(as_games(*played))
    expected = np.zeros(len(fit.models))
    won = np.zeros(len(fit.models))
    for a, b, s in zip(first, second, score, strict=True):
        expected[[a, b]] += fit.beats[a, b], fit.beats[b, a]
        won[[a, b]] += s, 1 - s
    assert expected == pytest.approx(won, abs=1e-7)
    turned = bradley_terry(as_games(first, second, [1 - s for s in score]))
    assert turned.strength == pytest.approx(-fit.strength, abs=1e-9)
    doubled = bradley_terry(as_games(first * 2, second * 2, score * 2))
    assert doubled.strength == pytest.approx(fit.strength, abs=1e-9)


def test_disconnected_models_are_named():
    games = as_games(["a", "b", "c", "d"], ["b", "a", "d", "c"], [1, 1, 0.5, 1])
    with undefined("DisconnectedComparisons", match=r"a, b \| c, d;"):
        bradley_terry(games)


def test_undefeated_models_are_named_and_virtual_ties_bound_them():
    games = as_games(["a", "a", "b", "b", "c"], ["b", "c", "a", "c", "d"], [1, 1, 1, 1, 0.5])
    for statistic in (bradley_terry, bradley_terry_intervals, davidson, paired_effects):
        with pytest.raises(UnboundedStrength, match="a, b") as caught:
            statistic(games)
        assert caught.value.models == ("a", "b")
    # One virtual tie between two models with one game: 1.5 of 2 half-tie wins, odds 3.
    alone = as_games(["a"], ["b"], [1])
    assert np.diff(bradley_terry(alone, virtual_ties=1).strength) == pytest.approx(-np.log(3))
    assert np.isfinite(bradley_terry(games, virtual_ties=0.5).strength).all()
    with pytest.raises(ValueError, match="virtual ties"):
        bradley_terry(games, virtual_ties=-1)


def test_all_ties_are_equal_strengths():
    fit = bradley_terry(as_games(["a", "b"], ["b", "c"], [0.5, 0.5]))
    assert fit.strength == pytest.approx(np.zeros(3), abs=1e-12)


def test_a_lopsided_tournament_converges():
    # 1 loss in 5,000: the strengths are ln(4999) apart.
    games = as_games(["a"] * 5000, ["b"] * 5000, [0.0] + [1.0] * 4999)
    assert np.diff(bradley_terry(games).strength) == pytest.approx(-np.log(4999), abs=1e-9)


def test_intervals_over_clusters_are_seeded_consistent_and_wider_than_over_games():
    rng = np.random.default_rng(4)
    # In each cluster a's advantage differs, so games within one are alike.
    clusters = np.repeat(np.arange(40), 30)
    won = rng.random(1200) < expit(rng.normal(0.3, 1.2, 40))[clusters]
    score = np.where(np.arange(1200) % 10 == 0, 0.5, won)
    games = as_games(["a"] * 1200, ["b"] * 1200, score, clusters=clusters)
    result = bradley_terry_intervals(games, draws=500, seed=1)
    assert result.interval_kind == "bootstrap95"
    assert result.draws == 500
    assert result.difference_low == pytest.approx(-result.difference_high.T)
    assert result.difference_low[0, 1] == pytest.approx(2 * result.low[0])
    same = bradley_terry_intervals(games, draws=500, seed=1)
    assert same.low.tolist() == result.low.tolist()
    by_game = bradley_terry_intervals(as_games(["a"] * 1200, ["b"] * 1200, score), draws=500, seed=1)
    assert (result.high - result.low)[0] > 2 * (by_game.high - by_game.low)[0]
    # The bootstrap of one difference has the spread of the clusters' means, propagated by the log-odds' slope.
    share = score.mean()
    deviation = np.bincount(clusters, weights=score - share).std() / np.sqrt(40) / 30 / (share * (1 - share))
    spread = np.subtract(*result.strength_draws.T)
    assert spread.std() == pytest.approx(deviation, rel=0.1)


def test_ranks_agree_with_the_truth():
    games, truth = simulated(seed=7, models=6, n=6000, clusters=200)
    result = bradley_terry_intervals(games, draws=500)
    true_rank = ranks(truth)
    assert ((result.rank_low <= true_rank) & (true_rank <= result.rank_high)).all()
    assert ((result.rank_low <= result.fit.rank) & (result.fit.rank <= result.rank_high)).all()


def test_equal_models_share_the_whole_range_of_ranks():
    games, _ = simulated(seed=3, models=4, spread=0.0)
    result = bradley_terry_intervals(games, draws=500)
    assert result.rank_low.min() == 1
    assert result.rank_high.max() == 4
    assert (result.rank_high > result.rank_low).all()


def test_bradley_terry_differences_cover_on_clustered_data():
    # Clusters shift the chances, so that an interval over games would be too short; 250 data sets of 50 clusters.
    kept = 0
    row_kept = 0
    rng = np.random.default_rng(11)
    clusters = np.repeat(np.arange(50), 12)
    truth = np.log(np.mean(expit(rng.normal(0.4, 1, 400_000))) / np.mean(expit(-rng.normal(0.4, 1, 400_000))))
    for seed in range(250):
        score = (rng.random(600) < expit(rng.normal(0.4, 1, 50))[clusters]).astype(float)
        whole = bradley_terry_intervals(as_games(["a"] * 600, ["b"] * 600, score, clusters=clusters), seed=seed)
        kept += whole.difference_low[0, 1] <= truth <= whole.difference_high[0, 1]
        rows = bradley_terry_intervals(as_games(["a"] * 600, ["b"] * 600, score), seed=seed)
        row_kept += rows.difference_low[0, 1] <= truth <= rows.difference_high[0, 1]
    assert 0.91 <= kept / 250 <= 0.99
    assert row_kept / 250 < 0.85


def test_few_clusters_give_a_range():
    games, _ = simulated(clusters=8)
    result = bradley_terry_intervals(games, draws=100)
    assert result.interval_kind == "leave_one_out_range"
    assert (result.low <= result.fit.strength).all()
    assert (result.rank_low <= result.rank_high).all()
    # By hand for one left-out cluster: the range holds the fit without it.
    keep = games.cluster != 0
    without = bradley_terry(as_games(games.first[keep], games.second[keep], games.score[keep]))
    assert (result.low <= without.strength + 1e-9).all()
    assert (without.strength - 1e-9 <= result.high).all()


def test_without_draws_the_ends_repeat_the_value_and_any_rank_is_possible():
    games, _ = simulated()
    result = bradley_terry_intervals(games, draws=0)
    assert result.interval_kind == "none"
    assert result.low.tolist() == result.fit.strength.tolist()
    assert (result.rank_low.tolist(), result.rank_high.tolist()) == ([1] * 5, [5] * 5)


def test_draws_in_which_a_model_is_undefeated_are_left_out_and_counted():
    # a loses in a single cluster of 30: about 36 % of the draws miss it.
    score = np.ones(30)
    score[0] = 0
    result = bradley_terry_intervals(as_games(["a"] * 30, ["b"] * 30, score), draws=1000)
    assert result.interval_kind == "bootstrap95"
    assert 560 < result.draws < 720
    bounded = bradley_terry_intervals(as_games(["a"] * 30, ["b"] * 30, score), draws=1000, virtual_ties=1)
    assert bounded.draws == 1000


# Davidson


def test_davidson_of_two_models_by_hand():
    # 5 wins, 4 ties, 2 losses fit exactly: strength difference ln(5/2), v = 4/sqrt(5 * 2), equals tie v/(2 + v).
    games = as_games(["a"] * 11, ["b"] * 11, [1] * 5 + [0.5] * 4 + [0] * 2)
    fit = davidson(games)
    assert np.subtract(*fit.strength) == pytest.approx(np.log(2.5))
    assert fit.tie_parameter == pytest.approx(4 / np.sqrt(10))
    assert fit.wins[0, 1] == pytest.approx(5 / 11)
    assert fit.wins[1, 0] == pytest.approx(2 / 11)
    assert fit.ties[0, 1] == pytest.approx(4 / 11)
    assert fit.equal_tie == pytest.approx(fit.ties[0, 0])


def test_davidson_is_the_maximum_that_a_general_optimiser_finds():
    games, _ = simulated(models=4, n=400, tie=0.3)
    fit = davidson(games)

    def misfit(parameters):
        strength = np.concatenate([[0.0], parameters[:3]])
        half = (strength[games.first] - strength[games.second]) / 2
        exponents = np.stack([-half, np.full(len(games), parameters[3]), half])
        chosen = exponents[(games.score * 2).astype(int), np.arange(len(games))]
        return (np.log(np.exp(exponents).sum(axis=0)) - chosen).sum()

    best = minimize(misfit, np.zeros(4), method="BFGS", options={"gtol": 1e-9})
    assert fit.loglikelihood == pytest.approx(-best.fun, abs=1e-6)
    assert fit.strength[1:] - fit.strength[0] == pytest.approx(best.x[:3], abs=1e-4)
    assert np.log(fit.tie_parameter) == pytest.approx(best.x[3], abs=1e-4)


@settings(deadline=None)
@given(tournaments())
def test_davidson_expects_the_points_and_ties_there_were(played):
    first, second, score = (np.array(part) for part in played)
    decided = {(a, b) if s == 1 else (b, a) for a, b, s in zip(first, second, score, strict=True) if s != 0.5}
    assume(any((b, a) in decided for a, b in decided))
    fit = davidson(as_games(*played))
    assert fit.ties[first, second].sum() == pytest.approx((score == 0.5).sum(), abs=1e-6)
    expected = np.bincount(first, fit.wins[first, second] + fit.ties[first, second] / 2, len(fit.models))
    expected += np.bincount(second, fit.wins[second, first] + fit.ties[second, first] / 2, len(fit.models))
    won = np.bincount(first, score, len(fit.models)) + np.bincount(second, 1 - score, len(fit.models))
    assert expected == pytest.approx(won, abs=1e-6)


def test_davidson_recovers_a_planted_tie_parameter():
    rng = np.random.default_rng(2)
    strength, v, n = np.array([0.8, 0.1, -0.9]), 0.7, 20_000
    first = rng.integers(0, 3, n)
    second = (first + rng.integers(1, 3, n)) % 3
    half = (strength[first] - strength[second]) / 2
    odds = np.stack([np.exp(half), np.full(n, v), np.exp(-half)])
    ending = (rng.random(n) > np.cumsum(odds / odds.sum(axis=0), axis=0)).sum(axis=0)
    fit = davidson(as_games(first, second, 1 - ending / 2, clusters=rng.integers(0, 300, n)), draws=500)
    assert fit.interval_kind == "bootstrap95"
    assert fit.tie_low < v < fit.tie_high
    assert fit.tie_high - fit.tie_low < 0.1
    assert ((fit.low < strength) & (strength < fit.high)).all()


@pytest.mark.parametrize("score", [[0.5, 0.5, 0.5], [1, 0, 1], [1, 1, 0.5]])
def test_davidson_without_an_estimable_tie_parameter(score):
    # No decided game; no tie; wins one way only, where ever stronger models with ever more ties fit ever better.
    with undefined("NoTieModel"):
        davidson(as_games(["a"] * 3, ["b"] * 3, score))


# Position and length


def test_position_effect_of_two_models_by_hand():
    # a first: 3 of 4 won; b first: 2 of 4 won. Log-odds s + g = ln 3 and -s + g = 0, so g = s = ln(3)/2.
    games = as_games(["a"] * 4 + ["b"] * 4, ["b"] * 4 + ["a"] * 4, [1, 1, 1, 0, 1, 1, 0, 0])
    fit = paired_effects(games)
    assert fit.effects == ("position",)
    assert fit.effect == pytest.approx([np.log(3) / 2])
    assert np.subtract(*fit.strength) == pytest.approx(np.log(3) / 2)
    assert fit.first_wins == pytest.approx(np.sqrt(3) / (1 + np.sqrt(3)))
    assert fit.interval_kind == "none"


def test_effects_and_intervals_equal_a_clustered_logistic_regression():
    games, _ = simulated(n=1200, tie=0.0, position=0.4)
    rng = np.random.default_rng(8)
    length = rng.normal(size=len(games))
    fit = paired_effects(games, {"length": length})
    design = np.zeros((len(games), 5))
    design[np.arange(len(games)), games.first] = 1
    design[np.arange(len(games)), games.second] -= 1
    columns = np.column_stack([design[:, 1:], np.ones(len(games)), length / np.sqrt((length**2).mean())])
    model = sm.GLM(games.score, columns, family=sm.families.Binomial())
    theirs = model.fit(cov_type="cluster", cov_kwds={"groups": games.cluster}, tol=1e-12)
    assert fit.strength[1:] - fit.strength[0] == pytest.approx(theirs.params[:4], abs=1e-7)
    assert fit.effect == pytest.approx(theirs.params[4:], abs=1e-7)
    # They use the normal distribution and one more small-sample factor.
    half = (fit.effect_high - fit.effect_low) / 2
    assert half == pytest.approx(2.001 * theirs.bse[4:], rel=0.01)
    assert fit.interval_kind == "cluster_robust95"
    assert fit.effect_low[0] < 0.4 < fit.effect_high[0]


def test_without_effects_strengths_are_those_of_bradley_terry():
    games, _ = simulated()
    fit = paired_effects(games, position=False)
    assert fit.strength == pytest.approx(bradley_terry(games).strength, abs=1e-9)
    assert fit.first_wins == 0.5
    assert fit.effects == ()


def test_swapping_all_sides_turns_the_position_effect_only():
    games, _ = simulated(position=0.6)
    turned = as_games(games.second, games.first, 1 - games.score, clusters=games.cluster)
    one, other = paired_effects(games), paired_effects(turned)
    assert other.effect == pytest.approx(-one.effect, abs=1e-9)
    assert other.strength == pytest.approx(one.strength, abs=1e-9)


def test_effects_that_games_cannot_show():
    always_first = as_games(["a"] * 4, ["b"] * 4, [1, 0, 1, 0.5])
    with undefined("EffectNotIdentified", match="position"):
        paired_effects(always_first)
    # The first side wins every game, whoever it is.
    with undefined("NotConverged"):
        paired_effects(as_games(["a", "b"] * 4, ["b", "a"] * 4, [1.0] * 8))
    games, _ = simulated()
    with pytest.raises(ConstantScores):
        paired_effects(games, {"length": np.zeros(len(games))})
    with pytest.raises(ValueError, match="length"):
        paired_effects(games, {"length": np.full(len(games), np.nan)})


def test_length_contrast():
    # (300 - 100)/400 = .5, the other way -.5; two empty responses are equally long.
    assert length_contrast(np.array([300, 100, 0]), np.array([100, 300, 0])).tolist() == [0.5, -0.5, 0]
    with undefined("OutOfRange"):
        length_contrast(np.array([-1]), np.array([5]))


def test_no_result_holds_a_nan():
    games, _ = simulated(models=3, n=90, clusters=30)
    results = [
        points(games, draws=50),
        elo(games),
        elo_orders(games, orders=5),
        bradley_terry_intervals(games, draws=50),
        davidson(games, draws=50),
        paired_effects(games),
    ]
    for result in results:
        for name, value in asdict(result).items():
            if isinstance(value, float | np.ndarray):
                assert np.isfinite(value).all(), (type(result).__name__, name)
