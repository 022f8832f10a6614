"""What can be counted in a benchmark's responses, model by model: length, repetition, overlap with human responses.

Lengths rest on every response; what has to be read rests on a drawn number of each model's, the same for every model.
"""

import math
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, stdev
from typing import Any

from django.db.models import QuerySet

from generation.llm.protocol.wrapping import words_asked
from generation.models import MAIN_EXPERIMENT, Benchmark, GenerationRun, Response
from generation.text_metrics.counts import NoWords, distinct_4, repetition_4
from generation.text_metrics.overlap import bleu, mean_absolute_length_error, meteor, rouge_l

NORMAL_95 = 1.959964
TEXTS_AT_ONCE = 50


@dataclass(frozen=True)
class Mean:
    """Of `n` responses, with a normal 95 % interval over them; its ends are None where n is 1."""

    value: float
    n: int
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class ModelTexts:
    """One model's responses. None where nothing could be measured: no length asked, no human response, no words.

    `words` and `length_error` (in words) are over all `responses`, the others over the drawn ones: `repetition` (share
    of distinct 4-grams that recur), `distinct` (distinct 4-grams over tokens), `bleu` of all together, the others'
    means; all but lengths lie in 0..1.
    """

    model: str
    responses: int
    words: Mean | None
    length_error: Mean | None
    repetition: Mean | None
    distinct: float | None
    bleu: float | None
    rouge_l: Mean | None
    meteor: Mean | None


def text_statistics(
    benchmark: Benchmark, *, experiment: str = MAIN_EXPERIMENT, each: int | None = None, seed: int = 0
) -> list[ModelTexts]:
    """A row for each model by name; texts of at most `each` responses of a model are read, of all where it is None."""
    rows: dict[str, list[tuple[int, int | None, int | None]]] = defaultdict(list)
    found = responses_of(benchmark, experiment)
    for pk, model, words, wanted in found.values_list(
        "pk", "model__name", "words", "instruction__words_asked"
    ).order_by("model__name", "pk"):
        rows[model].append((pk, words, words_asked(experiment, wanted)))
    return [_model_texts(model, own, each, seed) for model, own in rows.items()]


def responses_of(benchmark: Benchmark, experiment: str) -> QuerySet[Response]:
    """The models' responses with a text; those of no run belong to the main experiment."""
    found = Response.objects.filter(
        instruction__benchmark=benchmark, kind=Response.Kind.RESPONSE, model__isnull=False, text__isnull=False
    )
    if experiment != MAIN_EXPERIMENT:
        return found.filter(run__experiment=experiment)
    others = GenerationRun.objects.filter(benchmark=benchmark).exclude(experiment=MAIN_EXPERIMENT)
    return found.exclude(run__in=others)


def experiments_with_texts(benchmark: Benchmark) -> list[str]:
    """The main one first, then those that have responses."""
    runs = GenerationRun.objects.filter(benchmark=benchmark, responses__isnull=False).order_by()
    others = set(runs.values_list("experiment", flat=True).distinct()) - {MAIN_EXPERIMENT}
    return [MAIN_EXPERIMENT, *sorted(others)]


def _model_texts(
    model: str, rows: Sequence[tuple[int, int | None, int | None]], each: int | None, seed: int
) -> ModelTexts:
    pks = [pk for pk, _words, _asked in rows]
    if each is not None and len(pks) > each:
        pks = sorted(random.Random(f"{seed} {model}").sample(pks, each))
    counted = [words for _pk, words, _asked in rows if words is not None]
    asked = [(words, wanted) for _pk, words, wanted in rows if words is not None and wanted is not None]
    texts, pairs = _texts(pks)
    overlaps = [(rouge_l(text, reference).f1, meteor(text, reference).score) for text, reference in pairs]
    return ModelTexts(
        model=model,
        responses=len(rows),
        words=_mean(counted),
        length_error=_mean([mean_absolute_length_error([one], [other]) for one, other in asked]),
        repetition=_mean(_measured(repetition_4, texts)),
        distinct=next(iter(_measured(distinct_4, [texts])), None),
        bleu=bleu([text for text, _ in pairs], [[other] for _, other in pairs]) if pairs else None,
        rouge_l=_mean([one for one, _other in overlaps]),
        meteor=_mean([other for _one, other in overlaps]),
    )


def _texts(pks: Sequence[int]) -> tuple[list[str], list[tuple[str, str]]]:
    """The texts, and those among them that a human response stands beside, with it."""
    texts: list[str] = []
    pairs: list[tuple[str, str]] = []
    for start in range(0, len(pks), TEXTS_AT_ONCE):
        rows = Response.objects.filter(pk__in=pks[start : start + TEXTS_AT_ONCE]).order_by("pk")
        for text, reference in rows.values_list("text", "instruction__reference"):
            texts.append(text or "")
            if reference:
                pairs.append((text or "", reference))
    return texts, pairs


def _measured(measure: Callable[[Any], float], texts: Iterable[Any]) -> list[float]:
    """Of those texts that have enough words."""
    found = []
    for text in texts:
        try:
            found.append(measure(text))
        except NoWords:
            continue
    return found


def _mean(values: Sequence[float]) -> Mean | None:
    if not values:
        return None
    value, n = fmean(values), len(values)
    if n == 1:
        return Mean(value, n)
    half = NORMAL_95 * stdev(values) / math.sqrt(n)
    return Mean(value, n, value - half, value + half)


def as_plain(rows: Sequence[ModelTexts]) -> list[dict[str, Any]]:
    return [asdict(row) for row in rows]
