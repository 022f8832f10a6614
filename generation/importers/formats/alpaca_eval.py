"""Readers of alpaca_eval's outputs and annotations, which name an instruction by its text alone. PURE.

A preference lies between 1, for output_1, and 2, for output_2; 1.5 is a tie. A weighted annotator gives numbers between
these, of which the nearer side is kept.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from core.tables.bad_rows import BadRow, Place
from generation.importers.formats import messages
from generation.importers.formats.format import RESPONSES, Format, Record
from generation.importers.formats.pairs import Described, instruction_named, responses_of
from generation.importers.formats.source import Source, rater_name, required, seconds_of, text_of
from generation.importers.records import InstructionRecord, PreferenceRecord, ResponseRecord

OUTPUT = {"instruction", "input", "output", "generator", "dataset", "datasplit", "instruction_id", "model"}
ANNOTATION = {
    "instruction", "input", "output_1", "output_2", "generator_1", "generator_2", "dataset", "datasplit", "annotator",
    "preference", "instruction_id", "rater_kind", "reason", "time_per_example", "price_per_example", "raw_completion",
    "annotation", "is_inverse_label", "is_switch_output_1_output_2", "random_seed", "date", "version",
}  # fmt: skip
TIES = (0.0, 1.5)
"""What a tie is written as; older files have 0."""
LOWEST, HIGHEST = 1.0, 2.0


def _prompt(row: Mapping[str, Any], place: Place) -> str:
    instruction = required(place, row, "instruction")
    extra = text_of(row.get("input")).strip()
    return f"{instruction}\n\n{extra}" if extra else instruction


def read_alpaca_outputs(source: Source) -> Iterator[Record]:
    for place, row in source.objects():
        try:
            source.note_unknown(row, OUTPUT)
            prompt = _prompt(row, place)
            model = text_of(row.get("generator") or row.get("model")) or source.options.model
            if not model:
                raise place.bad(messages.NO_FIELD(field="generator"), messages.FILL_FIELD())
            asked = InstructionRecord(
                place, instruction_named(prompt, row.get("instruction_id")), prompt, text_of(row.get("dataset"))
            )
            yield ResponseRecord(place, asked, model, text_of(row.get("output")))
        except BadRow as problem:
            source.on_bad(problem)


def read_alpaca_annotations(source: Source) -> Iterator[Record]:
    for place, row in source.objects():
        try:
            source.note_unknown(row, ANNOTATION)
            yield from _annotation(source, place, row)
        except BadRow as problem:
            source.on_bad(problem)


def _annotation(source: Source, place: Place, row: Mapping[str, Any]) -> list[Record]:
    prompt = _prompt(row, place)
    about = Described(
        instruction_named(prompt, row.get("instruction_id")),
        category=text_of(row.get("dataset")),
        prompt=prompt,
        model_a=required(place, row, "generator_1").strip(),
        response_a=text_of(row.get("output_1")),
        model_b=required(place, row, "generator_2").strip(),
        response_b=text_of(row.get("output_2")),
    )
    if about.model_a == about.model_b:
        raise place.bad(messages.NO_MODELS(model=repr(about.model_a)), messages.FILL_FIELD())
    rater = rater_name(row.get("annotator"), "annotator")
    stated = row.get("rater_kind")
    is_judge = source.is_judge(rater, not isinstance(row.get("annotator"), int), stated)
    answer = PreferenceRecord(
        place,
        about.item,
        about.model_a,
        about.model_b,
        rater,
        is_judge,
        _choice(place, row.get("preference")),
        category=about.category,
        seconds=seconds_of(row.get("time_per_example")),
        reason=text_of(row.get("reason")),
        is_key=stated == "key",
    )
    return [*responses_of(place, about), answer]


def _choice(place: Place, value: object) -> str:
    """Return the choice; '' where the annotator gave none. Raises BadRow."""
    if value is None or value != value:
        return ""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise place.bad(
            messages.FIELD_IS(field="preference", value=repr(text_of(value)[:30])), messages.WRITE_AS(what="1, 1.5, 2")
        )
    if value in TIES:
        return "tie"
    if not LOWEST <= value <= HIGHEST:
        raise place.bad(messages.FIELD_IS(field="preference", value=f"{value:g}"), messages.WRITE_AS(what="1, 1.5, 2"))
    return "A" if value < TIES[1] else "B"


ALPACA_OUTPUTS = Format(
    "alpaca-eval-outputs",
    "alpaca_eval outputs",
    read_alpaca_outputs,
    (frozenset({"instruction", "output", "generator"}),),
    holds=RESPONSES,
)
ALPACA_ANNOTATIONS = Format(
    "alpaca-eval",
    "alpaca_eval annotations",
    read_alpaca_annotations,
    (frozenset({"instruction", "output_1", "output_2", "preference"}),),
)
