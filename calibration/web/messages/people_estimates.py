"""Estimates that people's ratings enter, in the reader's language: for raters like these, and for exactly these raters."""

from collections.abc import Iterable

from django.utils.translation import gettext, ngettext

from calibration.figures.drawing import number
from calibration.figures.spreads import Span
from calibration.statistics.judges.estimates import LEAST_RATERS, PeopleEstimate
from calibration.statistics.resampling import MIN_CLUSTERS
from calibration.web.blocks import Column, Ends, interval_cells
from calibration.web.messages.intervals import ends_words
from calibration.web.messages.populations import both_words, populations_note


def people_words(found: PeopleEstimate, *, step: float = 0.01, items: bool = False) -> str:
    """Write '0.57 (95 % interval for raters like these 0.40 to 0.70; for exactly these raters 0.50 to 0.64)'."""
    if found.interval_kind == "crossed95":
        main = found.low, found.high
        these = None if found.these_low is None or found.these_high is None else (found.these_low, found.these_high)
        return both_words(found.value, main if found.population == "such" else None, these, step=step)
    return ends_words(found.value, found.low, found.high, found.interval_kind, step=step, items=items)


def people_columns(label: str, digits: int) -> list[Column]:
    """Return the columns of a value and its intervals; `people_cells` gives their cells. Empty columns are not shown."""
    return [
        Column(label, digits),
        Column(gettext("Raters like these: low"), digits, optional=True, end="low"),
        Column(gettext("Raters like these: high"), digits, optional=True, end="high"),
        Column(gettext("These raters: low"), digits, optional=True, end="low"),
        Column(gettext("These raters: high"), digits, optional=True, end="high"),
        Column(gettext("Lowest when one is left out"), digits, optional=True),
        Column(gettext("Highest when one is left out"), digits, optional=True),
    ]


def people_cells(found: PeopleEstimate | None) -> list[float | None]:
    if found is None:
        return [None] * 7
    such = (
        (found.low, found.high) if found.population == "such" and found.interval_kind == "crossed95" else (None, None)
    )
    ranged = (found.low, found.high) if found.interval_kind == "leave_one_out_range" else (None, None)
    return [found.value, *such, found.these_low, found.these_high, *ranged]


def named_cells(value: float, ends: Ends) -> list[float | None]:
    """Return the cells of `people_columns` for a named judge or rater, whose interval takes only instructions as drawn."""
    _, low, high = interval_cells(value, ends)
    if ends.interval_kind == "leave_one_out_range":
        return [value, None, None, None, None, low, high]
    return [value, None, None, low, high, None, None]


def people_span(found: PeopleEstimate) -> Span:
    return Span(found.value, found.low, found.high)


def populations_meaning(
    found: Iterable[PeopleEstimate | None], *, items: bool = False, least_raters: int = LEAST_RATERS
) -> list[str]:
    """Explain the intervals of these estimates, and why some are not about raters like these, each sentence once.

    `least_raters` is how many raters an interval for raters like these needs.
    """
    known = [one for one in found if one is not None]
    said = []
    if any(one.interval_kind == "crossed95" and one.population == "such" for one in known):
        said.append(populations_note(gettext("items") if items else gettext("instructions")))
    words = [why_not_words(one, items=items, least_raters=least_raters) for one in known]
    return [*said, *dict.fromkeys(filter(None, words))]


def why_not_words(found: PeopleEstimate, *, items: bool = False, least_raters: int = LEAST_RATERS) -> str:
    """Say why the estimate's interval is not about raters like these; '' where it is, or no rater enters it."""
    if found.why_not == "few_instructions":
        few_items = gettext("A 95 %% interval needs at least %(needed)s items, and there are %(n)s.")
        few_instructions = gettext("A 95 %% interval needs at least %(needed)s instructions, and there are %(n)s.")
        said = few_items if items else few_instructions
        return said % {"needed": MIN_CLUSTERS, "n": number(found.clusters, 1)}
    if found.why_not == "few_raters":
        return ngettext(
            "Intervals are for exactly these raters; for raters like these, at least %(needed)s raters are needed, and "
            "there is %(n)s.",
            "Intervals are for exactly these raters; for raters like these, at least %(needed)s raters are needed, and "
            "there are %(n)s.",
            found.raters,
        ) % {"needed": least_raters, "n": number(found.raters, 1)}
    if found.why_not == "single_in_category":
        return gettext("A 95 %% interval needs at least two instructions in every category that people scored.") % {}
    if found.why_not == "no_spread":
        return gettext(
            "Where all of people's scores are alike, no interval is stated: they cannot show how far that holds."
        )
    if found.why_not == "counted_together":
        return gettext(
            "Intervals are for exactly these raters, because people's answers are counted together here and not by rater."
        )
    if found.why_not == "positions":
        return gettext("Intervals are for exactly these raters, because the data identify positions, not persons.")
    if found.why_not == "undefined_without_one":
        return gettext(
            "An interval for raters like these is not stated where a value cannot be computed without one of the raters."
        )
    if found.why_not == "extreme":
        return gettext("A correlation of 1 or −1 has no interval: these responses cannot show how far it holds.")
    return ""
