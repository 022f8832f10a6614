"""Values with their intervals for raters like these and for exactly these raters, and why one of them is not stated."""

from django.utils.translation import gettext, ngettext

from calibration.figures.drawing import ends_apart, number
from calibration.reports.codec import Missing
from calibration.reports.people.populations import EstimateForBoth, Interval, SuchRaters
from calibration.statistics.crossed import WhyNot
from calibration.statistics.resampling import MIN_CLUSTERS
from calibration.statistics.weights.gains import Gain
from calibration.web.blocks import Column
from calibration.web.messages.intervals import ends_words

Ends = tuple[float, float] | None


def both_words(value: float, such: Ends, these: Ends, *, step: float = 0.01) -> str:
    """Write '0.57 (95 % interval for raters like these 0.4 to 0.7; for exactly these raters 0.5 to 0.6)'.

    An interval without width is not written (see ends_apart).
    """
    values = {"value": number(value, step)}
    wide = ends_apart(*such, step) if such is not None else None
    near = ends_apart(*these, step) if these is not None else None
    if wide is not None:
        values |= {"low": wide[0], "high": wide[1]}
    if near is not None:
        values |= {"these_low": near[0], "these_high": near[1]}
    if wide is not None and near is not None:
        return (
            gettext(
                "%(value)s (95 %% interval for raters like these %(low)s to %(high)s; for exactly these raters "
                "%(these_low)s to %(these_high)s)"
            )
            % values
        )
    if wide is not None:
        return gettext("%(value)s (95 %% interval for raters like these %(low)s to %(high)s)") % values
    if near is not None:
        return gettext("%(value)s (95 %% interval for exactly these raters %(these_low)s to %(these_high)s)") % values
    return values["value"]


def both_columns(label: str, digits: int = 3) -> list[Column]:
    """The columns of a value, of its interval for raters like these, and of that for exactly these raters."""
    return [Column(label, digits), *ends_columns(digits)]


def ends_columns(digits: int, *, optional: bool = False) -> list[Column]:
    """The columns of both intervals; each names its population, so that a file of the table does too."""
    return [
        *Column.ends(gettext("Raters like these: low"), gettext("Raters like these: high"), digits, optional=optional),
        *Column.ends(gettext("These raters: low"), gettext("These raters: high"), digits, optional=optional),
    ]


def both_cells(value: float | None, these: Interval, such: SuchRaters | None) -> list[float | None]:
    """The cells of both_columns."""
    wide = (None, None) if such is None else (such.low, such.high)
    return [value, *wide, *((None, None) if these.kind == "none" else (these.low, these.high))]


def estimate_cells(found: EstimateForBoth | Missing) -> list[float | None]:
    """The cells of both_columns for an estimate; empty ones where there is none."""
    return [None] * 5 if isinstance(found, Missing) else both_cells(found.value, found.these, found.such)


def widest(these: Interval, such: SuchRaters | None) -> tuple[float | None, float | None]:
    """The interval for raters like these, or without one that for exactly these raters."""
    if such is not None and such.low is not None:
        return such.low, such.high
    return (None, None) if these.kind == "none" else (these.low, these.high)


def said_for_both(found: EstimateForBoth, step: float = 0.01) -> str:
    """Write the estimate as both_words does."""
    return both_words(found.value, _ends(found.such.low, found.such.high), _known(found.these), step=step)


def _known(these: Interval) -> Ends:
    return None if these.kind == "none" else _ends(these.low, these.high)


def _ends(low: float | None, high: float | None) -> Ends:
    return None if low is None or high is None else (low, high)


def gain_words(gain: Gain, *, items: bool = False) -> str:
    """Write a gain with both of its intervals, or with its range under 20 instructions."""
    if gain.interval_kind != "t95":
        return ends_words(gain.value, gain.low, gain.high, gain.interval_kind, step=0.001, items=items)
    such = None if gain.such_low is None or gain.such_high is None else (gain.such_low, gain.such_high)
    return both_words(gain.value, such, (gain.low, gain.high), step=0.001)


def needed_words(gain: Gain, *, items: bool = False) -> str:
    """Say how many instructions would show a gain of the size found; '' where there is no gain."""
    if gain.value <= 0 or gain.p is None:
        return ""
    if gain.needed is None:
        return gettext("A gain of this size would take more raters to show; more instructions would not do.")
    of_instructions = gettext("About %(n)s instructions in all would show a gain of this size with 80 %% power.")
    of_items = gettext("About %(n)s items in all would show a gain of this size with 80 %% power.")
    return (of_items if items else of_instructions) % {"n": number(max(gain.needed, gain.clusters + 1), 1)}


def not_stated_words(why: WhyNot, n_instructions: int, n_raters: int, *, items: bool = False, least: int = 2) -> str:
    """Say why there is no interval for raters like these, and what it needs; '' where there is one."""
    if why == "few_instructions":
        of_items = gettext(
            "No 95 %% interval is stated, neither for raters like these nor for exactly these: that needs at least "
            "%(needed)d items, and there are %(n)d."
        )
        of_instructions = gettext(
            "No 95 %% interval is stated, neither for raters like these nor for exactly these: that needs at least "
            "%(needed)d instructions, and there are %(n)d."
        )
        return (of_items if items else of_instructions) % {"needed": MIN_CLUSTERS, "n": n_instructions}
    if why == "few_raters":
        return ngettext(
            "No interval for raters like these is stated: that needs at least %(needed)d raters, and there is %(n)d.",
            "No interval for raters like these is stated: that needs at least %(needed)d raters, and there are %(n)d.",
            n_raters,
        ) % {"needed": least, "n": n_raters}
    if why == "positions":
        return gettext("No interval for raters like these is stated, because the data identify positions, not persons.")
    if why:
        return gettext(
            "No interval for raters like these is stated: without one of the raters or instructions, the value could not "
            "be computed."
        )
    return ""


def populations_note(of: str) -> str:
    """Say what the two intervals are about; `of` names instructions or items, already translated."""
    return gettext(
        "An interval for raters like these takes both the raters and the %(of)s as drawn from many; one for exactly these "
        "raters takes only the %(of)s as drawn, and says nothing about other raters."
    ) % {"of": of}
