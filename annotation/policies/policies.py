"""What a lead chose for a study: the only code that reads or writes the column `policies`, a JSON object.

A stored value that makes no sense is read as its default and named in `Policies.problems`, so that reading never
fails; `Policies.checked` refuses it.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any, Self

from django.db import transaction
from django.utils.dateparse import parse_datetime

from annotation.models import Study, Task
from annotation.policies.stopping import BAD_STOPPING, StoppingRule
from annotation.rules.reading_time import FASTEST_WORDS_A_MINUTE
from core.db.created_rows import note_changed
from core.errors import UserError
from core.messages.message import Wording, from_json

PROBE, GOLD, CONTROL = "probe", "gold", "control"
RATES = {PROBE: 0.02, GOLD: 0.05, CONTROL: 0.05}
HIGHEST_RATE = Fraction(1, 4)
MOST_OVERLAP, WIDEST_GAP, MOST_TIMES = 1000, 100_000, 20
SLOWEST_LIMIT = 300
"""Most adults read up to 300 words a minute (reading_time.py); a lower limit would take honest reading for haste."""
ORDERS = ("random", "spread", "finish")
HIGHEST_MINIMUM = {"answers": 1_000_000, "checks": 100, "minutes": 10_000}
_READ = "_read_policies"
"""The attribute under which a study keeps what was read of it."""
NO_REFUSAL: dict[str, None] = {"refused": None, "refused_json": None}
"""Removes the message of a launch that failed."""
NOT_CHOSEN = ("launching", *NO_REFUSAL, "scanned_at")
"""Policies that the product sets and no lead chooses."""

FOR_RATERS = (
    *("order", "hints", "consent", "payment", "one_key", "reading_pace", "show_hours"),
    *("mask_self_naming", "keep_self_naming"),
)
"""Policies of what raters see and are told."""

NO_SHARE = Wording("study.no_share", "Study %(study)s: %(name)s %(value)s is not a share from 0 to %(most)s.")
NOT_WHOLE = Wording(
    "study.not_whole", "Study %(study)s: %(name)s %(value)s is not a whole number from %(low)s to %(high)s."
)
BAD_PACE = Wording(
    "study.bad_pace",
    "Study %(study)s: reading_pace %(value)s needs whole numbers, words 0 or from 300, told and paused from 1.",
)
BAD_CHECKS = Wording(
    "study.bad_checks", "Study %(study)s: checks %(value)s needs whole numbers, failed from 1 to window."
)
BAD_QUALIFICATION = Wording(
    "study.bad_qualification", "Study %(study)s: qualification %(value)s needs whole numbers, pass from 1 to of."
)
BAD_ORDER = Wording("study.bad_order", "Study %(study)s: order %(order)s is not one of %(known)s.")


class BadPolicy(UserError):
    """A study's policy is invalid; the message names it."""


@dataclass(frozen=True)
class CheckPlan:
    """The quality-check schedule of a study.

    `rates` are shares of all tasks of a rater; the same task comes back after at least `gap` others, at most `times`
    times.
    """

    rates: dict[str, Fraction]
    gap: int = 10
    times: int = 1


@dataclass(frozen=True)
class PausingRule:
    """A rater who fails `failed` of the latest `window` checks is paused."""

    window: int = 10
    failed: int = 3


@dataclass(frozen=True)
class PaceRule:
    """Consecutive answers faster than `words` per minute before a rater is warned, and further ones before a pause.

    With 0 words, nobody is warned.
    """

    words: int = FASTEST_WORDS_A_MINUTE
    told: int = 5
    paused: int = 5


@dataclass(frozen=True)
class Qualification:
    """A rater must answer `needed` of the first `of` tasks correctly."""

    of: int = 10
    needed: int = 9


@dataclass(frozen=True)
class Minimum:
    """The minimum for a complete participation; None where it sets none. `checks` in percent."""

    answers: int | None = None
    checks: int | None = None
    minutes: int | None = None


@dataclass(frozen=True)
class Expectation:
    """What the lead expects of the study, for the plan beside the form."""

    raters: int | None = None
    hourly_pay: Decimal | None = None
    currency: str = ""


@dataclass(frozen=True)
class Policies:
    """The policies of a study, with the defaults of those that it does not state.

    `hints` is "hidden", "shown" or "split"; texts are by language; `dropped` holds keys of tasks; `clusters` is
    "items" for an imported table without instructions. `show_hours`: raters see their hours and pay while they rate;
    `one_key`: the answer to a screen with one question is sent when it is chosen. `stopping` is the question of which the
    answer says when labelling may stop; at launch it is frozen in StoppingQuestion. `launching` is the number of tasks
    of a launch under way, and `refused` says why the latest one failed. `stated` names the stored policies, `problems`
    says by name why one was replaced by its default.
    """

    overlap: int = 1
    order: str = "random"
    hints: str = "hidden"
    quota: int | None = None
    answers_per_hour: int | None = None
    last_day: date | None = None
    training: bool = False
    qualification: Qualification | None = None
    check_plan: CheckPlan = field(default_factory=lambda: CheckPlan({}))
    pausing: PausingRule = PausingRule()
    reading_pace: PaceRule = PaceRule()
    controls: int | None = None
    show_gold: bool = False
    show_hours: bool = False
    one_key: bool = True
    adjudicated_labels: bool = False
    consent: Mapping[str, str] = field(default_factory=dict)
    payment: Mapping[str, str] = field(default_factory=dict)
    expected: Expectation = Expectation()
    minimum: Minimum = Minimum()
    dropped: tuple[str, ...] = ()
    clusters: str = ""
    mask_self_naming: bool = False
    keep_self_naming: bool = False
    scanned_at: datetime | None = None
    stopping: StoppingRule | None = None
    launching: int = 0
    refused: str = ""
    stated: frozenset[str] = frozenset()
    problems: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, study: Study) -> Self:
        """Read the policies of a study, once as long as they do not change: a page asks for them many times."""
        known: tuple[Mapping[str, Any], Self] | None = study.__dict__.get(_READ)
        if known is None or known[0] != study.policies:
            known = study.__dict__[_READ] = (dict(study.policies), cls._read(study))
        return known[1]

    @classmethod
    def _read(cls, study: Study) -> Self:
        reader = _Reader(study)
        usual = {"of": 10, "pass": 9}  # nosec B105 # a number of answers
        qualification = reader.numbers(
            "qualification", usual, BAD_QUALIFICATION, lambda rule: 1 <= rule["pass"] <= rule["of"]
        )
        pausing = reader.numbers(
            "checks", {"window": 10, "failed": 3}, BAD_CHECKS, lambda rule: 1 <= rule["failed"] <= rule["window"]
        )
        return cls(
            overlap=reader.whole("overlap", 1, high=MOST_OVERLAP),
            order=reader.order(),
            hints=reader.text("hints") or "hidden",
            quota=reader.count("quota"),
            answers_per_hour=reader.count("answers_per_hour"),
            last_day=reader.day("last_day"),
            training=reader.flag("training"),
            qualification=Qualification(*qualification.values()) if reader.holds("qualification") else None,
            check_plan=CheckPlan(
                {kind: reader.share(f"{kind}_rate", usual) for kind, usual in RATES.items()},
                reader.whole("probe_gap", 10, high=WIDEST_GAP),
                reader.whole("probe_times", 1, high=MOST_TIMES),
            ),
            pausing=PausingRule(*pausing.values()),
            reading_pace=PaceRule(*reader.numbers("reading_pace", asdict(PaceRule()), BAD_PACE, _is_pace).values()),
            controls=reader.count("controls"),
            show_gold=reader.flag("show_gold"),
            show_hours=reader.flag("show_hours"),
            one_key=reader.stored.get("one_key") is not False,
            adjudicated_labels=reader.flag("adjudicated_labels"),
            consent=reader.part("consent"),
            payment=reader.part("payment"),
            expected=reader.expected(),
            minimum=reader.minimum(),
            dropped=reader.keys("dropped"),
            clusters=reader.text("clusters"),
            mask_self_naming=reader.flag("mask_self_naming"),
            keep_self_naming=reader.flag("keep_self_naming"),
            scanned_at=parse_datetime(reader.text("scanned_at")),
            stopping=reader.stopping(),
            launching=reader.count("launching") or 0,
            refused=from_json(reader.stored.get("refused_json")) or reader.text("refused"),
            stated=frozenset(reader.stored),
            problems=reader.problems,
        )

    def checked(self, *names: str) -> Self:
        """Return the policies themselves. Raises BadPolicy if one of these, or any if none is named, is invalid."""
        for name, problem in self.problems.items():
            if not names or name in names:
                raise BadPolicy(problem)
        return self


class _Reader:
    """Read the stored policies of a study one by one, and note the problems of the invalid ones."""

    def __init__(self, study: Study) -> None:
        self.slug = study.slug
        self.stored: Mapping[str, Any] = study.policies
        self.problems: dict[str, str] = {}

    def flag(self, name: str) -> bool:
        return bool(self.stored.get(name))

    def holds(self, name: str) -> bool:
        return self.flag(name) and name not in self.problems

    def text(self, name: str) -> str:
        value = self.stored.get(name)
        return value if isinstance(value, str) else ""

    def count(self, name: str) -> int | None:
        return _count(self.stored.get(name))

    def part(self, name: str) -> Mapping[str, Any]:
        value = self.stored.get(name)
        return value if isinstance(value, Mapping) else {}

    def keys(self, name: str) -> tuple[str, ...]:
        value = self.stored.get(name)
        return tuple(map(str, value)) if isinstance(value, list | tuple) else ()

    def day(self, name: str) -> date | None:
        try:
            return date.fromisoformat(self.text(name))
        except ValueError:
            return None

    def whole(self, name: str, usual: int, *, high: int) -> int:
        """Return a whole number from 1 to `high`."""
        value = self.stored.get(name, usual)
        if _is_whole(value) and 1 <= value <= high:
            return int(value)
        self.problems[name] = NOT_WHOLE(study=self.slug, name=name, value=repr(value), low=1, high=high)
        return usual

    def share(self, name: str, usual: float) -> Fraction:
        value = self.stored.get(name, usual)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= HIGHEST_RATE:
            return Fraction(str(value))
        most = float(HIGHEST_RATE)
        self.problems[name] = NO_SHARE(study=self.slug, name=name, value=repr(value), most=most)
        return Fraction(str(usual))

    def order(self) -> str:
        value = self.stored.get("order", ORDERS[0])
        if value in ORDERS:
            return str(value)
        self.problems["order"] = BAD_ORDER(study=self.slug, order=repr(value), known=", ".join(ORDERS))
        return ORDERS[0]

    def numbers(
        self, name: str, usual: dict[str, int], wording: Wording, is_sensible: Callable[[dict[str, int]], bool]
    ) -> dict[str, int]:
        """Return whole numbers stored together under one name."""
        given = self.stored.get(name) or {}
        if isinstance(given, Mapping):
            found = {key: given.get(key, value) for key, value in usual.items()}
            if all(map(_is_whole, found.values())) and is_sensible(found):
                return found
        self.problems[name] = wording(study=self.slug, value=repr(given))
        return usual

    def stopping(self) -> StoppingRule | None:
        given = self.stored.get("stopping")
        rule = StoppingRule.read(given)
        if given and rule is None:
            self.problems["stopping"] = BAD_STOPPING(study=self.slug, value=repr(given))
        return rule

    def minimum(self) -> Minimum:
        given = self.stored.get("minimum") or {}
        for name, value in given.items() if isinstance(given, Mapping) else [("", given)]:
            high = HIGHEST_MINIMUM.get(name, 1)
            if name not in HIGHEST_MINIMUM or not _is_whole(value) or not 1 <= value <= high:
                named = f"minimum {name}".strip()
                self.problems["minimum"] = NOT_WHOLE(study=self.slug, name=named, value=repr(value), low=1, high=high)
                return Minimum()
        return Minimum(**given)

    def expected(self) -> Expectation:
        given = self.part("plan")
        try:
            pay = Decimal(str(given["hourly_pay"]))
        except (KeyError, InvalidOperation):
            pay = None
        return Expectation(_count(given.get("raters")), pay, str(given.get("currency", "")))


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _count(value: object) -> int | None:
    try:
        return int(value) if isinstance(value, int | float | str) else None
    except (ValueError, OverflowError):
        return None


def _is_pace(rule: Mapping[str, int]) -> bool:
    return (rule["words"] == 0 or rule["words"] >= SLOWEST_LIMIT) and min(rule["told"], rule["paused"]) >= 1


@dataclass(frozen=True)
class Selection:
    """The responses that a lead chose to have rated, as primary keys; an empty tuple means all.

    Of the instructions with any of the `tags`, `instructions` with chosen responses are drawn, evenly over their categories,
    by the study's seed; 0 means all. `samples` is "first" or "all" responses of a model to an instruction; `pairs` is "all",
    "baselines" or "even", of which `pairs_wanted` are drawn. A review takes the `verdicts` (assignments) of these `judges`
    (raters) on the `reviewed` study; a study of checks that has `verdicts` asks only what they answer. `drawn` has the
    responses that a draw with unequal probability chose, with the probability of each, above 0 and at most 1. It is not part
    of Policies because it can be long and only the choice of tasks reads it.
    """

    categories: tuple[int, ...] = ()
    models: tuple[int, ...] = ()
    samples: str = "first"
    pairs: str = "all"
    baselines: tuple[int, ...] = ()
    pairs_wanted: int = 0
    reviewed: int = 0
    judges: tuple[int, ...] = ()
    verdicts: tuple[int, ...] = ()
    instructions: int = 0
    tags: tuple[str, ...] = ()
    drawn: Mapping[int, float] = field(default_factory=dict)

    @classmethod
    def of(cls, study: Study) -> Self:
        """Read the selection of a study."""
        chosen = _Reader(study).part("selection")
        return cls(
            categories=_pks(chosen, "categories"),
            models=_pks(chosen, "models"),
            samples=str(chosen.get("samples", cls.samples)),
            pairs=str(chosen.get("pairs", cls.pairs)),
            baselines=_pks(chosen, "baselines"),
            pairs_wanted=_count(chosen.get("pairs_wanted")) or 0,
            reviewed=_count(chosen.get("reviewed")) or 0,
            judges=_pks(chosen, "judges"),
            verdicts=_pks(chosen, "verdicts"),
            instructions=_count(chosen.get("instructions")) or 0,
            tags=_texts(chosen, "tags"),
            drawn=_probabilities(chosen.get("drawn")),
        )


def _probabilities(value: object) -> dict[int, float]:
    """By primary key; a JSON object has texts as its keys."""
    given = value if isinstance(value, Mapping) else {}
    return {int(pk): float(one) for pk, one in given.items() if isinstance(one, int | float) and 0 < one <= 1}


def _texts(chosen: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = chosen.get(name)
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list | tuple) else ()


def _pks(chosen: Mapping[str, Any], name: str) -> tuple[int, ...]:
    value = chosen.get(name)
    return tuple(filter(_is_whole, value)) if isinstance(value, list | tuple) else ()


def chosen_by_lead(study: Study) -> dict[str, Any]:
    """Return the stored policies that a lead can change, for the log."""
    return {name: value for name, value in study.policies.items() if name not in NOT_CHOSEN}


def shown_to_raters(study: Study) -> dict[str, Any]:
    """Return the stored policies of what raters see and are told, for a study that asks other raters the same."""
    return {name: study.policies[name] for name in FOR_RATERS if name in study.policies}


def with_adjudicated_labels(workspace: int) -> list[int]:
    """The workspace's studies, by primary key, in which a lead's adjudicated answer is the label of its task."""
    chosen = Study.objects.filter(workspace=workspace, policies__has_key="adjudicated_labels")
    return [study.pk for study in chosen if Policies.of(study).adjudicated_labels]


def stored(before: Mapping[str, Any] | None = None, **chosen: object) -> dict[str, Any]:
    """Return policies as they are stored: those `before`, then these; None, "", {} and [] remove one."""
    return {name: value for name, value in {**(before or {}), **chosen}.items() if value not in (None, "", {}, [])}


def choose(study: Study, **chosen: object) -> None:
    """Set policies of the study as in `stored`, without saving it."""
    study.policies = stored(study.policies, **chosen)


def change_policies(study: Study, **chosen: object) -> None:
    """Set policies of the study as in `stored`, and save them without losing concurrent changes to others."""
    with transaction.atomic():
        current = Study.objects.select_for_update().only("policies").get(pk=study.pk)
        note_changed(study, {"policies": dict(current.policies)})
        study.policies = stored(current.policies, **chosen)
        Study.objects.filter(pk=study.pk).update(policies=study.policies)


def drop(task: Task) -> None:
    """Take a task out of its study, so that it is neither planned nor given slots again."""
    study = task.study
    change_policies(study, dropped=sorted({*Policies.of(study).dropped, task.key}))
