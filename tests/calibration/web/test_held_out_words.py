"""What the page of fitted weights says of held-out instructions: both populations by name, nothing that is not stated."""

from dataclasses import replace

import numpy as np

from calibration.statistics.weights.fit import certify_weights
from calibration.web.weights.certificate import weights_opening
from calibration.web.weights.page import _unseen_columns, _unseen_rows


def certificate(instructions=30, raters=5):
    rng = np.random.default_rng(4)
    instruction, rater = np.repeat(np.arange(instructions), raters), np.tile(np.arange(raters), instructions)
    x = rng.uniform(size=(instruction.size, 3))
    y = np.clip(x @ [2.0, 3.0, 2.0] + 1 + rng.normal(size=raters)[rater] + rng.normal(size=len(x)), 0, 10)
    return certify_weights(x, y, instructions=instruction, raters=rater, draws=0)


def test_the_opening_states_r2_for_raters_like_these_before_exactly_these():
    one = certificate()
    said = weights_opening([one]).split("There, they explain ")[1]
    r2 = one.out_of_sample["instruction"].r2
    assert said.startswith(f"{r2:.2f} (95 % interval for raters like these {one.held_out.such_low:.2f} to ")
    assert f"; for exactly these raters {one.held_out.these_low:.2f} to " in said


def test_the_table_has_the_ends_of_left_out_instructions_and_of_nothing_else():
    one = certificate()
    rows = {row[0]: row for row in _unseen_rows(one)}
    assert all(len(row) == len(_unseen_columns()) for row in rows.values())
    found = one.held_out
    assert rows["One instruction"][3:7] == [found.such_low, found.such_high, found.these_low, found.these_high]
    assert rows["One rater"][3:7] == [None] * 4


def test_two_raters_and_certificates_made_before_have_no_interval_for_raters_like_these():
    assert "explain 0" in weights_opening([replace(certificate(), held_out=None)])
    said = weights_opening([certificate(raters=2)]).split("There, they")[1]
    assert "raters like these" not in said and "(95 % interval for exactly these raters" in said
