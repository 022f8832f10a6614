"""The blocks of the page of probes: the effects in a figure with their table, and what was changed."""

from django.utils.translation import gettext, ngettext

from calibration.figures.charts import Bar, interval_bars
from calibration.web.blocks import Block, Column, ResultPage, Table
from judging.probes.results import ProbeReport
from judging.web.probes.messages import POINTS, opening_of, probe_names

DIGITS = 1


def probe_page(report: ProbeReport) -> ResultPage:
    return ResultPage(gettext("Probes of a judge"), opening_of(report), [_effects_block(report)], ["judges.probes"])


def effects_table(report: ProbeReport) -> Table:
    columns = [
        Column(gettext("Probe"), names=probe_names()),
        *Column.interval(gettext("Mean change, points of 100"), DIGITS),
        Column.p(gettext("p (corrected)")),
        Column(gettext("Smallest change found with 80 % power"), DIGITS),
        *Column.interval(gettext("Verdicts changed (%)"), DIGITS),
        Column(gettext("Changed when asked again (%)"), DIGITS, optional=True),
        Column.p(gettext("p of the difference (corrected)")),
        Column(gettext("Verdicts"), 0),
        Column(gettext("Instructions"), 0),
        Column(gettext("Words added (%)"), DIGITS, optional=True),
        Column(gettext("Unusable"), 0, optional=True),
    ]
    return Table(columns, [_row(report, place) for place in range(len(report.rows))])


def _row(report: ProbeReport, place: int) -> list[object]:
    row = report.rows[place]
    rest = [row.instructions, 100 * row.growth or None, row.unusable or None]
    if row.effect is None:
        return [row.key, *[None] * 10, *rest]
    one = row.effect
    return [
        row.key,
        *(POINTS * value for value in (one.mean, one.low, one.high)),
        one.p,
        POINTS * one.detectable,
        *(100 * value for value in (one.changed.value, one.changed.low, one.changed.high)),
        100 * one.alone.value if one.alone else None,
        one.p_changed,
        one.n,
        *rest,
    ]


def _effects_block(report: ProbeReport) -> Block:
    names = probe_names()
    bars = [
        Bar(names[key], POINTS * effect.mean, POINTS * effect.low, POINTS * effect.high)
        for key, effect in report.effects
    ]
    title = gettext("Mean change of the verdicts of %(judge)s") % {"judge": report.judge}
    return Block(
        "effects",
        title,
        figure=interval_bars(bars, title=title, x_title=gettext("Mean change, points of 100")),
        caption=gettext(
            "Each bar is the mean of the verdicts of %(judge)s after a change minus those before it, with its 95 %% "
            "interval over instructions; the whole scale is 100 points."
        )
        % {"judge": report.judge},
        table=effects_table(report),
        notes=_notes(report),
    )


def _notes(report: ProbeReport) -> list[str]:
    told = [
        gettext(
            "p values are corrected by Holm over all tests of this table. “Smallest change” is the mean change that a probe "
            "would have found with 80 % power at the strictest level of this correction."
        )
    ]
    if report.again is not None:
        told.append(
            gettext(
                "Asked the same question a second time, this judge gives another verdict in %(value)s %% of cases (%(low)s "
                "to %(high)s %%): that much changes although nothing was changed."
            )
            % {name: f"{100 * getattr(report.again, name):.0f}" for name in ("value", "low", "high")}
        )
    if any(effect.ground == "bound" for _key, effect in report.effects):
        told.append(
            gettext(
                "Where verdicts about fewer than five instructions changed, the interval allows for as many changes of "
                "the whole scale as chance could have hidden, and the smallest change is that of one step of the scale in "
                "enough verdicts."
            )
        )
    if report.pairs:
        told.append(
            gettext(
                "A positive change of a pair is one toward the response that was changed or, where none was, toward the one "
                "that the judge reads first."
            )
        )
    if report.author:
        told.append(gettext("The claimed author was “%(author)s”.") % {"author": report.author})
    if report.waiting:
        told.append(
            ngettext(
                "%(n)d question has no answer yet; these figures will change.",
                "%(n)d questions have no answer yet; these figures will change.",
                report.waiting,
            )
            % {"n": report.waiting}
        )
    return told
