"""A figure as a file of its own: SVG that needs no page around it, and PNG."""

import re

import vl_convert

WIDTH = 760
MARGIN = 20
INK = "#1f2328"
FACES = "Inter, 'Noto Sans', 'Noto Sans CJK SC', 'DejaVu Sans', Helvetica, Arial, sans-serif"
PNG_SCALE = 2.0
LINK = re.compile(r"<a href=\"[^\"]*\">|</a>")
"""Links of a page, which lead nowhere in a file."""


def standalone_svg(figure: str) -> str:
    """The figure at WIDTH pixels on white, with the colour and typeface that it took from the page.

    Raises ValueError where the text is not a figure of calibration.drawing.
    """
    figure = LINK.sub("", figure)
    found = re.match(r'<svg\b[^>]*\bheight="(\d+(?:\.\d+)?)"[^>]*>', figure)
    if found is None:
        raise ValueError("This is not a figure.")
    height = float(found[1])
    inner = figure[found.end() : figure.rindex("</svg>")]
    names = re.match(r"(?:<title>.*?</title>)?(?:<desc>.*?</desc>)?", inner, re.DOTALL)
    said, drawn = (names[0], inner[names.end() :]) if names else ("", inner)
    whole = (WIDTH + 2 * MARGIN, height + 2 * MARGIN)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{whole[0]:g}" height="{whole[1]:g}" '
        f'viewBox="0 0 {whole[0]:g} {whole[1]:g}" color="{INK}" font-family="{FACES}">{said}'
        f'<rect width="100%" height="100%" fill="#ffffff"/>'
        f'<svg x="{MARGIN}" y="{MARGIN}" width="{WIDTH}" height="{height:g}" overflow="visible">{drawn}</svg></svg>'
    )


def png(figure: str) -> bytes:
    """The figure as a PNG at twice its size in pixels."""
    return bytes(vl_convert.svg_to_png(standalone_svg(figure), scale=PNG_SCALE))


def pdf(figure: str) -> bytes:
    """The figure as a PDF of one page."""
    return bytes(vl_convert.svg_to_pdf(standalone_svg(figure)))
