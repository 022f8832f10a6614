"""Load rubrics from a table: one row for each criterion with its scale, or one for each level of a criterion."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.utils.text import slugify

from accounts.models import Workspace
from annotation.importing import messages
from annotation.models import Criterion, Rubric, Study
from annotation.rubrics.library import keep_rubric, scale_fields
from annotation.rubrics.offered_scales import OFFERS, scale_named
from annotation.rubrics.question_table import KEY, MOST_LEVELS, BadQuestion, read_levels
from annotation.rubrics.scales import number_in, number_text
from core.tables.bad_rows import BadRow, OnBadRow, Place, refuse
from core.tables.rows import Row
from generation.library.loading import Categories, Counts
from generation.models import Benchmark, Category

LONGEST_QUESTION = 500
LONGEST_KEY = 60
LONGEST_RUBRIC = 100
ROLES = (Criterion.Role.ITEM.value, Criterion.Role.OVERALL.value, Criterion.Role.PREFERENCE.value)
SCALES = {
    key: role for kind in (Study.Kind.CHECKLIST, Study.Kind.STARS, Study.Kind.PAIR) for key, _, role in OFFERS[kind]
}
"""The roles of questions by the name of an offered scale."""
USUAL = {ROLES[0]: "fulfilment", ROLES[1]: "overall10", ROLES[2]: "three"}
"""The scale of a criterion for which the table gives none, by its role."""
YES_WORDS = ("yes", "true", "1", "x", "是")


@dataclass
class _Criterion:
    """A criterion as the rows so far describe it; with a bad row it is left out as a whole."""

    place: Place
    key: str
    questions: dict[str, str]
    role: str
    scale: str
    may_not_apply: bool
    levels: list[dict[str, Any]] = field(default_factory=list)
    fields: dict[str, Any] | None = None
    is_bad: bool = False


@dataclass
class _Rubric:
    place: Place
    key: str
    names: dict[str, str]
    category: Category | None
    criteria: dict[str, _Criterion] = field(default_factory=dict)


def load_rubric_rows(
    workspace: Workspace, benchmark: Benchmark | None, rows: Iterable[Row], on_bad: OnBadRow = refuse, *, name: str
) -> Counts:
    """Store the rubrics of a table, each in a new version unless its newest has the same criteria. All or nothing.

    Without a benchmark they belong only to the workspace, and studies can choose them; `name` is for rows that name none.
    Columns, all optional but the question or the criterion's key: rubric, rubric_name, category, criterion, question,
    question_zh, role (item, overall, preference), scale ("1:5", "0=No: Nothing is there|1=Yes", or the name of an offered
    scale), and for rows that are levels level_value, level_name, level_name_zh, level_meaning, level_meaning_zh. Of a
    criterion with a bad row nothing is stored.
    """
    counts, found = Counts(), dict[str, _Rubric]()
    categories = Categories(benchmark) if benchmark else None
    bad: list[BadRow] = []
    for row in rows:
        try:
            _add(found, row, name, categories)
        except BadRow as problem:
            bad.append(problem)
    for rubric in found.values():
        for criterion in rubric.criteria.values():
            try:
                if not criterion.is_bad:
                    criterion.fields = _fields(criterion)
            except BadRow as problem:
                bad.append(problem)
    for one in bad:
        on_bad(one)
        counts += Counts(skipped=1)
    with transaction.atomic():
        for rubric in found.values():
            try:
                counts += _keep(workspace, benchmark, rubric)
            except BadRow as problem:
                on_bad(problem)
                counts += Counts(skipped=1)
    return counts


def _keep(workspace: Workspace, benchmark: Benchmark | None, rubric: _Rubric) -> Counts:
    sound = [one.fields for one in rubric.criteria.values() if one.fields is not None]
    if not sound:
        return Counts()
    key = f"{benchmark.slug}-{rubric.key}" if benchmark else rubric.key
    others = Rubric.objects.filter(workspace=workspace, key=key).exclude(benchmark=benchmark, study=None)
    if others.exists():
        raise rubric.place.bad(messages.RUBRIC_ELSEWHERE(key=key), messages.OTHER_RUBRIC())
    criteria = [{**fields, "position": position} for position, fields in enumerate(sound)]
    names = rubric.names or {"en": rubric.key}
    return keep_rubric(workspace, benchmark, rubric.category, key=key, names=names, criteria=criteria, as_newest=True)


def _add(found: dict[str, _Rubric], row: Row, name: str, categories: Categories | None) -> None:
    values = {column: text.strip() for column, text in row.values.items()}
    key = values.get("rubric") or name
    slug = slugify(key)[:LONGEST_RUBRIC] or key[:LONGEST_RUBRIC]
    rubric = found.get(slug)
    if rubric is None:
        title = values.get("rubric_name") or values.get("rubric", "")
        names = {"en": title[:200]} if title else {}
        rubric = found[slug] = _Rubric(row.place, slug, names, _category(row.place, values, categories))
    criterion = _criterion(rubric, row.place, values)
    try:
        _describe(criterion, row.place, values)
    except BadRow:
        criterion.is_bad = True
        raise


def _category(place: Place, values: Mapping[str, str], categories: Categories | None) -> Category | None:
    key = values.get("category", "")
    if not key or categories is None:
        return None
    found = categories.find(key)
    if found is None:
        said = messages.NO_CATEGORY(benchmark=categories.benchmark.slug, name=repr(key[:50]))
        raise place.bad(said, messages.ITS_CATEGORIES(known=", ".join(categories.keys()[:20]) or "–"))
    return found


def _criterion(rubric: _Rubric, place: Place, values: Mapping[str, str]) -> _Criterion:
    """Return the criterion that the row is about, which is a new one if no row above is about it. Raises BadRow."""
    texts = {"en": values.get("question", ""), "zh-hans": values.get("question_zh", "")}
    texts = {language: text for language, text in texts.items() if text}
    key = values.get("criterion", "")
    if not key and not texts:
        raise place.bad(messages.NO_KEY(), messages.ENTER_QUESTION())
    if any(len(text) > LONGEST_QUESTION for text in texts.values()):
        raise place.bad(messages.LONG_QUESTION(most=LONGEST_QUESTION), messages.SHORTEN())
    if key and not KEY.fullmatch(key):
        raise place.bad(messages.BAD_KEY(key=repr(key[:70]), n=LONGEST_KEY), messages.RENAME_KEY())
    if not key:
        same = [one.key for one in rubric.criteria.values() if one.questions == texts]
        key = same[0] if same else _new_key(rubric, texts)
    if key not in rubric.criteria:
        rubric.criteria[key] = _Criterion(
            place,
            key,
            texts or {"en": key},
            values.get("role", "").casefold(),
            values.get("scale", ""),
            values.get("may_not_apply", "").casefold() in YES_WORDS,
        )
        return rubric.criteria[key]
    known = rubric.criteria[key]
    if not values.get("level_value"):
        known.is_bad = True
        raise place.bad(messages.QUESTION_TWICE(name=repr(rubric.key)), messages.KEEP_ONE())
    if texts and any(known.questions.get(language) != text for language, text in texts.items()):
        known.is_bad = True
        raise place.bad(messages.OTHER_BEFORE(name=repr(key)), messages.SAME_TEXT())
    return known


def _new_key(rubric: _Rubric, texts: Mapping[str, str]) -> str:
    key = slugify(texts.get("en", ""))[:50].replace("-", "_") or f"question{len(rubric.criteria) + 1}"
    return key if key not in rubric.criteria else f"{key}_{len(rubric.criteria) + 1}"


def _describe(criterion: _Criterion, place: Place, values: Mapping[str, str]) -> None:
    """Add what the row says of the criterion's role and scale. Raises BadRow."""
    role = values.get("role", "").casefold()
    if role and role not in ROLES:
        raise place.bad(messages.BAD_ROLE(text=repr(role[:30]), known=", ".join(ROLES)), messages.CORRECT_OR_EMPTY())
    criterion.role = criterion.role or role
    written = values.get("level_value", "")
    if not written:
        _scale(criterion, place)
        return
    if criterion.scale:
        raise place.bad(messages.TWO_SCALES(name=repr(criterion.key)), messages.ONE_WAY())
    value = number_in(written)
    if value is None:
        raise place.bad(messages.BAD_LEVEL(text=repr(written[:30])), messages.ENTER_NUMBER())
    if any(level["value"] == value for level in criterion.levels):
        said = messages.LEVEL_TWICE(name=repr(criterion.key), value=number_text(value))
        raise place.bad(said, messages.KEEP_ONE())
    label = {"en": values.get("level_name", ""), "zh-hans": values.get("level_name_zh", "")}
    meaning = {"en": values.get("level_meaning", ""), "zh-hans": values.get("level_meaning_zh", "")}
    criterion.levels.append(
        {
            "key": number_text(value),
            "value": value,
            "label": _written(label) or {"en": number_text(value)},
            "description": _written(meaning),
        }
    )


def _written(texts: Mapping[str, str]) -> dict[str, str]:
    return {language: text for language, text in texts.items() if text}


def _scale(criterion: _Criterion, place: Place) -> None:
    """Check the scale of a criterion that is described in one row. Raises BadRow."""
    text = criterion.scale.casefold()
    if text in SCALES:
        if criterion.role and SCALES[text] != criterion.role:
            said = messages.BAD_ROLE(text=repr(criterion.role), known=SCALES[text])
            raise place.bad(said, messages.CORRECT_OR_EMPTY())
        criterion.role = SCALES[text]
        return
    if not text:
        criterion.scale = USUAL[criterion.role or ROLES[0]]
        return
    try:
        read = read_levels(criterion.scale)
    except BadQuestion as problem:
        raise place.bad(messages.BAD_SCALE(text=repr(criterion.scale[:60])), messages.WRITE_SCALE()) from problem
    criterion.levels = [
        {
            "key": number_text(one.value),
            "value": one.value,
            "label": {"en": one.name},
            "description": {"en": one.meaning} if one.meaning else {},
        }
        for one in read
    ]


def _fields(criterion: _Criterion) -> dict[str, Any]:
    """Return the criterion as fields of Criterion. Raises BadRow."""
    role = criterion.role or ROLES[0]
    if criterion.levels:
        if not 2 <= len(criterion.levels) <= MOST_LEVELS:
            said = messages.LEVELS(name=repr(criterion.key), n=len(criterion.levels))
            raise criterion.place.bad(said, messages.GIVE_LEVELS())
        levels = sorted(criterion.levels, key=lambda level: float(level["value"]))
        scale = scale_fields({"levels": levels})
    else:
        scale = scale_named(criterion.scale.casefold())
    return {
        **scale,
        "key": criterion.key,
        "questions": criterion.questions,
        "role": role,
        "may_not_apply": criterion.may_not_apply,
    }
