"""When labelling may stop, on the dashboard: one sentence, and the sequence of intervals that it rests on."""

from django.utils.translation import gettext, ngettext

from calibration.figures.curves import Curve, curves
from calibration.figures.drawing import number
from calibration.reports.people.populations import SuchRaters
from calibration.reports.progress.stopping import StoppingReport
from calibration.statistics.resampling import MIN_CLUSTERS
from calibration.statistics.stopping.decisions import StillNeeded
from calibration.web.blocks import Block, Column, Table

MOST_POINTS = 40
MOST_FROM_RATERS = 0.5
"""Share of the variance from which more raters help and more instructions do not."""


def stopping_block(report: StoppingReport) -> Block:
    """Say whether the question that was stated before launch is answered, for these raters."""
    title = gettext("May labelling stop?")
    figure, table = "", None
    if len(report.steps) > 1:
        figure, table = _figure(report, title), _table(report)
    return Block(
        "stopping",
        title,
        answer=stopping_sentence(report),
        figure=figure,
        caption=_caption(report) if figure else "",
        table=table,
        notes=[note for note in (_question(report), _counting(report), *_such(report), _promise(report)) if note],
        folded=True,
    )


def stopping_sentence(report: StoppingReport) -> str:
    """The answer in one sentence, or that there is none yet and how many more instructions may be needed."""
    if report.answer:
        return gettext("You may stop labelling: %(answer)s.") % {"answer": _answer(report)}
    if report.counted >= report.size:
        return gettext(
            "All instructions are labelled, and the question stated before launch is not answered: %(unanswered)s."
        ) % {"unanswered": _unanswered(report)}
    return " ".join(
        part for part in (gettext("Not yet: %(why)s.") % {"why": _unanswered(report)}, _more(report)) if part
    )


def _answer(report: StoppingReport) -> str:
    facts = {
        "threshold": number(report.threshold),
        "models": _names(report.leading),
        "others": _names([name for name in report.models if name not in report.leading]),
        "size": number(report.size, 1),
        "n": number(report.answered_at, 1),
    }
    if report.answer == "above":
        said = gettext(
            "with these raters, more than %(threshold)s of the pairs of raters agree on this study's %(size)s "
            "instructions, as the first %(n)s show"
        )
    elif report.answer == "below":
        said = gettext(
            "with these raters, fewer than %(threshold)s of the pairs of raters agree on this study's %(size)s "
            "instructions, as the first %(n)s show"
        )
    elif report.answer == "better":
        said = gettext(
            "with these raters, weights fitted on earlier instructions predict later ones better than equal "
            "weights, as the first %(n)s of %(size)s instructions show"
        )
    elif len(report.leading) > 1:
        said = gettext(
            "with these raters, %(models)s are the top three on this study's %(size)s instructions, as the first "
            "%(n)s show"
        )
    elif report.question == "better":
        said = gettext(
            "with these raters, %(models)s is better than %(others)s on this study's %(size)s instructions, as "
            "the first %(n)s show"
        )
    else:
        said = gettext(
            "with these raters, %(models)s leads all other models on this study's %(size)s instructions, as the "
            "first %(n)s show"
        )
    return said % facts


def _unanswered(report: StoppingReport) -> str:
    facts = {"threshold": number(report.threshold), "models": _names(report.models), "n": number(report.counted, 1)}
    named = {
        "agreement": gettext(
            "after %(n)s instructions it is open whether more or fewer than %(threshold)s of the pairs of raters agree"
        ),
        "better": gettext("after %(n)s instructions it is open which of %(models)s is better"),
        "leader": gettext("after %(n)s instructions it is open which model leads"),
        "top_three": gettext("after %(n)s instructions it is open which models are the top three"),
        "weights": gettext(
            "after %(n)s instructions it is not shown that fitted weights predict better than equal weights"
        ),
    }
    return named[report.question] % facts


def _names(names: list[str]) -> str:
    return gettext(", ").join(names)


def _more(report: StoppingReport) -> str:
    needed = report.needed
    if needed is None:
        return ""
    if needed.unanswered >= 0.5:
        return gettext(
            "If the other instructions are like these, all %(size)s of them will probably not answer it."
        ) % {"size": number(report.size, 1)}
    return _expected(needed)


def _expected(needed: StillNeeded) -> str:
    n = max(1, needed.median)
    return ngettext(
        "About %(n)s more instruction is needed if the others are like these; in 8 of 10 such continuations it is %(low)s "
        "to %(high)s.",
        "About %(n)s more instructions are needed if the others are like these; in 8 of 10 such continuations it is "
        "%(low)s to %(high)s.",
        n,
    ) % {"n": number(n, 1), "low": number(max(1, needed.low), 1), "high": number(max(1, needed.high), 1)}


def _question(report: StoppingReport) -> str:
    facts = {
        "threshold": number(report.threshold),
        "first": report.models[0] if report.models else "",
        "second": report.models[-1] if report.models else "",
        "error": number(100 * report.error, 0.1),
    }
    asked = {
        "agreement": gettext(
            "Stated before launch: does agreement reach %(threshold)s, the share of agreeing pairs of raters?"
        ),
        "better": gettext("Stated before launch: is %(first)s better than %(second)s, or worse?"),
        "leader": gettext("Stated before launch: which model leads?"),
        "top_three": gettext("Stated before launch: which models are the top three?"),
        "weights": gettext("Stated before launch: do fitted weights predict better than equal weights?"),
    }
    return asked[report.question] % facts


def _counting(report: StoppingReport) -> str:
    counted = ngettext(
        "%(n)s of %(size)s instructions counts: instructions count in the order drawn at random at launch, as long as all "
        "before them are complete.",
        "%(n)s of %(size)s instructions count: instructions count in the order drawn at random at launch, as long as all "
        "before them are complete.",
        report.counted,
    ) % {"n": number(report.counted, 1), "size": number(report.size, 1)}
    if not report.missing:
        return counted
    without = ngettext(
        "%(n)s of them has no value, because it was still incomplete a month after it began or has nothing to compare; it "
        "counts as the worst that it could be for either answer.",
        "%(n)s of them have no value, because they were still incomplete a month after they began or have nothing to "
        "compare; they count as the worst that they could be for either answer.",
        report.missing,
    ) % {"n": number(report.missing, 1)}
    return f"{counted} {without}"


def _promise(report: StoppingReport) -> str:
    return gettext(
        "The probability of ever giving a wrong answer is at most %(error)s %%, however often you look. This is about these "
        "raters and this study's instructions; it never stops anything by itself."
    ) % {"error": number(100 * report.error, 0.1)}


def _such(report: StoppingReport) -> list[str]:
    """The interval for raters like these, and what would narrow it."""
    if report.such is None or report.value is None:
        return []
    such = report.such
    if such.low is None or such.high is None:
        return [_not_stated(such, 3 if report.question == "agreement" else 2)]
    facts = {"value": number(report.value), "low": number(such.low), "high": number(such.high)}
    if report.question == "agreement":
        said = gettext(
            "Raters like these, on instructions like these, would agree in %(value)s of pairs, %(low)s to "
            "%(high)s (95 %%)."
        )
    elif report.question == "weights":
        said = gettext(
            "With raters like these, on instructions like these, the squared error would fall by %(value)s, "
            "%(low)s to %(high)s (95 %%, on a scale of 0 to 1)."
        )
    else:
        said = gettext(
            "With raters like these, on instructions like these, %(first)s would be ahead of %(second)s by "
            "%(value)s points, %(low)s to %(high)s (95 %%, points from 0 to 1)."
        )
        facts |= {"first": report.compared[0], "second": report.compared[1]}
    found = [said % facts]
    if (such.raters_share or 0.0) > MOST_FROM_RATERS:
        found.append(
            gettext(
                "%(share)s %% of that uncertainty comes from the choice of raters: more instructions will not help; more "
                "raters would."
            )
            % {"share": number(100 * (such.raters_share or 0.0), 1)}
        )
    return found


def _not_stated(such: SuchRaters, raters: int) -> str:
    if such.not_stated == "few_instructions":
        return gettext(
            "What holds for raters like these is not stated: that needs at least %(needed)s instructions, and %(n)s count."
        ) % {"needed": MIN_CLUSTERS, "n": number(such.n_instructions, 1)}
    if such.not_stated == "few_raters":
        return gettext(
            "What holds for raters like these is not stated: that needs at least %(needed)s raters, and there are %(n)s."
        ) % {"needed": raters, "n": number(such.n_raters, 1)}
    if such.not_stated == "positions":
        return gettext(
            "What holds for raters like these is not stated, because the data identify positions, not persons."
        )
    return gettext(
        "What holds for raters like these is not stated: without one of the raters or instructions, the value could not be "
        "computed."
    )


def _figure(report: StoppingReport, title: str) -> str:
    shown = report.steps[:: max(1, -(-len(report.steps) // MOST_POINTS))]
    if shown[-1].n != report.steps[-1].n:
        shown = [*shown, report.steps[-1]]
    shown = [step for step in shown if step.value is not None]
    if not shown:
        return ""
    is_agreement = report.question == "agreement"
    return curves(
        [
            Curve(
                gettext("mean so far"),
                [(step.n, step.value or 0.0) for step in shown],
                [(step.low, step.high) for step in shown],
            )
        ],
        title=title,
        x_title=gettext("Instructions that count"),
        y_title=_measure(report),
        rule=report.threshold,
        rule_label=gettext("threshold") if is_agreement else gettext("no difference"),
        from_zero=False,
        height=180,
    )


def _measure(report: StoppingReport) -> str:
    if report.question == "agreement":
        return gettext("Share of agreeing pairs of raters")
    return gettext("Points of %(first)s minus %(second)s") % {"first": report.compared[0], "second": report.compared[1]}


def _caption(report: StoppingReport) -> str:
    if len(report.models) > 2:
        return gettext(
            "The vertical lines are the intervals for these raters and this study's instructions. They are of the last "
            "model that leads, or would lead now, and the first of the others, as wide as the answer needs; as the two "
            "models are picked after looking, the lines need not all hold together."
        )
    return gettext(
        "The vertical lines are the intervals for these raters and this study's instructions; all of them hold together."
    )


def _table(report: StoppingReport) -> Table:
    return Table(
        [
            Column(gettext("Instructions that count"), 0),
            Column(_measure(report), 3),
            Column(gettext("From"), 3),
            Column(gettext("To"), 3),
        ],
        [[step.n, step.value, step.low, step.high] for step in reversed(report.steps)],
    )
