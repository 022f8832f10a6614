"""What raters answered in a study's questionnaires: as lines of a table, and counted by question."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from annotation.models import QuestionnaireAnswer, Study
from annotation.questionnaires.asking import questions_of
from annotation.questionnaires.questions import CHOICE, CHOICES, FREE_TEXT, NUMBER, SCALE, AskedQuestion, plain_number
from core.messages.localized import localized

LINE_COLUMNS = ("rater", "cohort", "moment", "version", "question", "wording", "kind", "value", "answer", "answered_at")


@dataclass(frozen=True)
class AnswerLine:
    """One answer of one rater, or one chosen option of several, in the wording of the version that the rater was given.

    `value` is the option's key or the number; `answer` is what the rater read or wrote. Raters have pseudonyms.
    """

    rater: str
    cohort: str
    moment: str
    version: int
    question: str
    wording: str
    kind: str
    value: str
    answer: str
    answered_at: str

    @property
    def cells(self) -> tuple[str | int, ...]:
        return tuple(getattr(self, name) for name in LINE_COLUMNS)


@dataclass(frozen=True)
class QuestionResult:
    """The answers to one question, of all versions in which its wording and scale were the same.

    `asked` raters had it before them and `answered` of them answered. `counts` has how many chose each option or point, in
    order; options of "choices" can add up to more than `answered`. `middle`, `least` and `most` are the median and the ends
    of scales and numbers; `texts` are (pseudonym, text).
    """

    moment: str
    versions: tuple[int, ...]
    question: AskedQuestion
    asked: int
    answered: int
    counts: tuple[tuple[str, int], ...] = ()
    middle: float | None = None
    least: float | None = None
    most: float | None = None
    texts: tuple[tuple[str, str], ...] = ()


def _given(study: Study) -> Iterator[QuestionnaireAnswer]:
    found = QuestionnaireAnswer.objects.filter(questionnaire__study=study)
    yield from found.select_related("questionnaire", "rater__cohort").order_by("-moment", "pk").iterator(500)


def answer_lines(study: Study, *, texts: bool = True) -> Iterator[AnswerLine]:
    """Yield the lines rater by rater; without `texts`, what raters wrote in own words is left out."""
    read: dict[int, tuple[AskedQuestion, ...]] = {}
    for one in _given(study):
        version = one.questionnaire
        for question in read.setdefault(version.pk, questions_of(version)):
            if question.key not in one.answers or (question.kind in FREE_TEXT and not texts):
                continue
            for value, answer in _in_words(question, one.answers[question.key], one.language):
                yield AnswerLine(
                    rater=one.rater.name,
                    cohort=one.rater.cohort.name if one.rater.cohort else "",
                    moment=one.moment,
                    version=version.version,
                    question=question.key,
                    wording=localized(question.texts, one.language),
                    kind=question.kind,
                    value=value,
                    answer=answer,
                    answered_at=one.created_at.isoformat(timespec="seconds"),
                )


def _in_words(question: AskedQuestion, answer: Any, language: str) -> list[tuple[str, str]]:
    """(value, answer) of each line of an answer."""
    if question.kind in (CHOICE, CHOICES):
        names = {option.key: localized(option.texts, language) for option in question.options}
        return [(str(key), names.get(key) or str(key)) for key in (answer if isinstance(answer, list) else [answer])]
    if question.kind in FREE_TEXT:
        return [("", str(answer))]
    return [(plain_number(answer),) * 2]


def results_of(study: Study) -> list[QuestionResult]:
    """The answers by question, those before the work first, each in the order in which it was asked."""
    groups: dict[str, tuple[AskedQuestion, set[int], list[tuple[str, Any]]]] = {}
    moments: dict[str, str] = {}
    read: dict[int, tuple[AskedQuestion, ...]] = {}
    for one in _given(study):
        for question in read.setdefault(one.questionnaire_id, questions_of(one.questionnaire)):
            name = f"{one.moment}:{_identity(question)}"
            moments[name] = one.moment
            _question, versions, given = groups.setdefault(name, (question, set(), []))
            versions.add(one.questionnaire.version)
            given.append((one.rater.name, one.answers.get(question.key)))
    return [_result(moments[name], *group) for name, group in groups.items()]


def _identity(question: AskedQuestion) -> str:
    """What must be equal for answers to be counted together: all but whether an answer was required."""
    return repr(sorted((name, repr(value)) for name, value in question.as_json().items() if name != "required"))


def _result(moment: str, question: AskedQuestion, versions: set[int], given: list[tuple[str, Any]]) -> QuestionResult:
    answers = [(rater, answer) for rater, answer in given if answer is not None]
    shared: dict[str, Any] = {
        "moment": moment,
        "versions": tuple(sorted(versions)),
        "question": question,
        "asked": len(given),
        "answered": len(answers),
    }
    if question.kind in FREE_TEXT:
        return QuestionResult(**shared, texts=tuple((rater, str(answer)) for rater, answer in answers))
    if question.kind in (CHOICE, CHOICES):
        chosen = Counter(key for _rater, one in answers for key in (one if isinstance(one, list) else [one]))
        names: Mapping[str, str] = {option.key: localized(option.texts) for option in question.options}
        return QuestionResult(**shared, counts=tuple((name, chosen[key]) for key, name in names.items()))
    numbers = [float(answer) for _rater, answer in answers]
    counts: tuple[tuple[str, int], ...] = ()
    if question.kind == SCALE:
        points = Counter(numbers)
        counts = tuple((str(step), points[float(step)]) for step in question.steps)
    assert question.kind in (SCALE, NUMBER)
    if not numbers:
        return QuestionResult(**shared, counts=counts)
    return QuestionResult(**shared, counts=counts, middle=median(numbers), least=min(numbers), most=max(numbers))
