"""The blocks of a bridge's page that rank models: the leaderboard that continues, and both judges on people's scale."""

from django.utils.translation import gettext, ngettext

from calibration.figures.charts import Bar, interval_bars
from calibration.figures.drawing import shortest
from calibration.statistics.judges.between_models import LEAST_MODELS
from calibration.statistics.judges.bridge import ContinuedMean
from calibration.statistics.judges.transport import CarriedMean
from calibration.statistics.resampling import MIN_CLUSTERS
from calibration.web.blocks import Block, Column, Table
from judging.comparison.bridging.people_scale import JudgeOnPeople, PeoplesScale
from judging.comparison.bridging.run_bridge import RunBridge
from judging.web.runs.start import refusal_words

DIGITS = 3


def kind_names() -> dict[str, str]:
    return {
        "anchored": gettext("prediction, corrected by its own anchors"),
        "old": gettext("the old judge alone"),
        "carried": gettext("prediction alone"),
        "complete": gettext("the old judge's own scores"),
        "few_models": gettext("not stated: fewer than %(n)d models have anchors") % {"n": LEAST_MODELS},
        "few_instructions": gettext("fewer than %(n)d instructions") % {"n": MIN_CLUSTERS},
        "outside_support": gettext("not stated: its scores lie beyond those of the models with anchors"),
    }


def board_table(found: RunBridge) -> Table:
    columns = [
        Column(gettext("Model")),
        *Column.interval(gettext("Mean"), DIGITS),
        Column(gettext("Possible places"), optional=True),
        Column(gettext("On this scale by"), names=kind_names()),
        Column(gettext("Responses"), 0),
        Column(gettext("Scored by both"), 0),
        Column(gettext("Not stated"), names=kind_names(), optional=True),
    ]
    rows = [
        [one.model, one.value, one.low, one.high, _places(one), one.kind, one.n, one.n_both, one.reason or ""]
        for one in found.board
    ]
    return Table(columns, rows)


def _places(one: ContinuedMean) -> str:
    if one.first is None or one.last is None:
        return ""
    return str(one.first) if one.first == one.last else f"{one.first}–{one.last}"


def board_block(found: RunBridge) -> Block:
    """Build the block of the leaderboard that continues: all models that either judge scored."""
    title = gettext("Leaderboard on the scale of %(judge)s, continued") % {"judge": found.old}
    stated = [one for one in found.board if one.low is not None and one.high is not None]
    bars = [Bar(one.model, one.value, one.low, one.high) for one in stated]
    own = sum(one.kind == "old" for one in found.board)
    notes = [
        gettext(
            "These intervals take the instructions as drawn from many, as those of any leaderboard do, and where a model "
            "was put on the scale by the bridge they include the error of the bridge. Possible places hold for all "
            "models together, at 95 %."
        )
    ]
    if own:
        notes.append(
            ngettext(
                "%(n)d model keeps its place by the scores of %(old)s alone: %(new)s scored no more of its responses.",
                "%(n)d models keep their places by the scores of %(old)s alone: %(new)s scored no more of their responses.",
                own,
            )
            % {"n": own, "old": found.old, "new": found.new}
        )
    if any(one.first is None for one in found.board):
        notes.append(
            gettext(
                "A model without an interval, or with fewer than half of the median number of responses, is listed last and "
                "has no place."
            )
        )
    if found.bridge.by_model.verdict != "holds" and any(one.kind == "carried" for one in found.board):
        notes.append(
            gettext(
                "The bridge is not shown to hold across models, so do not rely on places that are predictions alone."
            )
        )
    return Block(
        "board",
        title,
        answer=board_words(found),
        figure=interval_bars(bars, title=title, x_title=gettext("Mean score")) if bars else "",
        table=board_table(found),
        notes=notes,
        folded=True,
    )


def board_words(found: RunBridge) -> str:
    """Say how many models stand on the old scale, and whether one of them is shown to lead."""
    placed = [one for one in found.board if one.first is not None]
    told = ngettext(
        "%(n)d model stands on the scale of %(old)s.", "%(n)d models stand on the scale of %(old)s.", len(found.board)
    ) % {"n": len(found.board), "old": found.old}
    if len(placed) < 2:
        return told
    leader = next((one for one in placed if one.first == one.last == 1), None)
    if leader is None:
        return told + " " + gettext("Which of them leads is not shown.")
    return (
        told
        + " "
        + gettext("%(model)s leads: its interval lies above those of all others, which hold together at 95 %%.")
        % {"model": leader.model}
    )


def people_words(found: PeoplesScale) -> str:
    """Say that both judges stand on people's scale, and of which of them that is shown to hold."""
    told = gettext(
        "People rated responses of this benchmark in “%(study)s”, so both judges are put on people's scale instead of the "
        "old judge's."
    ) % {"study": found.study.name}
    return " ".join([told, *(_verdict_words(one) for one in (found.old, found.new) if one.found)])


def _verdict_words(one: JudgeOnPeople) -> str:
    assert one.found is not None
    test = one.found.transport.test
    told = {
        "holds": gettext("For %(judge)s, one calibration holds across the rated models within %(margin)s points."),
        "fails": gettext(
            "For %(judge)s, one calibration does not hold across the rated models within %(margin)s points."
        ),
        "cannot_tell": gettext(
            "For %(judge)s, it is not shown that one calibration holds across the rated models within %(margin)s points."
        ),
    }[test.verdict]
    return told % {"judge": one.judge, "margin": shortest(test.margin)}


def people_block(found: PeoplesScale) -> Block:
    """Build the block of both judges on people's scale, or of why one of them has no place there."""
    title = gettext("Both judges on people's scale")
    names = [found.old.judge, found.new.judge]
    columns = [Column(gettext("Model")), Column(gettext("People's mean"), DIGITS, optional=True)]
    for name in names:
        columns += Column.interval(gettext("Estimated from %(judge)s") % {"judge": name}, DIGITS)
    known = [_by_model(one) for one in (found.old, found.new)]
    people = {
        row.model: row.people for one in (found.old, found.new) if one.found for row in one.found.transport.labelled
    }
    models = sorted({*known[0], *known[1], *people}, key=lambda model: (-people.get(model, float("-inf")), model))
    rows = []
    for model in models:
        means = [one.get(model) for one in known]
        cells = [value for one in means for value in ((one.value, one.low, one.high) if one else (None, None, None))]
        rows.append([model, people.get(model), *cells])
    notes = [
        gettext(
            "People's mean stands where people rated the model; estimates stand for the models that they rated too little "
            "or not at all. An interval holds the uncertainty of the calibration and its variation from model to model."
        )
    ]
    notes += [f"{one.judge}: {refusal_words(one.refusal)}" for one in (found.old, found.new) if one.refusal]
    notes += [_verdict_words(one) for one in (found.old, found.new) if one.found]
    table = Table(columns, rows) if rows else None
    return Block("people", title, table=table, notes=notes, folded=not found.both)


def _by_model(one: JudgeOnPeople) -> dict[str, CarriedMean]:
    return {row.model: row for row in one.found.transport.carried} if one.found else {}
