"""A table of many columns of figures fits a wide window in both languages: its headings wrap, Chinese ones too."""

import pytest
from django.conf import settings
from django.utils.translation import gettext, override

from calibration.web.messages.people_estimates import people_columns

pytestmark = pytest.mark.browser
STYLES = ("plumbline.css", "desk.css")
OVER = "() => { const box = document.querySelector('.scroll-x'); return box.scrollWidth - box.clientWidth; }"


def corrected_scores(*, ranges):
    """The headings of a board's corrected scores: with both intervals, or with the ranges of few instructions."""
    values = [*people_columns(gettext("Corrected"), 1), *people_columns(gettext("People alone"), 1)]
    shown = [column.label for column in values if not column.optional or (column.end == "") is ranges]
    counts = [gettext("Scored by people"), gettext("Effective sample size"), gettext("Weight of the judge")]
    return [gettext("Model"), gettext("Judge alone"), *shown, *counts]


def page_with(headings, language):
    styles = "".join((settings.BASE_DIR / "static" / name).read_text() for name in STYLES)
    first, *others = headings
    heads = f'<th scope="col">{first}</th>' + "".join(f'<th scope="col" class="num">{name}</th>' for name in others)
    cells = '<th scope="row">basalt-medium</th>' + '<td class="num">−116.1</td>' * len(others)
    return (
        f'<!doctype html><html lang="{language}"><style>{styles}</style><body><main class="page"><div class="scroll-x">'
        f'<table class="data"><thead><tr>{heads}</tr></thead><tbody><tr>{cells}</tr></tbody></table></div></main>'
    )


@pytest.mark.parametrize("language", ["en", "zh-hans"])
@pytest.mark.parametrize("ranges", [True, False])
def test_corrected_scores_fit_a_wide_window(browser, language, ranges):
    with override(language):
        headings = corrected_scores(ranges=ranges)
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.set_content(page_with(headings, language))
    assert page.evaluate(OVER) == 0
    page.close()
