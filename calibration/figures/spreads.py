"""Figures of spread as SVG text: several ranges a row side by side, and distributions with minimum and mean."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from calibration.figures.drawing import (
    COLOURS,
    LINE,
    QUIET,
    TEXT,
    Scale,
    axis,
    element,
    ends_apart,
    figure,
    grid_strength,
    legend,
    line,
    marker,
    number,
    percent,
    round_ticks,
    text,
    wrapped,
)

BAND = 13
GAP = 6
PLOT_END = 0.97
HUMP = 34
BINS = 48


@dataclass(frozen=True)
class Span:
    """A value with the ends of its range."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class RangeRow:
    """One row: a label over one span for each series, None where the series has none."""

    label: str
    spans: Sequence[Span | None]
    note: str = ""


@dataclass(frozen=True)
class Distribution:
    """The values of one group, with its mean and the mean's ends."""

    label: str
    values: Sequence[float]
    mean: float
    low: float | None = None
    high: float | None = None


def ranges(
    rows: Sequence[RangeRow],
    *,
    title: str,
    x_title: str,
    series: Sequence[str],
    step: float = 1.0,
    rule: float | None = None,
) -> str:
    """Horizontal ranges with their values, one line a series under each row's label, the series told in a legend."""
    spans = [span for row in rows for span in row.spans if span is not None]
    if not spans:
        raise ValueError("A figure needs at least one range.")
    ends = [end for span in spans for end in (span.value, span.low, span.high)] + ([] if rule is None else [rule])
    ticks, tick_step = round_ticks(min(ends), max(ends))
    scale = Scale(ticks[0], ticks[-1], 0.03, PLOT_END)
    y = len(series) * LINE + 8.0 if len(series) > 1 else 0.0
    parts = [legend(series, 8, open_from=len(series))]
    bands = []
    for row in rows:
        drawn, top, y = _range_row(row, scale, series, step, y)
        parts.append(drawn)
        bands.append((top, y - GAP))
    # Only beside the ranges: a line through a row's label would strike it out.
    grid = [
        line(scale(tick), top, scale(tick), bottom, opacity=grid_strength(tick, tick_step) if tick else 0.18)
        for tick in ticks
        for top, bottom in bands
    ]
    if rule is not None:
        grid += [
            line(scale(rule), top, scale(rule), bottom, dashes="3 2", width=1.5, opacity=0.7) for top, bottom in bands
        ]
    parts.append(axis(ticks, scale, tick_step, y, x_title))
    said = "; ".join(_row_in_words(row, series, step) for row in rows)
    return figure(title, f"{x_title}. {said}", y + 38, [*grid, *parts])


def _range_row(row: RangeRow, scale: Scale, series: Sequence[str], step: float, y: float) -> tuple[str, float, float]:
    """The row, where its ranges begin beneath its label, and where the next row begins."""
    label = f"{row.label}  ({row.note})" if row.note else row.label
    lines = wrapped(label)
    parts = [text(words, 0, y + LINE * index + TEXT) for index, words in enumerate(lines)]
    y += LINE * len(lines) + 3
    top = y
    for place, span in enumerate(row.spans):
        if span is None:
            continue
        middle = y + BAND / 2
        low, high = scale(span.low), scale(span.high)
        parts.append(
            element(
                "rect",
                x=percent(low),
                y=middle - 2.5,
                width=percent(max(high - low, 0.001)),
                height=5,
                fill=COLOURS[place % len(COLOURS)],
                fill_opacity=0.45,
            )
        )
        name = f"{row.label}{', ' + series[place] if place < len(series) else ''}: {_span_in_words(span, step)}"
        parts.append(marker(scale(span.value), middle, series=place, label=name))
        y += BAND
    return element("g", "".join(parts)), top, y + GAP


def _span_in_words(span: Span, step: float) -> str:
    ends = ends_apart(span.low, span.high, step)
    return f"{number(span.value, step)} ({ends[0]} – {ends[1]})" if ends else number(span.value, step)


def _row_in_words(row: RangeRow, series: Sequence[str], step: float) -> str:
    said = [
        f"{series[place] + ' ' if place < len(series) and len(series) > 1 else ''}{_span_in_words(span, step)}"
        for place, span in enumerate(row.spans)
        if span is not None
    ]
    return f"{row.label}: {', '.join(said)}"


def distributions(
    groups: Sequence[Distribution],
    *,
    title: str,
    x_title: str,
    mean_word: str,
    minimum_word: str,
    bounds: tuple[float, float] | None = None,
) -> str:
    """Each group's values as a small histogram, its mean a tick with the ends of its interval, its minimum a diamond.

    `bounds` are the ends the axis shows at least. Words arrive translated.
    """
    values = [value for group in groups for value in group.values]
    if not values:
        raise ValueError("A figure needs at least one value.")
    ends = [*values, *(bounds or ())]
    ticks, tick_step = round_ticks(min(ends), max(ends))
    scale = Scale(ticks[0], ticks[-1], 0.03, PLOT_END)
    parts: list[str] = []
    y = 0.0
    for group in groups:
        said = f"{group.label}  (n {len(group.values)}; {mean_word} {number(group.mean)}; "
        said += f"{minimum_word} {number(min(group.values))})"
        for words in wrapped(said, 64):
            parts.append(text(words, 0, y + TEXT))
            y += LINE
        y += HUMP + 4
        parts.append(_hump(group, scale, y, mean_word, minimum_word))
        y += 12
    for tick in ticks:
        parts.append(line(scale(tick), 0, scale(tick), y, opacity=0.12))
    parts.append(axis(ticks, scale, tick_step, y, x_title))
    described = "; ".join(
        f"{group.label}: n {len(group.values)}, {mean_word} {number(group.mean)}, "
        f"{minimum_word} {number(min(group.values))}, {number(max(group.values))}"
        for group in groups
    )
    return figure(title, f"{x_title}. {described}", y + 38, parts)


def _hump(group: Distribution, scale: Scale, bottom: float, mean_word: str, minimum_word: str) -> str:
    counts = [0] * BINS
    width = (scale.high - scale.low) / BINS
    for value in group.values:
        counts[min(int((value - scale.low) / width), BINS - 1)] += 1
    tallest = max(counts)
    parts = [line(scale(scale.low), bottom, scale(scale.high), bottom, opacity=QUIET)]
    for index, count in enumerate(counts):
        if count:
            left, right = scale(scale.low + index * width), scale(scale.low + (index + 1) * width)
            tall = max(2.0, HUMP * count / tallest)
            parts.append(
                element(
                    "rect",
                    x=percent(left),
                    y=bottom - tall,
                    width=percent(0.9 * (right - left)),
                    height=tall,
                    fill=COLOURS[0],
                    fill_opacity=0.55,
                )
            )
    place = scale(group.mean)
    parts.append(line(place, bottom - HUMP, place, bottom + 5, width=2))
    if group.low is not None and group.high is not None:
        parts.append(line(scale(group.low), bottom + 5, scale(group.high), bottom + 5, width=2))
    low = min(group.values)
    parts.append(marker(scale(low), bottom, series=1, label=f"{group.label}, {minimum_word}: {number(low)}"))
    named = element("title", escape(f"{group.label}, {mean_word}: {number(group.mean)}", quote=False))
    return element("g", named + "".join(parts))
