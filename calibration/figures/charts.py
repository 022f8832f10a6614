"""Figures as SVG text that stands in the page: bars with intervals, scatter plots, heat maps.

Texts arrive translated; what a figure shows stands in a table beneath it as well.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from calibration.figures.drawing import (
    BAR,
    COLOURS,
    LINE,
    QUIET,
    SMALL,
    TEXT,
    Rail,
    Scale,
    anchor_at,
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
    shortened,
    text,
    units,
    wrapped,
)

PLOT_END = 0.84
"""Where bars end: the rest of the width holds their values."""

MAX_LABELLED_POINTS = 24
MAX_NUMBERED_CELLS = 12


@dataclass(frozen=True)
class Bar:
    """A value with the ends of its interval; `note` is shown beside the label, `group` heads a run of bars."""

    label: str
    value: float
    low: float | None = None
    high: float | None = None
    note: str = ""
    group: str = ""


@dataclass(frozen=True)
class Point:
    """A place in a scatter plot; `link` is the address that it opens on a page, which files of the figure leave out."""

    x: float
    y: float
    label: str = ""
    group: str = ""
    link: str = ""


def interval_bars(
    bars: Sequence[Bar],
    *,
    title: str,
    x_title: str,
    reference: Sequence[Bar] = (),
    series: tuple[str, str] = ("", ""),
    rule: float | None = None,
    rule_label: str = "",
) -> str:
    """Horizontal bars from zero with their intervals, in the order given.

    `reference` is a second series, drawn as open markers on the bar of the same label; `series` names both in a
    legend. `rule` is a value to compare all bars with, such as chance, drawn as a dashed line.
    """
    if not bars:
        raise ValueError("A figure needs at least one bar.")
    beside = {bar.label: bar for bar in reference}
    ticks, tick_step = round_ticks(*_bar_range([*bars, *reference], rule))
    scale = Scale(ticks[0], ticks[-1], 0.0, PLOT_END)
    rail = Rail(ticks, tick_step, scale, rule)
    step = _fineness(bars, tick_step)
    names = [name for name in series if name] if beside else []
    top = len(names) * LINE + (8 if names else 0)
    rows: list[str] = []
    y, group = float(top), ""
    for bar in bars:
        if bar.group and bar.group != group:
            y += LINE + (6 if rows else 0)
            rows.append(text(bar.group, 0, y - 3, weight="600"))
        group = bar.group
        drawn, y = _bar_row(bar, beside.get(bar.label), rail, step, y)
        rows.append(drawn)
    rows.append(axis(ticks, scale, tick_step, y, x_title))
    if rule is not None and rule_label:
        place = scale(rule)
        rows.append(text(rule_label, place, y + 51, size=SMALL, anchor=anchor_at(place)))
    height = y + (56 if rule_label else 38)
    return figure(title, _bars_in_words(bars, beside, x_title, step), height, [legend(names, 8, bars=True), *rows])


def _fineness(bars: Sequence[Bar], tick_step: float) -> float:
    """The last digit worth printing: about a twentieth of the usual interval, or a fiftieth of a tick."""
    widths = sorted(bar.high - bar.low for bar in bars if bar.low is not None and bar.high is not None)
    usual = widths[len(widths) // 2] / 20 if widths else 0.0
    return min(1.0, max(usual, tick_step / 200) if usual else tick_step / 50)


def _bar_range(bars: Sequence[Bar], rule: float | None) -> tuple[float, float]:
    found = [0.0] + ([] if rule is None else [rule])
    for bar in bars:
        found += [end for end in (bar.value, bar.low, bar.high) if end is not None]
    return min(found), max(found)


def _bar_row(bar: Bar, beside: Bar | None, rail: Rail, step: float, y: float) -> tuple[str, float]:
    """The label over its bar, and where the next row starts."""
    scale = rail.scale
    label = f"{bar.label}  ({bar.note})" if bar.note else bar.label
    lines = wrapped(label)
    parts = [text(words, 0, y + LINE * index + TEXT) for index, words in enumerate(lines)]
    middle = y + LINE * len(lines) + 2 + BAR / 2
    start, end = sorted((scale(0.0), scale(bar.value)))
    parts.append(rail.grid(middle, start, end))
    parts.append(
        element(
            "rect",
            x=percent(start),
            y=middle - BAR / 2,
            width=percent(end - start),
            height=BAR,
            fill=COLOURS[0],
            fill_opacity=0.75,
        )
    )
    parts.append(rail.ruled(middle))
    if bar.low is not None and bar.high is not None:
        low, high = scale(bar.low), scale(bar.high)
        parts.append(line(low, middle, high, middle, width=1.5))
        parts += [line(x, middle - 4, x, middle + 4, width=1.5) for x in (low, high)]
    if beside is not None:
        parts.append(marker(scale(beside.value), middle, series=1, filled=False, label=number(beside.value, step)))
    parts.append(text(number(bar.value, step), 1, middle + 4.5, anchor="end"))
    whole = element("g", element("title", escape(_bar_in_words(bar, step), quote=False)) + "".join(parts))
    return whole, middle + BAR / 2 + 7


def _bar_in_words(bar: Bar, step: float) -> str:
    words = f"{bar.label}: {number(bar.value, step)}"
    if bar.low is not None and bar.high is not None:
        ends = ends_apart(bar.low, bar.high, step)
        words += f" ({ends[0]} – {ends[1]})" if ends else ""
    return words


def _bars_in_words(bars: Sequence[Bar], beside: dict[str, Bar], x_title: str, step: float) -> str:
    said = []
    for bar in bars:
        words = _bar_in_words(bar, step)
        if bar.label in beside:
            words += f" | {number(beside[bar.label].value, step)}"
        said.append(words)
    return f"{x_title}. " + "; ".join(said)


def scatter(
    points: Sequence[Point], *, title: str, x_title: str, y_title: str, diagonal: bool = False, height: int = 380
) -> str:
    """Points with the name of each where there is room; groups differ in shape and colour.

    With `diagonal` both axes share one scale and a dashed line joins equal values.
    """
    if not points:
        raise ValueError("A figure needs at least one point.")
    groups = list(dict.fromkeys(point.group for point in points))
    names = [name for name in groups if name] if len(groups) > 1 else []
    top = LINE * (len(names) + 1) + 12
    bottom = float(top + height)
    xs, ys = [point.x for point in points], [point.y for point in points]
    if diagonal:
        xs = ys = [*xs, *ys]
    x_ticks, x_step = round_ticks(min(xs), max(xs))
    y_ticks, y_step = round_ticks(min(ys), max(ys))
    x_scale = Scale(x_ticks[0], x_ticks[-1], 0.11, 0.985)
    y_scale = Scale(y_ticks[0], y_ticks[-1], bottom, float(top))
    parts = [
        legend(names, 8, open_from=len(names)),
        text(y_title, 0, top - 10, size=SMALL, opacity=QUIET),
        axis(x_ticks, x_scale, x_step, bottom, x_title),
    ]
    for tick in x_ticks:
        parts.append(line(x_scale(tick), top, x_scale(tick), bottom, opacity=grid_strength(tick, x_step)))
    for tick in y_ticks:
        parts.append(line(0.11, y_scale(tick), 0.985, y_scale(tick), opacity=grid_strength(tick, y_step)))
        parts.append(text(number(tick, y_step), 0.1, y_scale(tick) + 4, anchor="end", size=SMALL, opacity=QUIET))
    if diagonal:
        parts.append(line(0.11, bottom, 0.985, float(top), dashes="4 3", opacity=0.6))
    for point in points:
        said = f"{point.label} ({number(point.x)}, {number(point.y)})".strip()
        mark = marker(x_scale(point.x), y_scale(point.y), series=groups.index(point.group), label=said)
        parts.append(element("a", mark, href=point.link) if point.link else mark)
    if len(points) <= MAX_LABELLED_POINTS:
        parts.append(_point_labels([(x_scale(p.x), y_scale(p.y), p.label) for p in points]))
    said = "; ".join(f"{p.label} {number(p.x)}, {number(p.y)}".strip() for p in points[:60])
    if len(points) > 60:
        said += f"; … ({len(points)})"
    return figure(title, f"{x_title}, {y_title}. {said}", bottom + 38, parts)


def _point_labels(places: Sequence[tuple[float, float, str]]) -> str:
    """Labels right, left, above or below their points, left out where all four places are taken.

    Room is judged for a narrow screen (360 pixels), on which labels collide first.
    """
    narrow, letter = 360.0, 6.6
    taken = [(x * narrow - 6, y - 6, x * narrow + 6, y + 6) for x, y, _ in places]
    drawn = []
    for x, y, label in sorted(places):
        wide = units(label) * letter
        left = x * narrow
        for anchor, dx, dy, start in (
            ("start", 8, 4, left + 8),
            ("end", -8, 4, left - 8 - wide),
            ("middle", 0, -9, left - wide / 2),
            ("middle", 0, 17, left - wide / 2),
        ):
            box = (start, y + dy - 11, start + wide, y + dy + 3)
            inside = box[0] >= 36 and box[2] <= narrow
            if label and inside and not any(_overlap(box, other) for other in taken):
                taken.append(box)
                drawn.append(text(label, x, y + dy, dx=dx, anchor=anchor, size=SMALL))
                break
    return "".join(drawn)


def _overlap(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def heat_map(labels: Sequence[str], matrix: Sequence[Sequence[float | None]], *, title: str) -> str:
    """A square table of values in -1..1: the stronger the colour, the farther from 0; blue is positive.

    Rows are named, columns carry the row's number; up to a dozen rows each cell shows its value. None is a cell
    without a value, shown as a dot.
    """
    if not labels:
        raise ValueError("A figure needs at least one row.")
    count = len(labels)
    printed = count <= MAX_NUMBERED_CELLS
    tall = 34.0 if printed else max(9.0, min(22.0, 620 / count))
    longest = min(15, max(units(f"{row + 1}  {label}") for row, label in enumerate(labels)))
    left = 0.02 * longest
    wide = (1 - left) / count
    top = LINE + 6 if printed else 4
    parts = []
    for row, label in enumerate(labels):
        y = top + row * tall
        if tall >= LINE - 3 or row % 5 == 0:
            parts.append(text(shortened(f"{row + 1}  {label}", longest), 0, y + tall / 2 + 4, size=SMALL))
        if printed:
            parts.append(text(str(row + 1), left + wide * (row + 0.5), LINE - 4, size=SMALL, anchor="middle"))
        for column, value in enumerate(matrix[row]):
            name = f"{label} – {labels[column]}"
            parts.append(_cell(value, left + wide * column, y, wide, tall, printed, name))
    said = "; ".join(
        f"{labels[i]} – {labels[j]}: {number(value)}"
        for i in range(min(count, MAX_NUMBERED_CELLS))
        for j in range(i)
        if (value := matrix[i][j]) is not None
    )
    return figure(title, f"{title}. {said}", top + count * tall + 6, parts)


def _cell(value: float | None, x: float, y: float, wide: float, tall: float, printed: bool, name: str) -> str:
    if value is None:
        return text("·", x + wide / 2, y + tall / 2 + 4, anchor="middle", opacity=QUIET) if printed else ""
    title = element("title", escape(f"{name}: {number(value)}", quote=False))
    cell = element(
        "rect",
        title,
        x=percent(x),
        y=y,
        width=percent(wide),
        height=tall,
        fill=COLOURS[0] if value >= 0 else COLOURS[1],
        fill_opacity=0.05 + 0.65 * min(abs(value), 1.0),
    )
    if printed:
        cell += text(number(value), x + wide / 2, y + tall / 2 + 4.5, anchor="middle")
    return cell
