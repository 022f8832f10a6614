"""Import verdicts on whole checklists as answers of a judge."""

from collections.abc import Iterable

from annotation.importing import messages
from annotation.importing.store import AnswerStore, Circumstances, GivenAnswer, TaskName
from annotation.models import Criterion, Rater, Rubric, Study
from annotation.rubrics.library import RubricsOf
from annotation.rubrics.scales import read_value
from core.tables.bad_rows import BadRow, OnBadRow
from generation.importers.records import VerdictRecord
from generation.library.loading import Counts, Responses, batches_of_text

NO_SCORE = 0
VERDICT = "verdict"


class VerdictLoader:
    """Imports a judge's verdicts on a benchmark's responses into a study; unusable verdicts are stored as unscored.

    Verdicts on instructions without a known checklist are skipped; `without_checklist` names them.
    """

    def __init__(self, study: Study, judge: Rater, responses: Responses) -> None:
        self.study, self.judge, self.responses = study, judge, responses
        self.rubrics = RubricsOf(responses.run.benchmark)
        self.without_checklist: list[str] = []
        self._items: dict[int, dict[int, Criterion]] = {}
        self.store = AnswerStore(study, whole=True)

    def load(self, records: Iterable[VerdictRecord], on_bad: OnBadRow) -> tuple[Counts, Counts]:
        """Load the verdicts, and return counts of verdicts and of responses that only they contain."""
        counts, responses = Counts(), Counts()
        for batch in batches_of_text(records, lambda record: record.response):
            responses += self.responses.load(record.response for record in batch)
            for record in batch:
                try:
                    counts += Counts(**{self._take(record): 1})
                except BadRow as problem:
                    on_bad(problem)
            self.store.flush()
        return counts, responses

    def _take(self, record: VerdictRecord) -> str:
        name = record.response.instruction.external_id
        instructions = self.responses.instructions
        rubric = self.rubrics.nearest(instructions[name], instructions.category_of(name))
        if rubric is None:
            self.without_checklist.append(name)
            return "skipped"
        task = TaskName(self.responses.pk_of(record.response), rubric.pk)
        given = self._given(record, rubric)
        place, who, how = record.response.place, str(self.judge), Circumstances()
        if given[0].reading and self.store.is_unscored(task, self.judge.pk):
            raise place.bad(
                messages.UNUSABLE_BEFORE(who=who, name=repr(name)), messages.DELETE_STUDY(study=self.study.slug)
            )
        outcomes = [self.store.add(place, task, self.judge.pk, who, one, how) for one in given]
        return outcomes[0]

    def _given(self, record: VerdictRecord, rubric: Rubric) -> list[GivenAnswer]:
        """A score for each item of the rubric, or the single reason why the verdict is unusable."""
        items = self._items_of(rubric)
        unusable = record.unusable
        if not unusable and len(record.items) != len(items):
            unusable = f"{len(record.items)} of {len(items)} items answered"
        given = []
        for verdict in () if unusable else record.items:
            criterion = items.get(verdict.position)
            reading = read_value(criterion, str(verdict.score)) if criterion else None
            if criterion is None or reading is None:
                unusable = f"item {verdict.position} scored {verdict.score:g}, which is off the scale"
                break
            given.append(GivenAnswer(criterion.pk, criterion.key, reading, reason=verdict.reason))
        return [GivenAnswer(NO_SCORE, VERDICT, None, unusable)] if unusable else given

    def _items_of(self, rubric: Rubric) -> dict[int, Criterion]:
        if rubric.pk not in self._items:
            criteria = rubric.criteria.all()
            self._items[rubric.pk] = {one.position: one for one in criteria if one.role == Criterion.Role.ITEM}
        return self._items[rubric.pk]
