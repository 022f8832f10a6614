"""The check that a statistic is undefined for one reason."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from calibration.statistics.errors import Code, Undefined


@contextmanager
def undefined(code: Code, match: str | None = None) -> Iterator[None]:
    """Expect Undefined with this code, and with a sentence in which the pattern is found."""
    with pytest.raises(Undefined, match=match) as caught:
        yield
    assert caught.value.code == code
