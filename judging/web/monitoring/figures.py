"""A drift monitor's rounds as a figure: intervals, limits of the check, and flags by shape and text."""

from collections.abc import Sequence
from dataclasses import dataclass

from calibration.figures.drawing import (
    LINE,
    QUIET,
    SMALL,
    Scale,
    element,
    figure,
    grid_strength,
    legend,
    line,
    marker,
    number,
    percent,
    round_ticks,
    text,
)

LEFT, RIGHT = 0.1, 0.97
MOST_LABELS = 12


@dataclass(frozen=True)
class RoundPoint:
    """One round; `lower` and `upper` are the limits beyond which it counts as changed, None for the first."""

    label: str
    value: float
    low: float
    high: float
    lower: float | None = None
    upper: float | None = None
    flagged: bool = False


def rounds_chart(
    points: Sequence[RoundPoint], *, title: str, y_title: str, x_title: str, series: tuple[str, str], height: int = 240
) -> str:
    """`series` names a round and a flagged round; dashes show the limits. Raises ValueError without points."""
    if not points:
        raise ValueError("A figure needs at least one round.")
    top = LINE * 3 + 12.0
    bottom = top + height
    ends = [end for one in points for end in (one.low, one.high, one.lower, one.upper) if end is not None]
    ticks, step = round_ticks(min(ends), max(ends))
    y_scale = Scale(ticks[0], ticks[-1], bottom, top)
    x_scale = Scale(0, max(len(points) - 1, 1), LEFT + 0.03, RIGHT - 0.03)
    parts = [legend(series, 8, open_from=2), text(y_title, 0, top - 10, size=SMALL, opacity=QUIET)]
    for tick in ticks:
        parts.append(line(LEFT, y_scale(tick), RIGHT, y_scale(tick), opacity=grid_strength(tick, step)))
        parts.append(text(number(tick, step), LEFT - 0.01, y_scale(tick) + 4, anchor="end", size=SMALL, opacity=QUIET))
    parts.append(line(LEFT, bottom, RIGHT, bottom, opacity=QUIET))
    every = max(1, -(-len(points) // MOST_LABELS))
    for place, one in enumerate(points):
        parts.append(_point(one, x_scale(place), y_scale, series))
        if place % every == 0:
            parts.append(text(one.label, x_scale(place), bottom + 14, size=SMALL, anchor="middle", opacity=QUIET))
    parts.append(text(x_title, RIGHT, bottom + 32, size=SMALL, anchor="end", opacity=QUIET))
    said = "; ".join(_in_words(one, series[1]) for one in points)
    return figure(title, f"{y_title}. {said}", bottom + 38, parts)


def _point(one: RoundPoint, x: float, y_scale: Scale, series: tuple[str, str]) -> str:
    parts = [line(x, y_scale(one.low), x, y_scale(one.high), width=1.5)]
    for limit in (one.lower, one.upper):
        if limit is not None:
            parts.append(_limit(x, y_scale(limit)))
    place = 1 if one.flagged else 0
    parts.append(marker(x, y_scale(one.value), series=place, label=_in_words(one, series[1])))
    return element("g", "".join(parts))


def _limit(x: float, y: float) -> str:
    return element(
        "line",
        x1=percent(x - 0.018),
        y1=y,
        x2=percent(x + 0.018),
        y2=y,
        stroke="currentColor",
        stroke_opacity=QUIET,
        stroke_width=2,
        stroke_dasharray="4 2",
    )


def _in_words(one: RoundPoint, flagged: str) -> str:
    words = f"{one.label}: {number(one.value, 0.001)} ({number(one.low, 0.001)} – {number(one.high, 0.001)})"
    return f"{words} · {flagged}" if one.flagged else words
