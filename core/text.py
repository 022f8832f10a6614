"""Handling of text from outside: making it storable, and recognising text that would take too long to process. PURE."""

import unicodedata

MOST_MARKS = 60


def storable(text: str) -> str:
    """Return the text with U+FFFD in place of NUL and lone surrogates, which databases cannot store."""
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def has_piled_marks(text: str) -> bool:
    """Return whether one letter carries more than MOST_MARKS combining marks, which no writing system uses.

    Normalising such marks, as Python does for identifiers and a page does when it cuts a text, takes time that grows
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
