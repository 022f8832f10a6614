"""Every reason why a report has no result has a sentence of its own, in both languages."""

from typing import get_args

import pytest
from django.utils.translation import override

from calibration.reports.codec import Missing
from calibration.statistics.errors import Code, Undefined, code_of
from calibration.statistics.report_reasons import NeverReviewed, NoPairs, TooFewModels
from calibration.web.messages.reasons import error_words, reason_of

CODES = [*get_args(Code), *(one.__name__ for one in (NeverReviewed, NoPairs, TooFewModels))]


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_every_reason_has_a_sentence_of_its_own(language):
    with override(language):
        general = error_words("unknown")
        said = [error_words(code) for code in CODES]
    assert general not in said and len(set(said)) == len(CODES)


def test_a_part_stores_the_code_of_its_reason():
    undefined = Missing.because(Undefined("NoTimes", "No time on task was recorded."))
    assert undefined == Missing("NoTimes", "No time on task was recorded.")
    assert Missing.because(NoPairs("There are no pairs.")).why == "NoPairs"
    assert reason_of(undefined) == error_words("NoTimes")
    assert code_of(ValueError("no")) == "ValueError"
