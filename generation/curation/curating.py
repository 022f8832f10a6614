"""Which instructions of a benchmark pass its rules, why the others go, and the tag that those which pass get."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from django.db import transaction

from accounts.models import Event, User
from core.errors import UserError
from core.messages.message import Wording
from core.text import storable
from generation.curation.questions import answers_about, ask_about
from generation.curation.reviews import decisions_of
from generation.curation.rules.difficulty import QUESTIONS, rating_in
from generation.curation.rules.filters import CurationRules, InstructionFacts, Leaving, Reason, curated
from generation.importers.instructions import LONGEST_KEY
from generation.library.loading import batches
from generation.models import Benchmark, Instruction
from generation.text_metrics.counts import word_count

DEFAULT_TAG = "curated"
DIFFICULTY = "difficulty"
"""What stands behind the name of the benchmark whose questions ask models for the difficulty."""
ROWS_AT_ONCE = 500
MARKS = ",，;；"
"""What stands between tags where they are written in one line."""

BAD_TAG = Wording("curation.bad_tag", "The tag %(tag)s must have 1 to %(most)s characters and no comma or semicolon.")


@dataclass(frozen=True, slots=True)
class CuratedInstruction:
    """An instruction by primary key, what the rules saw of it, and why it goes; None where it stays."""

    pk: int
    public_id: str
    facts: InstructionFacts
    leaving: Leaving | None


@dataclass(frozen=True)
class Curation:
    """All instructions of a benchmark in the order in which they were loaded, under these rules."""

    benchmark: Benchmark
    rules: CurationRules
    rows: Sequence[CuratedInstruction]

    @property
    def staying(self) -> list[CuratedInstruction]:
        return [row for row in self.rows if row.leaving is None]

    @property
    def leaving(self) -> list[CuratedInstruction]:
        return [row for row in self.rows if row.leaving is not None]

    @property
    def by_reason(self) -> dict[Reason, int]:
        """How many go for each reason, in the order of the reasons; those without any are left out."""
        counts = Counter(row.leaving.reason for row in self.rows if row.leaving is not None)
        return {reason: counts[reason] for reason in Reason if counts[reason]}

    @property
    def unstated(self) -> dict[str, int]:
        """How many instructions say nothing of their language, their user and their difficulty, so that no rule applies."""
        facts = [row.facts for row in self.rows]
        return {
            "language": sum(not one.language for one in facts),
            "user": sum(not one.user for one in facts),
            "difficulty": sum(not one.ratings for one in facts),
        }

    def as_json(self) -> dict[str, Any]:
        return {
            "benchmark": self.benchmark.slug,
            "rules": asdict(self.rules),
            "instructions": len(self.rows),
            "kept": len(self.staying),
            "reasons": {reason.value: count for reason, count in self.by_reason.items()},
            "unstated": self.unstated,
            "leaving": [
                {"instruction": row.facts.name, **asdict(row.leaving), "reason": row.leaving.reason.value}
                for row in self.rows
                if row.leaving is not None
            ],
        }


@dataclass(frozen=True)
class Tagged:
    """How many instructions have the tag now, and how many were given it and lost it."""

    kept: int
    added: int
    removed: int


def curation_of(
    benchmark: Benchmark, rules: CurationRules, *, step: Callable[[int], None] = lambda _done: None
) -> Curation:
    """Return what the rules say of each instruction; the same whenever the data are. Writes nothing.

    `step` is called with the number of instructions seen since its last call.
    """
    known = list(_facts(benchmark))
    reasons = curated([facts for _pk, _public_id, facts in known], rules, step=step)
    rows = [
        CuratedInstruction(pk, public_id, facts, leaving)
        for (pk, public_id, facts), leaving in zip(known, reasons, strict=True)
    ]
    return Curation(benchmark, rules, rows)


def _facts(benchmark: Benchmark) -> Iterator[tuple[int, str, InstructionFacts]]:
    rated = _rated_by_models(benchmark)
    decisions = decisions_of(benchmark)
    rows = benchmark.instructions.order_by("pk").values_list(
        "pk", "public_id", "external_id", "messages", "language", "tags", "asked_by", "difficulty"
    )
    for pk, public_id, name, messages, language, tags, user, difficulty in rows.iterator(chunk_size=ROWS_AT_ONCE):
        said = [str(one.get("content", "")) for one in messages or [] if one.get("role") == "user"]
        text = "\n".join(said)
        decision = decisions.get(public_id)
        yield (
            pk,
            public_id,
            InstructionFacts(
                name=name,
                text=text,
                words=word_count(text),
                turns=len(said),
                language=language,
                tags=frozenset(map(str, tags or ())),
                user=user,
                ratings=(*(difficulty or ()), *rated.get(name, ())),
                decision=decision.keep if decision else None,
                remark=decision.reason if decision else "",
            ),
        )


def _rated_by_models(benchmark: Benchmark) -> dict[str, list[int]]:
    """Each model's rating of each instruction: the newest of its replies that states one."""
    found: dict[str, list[int]] = {}
    for name, replies in answers_about(benchmark, DIFFICULTY).items():
        for _model, texts in sorted(replies.items()):
            rating = next((one for text in reversed(texts) if (one := rating_in(text)) is not None), None)
            if rating is not None:
                found.setdefault(name, []).append(rating)
    return found


def ask_difficulty(benchmark: Benchmark, *, by: User | None = None) -> Benchmark:
    """Make or complete the benchmark that asks models how difficult each instruction is. Raises UserError."""
    names = {"en": f"{benchmark.slug}: difficulty", "zh-hans": f"{benchmark.slug}：难度"}
    return ask_about(benchmark, DIFFICULTY, QUESTIONS, names=names, by=by)


def checked_tag(tag: str) -> str:
    """The tag without white space around it. Raises UserError."""
    tag = storable(tag).strip()
    if not 1 <= len(tag) <= LONGEST_KEY or any(mark in tag for mark in MARKS):
        raise UserError(BAD_TAG(tag=repr(tag[:40]), most=LONGEST_KEY))
    return tag


def apply_curation(curation: Curation, tag: str, *, by: User | None = None) -> Tagged:
    """Give the tag to the instructions that stay and take it from the others, all or none of it, and log it.

    Raises UserError.
    """
    tag = checked_tag(tag)
    staying = {row.pk for row in curation.rows if row.leaving is None}
    added = removed = 0
    with transaction.atomic():
        for pks in batches((row.pk for row in curation.rows), ROWS_AT_ONCE):
            changed = []
            for one in Instruction.objects.select_for_update().filter(pk__in=pks).only("pk", "tags").order_by("pk"):
                tags = list(one.tags or ())
                if (one.pk in staying) == (tag in tags):
                    continue
                one.tags = [*tags, tag] if one.pk in staying else [other for other in tags if other != tag]
                added += one.pk in staying
                removed += one.pk not in staying
                changed.append(one)
            Instruction.objects.bulk_update(changed, ["tags"])
        said = curation.as_json()
        Event.objects.create(
            workspace_id=curation.benchmark.workspace_id,
            actor=by,
            verb="instructions curated",
            object_type="generation.Benchmark",
            object_id=str(curation.benchmark.pk),
            after={
                "tag": tag,
                **{name: said[name] for name in ("benchmark", "rules", "instructions", "kept", "reasons")},
                "added": added,
                "removed": removed,
            },
        )
    return Tagged(len(staying), added, removed)
