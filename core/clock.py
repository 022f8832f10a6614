"""The type of the clock that functions receive, so that a test can set the time."""

from collections.abc import Callable
from datetime import datetime

Clock = Callable[[], datetime]
"""Returns the current time with its time zone."""
