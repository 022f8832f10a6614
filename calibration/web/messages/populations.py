"""Values with their intervals for raters like these and for exactly these raters, and why one of them is not stated."""

from django.utils.translation import gettext, ngettext

from calibration.figures.drawing import number
from calibration.statistics.crossed import WhyNot
from calibration.statistics.resampling import MIN_CLUSTERS
from calibration.statistics.weights.gains import Gain
from calibration.web.messages.intervals import ends_words

Ends = tuple[float, float] | None


def both_words(value: float, such: Ends, these: Ends, *, step: float = 0.01) -> str:
    """Write '0.57 (95 % interval for raters like these 0.4 to 0.7; for exactly these raters 0.5 to 0.6)'."""
    values = {"value": number(value, step)}
    if such is not None:
        values |= {"low": number(such[0], step), "high": number(such[1], step)}
    if these is not None:
        values |= {"these_low": number(these[0], step), "these_high": number(these[1], step)}
    if such is not None and these is not None:
        return (
            gettext(
                "%(value)s (95 %% interval for raters like these %(low)s to %(high)s; for exactly these raters "
                "%(these_low)s to %(these_high)s)"
            )
            % values
        )
    if such is not None:
        return gettext("%(value)s (95 %% interval for raters like these %(low)s to %(high)s)") % values
    if these is not None:
        return gettext("%(value)s (95 %% interval for exactly these raters %(these_low)s to %(these_high)s)") % values
    return values["value"]


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
