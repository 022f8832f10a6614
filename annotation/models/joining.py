"""Joining a study: crowd participants, requests from other browsers, attempts to join, and refused addresses."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from annotation.models.raters import Cohort, Rater
from annotation.models.studies import Study
from core.db.public_ids import new_public_id


class Participant(models.Model):
    """A crowd participant of a study: one participant is one rater, in any number of submissions.

    `mark` is a keyed hash of the platform's participant id, `submission` one of the platform's submission id, `browser`
    one of the secret kept by the browser that began. `cohort` is the cohort of the current submission, which does not
    show answers given before it began. `submission_state` is the state of the submission at Prolific ("APPROVED"), as it
    was read last; '' where it was never read.
    """

    study = models.ForeignKey(Study, models.CASCADE, related_name="participants")
    rater = models.OneToOneField(Rater, models.CASCADE, related_name="participant")
    cohort = models.ForeignKey(Cohort, models.SET_NULL, null=True, blank=True, related_name="participants")
    mark = models.CharField(max_length=64)
    submission = models.CharField(max_length=64, blank=True, db_index=True)
    submission_state = models.CharField(max_length=30, blank=True, default="", db_default="")
    browser = models.CharField(max_length=64, blank=True)
    began_at = models.DateTimeField(null=True, blank=True)
    code = models.CharField(max_length=64, blank=True)
    code_until = models.DateTimeField(null=True, blank=True)
    code_tries = models.PositiveSmallIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["study", "mark"], name="one_participant_per_study_and_mark")]

    def __str__(self) -> str:
        return f"participant {self.rater_id}"


class BrowserRequest(models.Model):
    """A request to the lead to continue as a rater in another browser; `browser` is a keyed hash of its secret."""

    class State(models.TextChoices):
        WAITING = "waiting", _("Waiting")
        ADMITTED = "admitted", _("Admitted")
        REFUSED = "refused", _("Refused")

    participant = models.ForeignKey(Participant, models.CASCADE, related_name="requests")
    browser = models.CharField(max_length=64)
    number = models.CharField(max_length=8)
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["participant", "browser"], name="one_request_per_participant_and_browser")
        ]

    def __str__(self) -> str:
        return f"{self.number}: {self.state}"


class DoorKnock(models.Model):
    """An attempt to join by a cohort's link; `visitor` is a keyed hash of the address and the day."""

    cohort = models.ForeignKey(Cohort, models.CASCADE, related_name="knocks")
    visitor = models.CharField(max_length=64)
    at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["cohort", "visitor", "at"], name="knock_by_cohort_and_visitor")]

    def __str__(self) -> str:
        return f"{self.cohort_id} {self.at}"


class RefusedAddress(models.Model):
    """A network address from which more people tried to join a cohort within an hour than its limit allows.

    It is kept for two days so that the lead sees whom the limit refuses.
    """

    cohort = models.ForeignKey(Cohort, models.CASCADE, related_name="refused_addresses")
    address = models.CharField(max_length=50)
    refused = models.PositiveIntegerField(default=0)
    last_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "refused addresses"
        ordering = ["-last_at"]
        constraints = [
            models.UniqueConstraint(fields=["cohort", "address"], name="one_row_per_cohort_and_refused_address")
        ]

    def __str__(self) -> str:
        return f"{self.cohort_id} {self.address}: {self.refused}"


class MailedInvitation(models.Model):
    """An invitation to one person, with a link of their own that admits one rater; it may be sent by e-mail.

    `address` and `name` are empty once they were erased, and where an uploaded list has none. HELD is an invitation that no
    message is to be sent for unless the lead says so. `reason` says why the latest attempt failed. SENDING is a message
    that a worker has in hand; where the worker ended meanwhile, nobody knows whether it was sent. `origin` is the address of
    this server as the lead saw it ("https://example.org").
    """

    class State(models.TextChoices):
        HELD = "held", _("Not sent")
        WAITING = "waiting", _("Waiting")
        SENDING = "sending", _("Being sent")
        SENT = "sent", _("Sent")
        FAILED = "failed", _("Failed")

    cohort = models.ForeignKey(Cohort, models.CASCADE, related_name="mailed_invitations")
    address = models.CharField(max_length=254, blank=True)
    name = models.CharField(max_length=100, blank=True, default="", db_default="")
    token = models.CharField(max_length=64, unique=True, default=new_public_id)
    origin = models.CharField(max_length=200)
    language = models.CharField(max_length=10)
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING, db_index=True)
    reason = models.CharField(max_length=300, blank=True)
    made_at = models.DateTimeField()
    made_by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="+")
    attempted_at = models.DateTimeField(null=True, blank=True, db_index=True)
    sent_at = models.DateTimeField(null=True, blank=True)
    rater = models.OneToOneField(Rater, models.SET_NULL, null=True, blank=True, related_name="mailed_invitation")
    used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["cohort", "address"], condition=~models.Q(address=""), name="one_mail_per_cohort_and_address"
            )
        ]

    def __str__(self) -> str:
        return f"{self.cohort_id} {self.pk}: {self.state}"


class ProlificStudy(models.Model):
    """The study at Prolific to which a crowd cohort belongs; `problem` says why it could not be read last."""

    cohort = models.OneToOneField(Cohort, models.CASCADE, related_name="prolific_study")
    external_id = models.CharField(max_length=64)
    made_at = models.DateTimeField()
    looked_at = models.DateTimeField(null=True, blank=True)
    problem = models.CharField(max_length=300, blank=True)

    class Meta:
        verbose_name_plural = "prolific studies"

    def __str__(self) -> str:
        return f"{self.cohort_id}: {self.external_id}"
