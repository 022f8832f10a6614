"""Functions that look at what a study would be without storing any of it."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from django.db import transaction

P = ParamSpec("P")
R = TypeVar("R")


def stores_nothing(function: Callable[P, R]) -> Callable[P, R]:
    """Take back what the function writes, such as the rubric that a study of reviews is given at its launch."""

    @wraps(function)
    def within(*args: P.args, **kwargs: P.kwargs) -> R:
        with transaction.atomic():
            result = function(*args, **kwargs)
            transaction.set_rollback(True)
        return result

    return within
