"""QR codes of entry links, as SVG that stands in the page."""

from functools import lru_cache

import segno
from django.utils.safestring import SafeString, mark_safe


@lru_cache(maxsize=500)
def qr_code(address: str, title: str) -> SafeString:
    """Return the address as a QR code: black on white with its quiet zone, scaled by the stylesheet.

    `title` is what assistive technology reads. Raises ValueError for an address that no QR code can hold.
    """
    made = segno.make(address, error="m", micro=False)
    # segno escapes the title; the address stands in it only as modules.
    svg = made.svg_inline(omitsize=True, svgclass="qr", lineclass=None, light="#fff", title=title)
    return mark_safe(svg.replace("<svg ", '<svg role="img" ', 1))  # nosec B308 B703 # made here
