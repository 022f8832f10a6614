"""One worker's shift at a run, whatever the run asks: lease, send, store, renew, until there is a reason to end.

The calls live in an event loop; everything that touches the database runs in the thread that began the shift.
"""

import asyncio
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from asgiref.sync import sync_to_async

from generation.execution.engine import FATAL, Answered, Engine, Outcome, Retry, Traffic

LOOK_SECONDS = 0.5
"""After so long it is looked whether the run goes on: what was not sent by then stays here."""
RENEW_SECONDS = 20.0
LONGEST_SHIFT_SECONDS = 25 * 60.0
GATHER_SECONDS = 0.1
"""How long replies that come thick and fast are gathered, to be stored in one transaction."""
WRITE_SECONDS = 0.4
"""How long storing and asking may take while the slots are kept busy by what is in hand."""
SLOW = 20.0
"""Replies a second under which nothing is sent before what came is stored: a long text is dear."""
UNSTORED_SECONDS = 0.6
"""Of how long the replies of a faster endpoint may wait to be stored while calls go on."""

R = TypeVar("R")
Q = TypeVar("Q")


@dataclass(frozen=True)
class Shift:
    """How one worker works. `wait` stays while other workers hold items; `seconds` ends the shift.

    `watch` is called about twice a second, for a progress bar; `interrupted` says whether to stop politely.
    """

    concurrency: int | None = None
    wait: bool = False
    seconds: float = LONGEST_SHIFT_SECONDS
    retry: Retry | None = None
    watch: Callable[[], None] = lambda: None
    interrupted: Callable[[], bool] = lambda: False


PLAIN_SHIFT = Shift()


class Worklist(Protocol[Q, R]):
    """What a shift needs to know of a run; all of it touches the database but `keep` and `stored`.

    `gave_up` holds why nothing more helps.
    """

    gave_up: str

    def next_questions(self, count: int) -> tuple[list[Q], bool]: ...
    def take(self, outcomes: Sequence[Outcome[int, R]]) -> list[Q]: ...
    def keep(self, key: int, result: R) -> None: ...
    def stored(self, keys: Collection[int]) -> None: ...
    def settle_failures(self) -> None: ...
    def renew(self) -> None: ...
    def others_are_busy(self) -> bool: ...
    def still_running(self) -> bool: ...
    def tell(self, traffic: Traffic) -> None: ...


class Work(Generic[Q, R]):
    """A worklist, the engine that makes its calls, and how questions become calls."""

    def __init__(
        self,
        worklist: Worklist[Q, R],
        engine: Engine[int, R],
        send: Callable[[Sequence[Q]], None],
        traffic: Callable[[], Traffic],
    ) -> None:
        self._worklist, self._engine, self._send, self._traffic = worklist, engine, send, traffic
        self._rate = 0.0
        self._counted_at = time.monotonic()
        engine.ahead = 0

    async def until_done(self, shift: Shift) -> None:
        """Returns when nothing is left, the run no longer runs, the engine has stopped, or the shift is over."""
        worklist, engine = self._worklist, self._engine
        ends_at, looked_at, renewed_at = time.monotonic() + shift.seconds, 0.0, time.monotonic()
        more = True
        while True:
            now = time.monotonic()
            if now - looked_at >= LOOK_SECONDS:
                looked_at = now
                running = await sync_to_async(self._look)(shift)
                if not running or now > ends_at:
                    engine.stop()
                else:
                    engine.goes_on()
            if now - renewed_at >= RENEW_SECONDS:
                renewed_at = now
                await sync_to_async(worklist.renew)()
            room = self._room()
            if more and (room >= max(1, self._ahead() // 2) or not engine.in_hand):
                questions, more = await sync_to_async(worklist.next_questions)(room)
                self._send(questions)
            if engine.in_hand:
                outcomes = await self._outcomes()
                self._send(await sync_to_async(worklist.take)(outcomes) if outcomes else [])
                engine.stored([one.key for one in outcomes if isinstance(one, Answered)])
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

    def _room(self) -> int:
        """How many more calls to take in hand: what a fast endpoint answers while this side reads and writes."""
        if self._engine.stopped:
            return 0
        return max(0, self._engine.concurrency + self._ahead() - self._engine.in_hand)

    def _ahead(self) -> int:
        return max(self._engine.concurrency, int(self._rate * WRITE_SECONDS))

    async def _outcomes(self) -> list[Outcome[int, R]]:
        """What has finished; of a fast endpoint, what finishes within a moment."""
        if self._rate * GATHER_SECONDS > 4:
            await asyncio.sleep(GATHER_SECONDS)
        outcomes = await self._engine.finished(LOOK_SECONDS)
        now = time.monotonic()
        seconds, self._counted_at = max(1e-3, now - self._counted_at), now
        share = min(1.0, seconds)
        self._rate += share * (len(outcomes) / seconds - self._rate)
        self._engine.ahead = 0 if self._rate < SLOW else int(self._rate * UNSTORED_SECONDS)
        return outcomes

    def _look(self, shift: Shift) -> bool:
        """Whether to go on; and what the run's page is to say of its calls."""
        shift.watch()
        running = self._worklist.still_running() and not shift.interrupted()
        self._worklist.tell(self._traffic())
        return running
