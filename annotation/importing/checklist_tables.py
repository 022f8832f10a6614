"""Load checklists from a table of questions: of single instructions, or of all instructions of a category."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from django.db import transaction

from annotation.importing import messages
from annotation.importing.instruction_rubrics import InstructionRubrics, Question
from annotation.rubrics.scales import parse_scale
from core.tables.bad_rows import BadRow, OnBadRow, Place, refuse
from core.tables.rows import Row
from generation.library.loading import Categories, Counts
from generation.models import Benchmark, Category, Instruction

LONGEST_QUESTION = 500
Of = tuple[str, int]
"""What a checklist belongs to: ("instruction" or "category", its key in the database)."""


@dataclass
class _Checklist:
    owner: Instruction | Category
    place: Place
    questions: list[Question] = field(default_factory=list)


def load_checklists(
    benchmark: Benchmark, rows: Iterable[Row], on_bad: OnBadRow = refuse, *, overall: str = ""
) -> Counts:
    """Store the questions of each instruction or category as its checklist, in the order of the rows.

    Columns: instruction or category, question, and optionally question_zh; a row that names both is about the instruction.
    A checklist that was there is replaced by a new version with the same further criteria, unless it is the same. With
    `overall`, a scale such as 0:10, a checklist without an overall score gets one. All or nothing. Raises UserError for a
    bad scale.
    """
    if overall:
        parse_scale(overall)
    counts, found = Counts(), dict[Of, _Checklist]()
    names = _Names(benchmark)
    rubrics = InstructionRubrics(benchmark)
    with transaction.atomic():
        for row in rows:
            try:
                _add(found, row, names)
            except BadRow as problem:
                on_bad(problem)
                counts += Counts(skipped=1)
        for one in found.values():
            if isinstance(one.owner, Category):
                counts += rubrics.replace_of_category(one.owner, one.questions, overall=overall)
            else:
                counts += rubrics.replace_checklist(one.owner, one.questions, overall=overall)
    return counts


def _add(found: dict[Of, _Checklist], row: Row, names: "_Names") -> None:
    question = " ".join(row.values.get("question", "").split())
    other = " ".join(row.values.get("question_zh", "").split())
    owner = names.owner(row)
    if not question and not other:
        raise row.place.bad(messages.NO_QUESTION(), messages.ENTER_QUESTION())
    if max(len(question), len(other)) > LONGEST_QUESTION:
        raise row.place.bad(messages.LONG_QUESTION(most=LONGEST_QUESTION), messages.SHORTEN())
    texts = {language: text for language, text in (("en", question), ("zh-hans", other)) if text}
    checklist = found.setdefault((type(owner).__name__, owner.pk), _Checklist(owner, row.place))
    if texts in checklist.questions:
        raise row.place.bad(messages.QUESTION_TWICE(name=repr(names.name(row))), messages.KEEP_ONE())
    checklist.questions.append(texts)


class _Names:
    """What the rows may name: the benchmark's instructions and categories."""

    def __init__(self, benchmark: Benchmark) -> None:
        self.benchmark = benchmark
        self._instructions = {one.external_id: one for one in benchmark.instructions.only("pk", "external_id")}
        self._categories = Categories(benchmark)

    @staticmethod
    def name(row: Row) -> str:
        return row.values.get("instruction", "").strip() or row.values.get("category", "").strip()

    def owner(self, row: Row) -> Instruction | Category:
        """Return what the row is about. Raises BadRow."""
        name, category = row.values.get("instruction", "").strip(), row.values.get("category", "").strip()
        if not name and not category:
            raise row.place.bad(messages.NEITHER(), messages.NAME_ONE())
        if name:
            if name not in self._instructions:
                said = messages.NO_INSTRUCTION(benchmark=self.benchmark.slug, name=repr(name[:50]))
                raise row.place.bad(said, messages.LOAD_INSTRUCTIONS())
            return self._instructions[name]
        found = self._categories.find(category)
        if found is None:
            said = messages.NO_CATEGORY(benchmark=self.benchmark.slug, name=repr(category[:50]))
            known = ", ".join(self._categories.keys()[:20])
            remedy = messages.ITS_CATEGORIES(known=known) if known else messages.LOAD_INSTRUCTIONS()
            raise row.place.bad(said, remedy)
        return found
