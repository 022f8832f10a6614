"""The page on why a judge and people differ: causes, criteria, tasks, and the clauses that reasons quote."""

from django.urls import reverse
from django.utils.translation import gettext, ngettext

from annotation.models import Study
from calibration.figures.charts import Bar, interval_bars
from calibration.figures.drawing import shortest
from calibration.reports.codec import Missing
from calibration.statistics.agreement.causes import CAUSES, TOLERANCE
from calibration.statistics.judges.estimates import PeopleEstimate
from calibration.web.blocks import Block, Choice, Column, ResultPage, Table
from calibration.web.messages.names import criterion_name
from calibration.web.messages.people_estimates import people_cells, people_columns, people_words, populations_meaning
from calibration.web.messages.reasons import reason_of
from judging.comparison.causes import MOST_TASKS, CauseReport, CausesReport
from judging.comparison.quoted_clauses import LEAST_WORDS

HALF = 0.5


def causes_title() -> str:
    return gettext("Why do a judge and people differ?")


def cause_names() -> dict[str, str]:
    return {
        "judge": gettext("the judge"),
        "guideline": gettext("the guideline"),
        "rater": gettext("one rater"),
        "alone": gettext("not known"),
    }


def causes_page(study: Study, report: CausesReport) -> ResultPage:
    if isinstance(report, Missing):
        return ResultPage(causes_title(), reason_of(report), [], [])
    return ResultPage(
        title=causes_title(),
        opening=_opening(report),
        choices=_judge_choice(report),
        blocks=[
            _causes_block(report),
            _criteria_block(study, report),
            _tasks_block(study, report),
            _clauses_block(report),
        ],
        method=[
            gettext(
                "A person's answer and the judge's answer to the same question of the same task differ if they lie more "
                "than %(tolerance)s %% of the scale apart; two preferences, if they are not the same."
            )
            % {"tolerance": f"{100 * TOLERANCE:g}"},
            gettext(
                "The cause of a difference is read from what the other people answered. If all people agree with each "
                "other, or all but one, the difference of those who agree is the judge's. If this person alone answered "
                "other than all the others, who agree, it is this rater's. If people do not agree, no answer could have "
                "agreed with all of them, and the difference is the guideline's. If nobody else answered, the cause is "
                "not known, and the difference is left out of the shares."
            ),
            gettext(
                "A reason quotes a clause of the guideline if it has at least %(n)s words of it in a row; a Chinese or "
                "Japanese character counts as half a word. The reasons of people and of the judge for answers that differ "
                "are read."
            )
            % {"n": f"{LEAST_WORDS:g}"},
        ],
        code=["calibration.statistics.agreement.causes"],
    )


def _judge_choice(report: CauseReport) -> list[Choice]:
    return [Choice("judge", gettext("Judge"), report.judges, report.judge_id)] if len(report.judges) > 1 else []


def _opening(report: CauseReport) -> str:
    differing = ngettext(
        "%(judge)s differs from %(differing)s of %(answers)s answer that people gave to the same questions.",
        "%(judge)s differs from %(differing)s of %(answers)s answers that people gave to the same questions.",
        report.answers,
    ) % {"judge": report.judge, "differing": f"{report.differing:,}", "answers": f"{report.answers:,}"}
    if _holds_most(report.shares["judge"]):
        why = gettext(
            "Most of the differences are the judge's: people agree with each other where it differs in %(share)s of them."
        ) % {"share": people_words(report.shares["judge"])}
    elif _holds_most(report.shares["guideline"]):
        why = gettext(
            "Most of the differences are the guideline's: people do not agree with each other either in %(share)s of them."
        ) % {"share": people_words(report.shares["guideline"])}
    else:
        why = gettext(
            "It is not shown that one cause holds most of the differences: the judge's share is %(judge)s, the guideline's "
            "%(guideline)s."
        ) % {"judge": people_words(report.shares["judge"]), "guideline": people_words(report.shares["guideline"])}
    return f"{differing} {why}"


def _holds_most(share: PeopleEstimate) -> bool:
    return share.interval_kind == "crossed95" and share.low > HALF


def _causes_block(report: CauseReport) -> Block:
    title, names = gettext("Causes of the differences"), cause_names()
    total = report.differing - report.alone
    known = sorted(report.shares.items(), key=lambda pair: -pair[1].value)
    table = Table(
        [
            Column(gettext("Cause"), names=names),
            Column(gettext("Differences"), 0),
            *people_columns(gettext("Share"), 3),
        ],
        [[cause, round(share.value * total), *people_cells(share)] for cause, share in known],
    )
    alone = ngettext(
        "The cause of %(n)s difference is not known, because nobody else answered the question.",
        "The cause of %(n)s differences is not known, because nobody else answered the question.",
        report.alone,
    ) % {"n": f"{report.alone:,}"}
    return Block(
        "causes",
        title,
        figure=interval_bars(
            [_bar(names[cause], share) for cause, share in known],
            title=title,
            x_title=gettext("Share of the differences"),
        ),
        caption=" ".join(populations_meaning(report.shares.values())),
        table=table,
        notes=[alone] if report.alone else [],
    )


def _bar(name: str, share: PeopleEstimate) -> Bar:
    ends = () if share.interval_kind == "none" else (share.low, share.high)
    return Bar(name, share.value, *ends)


def _criteria_block(study: Study, report: CauseReport) -> Block:
    names, total = cause_names(), max(report.differing, 1)
    table = Table(
        [
            Column(
                gettext("Criterion"),
                names={row.criterion: criterion_name(study, row.criterion) for row in report.criteria},
            ),
            Column(gettext("Answers"), 0),
            Column(gettext("Differences"), 0),
            Column(gettext("Share of all differences"), 3),
            *(Column(names[cause], 0) for cause in CAUSES),
        ],
        [
            [row.criterion, row.answers, row.differing, row.differing / total, *(row.causes[cause] for cause in CAUSES)]
            for row in report.criteria
        ],
    )
    return Block("criteria", gettext("Differences by criterion"), table=table, folded=True)


def _tasks_block(study: Study, report: CauseReport) -> Block:
    table = Table(
        [
            Column(gettext("Instruction")),
            Column(gettext("Model")),
            Column(
                gettext("Criterion"),
                names={row.criterion: criterion_name(study, row.criterion) for row in report.tasks},
            ),
            Column(gettext("Cause"), names=cause_names()),
            Column(gettext("People"), 0),
            Column(gettext("Of these, apart from the judge"), 0),
            Column(gettext("The judge's answer")),
            Column(gettext("People's answers")),
        ],
        [
            [
                row.instruction,
                row.model,
                row.criterion,
                row.cause,
                row.people,
                row.differing,
                shortest(row.judge),
                " ".join(map(shortest, row.answers)),
            ]
            for row in report.tasks
        ],
        links=[reverse("annotation:task", args=[study, row.task]) for row in report.tasks],
    )
    note = gettext(
        "The questions on which most people differ from the judge stand first, at most %(n)s of them. A preference is "
        "positive where response A of the task is better."
    ) % {"n": MOST_TASKS}
    return Block("tasks", gettext("Where they differ most"), table=table, notes=[note], folded=True)


def _clauses_block(report: CauseReport) -> Block:
    title = gettext("Clauses of the guideline that the reasons quote")
    if not report.clauses:
        reason = gettext("No reason for an answer that differs quotes a clause of the study's guideline.")
        return Block("clauses", title, reason=reason, folded=True)
    table = Table(
        [
            Column(gettext("Clause")),
            Column(gettext("Reasons of people"), 0),
            Column(gettext("Reasons of the judge"), 0),
        ],
        [[row.clause, row.people, row.judge] for row in report.clauses],
    )
    note = ngettext(
        "%(n)s reason was read. A clause that is quoted where people do not agree may need another wording.",
        "%(n)s reasons were read. A clause that is quoted where people do not agree may need another wording.",
        report.reasons,
    ) % {"n": f"{report.reasons:,}"}
    return Block("clauses", title, table=table, notes=[note], folded=True)
