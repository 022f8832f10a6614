"""How responses are rated: rubrics and scales, studies, raters, tasks, and the answers of people and judges."""

from annotation.models.answers import CheckOutcome, Draft, LateChange, Score, TimeCorrection, latest_scores
from annotation.models.assignments import GIVEN, Assignment, AssignmentQuerySet, Flag, Seat, why_not_counted
from annotation.models.authoring import (
    Ballot,
    BallotReceipt,
    Checklist,
    MergedCriterion,
    ProposedCriterion,
    QuestionDraft,
    QuestionReview,
)
from annotation.models.bonuses import AGAINST_CAP, COUNTED, BonusBatch, BonusCap, BonusPayment
from annotation.models.counters import InstructionCounter, RaterCounter, StudyChange, StudyCounter, WorkChange
from annotation.models.exclusions import (
    Exclusion,
    are_excluded_shown,
    counting,
    counting_checks,
    drawn_alike,
    excluded_shown,
)
from annotation.models.joining import (
    BrowserRequest,
    DoorKnock,
    MailedInvitation,
    Participant,
    ProlificStudy,
    RefusedAddress,
)
from annotation.models.questionnaires import Questionnaire, QuestionnaireAnswer
from annotation.models.raters import Cohort, Rater, RaterIdentity, Standing, still_admitted
from annotation.models.rubrics import Criterion, Guideline, Rubric, RubricQuerySet
from annotation.models.studies import DeskTally, StoppingQuestion, Study, Task
from annotation.models.uploads import SavedMapping

__all__ = [
    "AGAINST_CAP",
    "COUNTED",
    "GIVEN",
    "Assignment",
    "AssignmentQuerySet",
    "Ballot",
    "BallotReceipt",
    "BonusBatch",
    "BonusCap",
    "BonusPayment",
    "BrowserRequest",
    "CheckOutcome",
    "Checklist",
    "Cohort",
    "Criterion",
    "DeskTally",
    "DoorKnock",
    "Draft",
    "Exclusion",
    "Flag",
    "Guideline",
    "InstructionCounter",
    "LateChange",
    "MailedInvitation",
    "MergedCriterion",
    "Participant",
    "ProlificStudy",
    "ProposedCriterion",
    "QuestionDraft",
    "QuestionReview",
    "Questionnaire",
    "QuestionnaireAnswer",
    "Rater",
    "RaterCounter",
    "RaterIdentity",
    "RefusedAddress",
    "Rubric",
    "RubricQuerySet",
    "SavedMapping",
    "Score",
    "Seat",
    "Standing",
    "StoppingQuestion",
    "Study",
    "StudyChange",
    "StudyCounter",
    "Task",
    "TimeCorrection",
    "WorkChange",
    "are_excluded_shown",
    "counting",
    "counting_checks",
    "drawn_alike",
    "excluded_shown",
    "latest_scores",
    "still_admitted",
    "why_not_counted",
]
