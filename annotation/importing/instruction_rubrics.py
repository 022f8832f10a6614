"""Store the rubric that an instruction has of its own: its checklist, the criteria of a named rubric, an overall score."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.conf import settings

from annotation.importing import messages
from annotation.models import Criterion, Rubric
from annotation.rubrics.library import CRITERION_FIELDS, keep_rubric, scale_fields
from annotation.rubrics.scales import parse_scale
from core.tables.bad_rows import OnBadRow
from generation.importers.records import InstructionRecord
from generation.library.loading import Counts
from generation.models import Benchmark, Category, Instruction

SCALES = settings.BASE_DIR / "fixtures" / "rubrics" / "hellobench.json"
"""Has the scale on which the items of a checklist are answered."""
OVERALL = "score"
OVERALL_QUESTIONS = {
    "en": "All things considered, how good is this response?",
    "zh-hans": "综合各方面，这篇回答有多好？",
}
LONGEST_KEY = 150
Question = Mapping[str, str]
"""A question of a checklist by language."""


def _overall(scale: str) -> dict[str, Any]:
    """An overall score on the scale, which is known to be one, as fields of Criterion."""
    return {
        **parse_scale(scale).as_fields(),
        "anchors": [],
        "key": OVERALL,
        "role": Criterion.Role.OVERALL.value,
        "may_not_apply": False,
        "questions": OVERALL_QUESTIONS,
    }


class InstructionRubrics:
    """Rubrics of single instructions of a benchmark, stored once; a changed one becomes a new version."""

    def __init__(self, benchmark: Benchmark) -> None:
        self.benchmark = benchmark
        self._fulfilment = scale_fields(json.loads(SCALES.read_text(encoding="utf-8"))["scales"]["fulfilment"])
        self._named: dict[str, list[dict[str, Any]] | None] = {}
        self._of_benchmark: set[str] = set()

    def load(self, records: Iterable[InstructionRecord], on_bad: OnBadRow) -> Counts:
        """Store the rubrics of instructions that are stored already; those without one are passed over.

        A record that only names a rubric of the benchmark needs none of its own: the instruction keeps the name. Hands a row
        with an unknown rubric or scale to `on_bad`.
        """
        wanted = [record for record in records if record.checklist or record.rubric or record.overall]
        pks = dict(
            Instruction.objects.filter(
                benchmark=self.benchmark, external_id__in={record.external_id for record in wanted}
            ).values_list("external_id", "pk")
        )
        counts = Counts()
        for record in wanted:
            if record.external_id not in pks:
                continue
            criteria = self._criteria(record, on_bad)
            if criteria and (record.checklist or record.overall or record.rubric not in self._of_benchmark):
                counts += self._keep(record, pks[record.external_id], criteria)
        return counts

    def checklist_of(self, instruction: Instruction) -> list[str]:
        """The questions of the newest version of the instruction's own rubric, in order."""
        own = self._newest(instruction)
        items = [] if own is None else own.criteria.filter(role=Criterion.Role.ITEM).order_by("position")
        return [str(one.questions.get("en", "")) for one in items]

    def _newest(self, instruction: Instruction) -> Rubric | None:
        versions = Rubric.objects.filter(workspace=self.benchmark.workspace, key=self._key_of(instruction.pk))
        return versions.order_by("-version").first()

    def replace_checklist(
        self, instruction: Instruction, questions: Sequence[str | Question], *, overall: str = ""
    ) -> Counts:
        """Store these questions as the checklist in the next version of the instruction's rubric; other criteria stay.

        `overall` is the scale of the overall score that a rubric without one gets, none if it is empty.
        """
        criteria = self._replaced(self._newest(instruction), questions, overall)
        return self._store(instruction.pk, instruction.external_id, criteria, as_newest=True)

    def replace_of_category(
        self, category: Category, questions: Sequence[str | Question], *, overall: str = ""
    ) -> Counts:
        """The same for the rubric of a category, which all its instructions without one of their own have."""
        rubrics = Rubric.objects.filter(benchmark=self.benchmark, category=category, study=None, instruction=None)
        own = rubrics.order_by("-version", "key").first()
        return keep_rubric(
            self.benchmark.workspace,
            self.benchmark,
            category,
            key=own.key if own else f"{self.benchmark.slug}-{category.key}"[:LONGEST_KEY],
            names=own.names if own else dict(category.names),
            criteria=self._replaced(own, questions, overall),
            as_newest=True,
        )

    def _replaced(self, own: Rubric | None, questions: Sequence[str | Question], overall: str) -> list[dict[str, Any]]:
        """The questions as criteria, then those of the rubric that are no items, then an overall score if it has none."""
        others = [] if own is None else own.criteria.exclude(role=Criterion.Role.ITEM).order_by("position")
        criteria = self._items(questions) + [{name: getattr(one, name) for name in CRITERION_FIELDS} for one in others]
        if overall and not any(one["role"] == Criterion.Role.OVERALL for one in criteria):
            criteria.append(_overall(overall))
        return [{**one, "position": position} for position, one in enumerate(criteria)]

    def _keep(self, record: InstructionRecord, instruction: int, criteria: list[dict[str, Any]]) -> Counts:
        return self._store(instruction, record.external_id, criteria)

    def _key_of(self, instruction: int) -> str:
        """Named by the instruction's key, since names that files use may be longer than a rubric's."""
        return f"{self.benchmark.slug}-own-{instruction}"[:LONGEST_KEY]

    def _store(self, instruction: int, name: str, criteria: list[dict[str, Any]], *, as_newest: bool = False) -> Counts:
        key = self._key_of(instruction)
        kept = keep_rubric(
            self.benchmark.workspace,
            self.benchmark,
            None,
            key=key,
            names={"en": name},
            criteria=criteria,
            as_newest=as_newest,
        )
        if kept.created:
            Rubric.objects.filter(workspace=self.benchmark.workspace, key=key).update(instruction=instruction)
        return kept

    def _criteria(self, record: InstructionRecord, on_bad: OnBadRow) -> list[dict[str, Any]]:
        """The checklist's items, then the named rubric's criteria, then the overall score; none where a part is bad."""
        criteria = self._items(record.checklist)
        if record.rubric:
            named = self._criteria_of(record.rubric)
            if named is None:
                on_bad(record.place.bad(messages.NO_RUBRIC(rubric=repr(record.rubric[:50])), messages.CREATE_RUBRIC()))
                return []
            taken = {one["key"] for one in criteria}
            criteria += [one for one in named if one["key"] not in taken]
        if record.overall and not any(one["role"] == Criterion.Role.OVERALL for one in criteria):
            criteria.append(_overall(record.overall))
        return [{**one, "position": position} for position, one in enumerate(criteria)]

    def _items(self, questions: Sequence[str | Question]) -> list[dict[str, Any]]:
        return [
            {
                **self._fulfilment,
                "key": f"item{position}",
                "role": Criterion.Role.ITEM.value,
                "may_not_apply": False,
                "questions": {"en": question} if isinstance(question, str) else dict(question),
            }
            for position, question in enumerate(questions)
        ]

    def _criteria_of(self, key: str) -> list[dict[str, Any]] | None:
        """The criteria of the newest version of a rubric, by its whole key or without the benchmark's name before it."""
        if key not in self._named:
            rubrics = Rubric.objects.filter(workspace=self.benchmark.workspace, study=None)
            found = None
            for name in (f"{self.benchmark.slug}-{key}", key):
                found = found or rubrics.filter(key=name).order_by("-version").first()
            if found is not None and found.benchmark_id == self.benchmark.pk:
                self._of_benchmark.add(key)
            self._named[key] = (
                None
                if found is None
                else [
                    {name: getattr(one, name) for name in CRITERION_FIELDS}
                    for one in found.criteria.order_by("position")
                ]
            )
        return self._named[key]
