"""The answer of an alignment's page, its figure of every version on each part, and the looks at the test part."""

from django.utils.translation import gettext, ngettext

from calibration.figures.drawing import decimals
from calibration.figures.spreads import RangeRow, Span, ranges
from calibration.statistics.judges.agreement import BesideBaseline
from calibration.statistics.judges.alignment import PARTS, Part
from calibration.statistics.judges.estimates import PeopleEstimate
from calibration.statistics.resampling import MIN_CLUSTERS
from calibration.web.blocks import Block, Column, ResultPage, Table, cells_of, span_of
from judging.alignment.results import AlignmentReport, Look, VersionRow

DIGITS = 3
SHORT = 2


def part_names() -> dict[str, str]:
    return {"training": gettext("Training"), "validation": gettext("Validation"), "test": gettext("Test")}


def proposer_names() -> dict[str, str]:
    return {"lead": gettext("lead"), "model": gettext("model")}


def claim_names() -> dict[str, str]:
    return {
        "better": gettext("better than the baseline"),
        "worse": gettext("worse than the baseline"),
        "not_shown": gettext("no difference shown"),
    }


def alignment_page(report: AlignmentReport) -> ResultPage:
    blocks = [_agreement_block(report), *([_looks_block(report)] if report.looks else []), _parts_block(report)]
    title = gettext("Versions of a judge on held-out ratings")
    return ResultPage(title, opening_of(report), blocks, ["judges.alignment"])


def opening_of(report: AlignmentReport) -> str:
    """Say what the looks at the test part show, and no more; before any, which version would be looked at."""
    looks = report.looks
    if looks:
        row, look = next((pair for pair in looks if pair[1].claim == "better"), looks[-1])
        return _look_in_words(report, row, look)
    if not report.versions:
        told = gettext("There is no version yet that could be compared with the baseline, %(baseline)s.")
        return told % {"baseline": report.baseline.judge}
    if report.chosen is None:
        told = gettext(
            "No version is measured to agree with people more than %(baseline)s does on the validation part, so there is "
            "none to measure on the test part."
        )
        return told % {"baseline": report.baseline.judge}
    row = report.versions[report.chosen]
    assert row.validation is not None
    told = gettext(
        "Whether %(judge)s agrees more often with people than %(baseline)s is not shown yet: it gains most on the "
        "validation part (%(gain)s), by which it was chosen, and the test part has not been looked at."
    )
    gain = decimals(row.validation.gain.value, SHORT)
    return told % {"judge": row.judge, "baseline": report.baseline.judge, "gain": gain}


def _look_in_words(report: AlignmentReport, row: VersionRow, look: Look) -> str:
    gain = look.found.gain
    shown = {
        "judge": row.judge,
        "baseline": report.baseline.judge,
        "gain": decimals(gain.value, DIGITS),
        "loss": decimals(-gain.value, DIGITS),
        "low": decimals(gain.low, DIGITS),
        "high": decimals(gain.high, DIGITS),
        "confidence": confidence_of(look),
        "number": look.number,
        "level": f"{look.level:g}",
    }
    if look.claim == "better":
        told = gettext(
            "On instructions that had no part in making or choosing it, %(judge)s agrees more often with people than "
            "%(baseline)s does: by %(gain)s (%(confidence)s %% interval of the difference %(low)s to %(high)s, look "
            "%(number)s at the test part)."
        )
    elif look.claim == "worse":
        told = gettext(
            "On instructions that had no part in making or choosing it, %(judge)s agrees less often with people than "
            "%(baseline)s does: by %(loss)s (%(confidence)s %% interval of the difference %(low)s to %(high)s, look "
            "%(number)s at the test part)."
        )
    else:
        told = gettext(
            "That %(judge)s agrees more often with people than %(baseline)s is not shown: on the test part the "
            "difference is %(gain)s (%(confidence)s %% interval %(low)s to %(high)s, look %(number)s, tested at the "
            "level %(level)s)."
        )
    whom = {
        "such": gettext("The interval is for raters like these."),
        "these": gettext("The interval is for exactly these raters."),
    }
    return f"{told % shown} {whom[gain.population]}"


def confidence_of(look: Look) -> str:
    """Write the confidence of a look's interval in percent: 97.5 for the first."""
    return f"{100 * (1 - look.level):.6g}"


def _cells(one: PeopleEstimate) -> tuple[float, float | None, float | None]:
    return cells_of(one.value, one.low, one.high, one.interval_kind)


def shown_parts(report: AlignmentReport, row: VersionRow) -> list[tuple[Part, BesideBaseline | None]]:
    """Return the figures of a row by part; those of the test part are there once a look has found them."""
    return [("training", row.training), ("validation", row.validation), ("test", row.look.found if row.look else None)]


def agreement_table(report: AlignmentReport) -> Table:
    columns = [
        Column(gettext("Judge")),
        Column(gettext("Part"), names=part_names()),
        *Column.interval(gettext("Agreement with people"), DIGITS),
        Column(gettext("Baseline on the same tasks"), DIGITS),
        *Column.interval(gettext("Gain over the baseline"), DIGITS),
        Column(gettext("People among themselves"), DIGITS),
        Column(gettext("Tasks"), 0),
        Column(gettext("Instructions"), 0),
    ]
    rows: list[list[object]] = []
    for row in (report.baseline, *report.versions):
        for part, found in shown_parts(report, row):
            if found is None:
                continue
            is_baseline = row is report.baseline
            rows.append(
                [
                    row.judge,
                    part,
                    *_cells(found.judge),
                    None if is_baseline else found.baseline.value,
                    *((None, None, None) if is_baseline else _cells(found.gain)),
                    found.people.value,
                    found.n,
                    found.judge.clusters,
                ]
            )
    return Table(columns, rows)


def _agreement_block(report: AlignmentReport) -> Block:
    names, rows = part_names(), []
    for row in (report.baseline, *report.versions):
        spans: list[Span | None] = [
            None if found is None else span_of(_cells(found.judge)) for _part, found in shown_parts(report, row)
        ]
        if any(spans):
            rows.append(RangeRow(row.judge, spans))
    title = gettext("Agreement with people on each part")
    series = [names[part] for part in PARTS] if report.looks else [names[part] for part in PARTS[:2]]
    figure = (
        ranges(rows, title=title, x_title=gettext("Agreement with people"), series=series, step=0.01) if rows else ""
    )
    notes = [
        gettext(
            "Agreement is leave-one-out agreement: how often the judge gives the most frequent label of all raters but "
            "one. A version stands beside the baseline on the tasks that both judged."
        )
    ]
    for row in (report.baseline, *report.versions):
        if row.lacking:
            told = ngettext(
                "%(judge)s has not been asked about %(n)d of the %(tasks)d tasks yet.",
                "%(judge)s has not been asked about %(n)d of the %(tasks)d tasks yet.",
                row.lacking,
            )
            notes.append(told % {"judge": row.judge, "n": row.lacking, "tasks": report.tasks})
        if row.unscored:
            told = ngettext(
                "%(n)d answer of %(judge)s could not be used.",
                "%(n)d answers of %(judge)s could not be used.",
                row.unscored,
            )
            notes.append(told % {"judge": row.judge, "n": row.unscored})
    return Block(
        "agreement",
        title,
        figure=figure,
        caption=gettext(
            "Each bar is a %(confidence)s %% interval, or with fewer than %(n)s instructions the range over leaving one out."
        )
        % {"confidence": 95, "n": MIN_CLUSTERS},
        table=agreement_table(report),
        notes=notes,
        reason="" if rows else gettext("No judge has a verdict on these parts yet."),
    )


def looks_table(report: AlignmentReport) -> Table:
    columns = [
        Column(gettext("Look")),
        Column(gettext("Judge")),
        *Column.interval(gettext("Gain over the baseline"), DIGITS),
        Column(gettext("Confidence of the interval (%)")),
        Column.p(),
        Column(gettext("Level")),
        Column(gettext("Result"), names=claim_names()),
        Column(gettext("Instructions"), 0),
        Column(gettext("Raters"), 0),
        Column(gettext("Date")),
        Column(gettext("By"), optional=True),
    ]
    rows = []
    for row, look in report.looks:
        gain = look.found.gain
        figures = [*_cells(gain), confidence_of(look), gain.p, look.level, look.claim, gain.clusters, gain.raters]
        rows.append([look.number, row.judge, *figures, look.at[:16].replace("T", " "), look.by])
    return Table(columns, rows)


def _looks_block(report: AlignmentReport) -> Block:
    note = gettext(
        "Look k is tested at the level .05/2^k, so that all looks together claim a difference that is none with a "
        "probability of at most .05. The next look would be number %(number)s, at the level %(level)s."
    ) % {"number": report.next_look, "level": f"{report.next_level:g}"}
    return Block("looks", gettext("Looks at the test part"), table=looks_table(report), notes=[note])


def _parts_block(report: AlignmentReport) -> Block:
    columns = [
        Column(gettext("Part"), names=part_names()),
        Column(gettext("Instructions"), 0),
        Column(gettext("What it is for")),
    ]
    uses = {
        "training": gettext("whoever writes a version may read its ratings"),
        "validation": gettext("versions are compared and chosen on it"),
        "test": gettext("a version is measured on it once, by a look that is counted"),
    }
    notes = [
        gettext(
            "Instructions were split at random with the seed %(seed)s, each with all its responses, and stay where they are."
        )
        % {"seed": report.seed},
        gettext(
            "Other pages of this study count all responses. Whoever chooses a version by what they say of it has used "
            "the test part as well."
        ),
    ]
    if report.unused:
        told = ngettext(
            "%(n)d instruction that two people have rated belongs to no part; a new alignment can use it.",
            "%(n)d instructions that two people have rated belong to no part; a new alignment can use them.",
            report.unused,
        )
        notes.append(told % {"n": report.unused})
    rows = [[part, report.instructions[part], uses[part]] for part in PARTS]
    return Block("parts", gettext("The three parts"), table=Table(columns, rows), notes=notes, folded=True)
