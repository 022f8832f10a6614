"""Sentences on the ends of intervals, and values with their ends, in the reader's language."""

from typing import Protocol

from django.utils.translation import gettext

from calibration.figures.drawing import ends_apart, number
from calibration.web.blocks import Ends
from calibration.web.messages.statistics import interval_meaning


def ends_meaning(kind: str, clusters: int, of: str) -> str:
    """Explain the ends beside a figure or table; `of` names the clusters, already translated."""
    if kind == "wilson95":
        return gettext(
            "Intervals are 95 %% Wilson intervals, computed with the effective number of independent answers given "
            "the clusters (%(of)s)."
        ) % {"of": of}
    if kind == "cluster_robust95":
        return gettext(
            "Intervals are 95 %% intervals for exactly these raters, from Student's t and standard errors over %(n)d whole "
            "%(of)s."
        ) % {"n": clusters, "of": of}
    if kind == "jackknife95":
        return gettext(
            "Intervals are 95 %% intervals for exactly these raters, from leaving out each of the %(n)d %(of)s in turn."
        ) % {"n": clusters, "of": of}
    if kind == "t95":
        return gettext("Intervals are 95 %% intervals from Student's t and standard errors over whole %(of)s.") % {
            "of": of
        }
    return interval_meaning(kind, clusters, of)


def ends_words(value: float, low: float, high: float, kind: str, *, step: float = 0.01, items: bool = False) -> str:
    """Write '0.57 (95 % interval 0.55 to 0.59)', '0.57 (0.5 to 0.6 when one ... is left out)', or the value alone.

    The value stands alone too where both ends are the same (see ends_apart)."""
    ends = None if kind in ("none", "") else ends_apart(low, high, step)
    if ends is None:
        return number(value, step)
    said = {"value": number(value, step), "low": ends[0], "high": ends[1]}
    if kind == "leave_one_out_range":
        of_instructions = gettext("%(value)s (%(low)s to %(high)s when one instruction is left out)")
        of_items = gettext("%(value)s (%(low)s to %(high)s when one item is left out)")
        return (of_items if items else of_instructions) % said
    return gettext("%(value)s (95 %% interval %(low)s to %(high)s)") % said


def range_words(low: float, high: float, step: float = 0.01) -> str:
    """Write '0.55 to 0.59'; '' where both ends are the same, which is never printed as an interval."""
    ends = ends_apart(low, high, step)
    return "" if ends is None else gettext("%(low)s to %(high)s") % {"low": ends[0], "high": ends[1]}


class ValueWithEnds(Ends, Protocol):
    """A value with its interval."""

    @property
    def value(self) -> float: ...


def estimate_words(found: ValueWithEnds, *, step: float = 0.01, items: bool = False) -> str:
    """Write a value with its interval as `ends_words` does."""
    return ends_words(found.value, found.low, found.high, found.interval_kind, step=step, items=items)
