"""Questions to models about a benchmark's instructions, as a benchmark of their own that ordinary runs generate answers to.

So the answers are on record with their run, its budget and its manifest, and a run that stopped can be resumed.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db import transaction

from accounts.models import Event, User
from core.errors import UserError
from core.messages.message import Wording
from generation.library.loading import batches
from generation.library.search import note_texts
from generation.llm.protocol.wrapping import is_chinese
from generation.models import Benchmark, Instruction, Response

LONGEST_SLUG = 100
SPEAKERS = {
    "en": {"user": "User", "assistant": "Assistant", "system": "System"},
    "zh-hans": {"user": "用户", "assistant": "助手", "system": "系统"},
}

NO_TEXTS = Wording(
    "curation.no_texts", "Benchmark %(benchmark)s has no instruction with a text; load its instructions first."
)
LONG_SLUG = Wording(
    "curation.long_slug",
    "The name %(slug)s for the benchmark of the questions is too long; at most %(most)s characters.",
)


def questions_slug(benchmark: Benchmark, about: str) -> str:
    """The slug of the benchmark with the questions. Raises UserError."""
    slug = f"{benchmark.slug}-{about}"
    if len(slug) > LONGEST_SLUG:
        raise UserError(LONG_SLUG(slug=slug, most=LONGEST_SLUG))
    return slug


def ask_about(
    benchmark: Benchmark,
    about: str,
    wordings: Mapping[str, str],
    *,
    names: Mapping[str, str],
    instructions: Iterable[int] | None = None,
    by: User | None = None,
) -> Benchmark:
    """Make the benchmark of the questions, or complete it: one for each instruction with a text, of the same name and tags.

    `wordings` are by language and have a place for the {conversation}. `instructions` are primary keys, None for all.
    Raises UserError.
    """
    rows = benchmark.instructions.filter(messages__isnull=False).exclude(messages=[]).order_by("pk")
    if instructions is not None:
        rows = rows.filter(pk__in=list(instructions))
    if not rows.exists():
        raise UserError(NO_TEXTS(benchmark=benchmark.slug))
    slug = questions_slug(benchmark, about)
    with transaction.atomic():
        questions, _made = Benchmark.objects.get_or_create(
            workspace=benchmark.workspace, slug=slug, defaults={"names": dict(names), "source": benchmark.slug}
        )
        known = {one.external_id: one for one in questions.instructions.only("external_id", "tags")}
        asked = 0
        for batch in batches(rows.iterator(chunk_size=500)):
            new = [_question(questions, one, wordings) for one in batch if one.external_id not in known]
            _follow_tags([(one, known[one.external_id]) for one in batch if one.external_id in known])
            made = Instruction.objects.bulk_create(new)
            note_texts(made)
            asked += len(made)
        if asked:
            Event.objects.create(
                workspace_id=benchmark.workspace_id,
                actor=by,
                verb="questions about instructions made",
                object_type="generation.Benchmark",
                object_id=str(questions.pk),
                after={"about": benchmark.slug, "questions": asked},
            )
    return questions


def _follow_tags(pairs: Sequence[tuple[Instruction, Instruction]]) -> None:
    """Give each question the tags of its instruction, so that a run can ask about those with a tag."""
    changed = [question for one, question in pairs if question.tags != list(one.tags or ())]
    for one, question in pairs:
        question.tags = list(one.tags or ())
    Instruction.objects.bulk_update(changed, ["tags"])


def _question(questions: Benchmark, one: Instruction, wordings: Mapping[str, str]) -> Instruction:
    language = _language_of(one)
    text = wordings[language].format(conversation=conversation_of(one.messages or [], language))
    return Instruction(
        benchmark=questions,
        external_id=one.external_id,
        messages=[{"role": "user", "content": text}],
        language=language,
        tags=list(one.tags or ()),
    )


def _language_of(one: Instruction) -> str:
    chinese = one.language.startswith("zh") if one.language else is_chinese(one.text)
    return "zh-hans" if chinese else "en"


def conversation_of(messages: Iterable[Mapping[str, Any]], language: str = "en") -> str:
    """A chat as one text: the user's words alone where nothing else was said, else every message under its speaker."""
    said = list(messages)
    if len(said) == 1:
        return str(said[0].get("content", ""))
    named = SPEAKERS[language]
    return "\n\n".join(f"{named.get(str(one.get('role')), '?')}:\n{one.get('content', '')}" for one in said)


def answers_about(benchmark: Benchmark, about: str, instruction: str = "") -> dict[str, dict[str, list[str]]]:
    """The replies by instruction and model, the newest last, of all instructions or one; none where none was asked."""
    found: dict[str, dict[str, list[str]]] = {}
    rows = Response.objects.filter(
        instruction__benchmark__workspace=benchmark.workspace_id,
        instruction__benchmark__slug=f"{benchmark.slug}-{about}",
        kind=Response.Kind.RESPONSE,
        text__isnull=False,
        model__isnull=False,
    )
    if instruction:
        rows = rows.filter(instruction__external_id=instruction)
    for name, model, text in rows.order_by("pk").values_list("instruction__external_id", "model__name", "text"):
        found.setdefault(name, {}).setdefault(model, []).append(text or "")
    return found
