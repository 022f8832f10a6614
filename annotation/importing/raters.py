"""Raters of an imported table, and the circumstances of their answers."""

from typing import Protocol

from django.db.models import Q

from annotation.importing.store import Circumstances
from annotation.models import Rater, Study
from annotation.rubrics.scales import Rules
from core.db.created_rows import note_created
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


class Raters:
    """A study's raters by label: its own people and positions, and the workspace's judges."""

    def __init__(self, study: Study, rules: Rules) -> None:
        self.study = study
        self.person = Rater.Kind.KEY if rules.truth else Rater.Kind.SLOT if rules.slots else Rater.Kind.PERSON
        self.provenance = rules.provenance
        known = Rater.objects.filter(workspace=study.workspace).filter(Q(study=study) | Q(study=None))
        self._known = {(kind, label): pk for kind, label, pk in known.values_list("kind", "label", "pk")}

    def label(self, record: ImportedAnswer) -> str:
        return f"{record.rater} ({record.variant})" if record.is_judge and record.variant else record.rater

    def find_or_create(self, record: ImportedAnswer) -> int:
        label = self.label(record)
        if len(label) > LONGEST_LABEL:
            raise record.place.bad("the rater's name is too long", f"keep names to {LONGEST_LABEL} characters")
        kind = Rater.Kind.JUDGE if record.is_judge else self.person
        if (kind, label) not in self._known:
            rater = Rater.objects.create(
                workspace=self.study.workspace,
                study=None if record.is_judge else self.study,
                kind=kind,
                label=label,
                provenance=self.provenance,
            )
            note_created([rater])
            self._known[kind, label] = rater.pk
        return self._known[kind, label]


def circumstances(record: ImportedAnswer, shown_first: str = "") -> Circumstances:
    conditions = {"variant": record.variant} if record.variant and not record.is_judge else {}
    return Circumstances(record.order, record.seconds, shown_first, conditions)
