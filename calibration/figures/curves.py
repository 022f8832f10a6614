"""Curves as SVG text: several series over one axis, told apart by dashes and marks as well as by colour."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, repeat

from calibration.figures.drawing import (
    COLOURS,
    LINE,
    QUIET,
    SMALL,
    Scale,
    axis,
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

LEFT, RIGHT = 0.13, 0.97
DASHES = (None, "6 3", "2 3", "8 3 2 3")


@dataclass(frozen=True)
class Curve:
    """Points (x, y) in order of x; `ends`, if there are any, are those of each y's interval, None where it has none."""

    name: str
    points: Sequence[tuple[float, float]]
    ends: Sequence[tuple[float, float] | None] = ()


def curves(
    series: Sequence[Curve],
    *,
    title: str,
    x_title: str,
    y_title: str,
    x_labels: Sequence[str] = (),
    rule: float | None = None,
    rule_label: str = "",
    from_zero: bool = True,
    height: int = 260,
    step: float = 0.01,
    chosen: float | None = None,
) -> str:
    """Curves with their points marked. With `x_labels` x counts the labels from 0; `rule` is a dashed level; `chosen`
    a dashed place on the x axis."""
    points = [point for curve in series for point in curve.points]
    if not points:
        raise ValueError("A figure needs at least one point.")
    names = [curve.name for curve in series]
    top = LINE * (len(names) + 1) + 12.0 if len(names) > 1 else LINE + 8.0
    bottom = top + height
    ends = [end for curve in series for both in curve.ends if both is not None for end in both]
    ys = [y for _, y in points] + ends + ([0.0] if from_zero else []) + ([] if rule is None else [rule])
    y_ticks, y_step = round_ticks(min(ys), max(ys))
    y_scale = Scale(y_ticks[0], y_ticks[-1], bottom, top)
    parts = [legend(names, 8, open_from=len(names)), text(y_title, 0, top - 10, size=SMALL, opacity=QUIET)]
    for tick in y_ticks:
        parts.append(line(LEFT, y_scale(tick), RIGHT, y_scale(tick), opacity=grid_strength(tick, y_step)))
        parts.append(
            text(number(tick, y_step), LEFT - 0.01, y_scale(tick) + 4, anchor="end", size=SMALL, opacity=QUIET)
        )
    x_scale, drawn = _x_axis([x for x, _ in points], x_labels, bottom, x_title)
    parts.append(drawn)
    if rule is not None:
        parts.append(line(LEFT, y_scale(rule), RIGHT, y_scale(rule), dashes="4 3", width=1.4, opacity=0.8))
        parts.append(text(rule_label, RIGHT, y_scale(rule) - 5, anchor="end", size=SMALL))
    if chosen is not None:
        parts.append(line(x_scale(chosen), top, x_scale(chosen), bottom, dashes="4 3", width=1.4, opacity=0.8))
    parts += [_drawn(curve, place, x_scale, y_scale, step) for place, curve in enumerate(series)]
    said = "; ".join(f"{curve.name}: {_in_words(curve, x_labels, step)}" for curve in series)
    return figure(title, f"{x_title}, {y_title}. {said}", bottom + 38, parts)


def _in_words(curve: Curve, x_labels: Sequence[str], step: float) -> str:
    said = []
    for (x, y), both in zip(curve.points, curve.ends or repeat(None), strict=False):
        interval = f" [{number(both[0], step)}, {number(both[1], step)}]" if both else ""
        said.append(f"{_x_word(x, x_labels)} {number(y, step)}{interval}")
    return ", ".join(said)


def _x_word(x: float, labels: Sequence[str]) -> str:
    return labels[int(x)] if labels else number(x, 1 if x == int(x) else 0.01)


def _x_axis(xs: Sequence[float], labels: Sequence[str], bottom: float, x_title: str) -> tuple[Scale, str]:
    if not labels:
        ticks, step = round_ticks(min(xs), max(xs))
        scale = Scale(ticks[0], ticks[-1], LEFT, RIGHT)
        return scale, axis(ticks, scale, step, bottom, x_title)
    scale = Scale(0, max(len(labels) - 1, 1), LEFT + 0.02, RIGHT - 0.02)
    parts = [line(LEFT, bottom, RIGHT, bottom, opacity=QUIET)]
    parts += [
        text(label, scale(place), bottom + 14, size=SMALL, anchor="middle", opacity=QUIET)
        for place, label in enumerate(labels)
    ]
    parts.append(text(x_title, RIGHT, bottom + 32, size=SMALL, anchor="end", opacity=QUIET))
    return scale, "".join(parts)


def _drawn(curve: Curve, place: int, x_scale: Scale, y_scale: Scale, step: float) -> str:
    parts = []
    for (x1, y1), (x2, y2) in pairwise(curve.points):
        parts.append(
            element(
                "line",
                x1=percent(x_scale(x1)),
                y1=y_scale(y1),
                x2=percent(x_scale(x2)),
                y2=y_scale(y2),
                stroke=COLOURS[place % len(COLOURS)],
                stroke_width=2,
                stroke_dasharray=DASHES[place % len(DASHES)],
            )
        )
    for (x, _y), both in zip(curve.points, curve.ends, strict=False):
        if both is not None:
            at = percent(x_scale(x))
            parts.append(
                element(
                    "line",
                    x1=at,
                    y1=y_scale(both[0]),
                    x2=at,
                    y2=y_scale(both[1]),
                    stroke=COLOURS[place % len(COLOURS)],
                    stroke_width=1.2,
                    opacity=0.7,
                )
            )
    parts += [
        marker(x_scale(x), y_scale(y), series=place, label=f"{curve.name} ({number(x, step)}, {number(y, step)})")
        for x, y in curve.points
    ]
    return element("g", "".join(parts))
