"""Import choices between two responses as answers of a study's raters."""

import json
from collections.abc import Iterable, Iterator

from django.conf import settings

from annotation.importing import messages
from annotation.importing.raters import Raters, circumstances
from annotation.importing.ratings import RECORDS_AT_ONCE, OnProgress, no_progress
from annotation.importing.store import AnswerStore, GivenAnswer, TaskName
from annotation.models import Criterion, Study
from annotation.rubrics.from_table import own_rubric
from annotation.rubrics.scales import Reading, Rules
from core.db.created_rows import note_changed, note_created
from core.tables.bad_rows import BadRow, OnBadRow
from generation.importers.records import PreferenceRecord
from generation.importers.tidy import CHOICES, SIDES, STRENGTHS
from generation.library.items import ItemName, Items
from generation.library.loading import Counts, batches

PREFERENCE = "preference"
SLIGHTLY, MUCH = STRENGTHS
SCALES = settings.BASE_DIR / "fixtures" / "rubrics" / "preferences.json"


class PreferenceLoader:
    """Imports a table's choices between two responses into a study; positive values favor the task's response A.

    Choices with a strength need a scale of five levels, which the criterion then gets; those without one count as
    slight.
    """

    def __init__(self, study: Study, items: Items, rules: Rules, *, both_bad: bool) -> None:
        self.study, self.items, self.rules = study, items, rules
        self.rubric = own_rubric(study)
        library = json.loads(SCALES.read_text(encoding="utf-8"))
        self._scales = {size: scale["levels"] for size, scale in library["scales"].items()}
        self.criterion, made = Criterion.objects.get_or_create(
            rubric=self.rubric,
            key=PREFERENCE,
            defaults={
                "role": Criterion.Role.PREFERENCE,
                "position": 0,
                "levels": self._scales["three"],
                "questions": library["rubrics"][0]["criteria"][0]["question"],
            },
        )
        note_created([self.criterion] if made else [])
        if both_bad:
            self.admit_both_bad()
        self.raters = Raters(study, rules)
        self.store = AnswerStore(study, rules)

    def load(self, records: Iterable[PreferenceRecord], on_bad: OnBadRow, progress: OnProgress = no_progress) -> Counts:
        counts, before = Counts(), self.store.repeated
        for batch in batches(records, RECORDS_AT_ONCE):
            checked: list[tuple[PreferenceRecord, str]] = []
            for record in batch:
                if not record.choice and not record.is_judge:
                    counts += Counts(empty=1)
                    continue
                try:
                    for name in self._names(record):
                        self.items.check(record.place, name)
                    checked.append((record, self._unusable(record)))
                except BadRow as problem:
                    on_bad(problem)
            self.items.create((one.place, name) for one, _why in checked for name in self._names(one))
            if any(record.strength is not None for record, _why in checked):
                self._widen("five")
            for record, why in checked:
                try:
                    counts += Counts(**{self._put(record, why): 1})
                except BadRow as problem:
                    on_bad(problem)
            self.store.flush()
            progress(len(batch))
        return counts + Counts(repeated=self.store.repeated - before)

    def admit_both_bad(self) -> None:
        """Give the scale the level that both responses are bad."""
        self._widen("four")

    def _widen(self, size: str) -> None:
        """Give the scale the levels of a larger one that it lacks; those that it has keep their values."""
        known = {str(one["key"]) for one in self.criterion.levels}
        wanted = self._scales[size]
        if known >= {str(one["key"]) for one in wanted}:
            return
        kept = [one for one in self.criterion.levels if one["key"] not in {level["key"] for level in wanted}]
        note_changed(self.criterion, {"levels": list(self.criterion.levels)})
        self.criterion.levels = [*wanted, *kept]
        self.criterion.save(update_fields=["levels"])

    def _names(self, record: PreferenceRecord) -> Iterator[ItemName]:
        """The names of both responses. Where an item is a pair of its own, the instruction's responses are meant."""
        for model in (record.model_a, record.model_b):
            name = ItemName(record.item, record.instruction, model, record.category)
            if record.instruction and self.items.find(name) is None:
                name = ItemName(record.instruction, "", model, record.category)
            yield name

    def _unusable(self, record: PreferenceRecord) -> str:
        """Why the choice cannot be used, or "" if it can. Raises BadRow if unusable choices are refused."""
        if not record.choice:
            return "no usable answer"
        if record.choice in CHOICES:
            if record.strength in (None, *STRENGTHS) or record.choice not in SIDES:
                return ""
            if self.rules.off_scale == "unscored":
                return f"{record.strength} is no strength"
            raise record.place.bad(
                messages.NO_STRENGTH(strength=record.strength, slightly=SLIGHTLY, much=MUCH),
                messages.CORRECT_OR_UNSCORED(),
            )
        if self.rules.off_scale == "unscored":
            return f"{record.choice[:50]!r} is no choice"
        raise record.place.bad(
            messages.NO_CHOICE(choice=repr(record.choice[:50]), known=", ".join(CHOICES)),
            messages.CHOICE_MEANS(choice=record.choice[:50]),
        )

    def _put(self, record: PreferenceRecord, unusable: str) -> str:
        first, second = (self.items.find(name) for name in self._names(record))
        assert first is not None
        assert second is not None
        task = TaskName(first, self.rubric.pk, second)
        swapped = self.store.first_response(task) != first
        reading = None if unusable else self._reading(record, swapped)
        shown = {"a": "b", "b": "a"}.get(record.shown_first, "") if swapped else record.shown_first
        return self.store.add(
            record.place,
            task,
            self.raters.find_or_create(record),
            self.raters.label(record),
            GivenAnswer(self.criterion.pk, PREFERENCE, reading, unusable, record.reason),
            circumstances(record, shown),
        )

    @staticmethod
    def _reading(record: PreferenceRecord, swapped: bool) -> Reading:
        key = record.choice.lower()
        if swapped:
            key = {"a": "b", "b": "a"}.get(key, key)
        value = {"a": 1.0, "b": -1.0}.get(key, 0.0)
        if value and record.strength == MUCH:
            return Reading(MUCH * value, f"{key}_much")
        return Reading(value, key)
