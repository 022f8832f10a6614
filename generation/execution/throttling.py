"""Says on a run's page that its endpoint puts every call off, for as long as it does."""

from datetime import datetime, timedelta

from django.db.models import Q

from core.clock import Clock
from core.messages.message import cut, stored
from core.text import storable
from generation.llm.protocol.messages import PUT_OFF
from generation.run_fields import AnyRun

A_WHILE = timedelta(seconds=5)
"""So long nothing but delays must come before it is worth a word: now and then a call is put off anywhere."""
LONGEST_QUOTED = 500


class PutOff:
    """What one worker meets. `tell` and `leave` touch the database."""

    def __init__(self, run: AnyRun, clock: Clock) -> None:
        self._run, self._clock = run, clock
        self._words = ""
        self._told: str | None = None
        self._since: datetime | None = None

    def answered(self) -> None:
        self._words, self._since = "", None

    def delayed(self, words: str) -> None:
        self._words = words
        self._since = self._since or self._clock()

    def tell(self) -> None:
        """Brings the run's message to what is so now."""
        lasts = self._since is not None and self._clock() - self._since >= A_WHILE
        self._say(PUT_OFF(words=cut(self._words, LONGEST_QUOTED)) if lasts else "")

    def leave(self) -> None:
        """Takes back what was said, unless the run was given another message meanwhile."""
        self.answered()
        self._say("")

    def _say(self, words: str) -> None:
        said = storable(words)
        if said == self._told:
            return
        # What a worker said that was killed goes as well; any other message stays.
        found = type(self._run)._default_manager.filter(pk=self._run.pk, status=AnyRun.Status.RUNNING)
        found.filter(Q(message="") | Q(message_json__code=PUT_OFF.code)).update(**stored("message", words))
        self._told = said
