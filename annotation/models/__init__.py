"""How responses are rated: rubrics and scales, studies, raters, tasks, and the answers of people and judges."""

from annotation.models.answers import CheckOutcome, Draft, LateChange, Score, TimeCorrection, latest_scores
from annotation.models.assignments import Assignment, AssignmentQuerySet, Flag, Seat
from annotation.models.counters import StudyChange, StudyCounter
from annotation.models.joining import BrowserRequest, DoorKnock, Participant, RefusedAddress
from annotation.models.raters import Cohort, Rater, RaterIdentity, Standing
from annotation.models.rubrics import Criterion, Guideline, Rubric, RubricQuerySet
from annotation.models.studies import DeskTally, Study, Task

__all__ = [
    "Assignment",
    "AssignmentQuerySet",
    "BrowserRequest",
    "CheckOutcome",
    "Cohort",
    "Criterion",
    "DeskTally",
    "DoorKnock",
    "Draft",
    "Flag",
    "Guideline",
    "LateChange",
    "Participant",
    "Rater",
    "RaterIdentity",
    "RefusedAddress",
    "Rubric",
    "RubricQuerySet",
    "Score",
    "Seat",
    "Standing",
    "Study",
    "StudyChange",
    "StudyCounter",
    "Task",
    "TimeCorrection",
    "latest_scores",
]
