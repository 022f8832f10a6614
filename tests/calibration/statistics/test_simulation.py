import json
from pathlib import Path

import numpy as np
import pytest

from calibration.statistics.design.simulation import one_factor_loadings, simulate_checklist

PUBLISHED = Path(__file__).resolve().parents[3] / "fixtures" / "published" / "hellobench.json"
LEVELS = np.array([0, 0.25, 0.5, 0.75, 1])


def test_loadings_reproduce_a_matrix_of_one_factor():
    loadings = np.array([0.9, 0.8, 0.6, 0.7])
    assert one_factor_loadings(np.outer(loadings, loadings)) == pytest.approx(loadings, abs=1e-6)


def test_loadings_of_hellobench_table_18_keep_its_order():
    matrix = np.array(json.loads(PUBLISHED.read_text())["table_18"]["matrix"])
    loadings = one_factor_loadings(matrix)
    # HM1 agrees least with the others and HM3 most, in the printed table.
    assert loadings.argmin() == 0
    assert loadings.argmax() == 2
    assert ((loadings > 0.5) & (loadings <= 1)).all()


def test_ratings_stay_on_their_scales_and_follow_the_seed():
    quality = np.random.default_rng(1).uniform(size=(30, 4))
    arguments = {"loadings": np.array([0.9, 0.6]), "overall_mse": 0.3, "levels": LEVELS}
    one = simulate_checklist(quality, np.ones(4), rng=np.random.default_rng(7), **arguments)
    same = simulate_checklist(quality, np.ones(4), rng=np.random.default_rng(7), **arguments)
    assert one.answers.shape == (2, 30, 4)
    assert set(np.unique(one.answers)) <= set(LEVELS)
    assert one.overall.min() >= 0
    assert one.overall.max() <= 10
    assert (one.overall == same.overall).all()


def test_overall_scores_of_two_raters_correlate_as_their_loadings_say():
    # Widely spread qualities in the middle of the scale, so that clipping at its ends hardly matters.
    rng = np.random.default_rng(3)
    quality = np.clip(rng.normal(0.5, 0.16, size=(4000, 1)) + rng.normal(0, 0.12, size=(4000, 5)), 0, 1)
    ratings = simulate_checklist(
        quality, np.ones(5), loadings=np.array([0.9, 0.8]), overall_mse=0.2, levels=LEVELS, rng=rng
    )
    assert np.corrcoef(ratings.overall)[0, 1] == pytest.approx(0.72, abs=0.05)
