"""The rows of background work: what was asked for, who works, and when a scheduled task ran last."""

from django.db import models


class RequestedTask(models.Model):
    """Background work that somebody asked for. The row goes when it is done, so a lost message loses nothing.

    `key` is a digest of the task and its arguments: the same work is asked for once. `worker` carries it out.
    """

    key = models.CharField(max_length=64, unique=True)
    task = models.CharField(max_length=100)
    arguments = models.JSONField(default=list)
    requested_at = models.DateTimeField()
    sent_at = models.DateTimeField(null=True, blank=True)
    sent = models.PositiveIntegerField(default=0)
    failures = models.PositiveIntegerField(default=0)
    worker = models.CharField(max_length=64, blank=True)
    begun_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["requested_at", "id"]

    def __str__(self) -> str:
        return f"{self.task} {self.arguments}"


class WorkerProcess(models.Model):
    """A worker that runs or ran until `seen_at`, which it renews while it lives; `memory` is what it holds, in bytes."""

    name = models.CharField(max_length=64, unique=True)
    started_at = models.DateTimeField()
    seen_at = models.DateTimeField(db_index=True)
    memory = models.PositiveBigIntegerField(default=0)

    class Meta:
        ordering = ["-seen_at"]
        verbose_name_plural = "worker processes"

    def __str__(self) -> str:
        return self.name


class ScheduledTurn(models.Model):
    """When a scheduled task began last, in whichever worker was first, and when it last ended without a fault."""

    name = models.CharField(max_length=100, unique=True)
    begun_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name
