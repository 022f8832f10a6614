"""An endpoint's rate limits, and what a failed call means for calling it again. PURE."""

from dataclasses import dataclass
from typing import Any

from core.errors import UserError
from generation.llm.protocol.prices import Spend


class CallFailed(UserError):
    """A call without a reply.

    `retryable`: the same call may succeed later. `patient`: the call was only put off, so it counts neither as a try
    nor as a call; the same holds for an `unsent` call, which found no server, at an endpoint that had answered before
    and is probably being restarted. `fatal`: no other call of the run can succeed either. `doubtful`: either no call
    can succeed, or only this one cannot. `retry_after` is the wait in seconds that the server asked of all calls.
    `came` is the partial result of a call that broke off, which is paid for; None if nothing had come.
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
    """The limits on starting calls; None means no limit."""

    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None

    def seconds_of(self, spend: Spend) -> float:
        """Return the seconds of the allowance that this spending uses."""
        requests = 60.0 / self.requests_per_minute if self.requests_per_minute else 0.0
        tokens = 60.0 * spend.tokens / self.tokens_per_minute if self.tokens_per_minute else 0.0
        return max(requests, tokens)

    @property
    def limited(self) -> bool:
        return bool(self.requests_per_minute or self.tokens_per_minute)
