"""Make many calls at once: bounded concurrency, rate limit, retry with jitter, Retry-After, deadlines, budget.

PURE asyncio. The clock, the sleep and the random draw are passed in. A call that waits for its retry holds no slot, so a
slow or failing call delays no other; what has finished is handed out at once.
"""

import asyncio
from collections import deque
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
    """A try took longer than it may."""

    retryable = True


@dataclass(frozen=True)
class Retry:
    """How often and when a failed call is retried; times in seconds."""

    tries: int = 6
    first_wait: float = 1.0
    longest_wait: float = 60.0
    try_seconds: float = 300.0
    call_seconds: float = 1800.0

    def wait(self, tries: int, draw: float) -> float:
        """Return the wait before try number tries + 1: it doubles, and half of it is random (`draw` in [0, 1))."""
        whole = min(self.longest_wait, self.first_wait * 2.0 ** min(tries - 1, 30))
        return whole * (0.5 + draw / 2)


class RateLimit(Protocol):
    """An endpoint's allowance, shared with other engines that may be elsewhere."""

    async def claim(self, seconds: float) -> float:
        """Claim this many seconds of the allowance for this engine; return the wait until they begin, in seconds."""

    async def hold(self, seconds: float) -> None:
        """Let nobody call for this long."""


class ReplyLog(Protocol[K_contra, R_contra]):
    """Keeps results between their arrival and their storage. Must not raise."""

    def append(self, key: K_contra, result: R_contra) -> None:
        """Called before any other call is sent."""

    def stored(self, keys: Collection[K_contra]) -> None:
        """Called once one result of each of these keys is stored."""


@dataclass(frozen=True)
class Call(Generic[K, R]):
    """`send` makes one try. `reserve` is its maximum cost; `spent` returns the cost of a result or of a part of one."""

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
    """`fatal`: the engine has stopped, because every other call would fail as well."""

    key: K
    error: CallFailed
    tries: int
    fatal: bool = False


@dataclass(frozen=True)
class Retried(Generic[K]):
    """A try failed and another follows after `wait` seconds; the call is still in hand."""

    key: K
    error: CallFailed
    wait: float


@dataclass(frozen=True)
class Withheld(Generic[K]):
    """The call was not sent, or not sent again, because the engine had stopped for `reason`."""

    key: K
    reason: str


Outcome = Answered[K, R] | Failed[K] | Withheld[K] | Retried[K]
BUDGET_REACHED = "budget"
STOPPED = "stopped"
FATAL = "fatal"
LONGEST_CLAIM = 1.0
"""Seconds of a shared allowance that are claimed at once, unless one call takes longer."""
LATENESS = 0.25
"""Seconds after the end of a claim during which a call may still start on it: a busy machine wakes late."""
NEWS_SECONDS = 2.0
"""The maximum age, when a call is sent, of the last news that the run continues."""


@dataclass(frozen=True)
class Traffic:
    """What an engine is doing: the calls that are `under_way`, and the wait until the next call may be sent.

    `wait` is in seconds, 0 if no rate limit delays a call. `asked`: the endpoint asked for the wait; otherwise the
    limits that are set here cause it.
    """

    under_way: int = 0
    wait: float = 0.0
    asked: bool = False


class CallSlots:
    """A semaphore of one event loop whose `limit` can change; calls under way beyond a lowered one come to their end.

    `most_in_use` and `has_waited` say what was needed since somebody last reset them.
    """

    def __init__(self, limit: int = 0) -> None:
        self.limit = limit
        self.in_use = self.most_in_use = 0
        self.has_waited = False
        self._line: deque[tuple[asyncio.Future[bool], object]] = deque()

    async def acquire(self, owner: object = None) -> bool:
        """Wait for a slot; return False without one if the waiting calls of `owner` were dismissed."""
        if self.in_use < self.limit and not self._line:
            self._take()
            return True
        self.has_waited = True
        place: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._line.append((place, owner))
        try:
            return await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled() and place.result():
                self.release()
            raise

    def release(self) -> None:
        self.in_use -= 1
        self._wake()

    def set_limit(self, limit: int) -> None:
        self.limit = limit
        self._wake()

    def dismiss(self, owner: object) -> None:
        """Let the waiting calls of `owner` go without a slot."""
        for place, whose in self._line:
            if whose is owner and not place.done():
                place.set_result(False)

    def _take(self) -> None:
        self.in_use += 1
        self.most_in_use = max(self.most_in_use, self.in_use)

    def _wake(self) -> None:
        while self._line and (self.in_use < self.limit or self._line[0][0].done()):
            place, _owner = self._line.popleft()
            if not place.done():
                self._take()
                place.set_result(True)

    async def __aenter__(self) -> None:
        await self.acquire()

    async def __aexit__(self, *_raised: object) -> None:
        self.release()


class Engine(Generic[K, R]):
    """Takes calls with `submit` and returns their outcomes with `finished`. Lives in one event loop.

    If `ahead` is a number, calls under way and results that are not `stored` yet are together never more than
    `concurrency` + `ahead`: they are lost if this machine dies. None is no limit. What was appended to the `log` is not
    lost if only this process dies.

    `slots` are shared with other engines that call the same endpoint, so that together they keep to its limit.

    Once a call is `proven` to be answered, a doubtful failure concerns its own call alone. Until then it concerns all
    calls unless one of those under way is answered; nothing more is sent until that is known.
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
        rate_limit: RateLimit | None = None,
        log: ReplyLog[K, R] | None = None,
        proven: bool = False,
        slots: CallSlots | None = None,
    ) -> None:
        self.concurrency = concurrency
        self._proven, self._heard = proven, False
        self._under_way = self._doubts = 0
        self.ahead: int | None = None
        self._slots = slots or CallSlots(concurrency)
        self._sent = self._unstored = 0
        self._budget = budget
        self._retry = retry
        self._pace = pace or Pace()
        self._clock, self._sleep, self._draw = clock, sleep, draw
        self._rate_limit = rate_limit if pace and pace.limited else None
        self._log = log
        self._opens_at = self._closes_at = self._asked_until = clock()
        self._news_at: float | None = None
        self._in_line = 0
        self._throttled: dict[int, float] = {}
        self._queueing = self._claimed = 0.0
        self._claiming = asyncio.Lock()
        self._settled = asyncio.Event()
        self._stopping = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._outcomes: asyncio.Queue[Outcome[K, R] | Exception] = asyncio.Queue()
        self.stopped = ""

    @property
    def in_hand(self) -> int:
        """The number of submitted calls whose outcomes have not been taken."""
        return len(self._tasks) + self._outcomes.qsize()

    @property
    def traffic(self) -> Traffic:
        """The rate limits delay calls that wait in line; a throttled call waits for its own retry."""
        now = self._clock()
        if self.stopped:
            return Traffic(self._under_way)
        if self._in_line:
            return Traffic(self._under_way, max(0.0, self._opens_at - now), now < self._asked_until)
        again = min(self._throttled.values(), default=now)
        return Traffic(self._under_way, 0.0 if self._under_way else max(0.0, again - now), again > now)

    def goes_on(self) -> None:
        """Note that the run continues; after the first such news, nothing is sent on news older than NEWS_SECONDS."""
        self._news_at = self._clock()
        self._settled.set()

    def stored(self, keys: Collection[K]) -> None:
        """Note that one result of each of these keys is stored."""
        if keys:
            self._unstored -= len(keys)
            self._settled.set()
            if self._log is not None:
                self._log.stored(keys)

    def submit(self, call: Call[K, R]) -> None:
        self._tasks.add(asyncio.create_task(self._see_through(call)))

    def stop(self, reason: str = STOPPED) -> None:
        """Send nothing more; calls under way are awaited. The first reason stands."""
        self.stopped = self.stopped or reason
        self._stopping.set()
        self._settled.set()
        self._slots.dismiss(self)

    async def finished(self, within: float) -> list[Outcome[K, R]]:
        """Return everything that has finished, after waiting at most `within` seconds for the first.

        An exception of `send` other than CallFailed is a fault of the caller and is raised here.
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
        """Drop everything, including calls under way."""
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
        tries = throttled = 0
        while True:
            if self.stopped or not await self._slots.acquire(self):
                return Withheld(call.key, self.stopped)
            try:
                await self._wait_for_proof()
                if not self.stopped:
                    await self._wait_in_line(call.reserve)
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
            finally:
                self._slots.release()
            if isinstance(tried, Answered):
                return tried
            error = tried.error
            if error.fatal or (error.doubtful and await self._concerns_all()):
                self.stop(FATAL)
                return Failed(call.key, error, tries, fatal=True)
            wait = max(self._retry.wait(tries + throttled, self._draw()), error.retry_after or 0.0)
            if error.patient:
                tries, throttled = tries - 1, throttled + 1
            if not error.retryable or tries >= self._retry.tries or self._clock() + wait > deadline:
                return tried
            self._outcomes.put_nowait(Retried(call.key, error, wait))
            if error.patient:
                self._throttled[id(call)] = self._clock() + wait
            await self._rest(wait)
            self._throttled.pop(id(call), None)

    async def _rest(self, seconds: float) -> None:
        """Sleep, but not beyond a stop."""
        sleeper = asyncio.ensure_future(self._sleep(seconds))
        stopper = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait({sleeper, stopper}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleeper.cancel()
            stopper.cancel()

    async def _try(self, call: Call[K, R], tries: int) -> Answered[K, R] | Failed[K]:
        spent = NOTHING
        self._under_way += 1
        try:
            async with asyncio.timeout(self._retry.try_seconds):
                result = await call.send()
            self._proven = self._heard = True
            spent = call.spent(result)
            if self._log is not None:
                self._log.append(call.key, result)
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
                if self._rate_limit:
                    await self._rate_limit.hold(error.retry_after)
            return Failed(call.key, error, tries)
        finally:
            self._under_way -= 1
            self._budget.settle(call.reserve, spent)
            self._settled.set()

    async def _concerns_all(self) -> bool:
        """Whether a doubtful failure concerns all calls: no call was ever answered, nor is one that is under way."""
        self._doubts += 1
        try:
            while self._under_way and not self._proven and not self.stopped:
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

    async def _wait_in_line(self, spend: Spend) -> None:
        """Wait until the pace and the longest Retry-After so far let another call start."""
        seconds = self._pace.seconds_of(spend)
        self._queueing += seconds
        self._in_line += 1
        try:
            while not self.stopped:
                if (wait := self._opens_at - self._clock()) > 0:
                    await self._rest(wait)
                elif not self._rate_limit or self._has_claimed(seconds):
                    break
                else:
                    await self._claim(self._rate_limit, seconds)
        finally:
            self._queueing -= seconds
            self._in_line -= 1
        self._claimed -= seconds
        self._opens_at = max(self._opens_at, self._clock()) + seconds

    def _has_claimed(self, seconds: float) -> bool:
        return self._claimed >= 0.999 * seconds and self._clock() <= self._closes_at + LATENESS

    async def _claim(self, rate_limit: RateLimit, seconds: float) -> None:
        """Claim as much of the shared allowance as the calls that wait now can use, so that none of it is lost."""
        async with self._claiming:
            if self._has_claimed(seconds):
                return
            asked = max(seconds, min(self._queueing, LONGEST_CLAIM))
            wait = await rate_limit.claim(asked)
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
        """Send nothing while nobody can check whether the run continues, for example because the database is busy."""
        while self._news_at is not None and self._clock() - self._news_at > NEWS_SECONDS and not self.stopped:
            self._settled.clear()
            await self._settled.wait()

    async def _reserve(self, spend: Spend) -> bool:
        """Reserve before dispatch; wait while other calls may release their reservations, else stop the engine."""
        while not self.stopped:
            if self._budget.reserve(spend):
                return True
            if not self._budget.held:
                self.stop(BUDGET_REACHED)
            else:
                self._settled.clear()
                await self._settled.wait()
        return False
