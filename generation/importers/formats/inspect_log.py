"""Reader of inspect_ai's evaluation logs, .eval and .json: samples, the model's outputs and their scores. PURE.

Each sample is read as inspect_ai's own package reads it, whose versions know the layouts of earlier ones; that package is
an extra, and is imported only here. The file itself is opened by us, so that what it unpacks to is bounded.

A scorer is a judge, and a score with several named values has a criterion for each. Scores that were written by
judging/formats/inspect_scores.py, whose metadata list each rater's values, are read as the answers of those raters.
"""

import json
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from core.tables import messages as of_tables
from core.tables.bad_rows import BadRow, Place
from core.tables.json_arrays import BrokenArray, member_at
from core.tables.reading import LONGEST_LINE, ElementPlace, Unpacked, text_pieces
from core.tables.rows import as_text
from generation.importers.formats import messages
from generation.importers.formats.format import PROPORTION, Format, Record
from generation.importers.formats.source import Source, rater_name, seconds_of, text_of
from generation.importers.records import InstructionRecord, RatingRecord, ResponseRecord

HEADERS = ("header.json", "_journal/start.json")
"""Where a .eval file says which model was evaluated: when it is complete, and before."""
SAMPLES, EPOCH = "samples/", "_epoch_"
NEEDED = (
    "id",
    "epoch",
    "input",
    "choices",
    "target",
    "output",
    "score",
    "scores",
    "metadata",
    "error",
    "invalidation",
    "attachments",
)
"""The fields of a sample that are read; its events and messages, which are most of a log, are not even decoded."""
LETTER_VALUES = {"C": "1", "P": "0.5", "I": "0", "N": "0"}
"""Correct, partly correct, incorrect and no answer, by the letters of inspect_ai's scorers."""
WORD_VALUES = {"yes": "1", "true": "1", "no": "0", "false": "0"}
PIECE = 4096
"""How many packed bytes are unpacked at once, so that a small file cannot fill the memory."""


def is_archive(path: Path) -> bool:
    """Whether the file is a .eval log, by what is in it."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.NameToInfo
            return any(name in names for name in HEADERS)
    except (OSError, ValueError, zipfile.BadZipFile):
        return False


def read_inspect_log(source: Source) -> Iterator[Record]:
    try:
        import inspect_ai.log as package
    except ImportError as error:
        raise Place(source.name, 0).bad(messages.NO_INSPECT(), messages.INSTALL_INSPECT()) from error
    if not zipfile.is_zipfile(source.path):
        about = _About(_header_of_json(source), source.options.model)
        yield from _records(source, package, about, source.objects(INSPECT_LOG.within))
        return
    with _opened(source) as archive:
        about = _About(_header_of_archive(source, archive), source.options.model)
        yield from _records(source, package, about, _archived(source, archive))


def _records(
    source: Source, package: Any, about: "_About", rows: Iterator[tuple[Place, dict[str, Any]]]
) -> Iterator[Record]:
    for place, row in rows:
        try:
            yield from _Sample(source, about, place, _parsed(package, place, row)).records()
        except BadRow as problem:
            source.on_bad(problem)


class _About:
    """What the log says of the whole evaluation: the model, and whether each sample ran more than once."""

    def __init__(self, spec: object, model: str) -> None:
        said = spec if isinstance(spec, dict) else {}
        config = said.get("config")
        epochs = config.get("epochs") if isinstance(config, dict) else None
        self.model = text_of(said.get("model")).strip() or model
        self.has_epochs = isinstance(epochs, int) and epochs > 1


def _header_of_json(source: Source) -> object:
    try:
        return member_at(text_pieces(source.path, source.name), ("eval",), LONGEST_LINE)
    except BrokenArray as error:
        raise Place(source.name, error.line).bad(error.reason, of_tables.COPY_WHOLE()) from error


def _opened(source: Source) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(source.path)
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise Place(source.name, 0).bad(messages.DAMAGED_ARCHIVE(), of_tables.COPY_WHOLE()) from error


def _header_of_archive(source: Source, archive: zipfile.ZipFile) -> object:
    name = next((name for name in HEADERS if name in archive.NameToInfo), HEADERS[0])
    return _object(archive, name, Place(source.name, 0), Unpacked(source.path, source.name)).get("eval")


def _archived(source: Source, archive: zipfile.ZipFile) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Yield the samples of a .eval file, those of the first epoch first. Raises BadRow if it unpacks to too much."""
    unpacked = Unpacked(source.path, source.name)
    names = [name for name in archive.namelist() if name.startswith(SAMPLES) and name.endswith(".json")]
    if not names:
        raise Place(source.name, 0).bad(messages.NO_SAMPLES(), messages.CONVERT_LOG())
    for number, name in enumerate(sorted(names, key=_epoch_in), start=1):
        place = ElementPlace(source.name, 0, number)
        try:
            row = _object(archive, name, place, unpacked)
        except BadRow as problem:
            if unpacked.left < 0:
                raise
            source.on_bad(problem)
            continue
        yield place, row


def _epoch_in(name: str) -> int:
    epoch = name.removesuffix(".json").rpartition(EPOCH)[2]
    return int(epoch) if epoch.isdecimal() and len(epoch) < 9 else 0


def _object(archive: zipfile.ZipFile, name: str, place: Place, unpacked: Unpacked) -> dict[str, Any]:
    """Return the JSON object of a member. Raises BadRow, also for one that unpacks to more than LONGEST_LINE bytes."""
    pieces, size = [], 0
    try:
        with cast(zipfile.ZipExtFile, archive.open(name)) as member:
            while piece := member.read1(PIECE):
                size += len(piece)
                unpacked.take(len(piece))
                if size > LONGEST_LINE:
                    most = LONGEST_LINE // 1024 // 1024
                    raise place.bad(messages.LONG_SAMPLE(most=most), messages.LEAVE_SAMPLE())
                pieces.append(piece)
        value = json.loads(b"".join(pieces))
    except BadRow:
        raise
    except Exception as error:  # each way of packing raises errors of its own for damaged bytes
        raise place.bad(messages.DAMAGED_MEMBER(name=name), of_tables.COPY_WHOLE()) from error
    if not isinstance(value, dict):
        raise place.bad(messages.DAMAGED_MEMBER(name=name), of_tables.COPY_WHOLE())
    return value


def _parsed(package: Any, place: Place, row: Mapping[str, Any]) -> Any:
    """Return the sample as inspect_ai understands it. Raises BadRow."""
    try:
        sample = package.EvalSample.model_validate({key: row[key] for key in NEEDED if key in row})
        return package.resolve_sample_attachments(sample, "core") if sample.attachments else sample
    except (ValueError, TypeError, AttributeError, LookupError, RecursionError) as error:
        raise place.bad(messages.NO_SAMPLE(), messages.UPDATE_INSPECT()) from error


class _Sample:
    """A sample of a log and the records that come of it."""

    def __init__(self, source: Source, about: _About, place: Place, sample: Any) -> None:
        self.source, self.place, self.sample = source, place, sample
        self.name = as_text(sample.id).strip()
        self.item = f"{self.name} epoch {sample.epoch}" if about.has_epochs else self.name
        self.model = about.model or text_of(sample.output.model).strip() or "model"
        described = source.described(sample.metadata, ("category",))
        self.category = described["category"]
        source.note_unknown(sample.metadata, source.used, "metadata.")

    def records(self) -> Iterator[Record]:
        sample = self.sample
        if not self.name:
            raise self.place.bad(messages.NO_FIELD(field="id"), messages.FILL_FIELD())
        if sample.error is not None or sample.invalidation is not None:
            why = as_text(sample.error.message)[:200] if sample.error is not None else "invalidated"
            raise self.place.bad(messages.FAILED_SAMPLE(name=self.name, why=why), messages.RUN_AGAIN())
        output = sample.output
        usage = output.usage
        yield ResponseRecord(
            self.place,
            self._asked(),
            self.model,
            text_of(output.completion) if output.choices else None,
            finish_reason=text_of(output.choices[0].stop_reason) if output.choices else "",
            input_tokens=usage.input_tokens if usage else None,
            tokens=usage.output_tokens if usage else None,
            seconds=seconds_of(output.time),
            item=self.item,
        )
        for scorer, score in (sample.scores or {}).items():
            yield from self._score(as_text(scorer), score)

    def _asked(self) -> InstructionRecord:
        given = self.sample.input
        turns = [("user", given)] if isinstance(given, str) else [(turn.role, turn.text) for turn in given]
        last = max((at for at, (role, _text) in enumerate(turns) if role == "user"), default=len(turns) - 1)
        history, text = turns[:last], turns[last][1] if turns else None
        if len(turns) > last + 1:
            self.source.note("input after the last question")
        if text is not None and self.sample.choices:
            text += "\n\n" + "\n".join(
                f"{chr(ord('A') + at)}) {choice}" for at, choice in enumerate(self.sample.choices)
            )
        target = self.sample.target
        return InstructionRecord(
            self.place,
            self.name,
            text_of(text) if text is not None else None,
            self.category,
            reference="\n".join(map(text_of, target)) if isinstance(target, list) else text_of(target),
            history=tuple((role, text_of(content)) for role, content in history),
        )

    def _score(self, scorer: str, score: Any) -> Iterator[RatingRecord]:
        answers = (score.metadata or {}).get("answers")
        if isinstance(answers, list) and answers and all(_is_answer(answer) for answer in answers):
            for answer in answers:
                for criterion, value in answer["values"].items():
                    yield self._rating(rater_name(answer["rater"], scorer), criterion, value, stated=answer["kind"])
            return
        reason = as_text(score.explanation or "")
        values = score.value if isinstance(score.value, dict) else {scorer: score.value}
        if score.answer:
            self.source.note(f"scores.{scorer}.answer")
        for criterion, value in values.items():
            if isinstance(value, list | dict):
                self.source.note(f"scores.{scorer}.value")
            else:
                yield self._rating(scorer, criterion, value, reason=reason)

    def _rating(
        self, rater: str, criterion: object, value: object, *, reason: str = "", stated: object = None
    ) -> RatingRecord:
        return RatingRecord(
            self.place,
            self.item,
            rater,
            self.source.is_judge(rater, True, stated),
            as_text(criterion)[:90],
            _value(value),
            instruction=self.name,
            model=self.model,
            category=self.category,
            reason=reason,
            is_key=stated == "key",
        )


def _is_answer(value: object) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("values"), dict)
        and isinstance(value.get("rater"), str)
        and isinstance(value.get("kind"), str)
        and not any(isinstance(one, list | dict) for one in value["values"].values())
    )


def _value(value: object) -> str:
    """Return a score as a number where inspect_ai reads it as one, else as a label; '' for NaN, its sign of no score."""
    if value is None:
        return ""
    text = text_of(value)
    return LETTER_VALUES.get(text) or WORD_VALUES.get(text.lower()) or text


INSPECT_LOG = Format(
    "inspect-log",
    "inspect_ai log",
    read_inspect_log,
    (frozenset({"id", "epoch", "input", "target"}),),
    within=("samples",),
    scales=PROPORTION,
    is_archive=is_archive,
)
