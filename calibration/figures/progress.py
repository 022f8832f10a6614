"""Work over time as SVG text: what was given in all against what is needed, and below it what was given in each period."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from calibration.figures.drawing import (
    COLOURS,
    LINE,
    QUIET,
    SMALL,
    Scale,
    element,
    figure,
    grid_strength,
    line,
    number,
    percent,
    round_ticks,
    text,
)

LEFT, RIGHT = 0.13, 0.97
UPPER, LOWER = 190, 70
GAP = 44


@dataclass(frozen=True)
class Period:
    """What was given in one period; `start` counts periods from the first one, from 0. `label` names it."""

    start: int
    given: int
    label: str


@dataclass(frozen=True)
class Outlook:
    """When what is needed is expected, in periods from the first one; `latest` is None where no end is in sight."""

    now: float
    earliest: float
    latest: float | None


@dataclass(frozen=True)
class Words:
    """The texts of the figure: its title and axes, the level that is needed, and the expected end."""

    title: str
    in_all: str
    each: str
    needed: str
    expected: str


def progress_over_time(
    periods: Sequence[Period], words: Words, *, needed: int, ends: tuple[str, str], outlook: Outlook | None
) -> str:
    """Draw the periods, which may have gaps, in order; `needed` is 0 where there is no such number.

    `ends` label the first and the last place of the axis of time. The outlook is a fan of two dashed lines from what has
    been given to what is needed; its open side leaves the figure where no end is in sight.
    """
    if not periods:
        raise ValueError("A figure needs at least one period.")
    last = periods[-1].start + 1.0
    far = max([last] + ([outlook.now, outlook.latest or outlook.earliest * 1.3] if outlook else []))
    x = Scale(0.0, far, LEFT, RIGHT)
    total = sum(period.given for period in periods)
    top = LINE + 8.0
    ticks, step = round_ticks(0.0, max(needed, total, 1), about=4)
    y = Scale(ticks[0], ticks[-1], top + UPPER, top)
    parts = [text(words.in_all, 0, top - 10, size=SMALL, opacity=QUIET)]
    parts += _grid(ticks, y, step)
    if needed:
        parts.append(line(LEFT, y(needed), RIGHT, y(needed), dashes="4 3", width=1.4, opacity=0.8))
        parts.append(text(words.needed, LEFT + 0.01, y(needed) + LINE - 3, size=SMALL))
    parts.append(_steps(periods, x, y))
    if outlook is not None:
        parts.append(_fan(outlook, x, y, total, needed, words.expected))
    floor = top + UPPER + GAP
    most, fine = round_ticks(0.0, max(period.given for period in periods), about=2)
    lower = Scale(most[0], most[-1], floor + LOWER, floor)
    parts.append(text(words.each, 0, floor - 10, size=SMALL, opacity=QUIET))
    parts += _grid(most, lower, fine)
    wide = max(0.003, 0.8 * (x(1.0) - x(0.0)))
    parts += [_bar(period, x, lower, wide) for period in periods]
    parts.append(text(ends[0], LEFT, floor + LOWER + 16, size=SMALL, opacity=QUIET))
    parts.append(text(ends[1], RIGHT, floor + LOWER + 16, anchor="end", size=SMALL, opacity=QUIET))
    said = "; ".join(f"{period.label}: {period.given}" for period in periods[-60:])
    return figure(words.title, f"{words.each}. {said}. {words.expected}", floor + LOWER + 24, parts)


def _grid(ticks: Sequence[float], y: Scale, step: float) -> list[str]:
    return [
        line(LEFT, y(tick), RIGHT, y(tick), opacity=grid_strength(tick, step))
        + text(number(tick, max(step, 1.0)), LEFT - 0.01, y(tick) + 4, anchor="end", size=SMALL, opacity=QUIET)
        for tick in ticks
        if tick == int(tick)
    ]


def _stroke(x1: float, y1: float, x2: float, y2: float, *, series: int = 0, dashes: str | None = None) -> str:
    return element(
        "line",
        x1=percent(x1),
        y1=y1,
        x2=percent(x2),
        y2=y2,
        stroke=COLOURS[series],
        stroke_width=2,
        stroke_dasharray=dashes,
    )


def _steps(periods: Sequence[Period], x: Scale, y: Scale) -> str:
    """What had been given in all at the end of each period."""
    points, given = [(0.0, 0)], 0
    for period in periods:
        points.append((float(period.start), given))
        given += period.given
        points.append((period.start + 1.0, given))
    return "".join(_stroke(x(x1), y(y1), x(x2), y(y2)) for (x1, y1), (x2, y2) in pairwise(points))


def _fan(outlook: Outlook, x: Scale, y: Scale, given: int, needed: int, words: str) -> str:
    parts = [_stroke(x(outlook.now), y(given), x(outlook.earliest), y(needed), series=1, dashes="6 3")]
    if outlook.latest is None:
        parts.append(_stroke(x(outlook.now), y(given), RIGHT, y(given), series=1, dashes="6 3"))
    else:
        parts.append(_stroke(x(outlook.now), y(given), x(outlook.latest), y(needed), series=1, dashes="6 3"))
    return element("g", element("title", escape(words, quote=False)) + "".join(parts))


def _bar(period: Period, x: Scale, y: Scale, wide: float) -> str:
    named = element("title", escape(f"{period.label}: {period.given}", quote=False))
    left = (x(period.start) + x(period.start + 1.0) - wide) / 2
    return element(
        "rect",
        named,
        x=percent(left),
        y=y(period.given),
        width=percent(wide),
        height=y(0) - y(period.given),
        fill=COLOURS[0],
        fill_opacity=0.75,
    )
