"""The card of a judge: for what its verdicts may be used in one sentence, then everything measured of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import cast

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from accounts.models import User
from accounts.permissions import results_page, workspaces_led_by, workspaces_read_by
from annotation.models import Rater
from calibration.figures.charts import Bar, interval_bars
from calibration.statistics.judges.estimates import PeopleEstimate
from calibration.statistics.resampling import MIN_CLUSTERS
from calibration.statistics.shares import Share
from calibration.web.blocks import Block, Column, ResultPage, Table
from calibration.web.messages.people_estimates import people_cells, people_columns, populations_meaning
from calibration.web.messages.statistics import criterion_words
from calibration.web.serving import file_of
from core.web.access import visible_or_404
from generation.endpoints.pricing import currency_of
from judging.cards.card import JudgeCard, judge_card, tells
from judging.cards.measured import PER, CardStudy
from judging.comparison.bridging.loaded import loaded_in
from judging.methods.registry import METHODS
from judging.methods.spec import Transport
from judging.models import Judge
from judging.probes.request import Group
from judging.web.judges.method_messages import method_words
from judging.web.probes.blocks import effects_table
from judging.web.probes.messages import opening_of

DIGITS = 3


@require_safe
@results_page
def judge_card_page(request: HttpRequest, public_id: str) -> HttpResponse:
    """Show a judge's card; ?file=page.json is all of it, and each table is a file too."""
    user = cast(User, request.user)
    found = Rater.objects.filter(kind=Rater.Kind.JUDGE, workspace__in=workspaces_read_by(user), public_id=public_id)
    rater = visible_or_404(found, message=gettext("There is no such judge."))
    card = judge_card(rater, currency_of(rater.workspace_id))
    page = card_page(card)
    if "file" in request.GET:
        return file_of(page, request.GET["file"], card.judge.name)
    leads = workspaces_led_by(user).filter(pk=rater.workspace_id).exists()
    context = {
        "rater": rater,
        "card": card,
        "page": page,
        "method": method_words(card.judge.method) if card.judge.method else None,
        "per": PER,
        "path": request.path,
        "query": "",
        "next": next_step(card, rater, leads=leads),
        "loaded": [one for one in loaded_in([rater.workspace]) if one.judge == rater] if leads else [],
        "provenance": [rater.provenance] if rater.provenance else [],
    }
    return render(request, "judging/judge_card.html", context)


def card_page(card: JudgeCard) -> ResultPage:
    blocks = [_agreement(card), _biases(card), _costs(card)]
    if card.probes is not None:
        report = card.probes.report
        blocks.insert(1, Block("probes", gettext("Probes"), answer=opening_of(report), table=effects_table(report)))
    return ResultPage(gettext("Judge card"), use_words(card), [block for block in blocks if block is not None], [])


def use_words(card: JudgeCard) -> str:
    """Say in one sentence for what the judge's verdicts may be used, and for what not; only what is shown."""
    name = card.judge.name
    if card.use == "none":
        return gettext(
            "%(judge)s failed its canary texts: use none of its verdicts until its prompt or its model has been changed."
        ) % {"judge": name}
    if card.use == "not_shown":
        return gettext("%(first)s; %(second)s.") % {"first": _unknown_use(card), "second": _limits(card)}
    row = _telling(card)
    assert row.beside is not None
    shown = {"judge": name, "study": row.name, "value": _share(row.beside.judge), "people": _share(row.beside.people)}
    may = {
        "worse": gettext(
            "%(judge)s may not stand in for a person on responses like those of “%(study)s”, where it agrees with people "
            "%(value)s %% of the time and they with each other %(people)s %%"
        ),
        "beside": gettext(
            "%(judge)s may be used beside people on responses like those of “%(study)s”, where it agrees with people "
            "%(value)s %% of the time and they with each other %(people)s %%; that it can replace one is not shown"
        ),
        "better": gettext(
            "%(judge)s may be used beside people on responses like those of “%(study)s”, where it agrees with people "
            "%(value)s %% of the time, more than the %(people)s %% that they agree with each other"
        ),
    }[card.use] % shown
    return gettext("%(first)s; %(second)s.") % {"first": may, "second": _limits(card)}


def _unknown_use(card: JudgeCard) -> str:
    """Say why it is not shown what the judge may be used for, and what that needs."""
    instructions = max((row.beside.apart.clusters for row in card.measured if row.beside), default=0)
    if not instructions:
        said = gettext(
            "It is not shown what %(judge)s may be used for, because no task has both its verdict and ratings by two people"
        )
    elif instructions < MIN_CLUSTERS:
        said = gettext(
            "It is not shown what %(judge)s may be used for: that needs at least %(needed)d instructions with its verdicts "
            "and ratings by two people, and there are %(n)d"
        )
    else:
        said = gettext(
            "It is not shown what %(judge)s may be used for, because too little differs between its agreement with people "
            "and theirs with each other to tell"
        )
    return said % {"judge": card.judge.name, "needed": MIN_CLUSTERS, "n": instructions}


def _telling(card: JudgeCard) -> CardStudy:
    """Return the study on which the sentence rests: the largest of those that show what it says."""
    rows = [row for row in card.measured if row.beside and tells(row.beside)]
    side = {"worse": lambda one: one.high < 0, "better": lambda one: one.low > 0}.get(card.use)
    if side is not None:
        rows = [row for row in rows if row.beside and row.beside.apart.excludes_zero and side(row.beside.apart)]
    return rows[0]


def _share(found: PeopleEstimate) -> str:
    return f"{100 * found.value:.0f}"


def _limits(card: JudgeCard) -> str:
    """Say for what its verdicts may not be used, or that this has not been measured."""
    told = []
    if card.avoid:
        names = {
            Group.PADDING: gettext("length"),
            Group.FORMAT: gettext("format"),
            Group.WORDING: gettext("the wording of the prompt"),
            Group.ORDER: gettext("order"),
            Group.AUTHOR: gettext("a named author"),
        }
        joined = gettext(", ").join(names[Group(group)] for group in card.avoid)
        told.append(gettext("it may not compare what differs in %(what)s, which moves it") % {"what": joined})
    elif card.probes is not None:
        told.append(gettext("no probe is shown to move it"))
    else:
        told.append(gettext("whether length, format or wording moves it has not been probed"))
    if card.drifted:
        told.append(
            gettext("its verdicts from before and after a change that its drift monitor found may not be mixed")
        )
    return gettext("; ").join(told)


def _agreement(card: JudgeCard) -> Block:
    title = gettext("Agreement with people, beside that of people with each other")
    columns = [
        Column(gettext("Study")),
        Column(gettext("Criterion"), optional=True),
        *people_columns(gettext("Judge"), DIGITS),
        *people_columns(gettext("People"), DIGITS),
        *people_columns(gettext("Judge minus people"), DIGITS),
        Column(gettext("Tasks"), 0),
        Column(gettext("Verdicts"), 0),
    ]
    rows: list[list[object]] = []
    bars, people = [], []
    for row in card.studies:
        found = row.beside
        parts = (found.judge, found.people, found.apart) if found else (None, None, None)
        asked = criterion_words(row.criterion) if row.criterion else ""
        values = [cell for one in parts for cell in people_cells(one)]
        rows.append([row.name, asked, *values, found and found.n, row.verdicts])
        if found is not None:
            bars.append(_bar(row.name, found.judge))
            people.append(_bar(row.name, found.people))
    figure = ""
    if bars:
        series = gettext("Judge"), gettext("People")
        figure = interval_bars(bars, title=title, x_title=gettext("Agreement"), reference=people, series=series)
    told = gettext("How often a label is the most frequent one of all people but one: the judge's, and each person's.")
    return Block(
        "agreement",
        title,
        figure=figure,
        caption=told if bars else "",
        table=_with_rows(columns, rows),
        notes=populations_meaning([row.beside.judge for row in card.studies if row.beside]),
        reason="" if bars else _why_no_agreement(card),
    )


def _bar(name: str, found: PeopleEstimate) -> Bar:
    stated = found.interval_kind != "none"
    return Bar(name, found.value, found.low if stated else None, found.high if stated else None)


def _why_no_agreement(card: JudgeCard) -> str:
    if any(row.being_computed for row in card.studies):
        return gettext("The agreement is being computed in the background; open this page again in a moment.")
    return gettext("No task has both this judge's verdict and ratings by two people.")


def _biases(card: JudgeCard) -> Block:
    """Everything else that was measured, one row for each study."""
    columns = [
        Column(gettext("Study")),
        *Column.interval(gettext("Length bias rate"), DIGITS),
        *Column.interval(gettext("Points of the side shown first"), DIGITS),
        *Column.interval(gettext("Flips in the other order"), DIGITS),
        *people_columns(gettext("Slope minus a person's"), DIGITS),
        *Column.interval(gettext("Calibration of graded verdicts"), DIGITS),
        Column(gettext("Drift"), names=drift_names()),
    ]
    rows = [
        [
            row.name,
            *_cells(row.length),
            *_cells(row.position),
            *_cells(row.flips),
            *people_cells(row.slope),
            *_cells(row.calibration),
            row.drift,
        ]
        for row in card.studies
    ]
    notes = [
        gettext(
            "Length bias rate: preferring the longer minus preferring the shorter, 0 is none. Points of the side shown "
            "first: 0.5 is none. Their intervals are about this judge, with the instructions drawn again. Calibration: how "
            "much people's share changes when a verdict changes by 1, for exactly these raters; people's own verdicts fall "
            "short of 1 as well, so that this alone does not say that the judge exaggerates."
        )
    ]
    if card.probes is not None and card.probes.report.again is not None:
        again = card.probes.report.again
        notes.append(
            gettext("Repeats: asked the same again, it changes %(value)s %% of its verdicts (%(low)s to %(high)s %%).")
            % {name: f"{100 * getattr(again, name):.0f}" for name in ("value", "low", "high")}
        )
    title = gettext("Biases, calibration and drift")
    return Block("biases", title, table=_with_rows(columns, rows), notes=notes, reason="" if rows else _no_verdicts())


def _cells(found: Share | None) -> Sequence[float | None]:
    if found is None:
        return None, None, None
    return (found.value, None, None) if found.interval_kind == "none" else (found.value, found.low, found.high)


def drift_names() -> dict[str, str]:
    return {
        "changed": gettext("changed"),
        "not_shown": gettext("no change found"),
        "not_watched": gettext("not monitored"),
    }


def _costs(card: JudgeCard) -> Block:
    cost = gettext("Cost of %(n)s verdicts") % {"n": f"{PER:,}"}
    if card.currency:
        cost = gettext("Cost of %(n)s verdicts (%(currency)s)") % {"n": f"{PER:,}", "currency": card.currency}
    columns = [
        Column(gettext("Study")),
        Column(cost, 4),
        Column(gettext("Seconds of %(n)s verdicts") % {"n": f"{PER:,}"}, 0),
    ]
    rows = [[row.name, float(Decimal(row.money)) if row.money else None, row.seconds] for row in card.studies]
    note = gettext("Seconds are the sum of the replies' own times; calls at once take less.")
    title, table = gettext("Cost and pace"), _with_rows(columns, rows)
    return Block("costs", title, table=table, notes=[note], reason="" if rows else _no_verdicts())


def _with_rows(columns: Sequence[Column], rows: Sequence[Sequence[object]]) -> Table | None:
    return Table(columns, rows) if rows else None


def _no_verdicts() -> str:
    return gettext("This judge has no verdicts yet.")


@dataclass(frozen=True)
class CardStep:
    why: str
    button: str
    address: str


def next_step(card: JudgeCard, rater: Rater, *, leads: bool) -> CardStep | None:
    """Return the one thing to do after reading the card, None where there is nothing that the reader may do."""
    judge = Judge.objects.filter(rater=rater).first()
    if card.probes is not None and card.avoid:
        why = gettext("See what moves this judge.")
        return CardStep(why, gettext("Open the probes"), reverse("judging:run_probes", args=[card.probes.run]))
    can = judge is not None and METHODS[judge.method].transport == Transport.CHAT and not judge.jurors.exists()
    if leads and can and card.probes is None and card.studies:
        study = rater.workspace.studies.filter(slug=card.studies[0].study).first()
        if study is not None:
            why = gettext("What moves this judge has not been probed.")
            address = reverse("judging:probe_judge", args=[rater.public_id, study.public_id])
            return CardStep(why, gettext("Probe this judge"), address)
    return None
