"""Bonuses to crowd raters: the most that a study may send, lists of payments, and the payments of each list.

Money is in whole minor units (cents, pence) of the list's currency. A list and its payments are a record: what was to be
paid, to whom and why never changes. The state of a list moves forward only, and each step of it is an event.
"""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from annotation.models.raters import Cohort, Rater
from annotation.models.studies import Study
from core.db.public_ids import new_public_id


class BonusCap(models.Model):
    """The most that a study may send as bonuses, in all and in whatever currency, as a lead set it."""

    study = models.OneToOneField(Study, models.CASCADE, related_name="bonus_cap")
    minor = models.PositiveBigIntegerField()
    changed_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.study_id}: {self.minor}"


class BonusBatch(models.Model):
    """A list of bonuses for participants of one study at Prolific (`external_study`), paid as a whole or not at all.

    `key` names what the bonuses are for: no rater gets two given amounts for one key, and a rule pays only what it has not
    paid yet. `external_id` is Prolific's id of the payment, stored before Prolific is asked to pay. `charged` is what
    Prolific says it takes with its fees, in minor units; None where it said nothing.
    """

    class Basis(models.TextChoices):
        GIVEN = "given", _("Amounts that you give")
        ANSWERS = "answers", _("For each counted answer above a number")
        HOURS = "hours", _("What is owed and not paid yet")
        CHECKS = "checks", _("To raters who passed quality checks")

    class State(models.TextChoices):
        PREPARING = "preparing", _("being set up")
        PREPARED = "prepared", _("waits for confirmation")
        PAYING = "paying", _("being sent")
        SENT = "sent", _("sent")
        UNCERTAIN = "uncertain", _("uncertain: it may have been sent")
        FOUND_PAID = "found_paid", _("paid, as a lead found at Prolific")
        FOUND_UNPAID = "found_unpaid", _("not paid, as a lead found at Prolific")
        REFUSED = "refused", _("refused or not reached, nothing was sent")
        DROPPED = "dropped", _("dropped, nothing was sent")

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    study = models.ForeignKey(Study, models.CASCADE, related_name="bonus_batches")
    cohort = models.ForeignKey(Cohort, models.CASCADE, related_name="bonus_batches")
    external_study = models.CharField(max_length=64)
    basis = models.CharField(max_length=10, choices=Basis.choices)
    key = models.CharField(max_length=120)
    purpose = models.CharField(max_length=100)
    currency = models.CharField(max_length=3, blank=True)
    total_minor = models.PositiveBigIntegerField()
    made_at = models.DateTimeField()
    made_by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="+")

    state = models.CharField(max_length=12, choices=State.choices, default=State.PREPARING, db_index=True)
    external_id = models.CharField(max_length=64, blank=True)
    charged = models.DecimalField(max_digits=16, decimal_places=4, null=True, blank=True)
    confirmed_at = models.DateTimeField(null=True, blank=True)
    confirmed_by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="+")
    changed_at = models.DateTimeField()
    problem = models.CharField(max_length=300, blank=True)

    class Meta:
        verbose_name_plural = "bonus batches"
        ordering = ["-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["external_id"], condition=~Q(external_id=""), name="one_bonus_batch_per_payment"
            )
        ]

    def __str__(self) -> str:
        return f"{self.public_id}: {self.state}"


COUNTED = (BonusBatch.State.PAYING, BonusBatch.State.SENT, BonusBatch.State.UNCERTAIN, BonusBatch.State.FOUND_PAID)
"""States in which money was sent or may have been."""
AGAINST_CAP = (*COUNTED, BonusBatch.State.FOUND_UNPAID)
"""What counts against the cap: a lead's word that nothing was paid does not free money that the operator limits."""


class BonusPayment(models.Model):
    """One rater's bonus in a list. `submission` is Prolific's id, which is erased with the rater's identity.

    `reason` is a code with its numbers. `already_minor` is what counted as sent before for the list's key, and `shown` what
    Prolific showed as bonuses of the submission, in minor units, when the list was made.
    """

    batch = models.ForeignKey(BonusBatch, models.CASCADE, related_name="payments")
    rater = models.ForeignKey(Rater, models.CASCADE, related_name="bonus_payments")
    submission = models.CharField(max_length=64, blank=True)
    minor = models.PositiveBigIntegerField()
    reason = models.JSONField(default=dict)
    already_minor = models.PositiveBigIntegerField()
    shown = models.JSONField(default=list)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["batch", "rater"], name="one_bonus_per_batch_and_rater"),
            models.CheckConstraint(condition=Q(minor__gt=0), name="a_bonus_is_more_than_nothing"),
        ]

    def __str__(self) -> str:
        return f"{self.batch_id} {self.rater_id}: {self.minor}"
