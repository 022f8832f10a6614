"""One worker's shift at a run, whatever the run asks: lease, send, store, renew, until there is a reason to end.

The calls live in an event loop; everything that touches the database runs in the thread that began the shift.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from asgiref.sync import sync_to_async

from generation.engine import FATAL, Answered, Engine, Outcome, Retry

LOOK_SECONDS = 1.0
RENEW_SECONDS = 20.0
LONGEST_SHIFT_SECONDS = 25 * 60.0

R = TypeVar("R")
Q = TypeVar("Q")


@dataclass(frozen=True)
class Shift:
    """How one worker works. `wait` stays while other workers hold items; `seconds` ends the shift.

    `watch` is called about once a second, for a progress bar; `interrupted` says whether to stop politely.
    """

    concurrency: int | None = None
    wait: bool = False
    seconds: float = LONGEST_SHIFT_SECONDS
    retry: Retry | None = None
    watch: Callable[[], None] = lambda: None
    interrupted: Callable[[], bool] = lambda: False


PLAIN_SHIFT = Shift()


class Worklist(Protocol[Q, R]):
    """What a shift needs to know of a run; all of it touches the database. `gave_up` holds why nothing more helps."""

    gave_up: str

    def next_questions(self, count: int) -> tuple[list[Q], bool]: ...
    def take(self, outcomes: Sequence[Outcome[int, R]]) -> list[Q]: ...
    def settle_failures(self) -> None: ...
    def renew(self) -> None: ...
    def others_are_busy(self) -> bool: ...
    def still_running(self) -> bool: ...


@dataclass
class Work(Generic[Q, R]):
    """A worklist, the engine that makes its calls, and how a question becomes a call."""

    worklist: Worklist[Q, R]
    engine: Engine[int, R]
    send: Callable[[Sequence[Q]], None]

    async def until_done(self, shift: Shift) -> None:
        """Returns when nothing is left, the run no longer runs, the engine has stopped, or the shift is over."""
        worklist, engine = self.worklist, self.engine
        # A long text is dear: the next one is asked for when the last one is stored.
        engine.ahead = 0
        ends_at, looked_at, renewed_at = time.monotonic() + shift.seconds, 0.0, time.monotonic()
        more = True
        while True:
            now = time.monotonic()
            if now - looked_at >= LOOK_SECONDS:
                looked_at = now
                running = await sync_to_async(self._look)(shift)
                if not running or now > ends_at:
                    engine.stop()
            if now - renewed_at >= RENEW_SECONDS:
                renewed_at = now
                await sync_to_async(worklist.renew)()
            if more and (engine.room >= engine.concurrency // 2 or not engine.in_hand):
                questions, more = await sync_to_async(worklist.next_questions)(engine.room)
                self.send(questions)
            if engine.in_hand:
                outcomes = await engine.finished(LOOK_SECONDS)
                self.send(await sync_to_async(worklist.take)(outcomes))
                engine.stored(sum(isinstance(one, Answered) for one in outcomes))
                if worklist.gave_up:
                    engine.stop(FATAL)
            elif engine.stopped:
                return
            elif not more:
                await sync_to_async(worklist.settle_failures)()
                if worklist.gave_up or not (shift.wait and await sync_to_async(worklist.others_are_busy)()):
                    return
                await asyncio.sleep(LOOK_SECONDS)
                more = True

    def _look(self, shift: Shift) -> bool:
        """Whether to go on."""
        shift.watch()
        return self.worklist.still_running() and not shift.interrupted()
