from django.contrib.auth.models import AbstractUser
from django.db import models
from django.utils.translation import gettext_lazy as _

from core.db.public_ids import new_public_id


class User(AbstractUser):
    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    language = models.CharField(max_length=10, blank=True)
    preferences = models.JSONField(default=dict, blank=True)
    made_in = models.ForeignKey("Workspace", models.SET_NULL, null=True, blank=True, related_name="accounts_made")
    """The workspace that created the account; its leads may renew the password while it belongs to no other workspace."""
    password_given = models.BooleanField(default=False)
    """Whether somebody else generated the password and handed it out, and the owner has not chosen another since."""
    demonstration = models.BooleanField(default=False)
    """Whether the demo command created the account, with a public password; refused in production."""

    def __str__(self) -> str:
        return self.get_full_name() or self.username


class Workspace(models.Model):
    slug = models.SlugField(unique=True)
    name = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["slug"]

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    class Role(models.TextChoices):
        OWNER = "owner", _("Owner")
        LEAD = "lead", _("Lead")
        ANALYST = "analyst", _("Analyst")
        REVIEWER = "reviewer", _("Reviewer")
        RATER = "rater", _("Rater")

    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role.choices)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "user"], name="one_membership_per_workspace_and_user")
        ]

    def __str__(self) -> str:
        return f"{self.user} · {self.workspace} · {self.get_role_display()}"


class Invitation(models.Model):
    """An invitation for one person to join the workspace in this role. Only a digest of its link is stored."""

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="invitations")
    role = models.CharField(max_length=10, choices=Membership.Role.choices)
    note = models.CharField(max_length=100, blank=True)
    digest = models.CharField(max_length=64, unique=True)
    made_by = models.ForeignKey(User, models.CASCADE, related_name="invitations_made")
    made_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    accepted_at = models.DateTimeField(null=True, blank=True)
    accepted_by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="invitations_accepted")

    class Meta:
        ordering = ["-made_at", "-id"]

    def __str__(self) -> str:
        return f"{self.workspace} · {self.get_role_display()}"


class SignInAttempt(models.Model):
    """One attempt to sign in that has not succeeded. Name and address are stored as keyed hashes, for minutes."""

    visitor = models.CharField(max_length=64)
    address = models.CharField(max_length=64)
    at = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index(fields=["visitor", "at"], name="sign_in_by_visitor"),
            models.Index(fields=["address", "at"], name="sign_in_by_address"),
            models.Index(fields=["at"], name="sign_in_by_time"),
        ]

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M}"


class ApiToken(models.Model):
    """A token with which a program acts as its owner under /api/v1/. Only a digest of the token is stored."""

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    user = models.ForeignKey(User, models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=100)
    digest = models.CharField(max_length=64, unique=True)
    may_change = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)
    used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "-id"]

    def __str__(self) -> str:
        return self.name


class Event(models.Model):
    """An append-only log of who did what to which object; a database trigger refuses changes.

    The events of a deleted workspace or user stay without it.
    """

    workspace = models.ForeignKey(Workspace, models.SET_NULL, null=True, related_name="events")
    actor = models.ForeignKey(User, models.SET_NULL, null=True, related_name="events")
    verb = models.CharField(max_length=50)
    object_type = models.CharField(max_length=50)
    object_id = models.CharField(max_length=64)
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-at", "-id"]
        indexes = [
            models.Index(fields=["object_type", "object_id"], name="event_by_object"),
            models.Index(fields=["workspace", "-at"], name="event_by_time"),
        ]

    def __str__(self) -> str:
        return f"{self.verb} {self.object_type} {self.object_id}"
