"""A page looked over: in both languages, wide and narrow, light and dark."""

from django.conf import settings

from tests.e2e.rating_pages import SIZES, fits, settle
from tests.e2e.test_accessibility import violations

SHAPES = {"en": (("desktop", "light"), ("phone", "dark")), "zh-hans": (("desktop", "dark"), ("phone", "light"))}
"""Each page in each language wide and narrow, light and dark; both languages together see all four."""


def speak(page, language):
    """The language that the pages opened from now on are in."""
    cookie = {"name": settings.LANGUAGE_COOKIE_NAME, "value": language, "domain": "localhost", "path": "/"}
    page.context.add_cookies([cookie])


def wrong_here(page, axe, shapes):
    """What axe finds in each size and theme, whether the page is wider than its window, and its main headings."""
    for size, theme in shapes:
        page.set_viewport_size(SIZES[size])
        page.emulate_media(color_scheme=theme)
        settle(page)
        yield from violations(page, axe)
        if not fits(page):
            yield f"wider than the window: {size}"
    headings = page.locator("h1").all_inner_texts()
    if len(headings) != 1 or not headings[0].strip():
        yield f"main headings: {headings}"
