"""A notice on a run's page that its endpoint throttles every call, for as long as it does."""

from datetime import datetime, timedelta

from django.db.models import Q

from core.clock import Clock
from core.messages.message import cut, stored
from generation.llm.protocol.messages import PUT_OFF
from generation.run_fields import AnyRun

NOTICE_AFTER = timedelta(seconds=5)
"""How long all calls must be delayed before it is reported: a single delay is ordinary."""
LONGEST_QUOTED = 500


class Throttling:
    """What one worker meets. `report` and `withdraw` use the database."""

    def __init__(self, run: AnyRun, clock: Clock) -> None:
        self._run, self._clock = run, clock
        self._error = ""
        self._reported: str | None = None
        self._since: datetime | None = None

    def answered(self) -> None:
        self._error, self._since = "", None

    def delayed(self, error: str) -> None:
        self._error = error
        self._since = self._since or self._clock()

    def report(self) -> None:
        """Set the run's message to the present state."""
        lasts = self._since is not None and self._clock() - self._since >= NOTICE_AFTER
        self._set_message(PUT_OFF(words=cut(self._error, LONGEST_QUOTED)) if lasts else "")

    def withdraw(self) -> None:
        """Remove the notice, unless the run was given another message meanwhile."""
        self.answered()
        self._set_message("")

    def _set_message(self, message: str) -> None:
        if message == self._reported:
            return
        # The notice of a worker that was killed is removed as well; any other message stays.
        rows = type(self._run)._default_manager.filter(pk=self._run.pk, status=AnyRun.Status.RUNNING)
        rows = rows.filter(Q(message="") | Q(message_json__code=PUT_OFF.code))
        rows.update(**stored("message", message))
        self._reported = message
