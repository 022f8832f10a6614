"""Import rating and verdict records as answers of a study's raters, with items and scales checked."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from django.db.models import Count, Q

from annotation.importing import messages
from annotation.importing.raters import Raters, circumstances
from annotation.importing.store import AnswerStore, GivenAnswer, TaskName
from annotation.models import Assignment, Criterion, Rubric, Study
from annotation.rubrics.from_table import OwnRubric
from annotation.rubrics.library import RubricsOf
from annotation.rubrics.scales import Reading, Rules, describe, number_in, read_value
from core.db.created_rows import note_changed
from core.errors import UserError
from core.tables.bad_rows import BadRow, OnBadRow
from generation.importers.records import RatingRecord
from generation.library.items import ItemName, Items
from generation.library.loading import Counts, batches

RECORDS_AT_ONCE = 2000
ENOUGH_VALUES = 20
"""Fewer values of a criterion say nothing of how wide its scale is."""
UNUSED_SHARE = 0.1
"""The share of a scale at its ends that, if no value lies there, is remarked; means of several answers use less of it."""
OnProgress = Callable[[int], None]


def no_progress(records: int) -> None:
    """Ignore progress."""


@dataclass(frozen=True, slots=True)
class _Checked:
    """A rating with a valid item, criterion and value that waits for its batch."""

    record: RatingRecord
    item: ItemName
    rubric: int
    given: GivenAnswer


@dataclass(slots=True)
class _Values:
    """The lowest and highest of `n` values of a criterion."""

    low: float
    high: float
    n: int = 0


class _Known:
    """A rubric's criteria by key, and its items also by position."""

    def __init__(self, rubric: Rubric) -> None:
        self.rubric = rubric
        criteria = list(rubric.criteria.all())
        self.by_key = {one.key: one for one in criteria}
        self.by_position = {one.position: one for one in criteria if one.role == Criterion.Role.ITEM}
        self._by_words = {_plain(one.key): one for one in reversed(criteria)}

    def named(self, name: str) -> Criterion | None:
        """Find a criterion by its key or its words: "Explanation Correctness" matches explanation_correctness."""
        return self.by_key.get(name) or self._by_words.get(_plain(name))


def _plain(name: str) -> str:
    return "_".join(name.replace("-", " ").replace("_", " ").casefold().split())


class RatingLoader:
    """Imports a table's ratings into a study, batch by batch; `whole` as in AnswerStore."""

    def __init__(self, study: Study, items: Items, rules: Rules, *, whole: bool = False) -> None:
        self.study, self.items, self.rules = study, items, rules
        self.rubrics = RubricsOf(items.benchmark)
        self._rubrics: dict[int, list[_Known]] = {}
        self._called: dict[str, None] = {}
        self._left_out: set[str] = set()
        self._met: dict[int, _Values] = {}
        self.own = OwnRubric(study, rules)
        self.raters = Raters(study, rules)
        self.store = AnswerStore(study, rules, whole=whole)

    def load(self, records: Iterable[RatingRecord], on_bad: OnBadRow, progress: OnProgress = no_progress) -> Counts:
        counts, before = Counts(), self.store.repeated
        for batch in batches(records, RECORDS_AT_ONCE):
            checked: list[_Checked] = []
            for record in batch:
                if record.criterion in self.rules.excluded:
                    self._left_out.add(record.criterion)
                    counts += Counts(excluded=1)
                    continue
                if not record.value and not record.is_judge:
                    counts += Counts(empty=1)
                    continue
                try:
                    checked.append(self._check(record))
                except BadRow as problem:
                    on_bad(problem)
            self.items.create((one.record.place, one.item) for one in checked)
            for one in checked:
                try:
                    counts += Counts(**{self._put(one): 1})
                except BadRow as problem:
                    on_bad(problem)
            self.store.flush()
            progress(len(batch))
        self.own.save()
        return counts + Counts(repeated=self.store.repeated - before)

    def _check(self, record: RatingRecord) -> _Checked:
        item = ItemName(record.item, record.instruction, record.model, record.category)
        category = self.items.check(record.place, item)
        rubric = self._rubric(item, category)
        criterion = self._criterion(record, rubric)
        return _Checked(record, item, criterion.rubric_id, self._given(record, criterion))

    def _rubric(self, item: ItemName, category: int | None) -> Rubric | None:
        known = item.instruction_id in self.items.instructions
        return self.rubrics.nearest(self.items.instructions[item.instruction_id] if known else None, category)

    def _criterion(self, record: RatingRecord, rubric: Rubric | None) -> Criterion:
        if rubric is None:
            key = record.criterion if record.position is None else f"item{record.position}"
            return self.own.criterion(record.place, key, record.value)
        if record.position is not None:
            return self._at(record, record.position, rubric)
        rubrics = self._alike(rubric)
        for one in rubrics:
            found = one.named(record.criterion)
            if found is not None:
                self._called[record.criterion] = None
                return found
        if record.criterion in self.rules.scales:
            # What no rubric asks has its own scale, such as a perplexity.
            return self.own.criterion(record.place, record.criterion, record.value)
        if len(rubrics) == 1:
            known = ", ".join(rubrics[0].by_key)
            raise record.place.bad(
                messages.NO_CRITERION(rubric=rubric.key, criterion=repr(record.criterion)),
                messages.ITS_CRITERIA(known=known),
            )
        each = [messages.OF_RUBRIC(known=", ".join(one.by_key), rubric=one.rubric.key) for one in rubrics]
        raise record.place.bad(messages.NO_RUBRIC_HAS(criterion=repr(record.criterion)), messages.THERE_ARE(known=each))

    def _at(self, record: RatingRecord, position: int, rubric: Rubric) -> Criterion:
        known = self._alike(rubric)[0].by_position
        if position not in known:
            raise record.place.bad(
                messages.NO_ITEM(rubric=rubric.key, position=position), messages.ITEMS_FROM_0(n=len(known))
            )
        return known[position]

    def _alike(self, rubric: Rubric) -> list["_Known"]:
        """The rubric, then the newest versions of the others for the same category or instruction.

        A benchmark may have several, such as one for questions with an answer and one for those without; the criterion
        of a rating shows which of them applies.
        """
        if rubric.pk not in self._rubrics:
            others = Rubric.objects.filter(
                workspace=rubric.workspace_id,
                benchmark=rubric.benchmark_id,
                category=rubric.category_id,
                instruction=rubric.instruction_id,
                study=None,
            ).exclude(key=rubric.key)
            newest = {one.key: one for one in others.order_by("version").prefetch_related("criteria")}
            self._rubrics[rubric.pk] = [_Known(one) for one in (rubric, *newest.values())]
        return self._rubrics[rubric.pk]

    def criteria(self) -> list[str]:
        """Names of the study's own criteria and those of the rubrics used so far, from the rubrics or the table.

        Those that the table has and the rules exclude are among them.
        """
        met = [key for rubrics in self._rubrics.values() for one in rubrics for key in one.by_key]
        return list(dict.fromkeys([*self.own.by_key, *met, *self._called, *sorted(self._left_out)]))

    def wide_scales(self) -> list[str]:
        """A sentence for each criterion of the study's own whose values leave much of its scale's ends unused.

        Fewer than ENOUGH_VALUES values say nothing of it.
        """
        found: list[str] = []
        for criterion in self.own.by_key.values():
            values = self._met.get(criterion.pk)
            if values is None or values.n < ENOUGH_VALUES:
                continue
            low, high = criterion.ends
            unused = (values.low - low) + (high - values.high)
            if low <= values.low and values.high <= high and unused >= UNUSED_SHARE * (high - low):
                found.append(
                    messages.WIDE_SCALE(
                        criterion=criterion.key,
                        low=f"{low:g}",
                        high=f"{high:g}",
                        least=f"{values.low:g}",
                        most=f"{values.high:g}",
                    )
                )
        return found

    def _note(self, criterion: Criterion, value: float | None) -> None:
        if value is not None:
            met = self._met.setdefault(criterion.pk, _Values(value, value))
            met.low, met.high, met.n = min(met.low, value), max(met.high, value), met.n + 1

    def _given(self, record: RatingRecord, criterion: Criterion) -> GivenAnswer:
        reading = read_value(criterion, record.value) if record.value else None
        if reading is not None:
            self._note(criterion, reading.value)
            return GivenAnswer(criterion.pk, criterion.key, reading, reason=record.reason)
        if not record.value:
            return GivenAnswer(criterion.pk, criterion.key, None, f"{criterion.key}: no usable answer")
        number = number_in(record.value)
        if self.rules.off_scale == "keep" and number is not None:
            return GivenAnswer(criterion.pk, criterion.key, Reading(number), reason=record.reason)
        if self.rules.off_scale == "unscored":
            return GivenAnswer(
                criterion.pk, criterion.key, None, f"{criterion.key}: {record.value[:50]!r} is off the scale"
            )
        raise record.place.bad(
            messages.OFF_SCALE(value=repr(record.value[:50]), criterion=criterion.key, scale=describe(criterion)),
            messages.CORRECT_VALUE(),
        )

    def _put(self, one: _Checked) -> str:
        record = one.record
        response = self.items.find(one.item)
        assert response is not None
        return self.store.add(
            record.place,
            TaskName(response, one.rubric),
            self.raters.find_or_create(record),
            self.raters.label(record),
            one.given,
            circumstances(record),
        )

    def mark_incomplete(self) -> int:
        """Mark this load's verdicts that lack items of a benchmark's rubric as unscored, and return their number."""
        made = Assignment.objects.filter(task__study=self.study, status=Assignment.Status.SUBMITTED)
        if self.own.rubric:
            made = made.exclude(task__answer_rubric=self.own.rubric)
        items = Q(scores__criterion__role=Criterion.Role.ITEM)
        rows = made.annotate(given=Count("scores__criterion", filter=items, distinct=True)).order_by()
        wanted = dict(
            Criterion.objects.filter(role=Criterion.Role.ITEM).order_by().values_list("rubric_id").annotate(Count("pk"))
        )
        short = [
            (pk, given, wanted[rubric])
            for pk, rubric, given in rows.values_list("pk", "task__answer_rubric_id", "given").iterator(5000)
            if given < wanted[rubric] and pk in self.store.touched
        ]
        for pk, given, of in short:
            note_changed(Assignment(pk=pk), {"status": Assignment.Status.SUBMITTED.value, "reason": ""})
            Assignment.objects.filter(pk=pk).update(
                status=Assignment.Status.UNSCORED, reason=f"{given} of {of} items answered"
            )
        return len(short)


def check_overall(ratings: RatingLoader, file: str) -> None:
    """Raise UserError where --overall names no criterion, or one that was loaded as an item."""
    key, own = ratings.rules.overall, ratings.own
    if not key or own.rubric is None:
        return
    if key not in own.by_key:
        known = ", ".join(own.by_key)
        raise UserError(messages.NO_OVERALL(file=file, criterion=repr(key), known=known))
    if own.by_key[key].role != Criterion.Role.OVERALL:
        raise UserError(messages.ITEM_NOT_OVERALL(criterion=key))


def check_named(ratings: RatingLoader, file: str) -> None:
    """Raise UserError where --scale or --exclude names a criterion that neither the table nor the study has."""
    known = ratings.criteria()
    named = [("scale", key) for key in ratings.rules.scales if key != "*"]
    for option, key in [*named, *(("exclude", key) for key in sorted(ratings.rules.excluded))]:
        if known and key not in known:
            raise UserError(
                messages.NONE_FOR_OPTION(file=file, criterion=repr(key), option=option, known=", ".join(known))
            )
