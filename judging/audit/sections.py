"""An audit as sections of sentences, which the terminal and the page both show. PURE."""

from collections.abc import Iterator
from dataclasses import dataclass

from calibration.figures.charts import Bar, interval_bars
from calibration.figures.spreads import RangeRow, Span, ranges
from core.messages.message import Message
from judging.audit import messages
from judging.audit.languages import Language, visible
from judging.audit.report import AuditEstimate, AuditReport, Check, Ends, Needed, PeopleAgreement, Repeats

FEW = 12
"""Names that are listed before the rest is left out."""


@dataclass(frozen=True)
class Section:
    """A heading, its sentences, and the indexes of those that state a finding."""

    title: Message
    sentences: tuple[Message, ...]
    findings: frozenset[int] = frozenset()


def verdict(report: AuditReport) -> Message:
    """The first sentence: how many findings of how many tests."""
    if not report.checks:
        return messages.NOTHING_TESTED()
    if report.findings:
        return messages.FOUND(findings=len(report.findings), tests=len(report.checks))
    return messages.CLEAN(tests=len(report.checks))


def sections(report: AuditReport) -> list[Section]:
    found = [Section(messages.COLUMNS(), tuple(_columns(report)))]
    agreement = (
        [messages.ALPHA(value=_two(report.alpha.value), interval=_interval(report.alpha))] if report.alpha else []
    )
    agreement += [_agrees(one) for one in report.agreement]
    if agreement:
        found.append(Section(messages.AGREEMENT(), tuple(agreement)))
    if report.checks:
        findings = frozenset(place for place, check in enumerate(report.checks) if check.finding)
        effects = [*(_effect(check) for check in report.checks), messages.CAUTION()]
        found.append(Section(messages.TESTS(), tuple(effects), findings))
    if report.repeats:
        found.append(Section(messages.REPEATS(), tuple(_repeated(one) for one in report.repeats)))
    missing = [_message(text) for text in report.cannot_say] + [
        _more(check, check.needed) for check in report.checks if check.needed is not None and not check.finding
    ]
    if missing:
        found.append(Section(messages.CANNOT_SAY(), tuple(missing)))
    return found


def _columns(report: AuditReport) -> Iterator[Message]:
    names = {"people": len(report.people), "judges": len(report.judges)}
    yield messages.READ(rows=f"{report.rows:,}", items=f"{report.items:,}", **names)
    yield messages.KINDS[report.kind]()
    for choice in report.choices:
        listed = ", ".join(choice.columns[:FEW]) + (" ..." if len(choice.columns) > FEW else "")
        yield messages.CHOSEN(role=messages.ROLES[choice.role](), columns=listed or "–", reason=choice.reason)
    if report.unreadable:
        yield messages.UNREADABLE(n=f"{report.unreadable:,}")
    if report.bad_rows:
        yield messages.BAD_ROWS(n=f"{len(report.bad_rows):,}", first=report.bad_rows[0])


def _agrees(found: PeopleAgreement) -> Message:
    wording = messages.AGREES_SHARE if found.measure == "share" else messages.AGREES_CORRELATION
    return wording(
        judge=found.judge,
        value=_two(found.value.value),
        ceiling=_two(found.ceiling.value),
        items=f"{found.tasks:,}",
        difference=_signed(found.difference.value),
        interval=_interval(found.difference),
    )


def _effect(check: Check) -> Message:
    if check.finding:
        said = messages.A_FINDING()
    elif check.kind == "agreement" and check.corrected < 0.05:
        said = messages.BETTER()
    else:
        said = messages.NOT_SHOWN(least=_two(check.detectable))
    return messages.EFFECT(
        what=messages.effect(check.kind, check.judge, check.about),
        value=_signed(check.effect.value),
        interval=_interval(check.effect),
        p=_p(check.p),
        corrected=_p(check.corrected),
        verdict=said,
    )


def _repeated(found: Repeats) -> Message:
    share = {"judge": found.judge, "share": f"{found.same:.0%}", "n": f"{found.n:,}"}
    if found.ends is None:
        return messages.REPEATED_RANGE(**share)
    wording = messages.REPEATED_SWAPPED if found.swapped else messages.REPEATED
    return wording(low=f"{found.ends.low:.0%}", high=f"{found.ends.high:.0%}", **share)


def _more(check: Check, needed: Needed) -> Message:
    what, target = messages.effect(check.kind, check.judge, check.about), _two(needed.target)
    if needed.items is None:
        return messages.MORE_RATERS(what=what, target=target)
    numbers = {"n": needed.items, "low": needed.low, "high": needed.high, "have": check.items}
    return messages.MORE_ITEMS(what=what, target=target, **{name: f"{n:,}" for name, n in numbers.items()})


def _interval(found: AuditEstimate) -> Message:
    why = messages.WHY[found.why]() if found.why else messages.WHY["undefined_without_one"]()
    if found.these is None:
        return messages.NO_INTERVAL(why=why)
    if found.such is None:
        return messages.THESE(low=_two(found.these.low), high=_two(found.these.high), why=why)
    these = messages.BETWEEN(low=_two(found.these.low), high=_two(found.these.high))
    return messages.SUCH(low=_two(found.such.low), high=_two(found.such.high), these=these)


def _message(text: str) -> Message:
    assert isinstance(text, Message)
    return text


def _two(value: float) -> str:
    """Two places, or two digits of a number below 0.1; a minus that stays with its number."""
    shown = f"{value:.2f}" if abs(value) >= 0.095 or value == 0 else f"{value:.3f}"
    return ("0.00" if float(shown) == 0 else shown).replace("-", "−")


def _signed(value: float) -> str:
    return ("+" if value > 0 else "") + _two(value)


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def agreement_figure(report: AuditReport, language: Language) -> str:
    """Each judge's agreement with people and their own, with intervals; "" where there is none."""
    if not report.agreement:
        return ""
    bars, people = [], []
    for found in report.agreement:
        bars.append(_bar(found.judge, found.value))
        people.append(_bar(found.judge, found.ceiling))
    title = language.text(messages.FIGURE_AGREEMENT())
    series = (language.text(messages.JUDGE_SERIES()), language.text(messages.PEOPLE_SERIES()))
    return interval_bars(bars, title=title, x_title=title, reference=people, series=series)


def bias_figure(report: AuditReport, language: Language) -> str:
    """The tested differences with their intervals, beside 0; "" where there is none."""
    rows = []
    for check in report.checks:
        ends = _ends(check.effect)
        if ends is not None:
            label = visible(language.text(messages.effect(check.kind, check.judge, check.about)))
            rows.append(RangeRow(label, (Span(check.effect.value, ends.low, ends.high),)))
    if not rows:
        return ""
    title = language.text(messages.FIGURE_BIASES())
    return ranges(rows, title=title, x_title=title, series=("",), step=0.01, rule=0.0)


def _bar(label: str, found: AuditEstimate) -> Bar:
    ends = _ends(found)
    return Bar(visible(label), found.value, ends.low if ends else None, ends.high if ends else None)


def _ends(found: AuditEstimate) -> Ends | None:
    return found.such or found.these
