"""Small parts of a figure: SVG elements, round ticks, wrapped text, and the frame that gives it a name.

Every horizontal place is a percentage and every height, gap and text size is in pixels, so that one figure fits
a phone and a wide screen with the same letters. Text and axes take the page's own colour and typeface; marks use
colours of middle lightness that stand out on white and on black alike. There is no style attribute, script,
identifier or address in what is drawn, so it may stand in a page under a strict content policy.
"""

import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

# Okabe and Ito's colour-blind-safe colours (2008) that have at least 3:1 contrast on white and on near-black.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
TEXT = 13
SMALL = 12
LINE = 17
BAR = 12
LINE_UNITS = 44
QUIET = 0.7
NARROWEST = 320
"""Pixels that a figure is wide on a phone: what has to find room there is measured by it."""


def element(tag: str, content: str = "", **attributes: object) -> str:
    """One SVG element; attribute names are written with underscores, values are escaped."""
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(_attribute(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    return f"<{tag}{written}>{content}</{tag}>" if content else f"<{tag}{written}/>"


def _attribute(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def percent(share: float) -> str:
    """A share of the figure's width, 0 to 1, as SVG writes it."""
    return f"{100 * share:.2f}%"


def text(
    words: str,
    x: float,
    y: float,
    *,
    anchor: str = "start",
    size: int = TEXT,
    weight: str | None = None,
    opacity: float | None = None,
    dx: float | None = None,
) -> str:
    """Words at x (share of the width) and y (pixels, the baseline), in the page's type and colour."""
    return element(
        "text",
        escape(words, quote=False),
        x=percent(x),
        y=y,
        dx=dx,
        font_size=size,
        font_weight=weight,
        text_anchor=None if anchor == "start" else anchor,
        fill="currentColor",
        fill_opacity=opacity,
    )


def line(
    x1: float, y1: float, x2: float, y2: float, *, opacity: float = 1.0, width: float = 1.0, dashes: str | None = None
) -> str:
    """A line in the colour of the text; x in shares of the width, y in pixels."""
    return element(
        "line",
        x1=percent(x1),
        y1=y1,
        x2=percent(x2),
        y2=y2,
        stroke="currentColor",
        stroke_opacity=opacity,
        stroke_width=width,
        stroke_dasharray=dashes,
    )


MARKER_PATHS = (
    "M-4.5 0A4.5 4.5 0 1 1 4.5 0A4.5 4.5 0 1 1-4.5 0Z",
    "M0-6L6 0L0 6L-6 0Z",
    "M-4.5-4.5H4.5V4.5H-4.5Z",
    "M0-5.5L5.5 4.5H-5.5Z",
)


def marker(x: float, y: float, *, series: int = 0, filled: bool = True, label: str = "") -> str:
    """A circle, diamond, square or triangle by series, so that colour never alone tells series apart."""
    colour = COLOURS[series % len(COLOURS)]
    shape = element(
        "path",
        element("title", escape(label, quote=False)) if label else "",
        d=MARKER_PATHS[series % len(MARKER_PATHS)],
        fill=colour if filled else "none",
        fill_opacity=0.75 if filled else None,
        stroke=colour,
        stroke_width=1.2 if filled else 2,
    )
    return element("svg", shape, x=percent(x), y=y, width=1, height=1, overflow="visible")


def figure(title: str, description: str, height: float, parts: Iterable[str]) -> str:
    """The whole figure: as wide as its place, `height` pixels high, named and described for those who listen."""
    names = element("title", escape(title, quote=False)) + element("desc", escape(description, quote=False))
    drawn = "".join(parts)
    return element(
        "svg",
        names + drawn,
        xmlns="http://www.w3.org/2000/svg",
        width="100%",
        height=math.ceil(height),
        role="group" if "<a " in drawn else "img",  # what an image holds cannot be reached, and links must be
    )


def with_line(drawn: str, words: str) -> str:
    """A figure with one more line of text at its foot."""
    found = re.search(r' height="(\d+)"', drawn[: drawn.index(">")])
    if found is None:
        raise ValueError("This is not a figure.")
    foot = int(found[1]) + LINE
    taller = f'{drawn[: found.start()]} height="{foot}"{drawn[found.end() :]}'
    return taller.removesuffix("</svg>") + text(words, 0, foot - 4) + "</svg>"


def number(value: float, step: float = 0.01) -> str:
    """A figure with as many decimals as `step` has, its thousands apart, with a true minus sign."""
    decimals = max(0, -math.floor(math.log10(step) + 1e-9)) if step < 1 else 0
    decimals += math.isclose(step * 10**decimals, 2.5)  # a tick at a quarter needs one more
    written = f"{value:,.{decimals}f}"
    if not written.strip("-0.,"):
        written = written.lstrip("-")
    return written.replace("-", "−")


def decimals(value: float, digits: int) -> str:
    """A figure with so many decimals: how every page writes a number, while its files keep every digit in ASCII."""
    return number(value, 10.0**-digits)


MOST_FINER = 4
"""Decimals added at most so that the ends of an interval differ."""


def ends_apart(low: float, high: float, step: float) -> tuple[str, str] | None:
    """Write the ends of an interval with the decimals of `step`, or more where they would look the same.

    None where they are the same to `MOST_FINER` decimals more: no interval is that sure of itself, and "1.00 to 1.00" says
    that nothing is known of its width.
    """
    for finer in range(MOST_FINER + 1):
        said = number(low, step * 10.0**-finer), number(high, step * 10.0**-finer)
        if said[0] != said[1]:
            return said
    return None


def shortest(value: float, *, signed: bool = False) -> str:
    """A figure with no more digits than it has, such as a level of a scale; `signed` puts a plus before it as well."""
    return (f"{value:+g}" if signed and value else f"{value:g}").replace("-", "−")


def round_ticks(low: float, high: float, about: int = 5) -> tuple[list[float], float]:
    """Ticks at multiples of 1, 2 or 5 times a power of ten that enclose low..high, and their step."""
    largest = max(abs(low), abs(high))
    span = high - low if high - low > 1e-6 * max(largest, 1e-3) else max(largest, 1.0)
    raw = span / about
    magnitude = 10.0 ** math.floor(math.log10(raw))
    step = next(m * magnitude for m in (1, 2, 2.5, 5, 10) if m * magnitude >= raw - 1e-12)
    first = math.floor(low / step + 1e-9)
    last = max(math.ceil(high / step - 1e-9), first + 1)
    return [index * step for index in range(first, last + 1)], step


def units(words: str) -> int:
    """How wide a text is, in Latin letters: an East Asian character counts two."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in words)


OPENING, CLOSING = "(（「『《〈【〔“‘", ")，。、；：？！）」』》〉】〕”’…％·"
PIECE = re.compile(rf"\s+|[{OPENING}]*(?:[^\s\u2e80-\uffef]+|[^\s{OPENING}])[{CLOSING}]*|\S")
"""What no line breaks: a Latin word or a Chinese character, with the brackets before and the punctuation behind it."""


def wrapped(words: str, width: int = LINE_UNITS, lines: int = 2) -> list[str]:
    """A text in at most `lines` lines of `width` units; what does not fit ends in an ellipsis.

    No line begins with a closing punctuation mark, and none ends with an opening one.
    """
    pieces = PIECE.findall(words.strip())
    rows, current = [], ""
    for piece in pieces:
        if current and units(current + piece.rstrip()) > width:
            rows.append(current.rstrip())
            current = ""
        current = (current + piece) if current or piece.strip() else current
    rows.append(current.rstrip())
    if len(rows) > lines:
        rows = [*rows[: lines - 1], shortened(rows[lines - 1] + " …", width)]
    return [shortened(row, width) for row in rows]


def shortened(words: str, width: int) -> str:
    """A text cut to `width` units, its cut marked by an ellipsis."""
    if units(words) <= width:
        return words
    kept = ""
    for letter in words:
        if units(kept + letter) > width - 1:
            break
        kept += letter
    return kept.rstrip(" …") + "…"


def legend(names: Sequence[str], y: float, *, open_from: int = 1, bars: bool = False) -> str:
    """Names of the series beside their marks, one below the other; returns '' where there is one series only."""
    if len(names) < 2:
        return ""
    parts = []
    for index, name in enumerate(names):
        centre = y + index * LINE
        if bars and index == 0:
            swatch = element("rect", x=0, y=centre - 5, width=14, height=10, fill=COLOURS[0], fill_opacity=0.75)
        else:
            swatch = element("g", marker(0, centre, series=index, filled=index < open_from), transform="translate(7 0)")
        parts.append(swatch + text(name, 0, centre + 4.5, dx=20, size=SMALL))
    return "".join(parts)


class Scale:
    """A straight map from values to places: shares of the width, or pixels down."""

    def __init__(self, low: float, high: float, start: float, end: float) -> None:
        self.low, self.high, self.start, self.end = low, high, start, end

    def __call__(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


@dataclass(frozen=True)
class Rail:
    """The grid behind one bar; it stops short of the labels, which stay free of lines."""

    ticks: Sequence[float]
    step: float
    scale: Scale
    rule: float | None

    def grid(self, middle: float, start: float, end: float) -> str:
        """The ticks, but for those behind the bar from `start` to `end`."""
        top, bottom = middle - BAR / 2 - 2, middle + BAR / 2 + 2
        return "".join(
            line(self.scale(tick), top, self.scale(tick), bottom, opacity=grid_strength(tick, self.step))
            for tick in self.ticks
            if not start < self.scale(tick) < end
        )

    def ruled(self, middle: float) -> str:
        """The value that all bars are compared with, or ''."""
        if self.rule is None:
            return ""
        place = self.scale(self.rule)
        return line(place, middle - BAR / 2 - 2, place, middle + BAR / 2 + 2, dashes="3 2", width=1.5)


def grid_strength(tick: float, step: float) -> float:
    """Zero is drawn stronger than the other ticks."""
    return 0.55 if abs(tick) < step / 1e6 else 0.18


def axis(ticks: Sequence[float], scale: Scale, step: float, bottom: float, x_title: str) -> str:
    """The figures of the ticks, every other one where they would touch on a phone, and the title under them."""
    narrowest = min(scale(after) - scale(before) for before, after in pairwise(ticks))
    longest = 7 * max(len(number(tick, step)) for tick in ticks)
    # A figure at the edge stands beside its tick, half its own width nearer to the next.
    at_edge = longest / 2 > NARROWEST * min(scale(ticks[0]), 1 - scale(ticks[-1]))
    crowded = longest * (1.5 if at_edge else 1) + 8 > NARROWEST * narrowest
    parts = []
    for index, tick in enumerate(ticks):
        place = scale(tick)
        if not crowded or index % 2 == 0:
            words = number(tick, step)
            half = 3.5 * len(words) / NARROWEST
            anchor = "start" if place < half else "end" if place > 1 - half else "middle"
            parts.append(text(words, place, bottom + 14, size=SMALL, anchor=anchor, opacity=QUIET))
    parts.append(text(x_title, scale(ticks[0]), bottom + 32, size=SMALL, opacity=QUIET))
    return "".join(parts)


def anchor_at(place: float) -> str:
    return "start" if place < 0.2 else "end" if place > 0.8 else "middle"
