"""How fast an endpoint may be called, and what a call that brought no reply says of calling it again. PURE."""

from dataclasses import dataclass
from typing import Any

from core.errors import UserError
from generation.llm.protocol.prices import Spend


class CallFailed(UserError):
    """A call that brought no reply.

    `retryable`: the same call may succeed later. `patient`: it was only put off, so it costs no try and no call. So is
    one that was `unsent`, as nobody listened, at an endpoint that had answered until then: it is being started again.
    `fatal`: no other call of the run can succeed either. `doubtful`: perhaps none can, perhaps this one alone cannot.
    `retry_after` is the wait in seconds that the other side asked for, of every call. `came` is what the call had
    brought when it broke off, of the kind that a whole one brings: it is paid for. None where nothing had come.
    """

    retryable = False
    patient = False
    unsent = False
    fatal = False
    doubtful = False
    retry_after: float | None = None
    came: Any = None


@dataclass(frozen=True)
class Pace:
    """How fast calls may start; None is no limit."""

    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None

    def seconds_of(self, spend: Spend) -> float:
        """How long this spend takes of the allowance."""
        requests = 60.0 / self.requests_per_minute if self.requests_per_minute else 0.0
        tokens = 60.0 * spend.tokens / self.tokens_per_minute if self.tokens_per_minute else 0.0
        return max(requests, tokens)

    @property
    def limited(self) -> bool:
        return bool(self.requests_per_minute or self.tokens_per_minute)
