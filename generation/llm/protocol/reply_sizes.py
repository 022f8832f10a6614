"""The sizes above which replies are refused, decompressed. PURE."""

from core.errors import UserError
from generation.llm.protocol.messages import TOO_LARGE

LARGEST_REPLY = 32_000_000
"""Bytes of a reply; the log-probabilities of a prompt of 128,000 tokens are about 20 MB."""
LARGEST_STREAM = 128_000_000
LARGEST_EVENT = 4_000_000
"""Bytes of a streamed reply, which is read event by event, and of one event."""
LARGEST_FILE = 2_000_000_000
"""Bytes of a batch's file, which is read line by line."""


class ReplyRefused(UserError):
    """The reply is not read to its end; the sentence says why."""


def size_refused(most: int) -> ReplyRefused:
    return ReplyRefused(TOO_LARGE(most=f"{most / 1e6:,.0f}"))
