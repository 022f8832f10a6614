"""Load rubrics and guidelines from data files, and find the rubric that applies to an instruction.

An existing rubric or guideline with the same content is kept; a changed one becomes a new version.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from accounts.models import Workspace
from annotation.models import Criterion, Guideline, Rubric
from core.db.created_rows import note_created
from generation.importers.records import RubricRecord
from generation.library.loading import Categories, Counts
from generation.models import Benchmark, Category

CRITERION_FIELDS = (
    "key",
    "questions",
    "role",
    "position",
    "levels",
    "minimum",
    "maximum",
    "step",
    "anchors",
    "may_not_apply",
    "subtasks",
)


def load_rubrics(workspace: Workspace, benchmark: Benchmark | None, data: Mapping[str, Any]) -> Counts:
    """Load the rubrics of a file in fixtures/rubrics/, each for its category or, without one, for the benchmark.

    Without a benchmark they belong only to the workspace, and studies can choose them.
    """
    categories = Categories(benchmark) if benchmark else None
    counts = Counts()
    with transaction.atomic():
        for entry in data["rubrics"]:
            key = entry.get("subcategory") or entry.get("category")
            counts += keep_rubric(
                workspace,
                benchmark,
                categories.find(key) if categories and key else None,
                key=f"{benchmark.slug}-{entry['key']}" if benchmark else entry["key"],
                names=entry["name"],
                criteria=criteria_of(entry, data["scales"]),
            )
    return counts


def criteria_of(entry: Mapping[str, Any], scales: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A rubric's criteria as fields of Criterion."""
    return [
        {
            "key": criterion["key"],
            "questions": criterion["question"],
            "role": criterion["role"],
            "position": criterion["position"],
            "may_not_apply": criterion.get("may_not_apply", False),
            **scale_fields(scales[criterion["scale"]]),
        }
        for criterion in entry["criteria"]
    ]


def scale_fields(scale: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "levels": scale.get("levels", []),
        "minimum": scale.get("minimum"),
        "maximum": scale.get("maximum"),
        "step": scale.get("step"),
        "anchors": scale.get("anchors", []),
    }


def keep_rubric(
    workspace: Workspace,
    benchmark: Benchmark | None,
    category: Category | None,
    *,
    key: str,
    names: Mapping[str, str],
    criteria: Sequence[Mapping[str, Any]],
    as_newest: bool = False,
) -> Counts:
    """Store the rubric unless one of its versions has the same content; with `as_newest`, unless the newest has."""
    versions = list(
        Rubric.objects.filter(workspace=workspace, key=key).order_by("version").prefetch_related("criteria")
    )
    wanted = [{**dict.fromkeys(("minimum", "maximum", "step", "subtasks")), **criterion} for criterion in criteria]
    for rubric in versions[-1:] if as_newest else versions:
        stored = [{name: getattr(one, name) for name in CRITERION_FIELDS} for one in rubric.criteria.all()]
        if _comparable(stored) == _comparable(wanted):
            return Counts(already_there=1)
    rubric = Rubric.objects.create(
        workspace=workspace,
        benchmark=benchmark,
        category=category,
        key=key,
        names=dict(names),
        version=versions[-1].version + 1 if versions else 1,
    )
    note_created([rubric])
    note_created(Criterion.objects.bulk_create(Criterion(rubric=rubric, **criterion) for criterion in wanted))
    return Counts(created=1)


def _comparable(criteria: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    blank = {"anchors": [], "levels": [], "may_not_apply": False}
    return sorted(({**blank, **criterion} for criterion in criteria), key=lambda one: one["position"])


def rubric_from_record(
    record: RubricRecord, pattern: Mapping[str, Any] | None, scales: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """The criteria of a checklist in its source's wording, with the keys of `pattern` at the same positions.

    `pattern` is our own rubric of the category as data; without it the keys are item0, item1, ... Criteria of
    `pattern` that are not items, such as the overall score, come last.
    """
    ours = criteria_of(pattern, scales) if pattern else []
    items = {one["position"]: one for one in ours if one["role"] == Criterion.Role.ITEM}
    fulfilment = scale_fields(scales["fulfilment"])
    criteria = [
        {
            **fulfilment,
            "key": items[position]["key"] if position in items else f"item{position}",
            "role": Criterion.Role.ITEM.value,
            "position": position,
            "may_not_apply": False,
            "questions": {"en": question},
        }
        for position, question in enumerate(record.questions)
    ]
    others = [one for one in ours if one["role"] != Criterion.Role.ITEM]
    return criteria + [{**one, "position": len(criteria) + place} for place, one in enumerate(others)]


def load_guideline(workspace: Workspace, key: str, texts: Mapping[str, str]) -> Counts:
    with transaction.atomic():
        versions = list(Guideline.objects.filter(workspace=workspace, key=key).order_by("version"))
        if any(version.texts == dict(texts) for version in versions):
            return Counts(already_there=1)
        version = versions[-1].version + 1 if versions else 1
        note_created([Guideline.objects.create(workspace=workspace, key=key, version=version, texts=dict(texts))])
    return Counts(created=1)


def named_rubrics(benchmark: Benchmark) -> dict[int, str]:
    """Return what each instruction calls its rubric, of those that name one: its key, with or without the slug."""
    named = benchmark.instructions.exclude(rubric="").order_by()
    return dict(named.values_list("pk", "rubric"))


class RubricsOf:
    """The rubric that applies to each instruction: its own, the one it names, its category's, the parent's, or the
    benchmark's.
    """

    def __init__(self, benchmark: Benchmark, among: QuerySet[Rubric] | None = None) -> None:
        """Consider all rubrics, or only those in `among`, such as those that fit a kind of study."""
        known = Rubric.objects.all() if among is None else among
        # Among equal versions the first by key wins, as in Rubric.objects.nearest_to.
        rubrics = known.filter(benchmark=benchmark, study=None).order_by("version", "-key", "-pk")
        self._of: dict[tuple[str, int | None], Rubric] = {}
        self._by_key: dict[str, Rubric] = {}
        self._named, self._slug = named_rubrics(benchmark), benchmark.slug
        for rubric in rubrics.prefetch_related("criteria"):
            self._by_key[rubric.key] = rubric
            if rubric.instruction_id:
                self._of["instruction", rubric.instruction_id] = rubric
            else:
                self._of["category", rubric.category_id] = rubric
        self._parents = dict(benchmark.categories.order_by().values_list("pk", "parent_id"))

    def nearest(self, instruction: int | None, category: int | None) -> Rubric | None:
        if instruction is not None and ("instruction", instruction) in self._of:
            return self._of["instruction", instruction]
        if instruction is not None and (named := self._named.get(instruction)):
            found = self._by_key.get(named) or self._by_key.get(f"{self._slug}-{named}")
            if found is not None:
                return found
        while category is not None:
            if ("category", category) in self._of:
                return self._of["category", category]
            category = self._parents.get(category)
        return self._of.get(("category", None))
