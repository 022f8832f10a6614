"""Cohorts and raters, their identities, and their status."""

from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.utils.translation import gettext_lazy as _

from accounts.models import Membership, User, Workspace
from annotation.models.studies import Study
from core.db.public_ids import new_public_id


class Cohort(models.Model):
    """Raters who join in the same way. `joins_per_hour` limits joins from one network address; null means no limit.

    `pay` is the cohort's own, for an hour of work or for a task; null where the study's hourly pay holds.
    """

    class Kind(models.TextChoices):
        ONSITE = "onsite", _("Onsite")
        CROWD = "crowd", _("Crowd")
        PUBLIC = "public", _("Public")

    class PayPer(models.TextChoices):
        HOUR = "hour", _("per hour")
        TASK = "task", _("per task")

    study = models.ForeignKey(Study, models.CASCADE, related_name="cohorts")
    name = models.CharField(max_length=100)
    kind = models.CharField(max_length=10, choices=Kind.choices, default=Kind.ONSITE)
    entry_token = models.CharField(max_length=64, unique=True, default=new_public_id)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    consents = models.JSONField(default=dict, blank=True)
    codes = models.JSONField(default=dict, blank=True)
    platform_workspace = models.CharField(max_length=64, blank=True, default="")
    joins_per_hour = models.PositiveIntegerField(null=True, blank=True)
    pay = models.DecimalField(max_digits=10, decimal_places=2, null=True, blank=True)
    pay_per = models.CharField(max_length=4, choices=PayPer.choices, blank=True, default="", db_default="")
    pay_currency = models.CharField(max_length=8, blank=True, default="", db_default="")

    class Meta:
        ordering = ["study", "name"]
        constraints = [models.UniqueConstraint(fields=["study", "name"], name="one_cohort_per_study_and_name")]

    def __str__(self) -> str:
        return f"{self.study}: {self.name}"


class Rater(models.Model):
    """A source of answers: a person (in one study), a judge (in any study), a position in a data set, or a key.

    `label` is its name in the data set or given by the lead; `pseudonym` is the name on pages.
    """

    class Kind(models.TextChoices):
        PERSON = "person", _("Person")
        JUDGE = "judge", _("Judge")
        SLOT = "slot", _("Position in a data set")
        KEY = "key", _("Key")

    class Provenance(models.TextChoices):
        REAL = "", _("Real")
        SIMULATED = "simulated", _("Simulated")
        SCRIPTED = "scripted", _("Scripted")

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="raters")
    study = models.ForeignKey(Study, models.CASCADE, null=True, blank=True, related_name="raters")
    cohort = models.ForeignKey(Cohort, models.SET_NULL, null=True, blank=True, related_name="raters")
    user = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="raters")
    kind = models.CharField(max_length=10, choices=Kind.choices, default=Kind.PERSON)
    label = models.CharField(max_length=200)
    pseudonym = models.CharField(max_length=200, blank=True)
    provenance = models.CharField(max_length=10, choices=Provenance.choices, blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["label"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "kind", "label"],
                condition=Q(study__isnull=False),
                name="one_rater_per_study_kind_and_label",
            ),
            models.UniqueConstraint(
                fields=["workspace", "kind", "label"],
                condition=Q(study__isnull=True),
                name="one_judge_per_workspace_and_label",
            ),
            models.UniqueConstraint(
                fields=["study", "user"],
                condition=Q(study__isnull=False, user__isnull=False),
                name="one_rater_per_study_and_user",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        return self.pseudonym or self.label


def still_admitted(prefix: str = "") -> Q:
    """The raters of an account whom no removal from their workspace has ended; `prefix` leads to them ("rater__").

    Who joined by a public or crowd link needs no membership.
    """
    member = Membership.objects.filter(workspace=OuterRef(f"{prefix}workspace"), user=OuterRef(f"{prefix}user"))
    return Q(**{f"{prefix}cohort__kind__in": (Cohort.Kind.PUBLIC, Cohort.Kind.CROWD)}) | Q(Exists(member))


class RaterIdentity(models.Model):
    """A rater's identity, stored apart from all answers and visible only to leads; deleting the row erases it.

    `key` identifies a returning crowd worker ("prolific:<id>", "mturk:<id>"); `particulars` are the other
    parameters of the entry link.
    """

    rater = models.OneToOneField(Rater, models.CASCADE, related_name="identity")
    cohort = models.ForeignKey(Cohort, models.CASCADE, null=True, blank=True, related_name="identities")
    key = models.CharField(max_length=200, blank=True)
    name = models.CharField(max_length=100, blank=True)
    particulars = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "rater identities"
        constraints = [
            models.UniqueConstraint(
                fields=["cohort", "key"], condition=~Q(key=""), name="one_identity_per_cohort_and_key"
            )
        ]

    def __str__(self) -> str:
        return f"identity of {self.rater_id}"


class Standing(models.Model):
    """A rater's status: progress in joining, and whether they may continue to rate.

    `stops_at` is the rater's last task before a pause caused by failed checks; the delay hides which task caused it.
    `fast_in_a_row` counts the latest consecutive answers that were faster than their texts can be read. `note` is a lead's
    message, which the rater's pages show until the rater has confirmed it; then it is ''.
    """

    class State(models.TextChoices):
        JOINING = "joining", _("Joining")
        RATING = "rating", _("Rating")
        PAUSED = "paused", _("Paused")
        FAILED = "failed", _("Not qualified")
        SCREENED_OUT = "screened_out", _("Screened out")

    rater = models.OneToOneField(Rater, models.CASCADE, related_name="standing")
    state = models.CharField(max_length=12, choices=State.choices, default=State.JOINING)
    consented_at = models.DateTimeField(null=True, blank=True)
    consent_hash = models.CharField(max_length=64, blank=True)
    guideline_read_at = models.DateTimeField(null=True, blank=True)
    trained_at = models.DateTimeField(null=True, blank=True)
    qualified_at = models.DateTimeField(null=True, blank=True)
    cause = models.CharField(max_length=20, blank=True)
    message = models.TextField(blank=True)
    checks_after = models.PositiveBigIntegerField(default=0)
    stops_at = models.PositiveIntegerField(null=True, blank=True)
    fast_in_a_row = models.PositiveIntegerField(default=0)
    told_fast_at = models.DateTimeField(null=True, blank=True)
    note = models.TextField(blank=True, default="", db_default="")
    noted_at = models.DateTimeField(null=True, blank=True)
    changed_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return f"{self.rater_id}: {self.state}"
