"""Blocks on pace, straight-lining, sides and quality checks. They are signs that deserve a check, not verdicts."""

from django.utils.translation import gettext

from calibration.figures.charts import Bar, interval_bars
from calibration.figures.drawing import number
from calibration.figures.spreads import Distribution, distributions
from calibration.reports.codec import Missing
from calibration.reports.rater_behaviour import ChecksOfAll, Habits, Paces, SameAnswersOfAll, SidesOfAll
from calibration.web.blocks import Block, Column, Table, interval_cells
from calibration.web.messages.reasons import reason_of

MOST_BARS = 30


def habit_blocks(habits: Habits) -> list[Block]:
    return [_pace(habits.pace), _same(habits.same_answers), _sides(habits.sides), _controls(habits.controls)]


def _pace(found: Paces | Missing) -> Block:
    title = gettext("Speed")
    if isinstance(found, Missing):
        return Block("pace", title, reason=reason_of(found))
    rows = found.raters
    medians = [row.median for row in rows]
    figure = distributions(
        [Distribution(gettext("raters"), medians, sum(medians) / len(medians))],
        title=title,
        x_title=gettext("Median seconds per 100 words of the responses shown"),
        mean_word=gettext("mean"),
        minimum_word=gettext("minimum"),
        bounds=(0.0, max(medians)),
    )
    table = Table(
        [
            Column(gettext("Rater")),
            Column(gettext("Answers"), 0),
            Column(gettext("Median s per 100 words"), 1),
            Column(gettext("Total s per 100 words"), 1),
            Column(gettext("Fast answers"), 2),
            Column(gettext("Too fast to have been read"), 2),
        ],
        [[row.rater, row.n, row.median, row.total, row.fast, row.unread] for row in rows],
    )
    answer = gettext(
        "The median answer took %(seconds)s active seconds per 100 words (%(n)s answers); %(fast)s of the answers "
        "took less than a quarter of that. %(unread)s of the answers were given faster than their texts can be read, "
        "at over %(limit)d words a minute."
    ) % {
        "seconds": number(found.median, 1),
        "n": f"{found.n:,}",
        "fast": number(found.fast),
        "unread": number(found.unread),
        "limit": found.limit,
    }
    return Block("pace", title, answer=answer, figure=figure, table=table, folded=True)


def _same(found: SameAnswersOfAll | Missing) -> Block:
    title = gettext("Straight-lining")
    if isinstance(found, Missing):
        return Block("same-answers", title, reason=reason_of(found))
    rows = found.raters
    table = Table(
        [
            Column(gettext("Rater")),
            Column(gettext("Answers"), 0),
            Column(gettext("Share of the most common answer"), 2),
            Column(gettext("Straight-lined tasks"), 0),
            Column(gettext("Tasks with several questions"), 0),
        ],
        [[row.rater, row.n, row.most_common, row.flat_tasks, row.tasks] for row in rows],
    )
    if not found.tasks:
        answer = gettext("Each task asks only one question, so straight-lining cannot occur.")
        figure = ""
    else:
        share = found.flat_tasks / found.tasks
        answer = gettext("%(flat)d of %(tasks)d tasks (%(share)s) were given the same answer to every question.") % {
            "flat": found.flat_tasks,
            "tasks": found.tasks,
            "share": number(share),
        }
        shares = [row.flat_tasks / row.tasks for row in rows if row.tasks]
        figure = distributions(
            [Distribution(gettext("raters"), shares, sum(shares) / len(shares))],
            title=title,
            x_title=gettext("Share of a rater's tasks with straight-lining"),
            mean_word=gettext("mean"),
            minimum_word=gettext("minimum"),
            bounds=(0.0, 1.0),
        )
    return Block("same-answers", title, answer=answer, figure=figure, table=table, folded=True)


def _sides(found: SidesOfAll | Missing) -> Block:
    title = gettext("Preference for a side")
    if isinstance(found, Missing):
        return Block("sides", title, reason=reason_of(found))
    rows = found.raters
    figure = interval_bars(
        [Bar(row.rater, *interval_cells(row.value, row)) for row in rows[:MOST_BARS]],
        title=title,
        x_title=gettext("Share of comparisons without a tie that the side shown first won"),
        rule=0.5,
        rule_label=gettext("no preference"),
    )
    table = Table(
        [
            Column(gettext("Rater")),
            Column(gettext("Decided"), 0),
            *Column.interval(gettext("First side wins"), 3),
            Column("p", 3, floor=0.001),
            Column(gettext("Ties"), 0),
        ],
        [[row.rater, row.n, *interval_cells(row.value, row), row.p, row.ties] for row in rows],
    )
    doubtful = sum(row.preferred for row in rows)
    answer = gettext(
        "%(n)s of %(all)d raters prefer one side more often than chance explains (p below 0.01, corrected for the "
        "number of raters)."
    ) % {"n": doubtful, "all": len(rows)}
    return Block("sides", title, answer=answer, figure=figure, table=table, folded=True)


def _controls(found: ChecksOfAll | Missing) -> Block:
    title = gettext("Quality checks failed")
    if isinstance(found, Missing):
        return Block("controls", title, reason=reason_of(found))
    rows = found.raters
    table = Table(
        [
            Column(gettext("Rater")),
            Column(gettext("Checks"), 0),
            Column(gettext("Checks failed"), 0),
            *Column.interval(gettext("Share failed"), 3),
        ],
        [[row.rater, row.n, row.hits, *interval_cells(row.value, row)] for row in rows],
    )
    figure = interval_bars(
        [Bar(row.rater, *interval_cells(row.value, row)) for row in rows[:MOST_BARS]],
        title=title,
        x_title=gettext("Share of attention checks and gold items failed"),
    )
    answer = gettext("%(failed)d of %(n)s attention checks and gold items were failed.") % {
        "failed": found.failed,
        "n": f"{found.n:,}",
    }
    return Block("controls", title, answer=answer, figure=figure, table=table, folded=True)
