"""A rubric in the making: proposed criteria, a secret vote on them, questions, and reviews of the questions."""

import secrets
from uuid import UUID

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from accounts.models import User, Workspace
from core.db.public_ids import new_public_id
from core.messages.localized import localized
from generation.models import Benchmark, Category, GenerationRun

FEWEST_KEPT, MOST_KEPT = 4, 6
MOST_VOTES = 20


def random_number() -> int:
    """A key that says nothing about when its row was stored."""
    return secrets.randbits(62)


class ByPerson(models.Model):
    """A row that one person gave to a checklist. `by` is empty once the person is erased.

    In an installation that loaded the row from an archive, `pseudonym` stands for a person whose account stayed behind.
    It was drawn when the archive was made and says only which rows of one table and one checklist are one person's.
    """

    by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="+")
    pseudonym = models.UUIDField(null=True, blank=True, editable=False)

    class Meta:
        abstract = True

    @property
    def person(self) -> int | UUID | None:
        """What tells the persons of a table and a checklist apart; None where nothing is left of who it was."""
        return self.by_id or self.pseudonym


class Checklist(models.Model):
    """A checklist that people of a workspace write together for a benchmark, for some of its categories, or for any study.

    It passes through its stages in order and ends in a rubric. `keeps` is how many criteria stay after the vote, in
    which everybody has `votes_each` votes. `choice_reason` is why the lead kept some of those that had equally many.
    """

    class Stage(models.TextChoices):
        PROPOSE = "propose", _("Proposals")
        MERGE = "merge", _("Merging")
        VOTE = "vote", _("Vote")
        CHOOSE = "choose", _("Result of the vote")
        QUESTIONS = "questions", _("Questions")
        REVIEW = "review", _("Review")
        DONE = "done", _("Done")

    class Scale(models.TextChoices):
        YES_NO = "yes_no", _("Yes or no")
        FULFILMENT = "fulfilment", _("Five levels, from not met to fully met")

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="checklists")
    benchmark = models.ForeignKey(Benchmark, models.SET_NULL, null=True, blank=True, related_name="checklists")
    categories = models.ManyToManyField(Category, blank=True, related_name="checklists")
    names = models.JSONField(default=dict)
    stage = models.CharField(max_length=10, choices=Stage.choices, default=Stage.PROPOSE)
    votes_each = models.PositiveSmallIntegerField(default=6)
    keeps = models.PositiveSmallIntegerField(default=6)
    scale = models.CharField(max_length=10, choices=Scale.choices, default=Scale.YES_NO)
    overall = models.BooleanField(default=True)
    choice_reason = models.CharField(max_length=1000, blank=True)
    drafting_run = models.ForeignKey(GenerationRun, models.SET_NULL, null=True, blank=True, related_name="+")
    created_by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(keeps__gte=FEWEST_KEPT, keeps__lte=MOST_KEPT), name="checklist_keeps_four_to_six"
            ),
            models.CheckConstraint(
                condition=Q(votes_each__gte=1, votes_each__lte=MOST_VOTES), name="checklist_votes_each_in_range"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        return localized(self.names) or self.public_id


class MergedCriterion(models.Model):
    """Proposals that say nearly the same, as one criterion to vote on.

    `votes` is empty until the vote closes, and `kept` until a lead has confirmed who stays.
    """

    checklist = models.ForeignKey(Checklist, models.CASCADE, related_name="criteria")
    name = models.CharField(max_length=100)
    explanation = models.CharField(max_length=500)
    position = models.PositiveIntegerField()
    votes = models.PositiveIntegerField(null=True, blank=True)
    kept = models.BooleanField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "merged criteria"
        ordering = ["checklist", "position", "pk"]

    def __str__(self) -> str:
        return self.name


class ProposedCriterion(ByPerson):
    """One person's proposal; a trigger refuses changes of its text. A proposal taken back in time is not merged."""

    checklist = models.ForeignKey(Checklist, models.CASCADE, related_name="proposals")
    merged = models.ForeignKey(MergedCriterion, models.SET_NULL, null=True, blank=True, related_name="proposals")
    name = models.CharField(max_length=100)
    explanation = models.CharField(max_length=500)
    at = models.DateTimeField(auto_now_add=True)
    withdrawn_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "proposed criteria"
        ordering = ["checklist", "pk"]

    def __str__(self) -> str:
        return self.name


class BallotReceipt(ByPerson):
    """Who has voted and when, but not for what: nothing leads from a receipt to a ballot."""

    checklist = models.ForeignKey(Checklist, models.CASCADE, related_name="receipts")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["checklist", "by"], name="one_ballot_per_checklist_and_person"),
            models.UniqueConstraint(
                fields=["checklist", "pseudonym"],
                condition=Q(pseudonym__isnull=False),
                name="one_ballot_per_checklist_and_pseudonym",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.checklist_id}: {self.by_id}"


class Ballot(models.Model):
    """What one voter chose: keys of merged criteria. It has neither a name nor a time, and its key is random."""

    id = models.BigIntegerField(primary_key=True, default=random_number, editable=False)
    checklist = models.ForeignKey(Checklist, models.CASCADE, related_name="ballots")
    choices = models.JSONField(default=list)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.checklist_id}: {len(self.choices)}"


class QuestionDraft(models.Model):
    """A version of the question into which a criterion is expanded; the newest counts.

    `source` says whether a person typed it, a model drafted it, or a person changed a model's draft; `model` is the
    model's name.
    """

    class Source(models.TextChoices):
        TYPED = "typed", _("typed by a person")
        MODEL = "model", _("drafted by a model")
        EDITED = "edited", _("drafted by a model, changed by a person")

    criterion = models.ForeignKey(MergedCriterion, models.CASCADE, related_name="questions")
    texts = models.JSONField(default=dict)
    source = models.CharField(max_length=10, choices=Source.choices, default=Source.TYPED)
    model = models.CharField(max_length=200, blank=True)
    by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["criterion", "pk"]

    def __str__(self) -> str:
        return self.text

    @property
    def text(self) -> str:
        return localized(self.texts)


class QuestionReview(ByPerson):
    """One person's decision on a version of a question: it is sound, or what should change. Their newest counts."""

    question = models.ForeignKey(QuestionDraft, models.CASCADE, related_name="reviews")
    sound = models.BooleanField()
    comment = models.CharField(max_length=1000, blank=True)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["question", "pk"]

    def __str__(self) -> str:
        return f"{self.question_id}: {self.sound}"
