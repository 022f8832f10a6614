"""The clock that functions are given, so that a test can say what time it is."""

from collections.abc import Callable
from datetime import datetime

Clock = Callable[[], datetime]
"""Answers the present moment, with its time zone."""
