"""Import choices between two responses as answers of a study's raters."""

import json
from collections.abc import Iterable, Iterator

from django.conf import settings

from annotation.importing.raters import Raters, circumstances
from annotation.importing.ratings import RECORDS_AT_ONCE, OnProgress, no_progress
from annotation.importing.store import AnswerStore, GivenAnswer, TaskName
from annotation.models import Criterion, Study
from annotation.rubrics.from_table import own_rubric
from annotation.rubrics.scales import Reading, Rules
from core.db.created_rows import note_changed, note_created
from core.tables.bad_rows import BadRow, OnBadRow
from generation.importers.records import PreferenceRecord
from generation.importers.tidy import CHOICES
from generation.library.items import ItemName, Items
from generation.library.loading import Counts, batches

PREFERENCE = "preference"
SCALES = settings.BASE_DIR / "fixtures" / "rubrics" / "preferences.json"


class PreferenceLoader:
    """Imports a table's choices between two responses into a study; positive values favor the task's response A."""

    def __init__(self, study: Study, items: Items, rules: Rules, *, both_bad: bool) -> None:
        self.study, self.items, self.rules = study, items, rules
        self.rubric = own_rubric(study)
        library = json.loads(SCALES.read_text(encoding="utf-8"))
        scales = {size: library["scales"][size]["levels"] for size in ("three", "four")}
        self.criterion, made = Criterion.objects.get_or_create(
            rubric=self.rubric,
            key=PREFERENCE,
            defaults={
                "role": Criterion.Role.PREFERENCE,
                "position": 0,
                "levels": scales["three"],
                "questions": library["rubrics"][0]["criteria"][0]["question"],
            },
        )
        note_created([self.criterion] if made else [])
        if both_bad and self.criterion.levels == scales["three"]:
            note_changed(self.criterion, {"levels": scales["three"]})
            self.criterion.levels = scales["four"]
            self.criterion.save(update_fields=["levels"])
        self.raters = Raters(study, rules)
        self.store = AnswerStore(study, rules)

    def load(self, records: Iterable[PreferenceRecord], on_bad: OnBadRow, progress: OnProgress = no_progress) -> Counts:
        counts = Counts()
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
            for record, why in checked:
                try:
                    counts += Counts(**{self._put(record, why): 1})
                except BadRow as problem:
                    on_bad(problem)
            self.store.flush()
            progress(len(batch))
        return counts

    @staticmethod
    def _names(record: PreferenceRecord) -> Iterator[ItemName]:
        for model in (record.model_a, record.model_b):
            yield ItemName(record.item, record.instruction, model, record.category)

    def _unusable(self, record: PreferenceRecord) -> str:
        """Why the choice cannot be used, or "" if it can. Raises BadRow if unusable choices are refused."""
        if not record.choice:
            return "no usable answer"
        if record.choice in CHOICES:
            return ""
        if self.rules.off_scale == "unscored":
            return f"{record.choice[:50]!r} is no choice"
        raise record.place.bad(
            f"the choice {record.choice[:50]!r} is none of {', '.join(CHOICES)}",
            f"say what it means with --map {record.choice[:50]}=A, or say --off-scale unscored",
        )

    def _put(self, record: PreferenceRecord, unusable: str) -> str:
        first, second = (self.items.find(name) for name in self._names(record))
        assert first is not None
        assert second is not None
        task = TaskName(first, self.rubric.pk, second)
        swapped = self.store.first_response(task) != first
        reading = None if unusable else self._reading(record.choice, swapped)
        shown = {"a": "b", "b": "a"}.get(record.shown_first, "") if swapped else record.shown_first
        return self.store.add(
            record.place,
            task,
            self.raters.find_or_create(record),
            self.raters.label(record),
            GivenAnswer(self.criterion.pk, PREFERENCE, reading, unusable),
            circumstances(record, shown),
        )

    @staticmethod
    def _reading(choice: str, swapped: bool) -> Reading:
        key = choice.lower()
        if swapped:
            key = {"a": "b", "b": "a"}.get(key, key)
        return Reading({"a": 1.0, "b": -1.0}.get(key, 0.0), key)
