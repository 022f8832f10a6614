"""What every run is, of generation and of judging: its state, its budget, its dates, and its workers' shares."""

from datetime import datetime
from decimal import Decimal
from typing import Any, ClassVar

from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from core.db.public_ids import new_public_id


class AnyRun(models.Model):
    """A frozen list of `items`, worked off under a budget by workers that each hold some of its `shares`."""

    class Status(models.TextChoices):
        PLANNED = "planned", _("Planned")
        RUNNING = "running", _("Running")
        PAUSED = "paused", _("Paused")
        FINISHED = "finished", _("Finished")
        FAILED = "failed", _("Failed")
        CANCELLED = "cancelled", _("Cancelled")
        IMPORTED = "imported", _("Imported")

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.PLANNED)
    seed = models.BigIntegerField(default=0)
    budget_money = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True)
    budget_tokens = models.PositiveBigIntegerField(null=True, blank=True)
    budget_calls = models.PositiveBigIntegerField(null=True, blank=True)
    manifest = models.JSONField(default=dict, blank=True)
    message = models.TextField(blank=True)
    message_json = models.JSONField(null=True, blank=True, editable=False)
    estimated = models.BooleanField(
        default=False, help_text=_("Some tokens of this run were not counted by its endpoint but estimated.")
    )
    created_by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    items: Any
    shares: Any
    workspace_path: ClassVar[str]
    """The lookup that leads from a run to the key of its workspace."""

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.public_id

    @property
    def workspace_id(self) -> int:
        """Whose run it is."""
        raise NotImplementedError

    @classmethod
    def spent_since(cls, workspace: int, since: datetime) -> Decimal:
        """The cost of what all runs of this kind in the workspace have stored since then."""
        raise NotImplementedError


class AnyShare(models.Model):
    """What one worker of a `run` may still spend, set aside so that all of them together stay within the budget.

    Also where there is no limit, so that one can be set while the run goes on. A share that ran out belonged to a
    worker that died. `under_way` and the rest say what the worker's calls did when it last looked: `next_call_at` is
    empty where no rate limit holds a call back, and `asked_to_wait` where the endpoint itself asked for that.
    """

    worker = models.CharField(max_length=64)
    calls = models.PositiveBigIntegerField(default=0)
    tokens = models.PositiveBigIntegerField(default=0)
    money = models.DecimalField(max_digits=20, decimal_places=8, default=0)
    leased_until = models.DateTimeField()
    under_way = models.PositiveIntegerField(default=0)
    next_call_at = models.DateTimeField(null=True, blank=True)
    asked_to_wait = models.BooleanField(default=False)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.worker
