"""Further ratings of tasks on which raters disagree: of one task, or of all above a spread."""

from dataclasses import dataclass

from django.utils.translation import gettext as _

from accounts.models import User
from annotation.models import Study, Task
from annotation.monitoring.disagreements import tasks_below
from annotation.studies.life_cycle import StudyRefused, add_overlap

MOST_MORE = 20
MOST_AT_ONCE = 500
RUNNING = (Study.Status.OPEN, Study.Status.PAUSED)


@dataclass(frozen=True)
class Requested:
    """The `ratings` that were requested, of so many `tasks`."""

    ratings: int
    tasks: int


def may_request(study: Study) -> bool:
    """Whether raters can still be given further tasks of the study."""
    return study.status in RUNNING


def request_more(study: Study, tasks: list[Task], more: int, *, by: User) -> Requested:
    """Request `more` ratings of each task but those that measure raters, to be assigned next. Raises StudyRefused."""
    if not may_request(study):
        raise StudyRefused(_("More ratings can be requested only while the study is open or paused. Open it first."))
    wanted = [task for task in tasks if task.gold is None]
    return Requested(add_overlap(study, wanted, more, by=by) if wanted else 0, len(wanted))


def request_more_above(study: Study, least: float, more: int, *, by: User) -> Requested:
    """The same for the undecided tasks without open slots whose spread is above `least`, at most 500 of them."""
    return request_more(study, tasks_below(study, least=least, most=MOST_AT_ONCE), more, by=by)
