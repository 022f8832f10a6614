"""How often each model's responses go wrong, in which way, with the passages that show it."""

import json
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from django.conf import settings

from core.errors import UserError
from generation.library.text_statistics import TEXTS_AT_ONCE, responses_of
from generation.llm.protocol.wrapping import words_asked
from generation.models import MAIN_EXPERIMENT, Benchmark, Response
from generation.text_metrics.error_modes import LENGTH, MODES, RULES, ErrorRules, errors_in, rules_from

FILE_NAME = "error_modes.json"
PASSAGES_OF_EACH = 5
"""Passages that are shown of each model and mode; the command prints all of them."""


@dataclass(frozen=True)
class Passage:
    """A response in which an error was found, by public id and instruction; `number` as in ErrorFound."""

    response: str
    instruction: str
    model: str
    mode: str
    passage: str
    number: float


@dataclass(frozen=True)
class ModelErrors:
    """One model's errors: how many of the `read` responses have each mode, and of those with a length, `asked`.

    `length_error` is the mean absolute distance in words from the requested length of those; None without any.
    """

    model: str
    read: int
    asked: int
    counts: Mapping[str, int]
    length_error: float | None
    passages: Sequence[Passage]


def first_passages(row: ModelErrors) -> list[Passage]:
    """Return at most PASSAGES_OF_EACH passages of each mode."""
    return [one for mode in MODES for one in [own for own in row.passages if own.mode == mode][:PASSAGES_OF_EACH]]


def rules_file() -> Path:
    """Return where an installation's own rules stand, if it has any."""
    return Path(settings.DATA_DIR) / FILE_NAME


def installed_rules(path: Path | None = None) -> ErrorRules:
    """Return the rules of a file, by default this installation's, or the usual ones where there is none.

    Raises UserError.
    """
    file = path or rules_file()
    if path is None and not file.exists():
        return RULES
    try:
        given = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(
            f"{file} cannot be read as JSON: {error}; mend it, or remove it for the usual rules."
        ) from error
    if not isinstance(given, dict):
        raise UserError(f"{file} must hold one JSON object; remove it for the usual rules.")
    return rules_from(given, place=str(file))


def error_modes(
    benchmark: Benchmark,
    *,
    experiment: str = MAIN_EXPERIMENT,
    each: int | None = None,
    seed: int = 0,
    rules: ErrorRules = RULES,
) -> list[ModelErrors]:
    """Return a row for each model by name, of at most `each` drawn responses; the same ones as for text statistics."""
    rows: dict[str, list[int]] = defaultdict(list)
    for pk, model in responses_of(benchmark, experiment).values_list("pk", "model__name").order_by("model__name", "pk"):
        rows[model].append(pk)
    return [_model_errors(model, _drawn(model, pks, each, seed), experiment, rules) for model, pks in rows.items()]


def _drawn(model: str, pks: list[int], each: int | None, seed: int) -> list[int]:
    if each is None or len(pks) <= each:
        return pks
    return sorted(random.Random(f"{seed} {model}").sample(pks, each))


def _model_errors(model: str, pks: Sequence[int], experiment: str, rules: ErrorRules) -> ModelErrors:
    counts = dict.fromkeys(MODES, 0)
    passages, distances = [], []
    for start in range(0, len(pks), TEXTS_AT_ONCE):
        found = Response.objects.filter(pk__in=pks[start : start + TEXTS_AT_ONCE]).order_by("pk")
        for public_id, name, text, words, own in found.values_list(
            "public_id", "instruction__external_id", "text", "words", "instruction__words_asked"
        ):
            asked = words_asked(experiment, own)
            if asked is not None and words is not None:
                distances.append(abs(words - asked))
            for error in errors_in(text or "", rules, words=words, asked=asked):
                counts[error.mode] += 1
                passages.append(Passage(public_id, name, model, error.mode, error.passage, error.number))
    length_error = fmean(distances) if distances else None
    return ModelErrors(model, len(pks), len(distances), counts, length_error, passages)


def base_of(row: ModelErrors, mode: str) -> int:
    """Return of how many responses a mode was counted."""
    return row.asked if mode == LENGTH else row.read
