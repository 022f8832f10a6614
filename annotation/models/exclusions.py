"""Exclusions of a rater's answers from results, and which statuses of an answer count."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from django.db import models
from django.db.models import Q

from accounts.models import User
from annotation.models.raters import Rater
from annotation.models.studies import Study
from core.db.public_ids import new_public_id


class ExclusionQuerySet(models.QuerySet["Exclusion"]):
    def standing(self) -> "ExclusionQuerySet":
        """Those that were not lifted."""
        return self.filter(lifted_at=None)


class Exclusion(models.Model):
    """A lead's decision that a rater's answers do not count: all of them, or those given `since` a moment.

    While it stands, these answers have the status "excluded", the later ones too. A row changes once, when it is lifted;
    the study's history has both events.
    """

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    study = models.ForeignKey(Study, models.CASCADE, related_name="exclusions")
    rater = models.ForeignKey(Rater, models.CASCADE, related_name="exclusions")
    since = models.DateTimeField(null=True, blank=True)
    reason = models.CharField(max_length=1000)
    by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="+")
    at = models.DateTimeField(auto_now_add=True)
    lifted_by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="+")
    lifted_at = models.DateTimeField(null=True, blank=True)

    objects = ExclusionQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["rater"], condition=Q(lifted_at=None), name="one_standing_exclusion_per_rater"
            )
        ]

    def __str__(self) -> str:
        return f"{self.rater_id}: {self.reason}"


_shown: ContextVar[bool] = ContextVar("excluded_answers_are_shown", default=False)


@contextmanager
def excluded_shown(shown: bool = True) -> Iterator[None]:
    """Within this block, every reader of answers counts the excluded ones too, for a look at results with them."""
    before = _shown.set(shown)
    try:
        yield
    finally:
        _shown.reset(before)


def are_excluded_shown() -> bool:
    return _shown.get()


def counting(prefix: str = "", *, routed: bool = False) -> Q:
    """The answers that count as submitted, `prefix` being the path to the assignment ("assignment__").

    This is the only place that says so for statistics. Repeats are in; excluded checks, which were never submitted as
    answers that count, are not. Answers to tasks that were drawn with unequal probability are in only if `routed`, for
    readers that weight each by 1/probability, or that ask how the work stands and estimate nothing.
    """
    own = Q(**{f"{prefix}status": "submitted"})
    if _shown.get():
        own |= Q(**{f"{prefix}status": "excluded", f"{prefix}task__gold__isnull": True})
    return own if routed else own & drawn_alike(prefix)


def drawn_alike(prefix: str = "") -> Q:
    """The answers to tasks that no draw with unequal probability chose."""
    return Q(**{f"{prefix}task__drawing_probability__isnull": True})


def counting_checks(prefix: str = "") -> Q:
    """The answers to tasks with a known answer that count in results about raters."""
    return ~Q(**{f"{prefix}status": "excluded"}) if not _shown.get() else Q()
