"""How large a reply may be, decompressed, before it is refused. PURE."""

from core.errors import UserError
from generation.llm.protocol.messages import TOO_LARGE

LARGEST_REPLY = 32_000_000
"""Bytes of a reply, decompressed; the log-probabilities of a prompt of 128,000 tokens are some 20 MB."""
LARGEST_STREAM = 128_000_000
LARGEST_EVENT = 4_000_000
"""Of a streamed reply, which is read event by event, and of one event."""
LARGEST_FILE = 2_000_000_000
"""Of the file that a batch brings, which is read line by line."""


class ReplyRefused(UserError):
    """The reply is not read, or not to its end; the sentence says why."""


def size_refused(most: int) -> ReplyRefused:
    return ReplyRefused(TOO_LARGE(most=f"{most / 1e6:,.0f}"))
