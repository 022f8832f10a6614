"""Runs many calls at once: bounded concurrency, pace, retry with jitter, Retry-After, deadlines, budget.

PURE asyncio. The clock, the sleep and the random draw are passed in. A call that waits to be tried again
holds no slot, so a slow or failing one delays nobody else; what has finished is handed out at once.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar, cast

from generation.llm.protocol.call_limits import CallFailed, Pace
from generation.llm.protocol.messages import NO_REPLY
from generation.llm.protocol.prices import NOTHING, Budget, Spend

K = TypeVar("K")
R = TypeVar("R")
K_contra = TypeVar("K_contra", contravariant=True)
R_contra = TypeVar("R_contra", contravariant=True)


class TryTimedOut(CallFailed):
    """One try took longer than it may."""

    retryable = True


@dataclass(frozen=True)
class Retry:
    """How often and when a failed call is tried again; seconds."""

    tries: int = 6
    first_wait: float = 1.0
    longest_wait: float = 60.0
    try_seconds: float = 300.0
    call_seconds: float = 1800.0

    def wait(self, tries: int, draw: float) -> float:
        """Before try number tries + 1: doubling, with half of it drawn (`draw` in [0, 1))."""
        whole = min(self.longest_wait, self.first_wait * 2.0 ** min(tries - 1, 30))
        return whole * (0.5 + draw / 2)


class Turns(Protocol):
    """An endpoint's allowance, shared with other engines that may be elsewhere."""

    async def claim(self, seconds: float) -> float:
        """Sets so many seconds of the allowance aside for this engine; the wait until they begin, in seconds."""

    async def hold(self, seconds: float) -> None:
        """Nobody is to call for so long."""


class Keeper(Protocol[K_contra, R_contra]):
    """Keeps results safe between their coming and their storing. Must not raise."""

    def keep(self, key: K_contra, result: R_contra) -> None:
        """Called before any other call is sent."""

    def stored(self, keys: Collection[K_contra]) -> None:
        """One result of each of these need be kept no longer."""


@dataclass(frozen=True)
class Call(Generic[K, R]):
    """`send` makes one try. `reserve` is the most it can cost, `spent` what a result did cost, or a part of one."""

    key: K
    send: Callable[[], Awaitable[R]]
    reserve: Spend = NOTHING
    spent: Callable[[R], Spend] = field(default=lambda _result: Spend(calls=1))


@dataclass(frozen=True)
class Answered(Generic[K, R]):
    key: K
    result: R
    tries: int


@dataclass(frozen=True)
class Failed(Generic[K]):
    """`fatal`: the engine has stopped, since every other call would fail as well."""

    key: K
    error: CallFailed
    tries: int
    fatal: bool = False


@dataclass(frozen=True)
class Retried(Generic[K]):
    """A try failed and another follows after `wait` seconds: news of a call that is still in hand."""

    key: K
    error: CallFailed
    wait: float


@dataclass(frozen=True)
class Withheld(Generic[K]):
    """Not sent, or not sent again: the engine had stopped for `reason`."""

    key: K
    reason: str


Outcome = Answered[K, R] | Failed[K] | Withheld[K] | Retried[K]
BUDGET_REACHED = "budget"
STOPPED = "stopped"
FATAL = "fatal"
LONGEST_CLAIM = 1.0
"""Seconds of a shared allowance that are set aside at once, unless one call takes longer."""
LATENESS = 0.25
"""Seconds after the end of a claim in which a call may still start on it: a busy machine wakes late."""
NEWS_SECONDS = 2.0
"""How old the last news that the run goes on may be when a call is sent."""


@dataclass(frozen=True)
class Traffic:
    """What an engine does at a moment: calls that are `under_way`, and the wait until the next one may be sent.

    `wait` is in seconds, 0 where no rate limit holds a call back. `asked`: the endpoint asked for the wait; else the
    limits that are set here do.
    """

    under_way: int = 0
    wait: float = 0.0
    asked: bool = False


class Engine(Generic[K, R]):
    """Takes calls with `submit`, gives what became of them with `finished`. Lives in one event loop.

    Where `ahead` is a number, calls on their way and results that `stored` was not told of are together never
    more than `concurrency` + `ahead`: what is lost if this machine dies. None is no limit. What the `keeper` was
    given is not lost if only this process dies.

    `slots` are shared with other engines that call the same endpoint, so that together they keep to its limit.

    Once a call is `proven` to be answered, a doubtful failure concerns its own call alone. Until then it concerns all
    unless one of those on their way is answered, for which nothing more is sent.
    """

    def __init__(
        self,
        *,
        concurrency: int,
        budget: Budget,
        retry: Retry,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]],
        draw: Callable[[], float],
        pace: Pace | None = None,
        turns: Turns | None = None,
        keeper: Keeper[K, R] | None = None,
        proven: bool = False,
        slots: asyncio.Semaphore | None = None,
    ) -> None:
        self.concurrency = concurrency
        self._proven, self._heard = proven, False
        self._flying = self._doubts = 0
        self.ahead: int | None = None
        self._slots = slots or asyncio.Semaphore(concurrency)
        self._sent = self._unstored = 0
        self._budget = budget
        self._retry = retry
        self._pace = pace or Pace()
        self._clock, self._sleep, self._draw = clock, sleep, draw
        self._turns = turns if pace and pace.limited else None
        self._keeper = keeper
        self._opens_at = self._closes_at = self._asked_until = clock()
        self._news_at: float | None = None
        self._in_line = 0
        self._put_off: dict[int, float] = {}
        self._queueing = self._claimed = 0.0
        self._claiming = asyncio.Lock()
        self._settled = asyncio.Event()
        self._stopping = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._outcomes: asyncio.Queue[Outcome[K, R] | Exception] = asyncio.Queue()
        self.stopped = ""

    @property
    def in_hand(self) -> int:
        """Calls submitted whose outcome has not been taken."""
        return len(self._tasks) + self._outcomes.qsize()

    @property
    def traffic(self) -> Traffic:
        """A call that waits for its turn waits for the limits; one that was put off, for its own time to be sent again."""
        now = self._clock()
        if self.stopped:
            return Traffic(self._flying)
        if self._in_line:
            return Traffic(self._flying, max(0.0, self._opens_at - now), now < self._asked_until)
        again = min(self._put_off.values(), default=now)
        return Traffic(self._flying, 0.0 if self._flying else max(0.0, again - now), again > now)

    def goes_on(self) -> None:
        """News that the run still goes on; once told, nothing is sent on news older than NEWS_SECONDS."""
        self._news_at = self._clock()
        self._settled.set()

    def stored(self, keys: Collection[K]) -> None:
        """One result of each of these is safe from now on."""
        if keys:
            self._unstored -= len(keys)
            self._settled.set()
            if self._keeper is not None:
                self._keeper.stored(keys)

    def submit(self, call: Call[K, R]) -> None:
        self._tasks.add(asyncio.create_task(self._see_through(call)))

    def stop(self, reason: str = STOPPED) -> None:
        """Sends nothing more; what is on its way is waited for. The first reason stands."""
        self.stopped = self.stopped or reason
        self._stopping.set()
        self._settled.set()

    async def finished(self, within: float) -> list[Outcome[K, R]]:
        """Everything that has finished, after waiting at most `within` seconds for the first.

        What `send` raises beside CallFailed is a fault of the caller and is raised here.
        """
        try:
            async with asyncio.timeout(within):
                taken = [await self._outcomes.get()]
        except TimeoutError:
            return []
        while not self._outcomes.empty():
            taken.append(self._outcomes.get_nowait())
        outcomes: list[Outcome[K, R]] = []
        for outcome in taken:
            if isinstance(outcome, Exception):
                raise outcome
            outcomes.append(outcome)
        return outcomes

    async def cancel(self) -> None:
        """Drops everything, also what is on its way."""
        self.stop()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _see_through(self, call: Call[K, R]) -> None:
        outcome: Outcome[K, R] | Exception
        try:
            outcome = await self._outcome(call)
        except Exception as error:
            outcome = error
        self._tasks.discard(cast("asyncio.Task[None]", asyncio.current_task()))
        self._outcomes.put_nowait(outcome)

    async def _outcome(self, call: Call[K, R]) -> Outcome[K, R]:
        deadline = self._clock() + self._retry.call_seconds
        tries = put_off = 0
        while True:
            async with self._slots:
                await self._wait_for_proof()
                if not self.stopped:
                    await self._wait_for_turn(call.reserve)
                    await self._wait_for_storing()
                    await self._wait_for_news()
                self._sent += 1
                try:
                    if self.stopped or not await self._reserve(call.reserve):
                        return Withheld(call.key, self.stopped)
                    tries += 1
                    tried = await self._try(call, tries)
                finally:
                    self._sent -= 1
            if isinstance(tried, Answered):
                return tried
            error = tried.error
            if error.fatal or (error.doubtful and await self._concerns_all()):
                self.stop(FATAL)
                return Failed(call.key, error, tries, fatal=True)
            wait = max(self._retry.wait(tries + put_off, self._draw()), error.retry_after or 0.0)
            if error.patient:
                tries, put_off = tries - 1, put_off + 1
            if not error.retryable or tries >= self._retry.tries or self._clock() + wait > deadline:
                return tried
            self._outcomes.put_nowait(Retried(call.key, error, wait))
            if error.patient:
                self._put_off[id(call)] = self._clock() + wait
            await self._rest(wait)
            self._put_off.pop(id(call), None)

    async def _rest(self, seconds: float) -> None:
        """Sleeps, but not beyond a stop."""
        sleeper = asyncio.ensure_future(self._sleep(seconds))
        stopper = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait({sleeper, stopper}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleeper.cancel()
            stopper.cancel()

    async def _try(self, call: Call[K, R], tries: int) -> Answered[K, R] | Failed[K]:
        spent = NOTHING
        self._flying += 1
        try:
            async with asyncio.timeout(self._retry.try_seconds):
                result = await call.send()
            self._proven = self._heard = True
            spent = call.spent(result)
            if self._keeper is not None:
                self._keeper.keep(call.key, result)
            self._unstored += 1
            return Answered(call.key, result, tries)
        except TimeoutError:
            spent = Spend(calls=1)
            return Failed(call.key, TryTimedOut(NO_REPLY(seconds=f"{self._retry.try_seconds:g}")), tries)
        except CallFailed as error:
            error.patient = error.patient or (error.unsent and self._heard)
            if error.came is not None:
                spent = call.spent(error.came)
            elif not error.patient:
                spent = Spend(calls=1)
            if error.retry_after:
                self._asked_until = max(self._asked_until, self._clock() + error.retry_after)
                self._opens_at = max(self._opens_at, self._asked_until)
                if self._turns:
                    await self._turns.hold(error.retry_after)
            return Failed(call.key, error, tries)
        finally:
            self._flying -= 1
            self._budget.settle(call.reserve, spent)
            self._settled.set()

    async def _concerns_all(self) -> bool:
        """Whether a doubtful failure does: nothing was ever answered, and nothing that is on its way is."""
        self._doubts += 1
        try:
            while self._flying and not self._proven and not self.stopped:
                self._settled.clear()
                await self._settled.wait()
        finally:
            self._doubts -= 1
            self._settled.set()
        return not self._proven

    async def _wait_for_proof(self) -> None:
        while self._doubts and not self._proven and not self.stopped:
            self._settled.clear()
            await self._settled.wait()

    async def _wait_for_turn(self, spend: Spend) -> None:
        """Waits until the pace and the longest Retry-After so far let another call start."""
        seconds = self._pace.seconds_of(spend)
        self._queueing += seconds
        self._in_line += 1
        try:
            while not self.stopped:
                if (wait := self._opens_at - self._clock()) > 0:
                    await self._rest(wait)
                elif not self._turns or self._has_claimed(seconds):
                    break
                else:
                    await self._claim(self._turns, seconds)
        finally:
            self._queueing -= seconds
            self._in_line -= 1
        self._claimed -= seconds
        self._opens_at = max(self._opens_at, self._clock()) + seconds

    def _has_claimed(self, seconds: float) -> bool:
        return self._claimed >= 0.999 * seconds and self._clock() <= self._closes_at + LATENESS

    async def _claim(self, turns: Turns, seconds: float) -> None:
        """As much of the shared allowance as the calls that wait now can use, so that none of it is lost."""
        async with self._claiming:
            if self._has_claimed(seconds):
                return
            asked = max(seconds, min(self._queueing, LONGEST_CLAIM))
            wait = await turns.claim(asked)
            self._claimed = asked
            self._opens_at = max(self._opens_at, self._clock() + wait)
            self._closes_at = self._opens_at + asked

    async def _wait_for_storing(self) -> None:
        while (
            self.ahead is not None and self._sent + self._unstored >= self.concurrency + self.ahead and not self.stopped
        ):
            self._settled.clear()
            await self._settled.wait()

    async def _wait_for_news(self) -> None:
        """While nobody could look whether the run goes on, as where the database is busy, nothing is sent."""
        while self._news_at is not None and self._clock() - self._news_at > NEWS_SECONDS and not self.stopped:
            self._settled.clear()
            await self._settled.wait()

    async def _reserve(self, spend: Spend) -> bool:
        """Reserves before dispatch; waits while what others hold might come free, else stops the engine."""
        while not self.stopped:
            if self._budget.reserve(spend):
                return True
            if not self._budget.held:
                self.stop(BUDGET_REACHED)
            else:
                self._settled.clear()
                await self._settled.wait()
        return False
