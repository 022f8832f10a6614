from django.contrib.auth.models import AbstractUser
from django.db import models
from django.db.models.functions import Now
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
    limited_to: int | None = None
    """No column: the only workspace in which a request may act for the user, where its token is for one workspace."""

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
    made_with = models.ForeignKey("ApiToken", models.CASCADE, null=True, blank=True, related_name="invitations")
    """The token of the program that made it, with which the link ends; None for those that were made on the page."""
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
    """One check of a secret that has not succeeded. Names, addresses and browsers are keyed hashes, kept for minutes."""

    # The database has the defaults too, because a server of the version before may still write rows during an upgrade.

    account = models.CharField(max_length=64, default="", db_default="")
    visitor = models.CharField(max_length=64, default="", db_default="")
    address = models.CharField(max_length=64, default="", db_default="")
    device = models.CharField(max_length=64, default="", db_default="")
    browser = models.CharField(max_length=64, default="", db_default="")
    at = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index(fields=["visitor", "at"], name="sign_in_by_visitor"),
            models.Index(fields=["address", "at"], name="sign_in_by_address"),
            models.Index(fields=["account", "at"], name="sign_in_by_account"),
            models.Index(fields=["device", "at"], name="sign_in_by_device"),
            models.Index(fields=["at"], name="sign_in_by_time"),
        ]

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M}"


class SetupCode(models.Model):
    """The one-time code with which the first owner is made. There is at most one row; without a code, its digest is ""."""

    digest = models.CharField(max_length=64, blank=True)
    expires_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.expires_at:%Y-%m-%d %H:%M}"


class KnownBrowser(models.Model):
    """A browser in which the account signed in. Its device cookie holds a random number, this row the number's digest."""

    user = models.ForeignKey(User, models.CASCADE, related_name="known_browsers")
    digest = models.CharField(max_length=64, unique=True)
    made_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.user} · {self.made_at:%Y-%m-%d}"


class ApiToken(models.Model):
    """A token with which a program acts as its owner under /api/v1/. Only a digest of the token is stored."""

    class Scope(models.TextChoices):
        """What a token may be used for; every address of the API needs one of them (docs/api.md)."""

        READ = "read", _("Read: library, studies, fits, reports, judges, runs, leaderboards")
        RATINGS = "ratings", _("Rating data: every single answer, and the export of a study")
        CHANGE = "change", _("Change: make studies, pause and cancel runs")
        RUN = "run", _("Run: start and resume runs, which may cost money")
        MEMBERS = "members", _("Members: add, change and remove members of a workspace, also its owners")

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    user = models.ForeignKey(User, models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=100)
    digest = models.CharField(max_length=64, unique=True)
    scopes = models.JSONField(default=list, db_default=[])
    """Values of Scope."""
    workspace = models.ForeignKey(Workspace, models.CASCADE, null=True, blank=True, related_name="api_tokens")
    """The only workspace that the token gives access to; None stands for all in which its owner may read results."""
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(db_default=Now())
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


class AnsweredRequest(models.Model):
    """The answer to a request with an Idempotency-Key, kept for a day (accounts/api/repeated.py).

    `token` is the key of the token that sent it, 0 for a browser; `digest` is of the request, and `body` is JSON.
    """

    user = models.ForeignKey(User, models.CASCADE, related_name="+")
    token = models.BigIntegerField(default=0)
    key = models.CharField(max_length=255)
    digest = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(default=0)
    body = models.TextField(blank=True)
    at = models.DateTimeField(db_index=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "token", "key"], name="one_answer_per_caller_and_idempotency_key")
        ]

    def __str__(self) -> str:
        return f"{self.key}: {self.status}"


class TokenMinute(models.Model):
    """How many requests of a minute a token has taken (accounts/api/rates.py); `minute` counts since 1970."""

    token = models.OneToOneField(ApiToken, models.CASCADE, related_name="minute")
    minute = models.BigIntegerField()
    taken = models.PositiveIntegerField()

    def __str__(self) -> str:
        return f"{self.token_id}: {self.taken}"


class Webhook(models.Model):
    """An address that is told of events of a workspace, and the secret, encrypted, with which messages to it are signed.

    `events` are values of EventName in generation/webhooks/events.py. Messages for a webhook that is not `active` are not
    stored, and those that wait are not sent.
    """

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="webhooks")
    url = models.CharField(max_length=500)
    events = models.JSONField(default=list)
    active = models.BooleanField(default=True)
    secret = models.CharField(max_length=300, editable=False)
    created_by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return self.url


class WebhookDelivery(models.Model):
    """A message to a webhook, stored with what it tells of, and what came of the latest attempt to send it.

    `event_id` is the same for all webhooks and all attempts. `body` is JSON, byte for byte as it is signed and sent.
    `claim` names the attempt under way, which counts as dead after `claimed_until`. `reply` is the beginning of what the
    receiver answered, `problem` why there is no answer or why it is no success.
    """

    class State(models.TextChoices):
        WAITING = "waiting", _("Waiting")
        DELIVERED = "delivered", _("Delivered")
        FAILED = "failed", _("Given up")

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    webhook = models.ForeignKey(Webhook, models.CASCADE, related_name="deliveries")
    event_id = models.CharField(max_length=32)
    event = models.CharField(max_length=30)
    body = models.TextField()
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    attempts = models.PositiveSmallIntegerField(default=0)
    made_at = models.DateTimeField(db_index=True)
    next_at = models.DateTimeField()
    claim = models.CharField(max_length=32, blank=True)
    claimed_until = models.DateTimeField(null=True, blank=True)
    tried_at = models.DateTimeField(null=True, blank=True)
    http_status = models.PositiveSmallIntegerField(null=True, blank=True)
    reply = models.CharField(max_length=500, blank=True)
    problem = models.TextField(blank=True)
    problem_json = models.JSONField(null=True, blank=True, editable=False)

    class Meta:
        verbose_name_plural = "webhook deliveries"
        ordering = ["-made_at", "-pk"]
        constraints = [
            models.UniqueConstraint(fields=["webhook", "event_id"], name="one_delivery_per_webhook_and_event")
        ]
        indexes = [models.Index(fields=["next_at"], condition=models.Q(state="waiting"), name="webhook_delivery_due")]

    def __str__(self) -> str:
        return f"{self.event} {self.state}"
