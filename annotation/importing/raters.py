"""Raters of an imported table, and the circumstances of their answers."""

from typing import Protocol

from django.db.models import Q
from django.utils import timezone

from annotation.importing import messages
from annotation.importing.store import Circumstances
from annotation.models import Cohort, Rater, Study
from annotation.policies.hints import CONDITION
from annotation.rubrics.scales import Rules
from core.db.created_rows import note_changed, note_created
from core.tables import messages as of_tables
from core.tables.bad_rows import Place

LONGEST_LABEL = 200


class ImportedAnswer(Protocol):
    """The fields that ratings and preferences share."""

    @property
    def place(self) -> Place: ...
    @property
    def item(self) -> str: ...
    @property
    def rater(self) -> str: ...
    @property
    def is_judge(self) -> bool: ...
    @property
    def variant(self) -> str: ...
    @property
    def order(self) -> int | None: ...
    @property
    def seconds(self) -> float | None: ...
    @property
    def rater_kind(self) -> str: ...
    @property
    def hint(self) -> bool | None: ...
    @property
    def left_out(self) -> str: ...
    @property
    def is_key(self) -> bool: ...


class Raters:
    """A study's raters by label: its own people and positions, and the workspace's judges.

    People whose kind (onsite, crowd, public) a record states are of the study's cohort of that kind, which is made on
    its first rater, without a link by which anybody could join.
    """

    def __init__(self, study: Study, rules: Rules) -> None:
        self.study = study
        self.person = Rater.Kind.KEY if rules.truth else Rater.Kind.SLOT if rules.slots else Rater.Kind.PERSON
        self.provenance = rules.provenance
        known = Rater.objects.filter(workspace=study.workspace).filter(Q(study=study) | Q(study=None))
        self._known: dict[tuple[str, str], int] = {}
        self._kind_of: dict[int, str] = {}
        for kind, label, pk, cohort in known.values_list("kind", "label", "pk", "cohort__kind"):
            self._known[kind, label] = pk
            if cohort:
                self._kind_of[pk] = cohort
        self._cohorts: dict[str, Cohort] = {}
        for one in study.cohorts.order_by("-pk"):
            self._cohorts[one.kind] = one

    def label(self, record: ImportedAnswer) -> str:
        return f"{record.rater} ({record.variant})" if record.is_judge and record.variant else record.rater

    def find_or_create(self, record: ImportedAnswer) -> int:
        label = self.label(record)
        if len(label) > LONGEST_LABEL:
            raise record.place.bad(messages.LONG_RATER(), of_tables.KEEP_NAMES(most=LONGEST_LABEL))
        kind = Rater.Kind.JUDGE if record.is_judge else Rater.Kind.KEY if record.is_key else self.person
        stated = "" if record.is_judge else record.rater_kind
        if (kind, label) not in self._known:
            rater = Rater.objects.create(
                workspace=self.study.workspace,
                study=None if record.is_judge else self.study,
                cohort=self._cohort(record.place, stated) if stated else None,
                kind=kind,
                label=label,
                provenance=self.provenance,
            )
            note_created([rater])
            self._known[kind, label] = rater.pk
            self._kind_of[rater.pk] = stated
        pk = self._known[kind, label]
        if stated and stated != self._kind_of.get(pk):
            self._place(record.place, pk, label, stated)
        return pk

    def _place(self, place: Place, pk: int, label: str, stated: str) -> None:
        """Put a rater without a cohort into that of the kind. Raises BadRow for a rater of another kind."""
        former = self._kind_of.get(pk)
        if former:
            raise place.bad(messages.TWO_KINDS(label=label, stated=stated, former=former), messages.ONE_KIND())
        note_changed(Rater(pk=pk), {"cohort_id": None})
        Rater.objects.filter(pk=pk).update(cohort=self._cohort(place, stated))
        self._kind_of[pk] = stated

    def _cohort(self, place: Place, kind: str) -> Cohort:
        if kind not in Cohort.Kind.values:
            raise place.bad(
                messages.RATERS_KIND(kind=repr(kind[:30])), messages.SAY_ONE_OF(known=", ".join(Cohort.Kind.values))
            )
        if kind not in self._cohorts:
            self._cohorts[kind] = Cohort.objects.create(
                study=self.study, name=kind, kind=kind, revoked_at=timezone.now()
            )
            note_created([self._cohorts[kind]])
        return self._cohorts[kind]


def circumstances(record: ImportedAnswer, shown_first: str = "") -> Circumstances:
    """Return the circumstances of an answer; people's conditions are their variant and whether they saw the hint."""
    conditions: dict[str, str | bool] = {}
    if record.variant and not record.is_judge:
        conditions["variant"] = record.variant
    if record.hint is not None and not record.is_judge:
        conditions[CONDITION] = record.hint
    return Circumstances(record.order, record.seconds, shown_first, conditions, record.left_out)
