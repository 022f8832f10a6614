"""Text that comes from outside: made storable, and known where it would take forever to read. PURE."""

import unicodedata

MOST_MARKS = 60


def storable(text: str) -> str:
    """The text with what no database stores, NUL and lone surrogates, replaced by U+FFFD."""
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def has_piled_marks(text: str) -> bool:
    """Whether more combining marks than any writing has stand on one letter.

    Putting such marks in order, as reading a name in Python or cutting a text on a page does, takes time that grows
    with the square of their number.
    """
    if text.isascii():
        return False
    run = 0
    for character in text:
        run = run + 1 if unicodedata.combining(character) else 0
        if run > MOST_MARKS:
            return True
    return False
