"""The page of models that nobody rated: people's mean of each, estimated from a judge's scores."""

from typing import cast

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_safe

from accounts.models import User
from accounts.permissions import results_page
from annotation.models import Rater
from annotation.studies.access import study_read_by
from annotation.studies.provenance import provenance_of
from calibration.figures.charts import Bar, interval_bars
from calibration.figures.drawing import number, shortest
from calibration.statistics.judges.between_models import LEAST_OF_A_MODEL
from calibration.statistics.judges.transport import SHAPES, CarriedMean, Shape
from calibration.web.blocks import Block, Column, ResultPage, Table
from calibration.web.serving import file_of
from core.errors import UserError
from core.messages.rendering import for_reader
from judging.comparison.judge_against_people import judges_in, weighting_for
from judging.comparison.unrated_models import UnratedModels, unrated_models
from judging.web.comparison.depth_pages import addressed, judge_links
from judging.web.runs.bridge import read_margin

DIGITS = 3
NAMED = 5
ASKED = {"judge", "margin", "shape", "file"}


@require_safe
@results_page
def unrated_models_page(request: HttpRequest, slug: str) -> HttpResponse:
    """?judge= is a judge's id (default: the one with most verdicts), ?margin= the difference that matters, ?shape= f."""
    study = study_read_by(cast(User, request.user), slug)
    judges = judges_in(study)
    judge = _asked_judge(judges, request.GET.get("judge", ""))
    shape = asked_shape(request.GET.get("shape", ""))
    page, reason, margin = None, "", request.GET.get("margin", "")
    asked = ASKED & request.GET.keys()
    if judge is not None and not asked:
        # The difference that matters is to be stated before anybody sees what there is.
        reason = gettext("State the difference that matters, choose the calibration, and press Show.")
    elif judge is not None:
        try:
            found = unrated_models(study, judge, weighting_for(study), margin=read_margin(margin), shape=shape)
            page = page_of(found)
            margin = margin or shortest(found.transport.test.margin)
        except UserError as error:
            reason = for_reader(error)
    if "file" in request.GET:
        if page is None:
            raise Http404(gettext("This page has no such file."))
        return file_of(page, request.GET["file"], f"{study.slug}-unrated-models")
    query = request.GET.copy()
    query.pop("file", None)
    context: dict[str, object] = {
        "study": study,
        "provenance": provenance_of(study),
        "judges": judges,
        "judge": judge,
        "shapes": shape_names(),
        "shape": shape,
        "margin": margin,
        "page": page,
        "reason": reason,
        "links": addressed(study, judge_links("judging:unrated_models")),
        "path": reverse("judging:unrated_models", args=[study]),
        "query": query.urlencode(),
    }
    return render(request, "judging/unrated_models.html", context)


def _asked_judge(judges: list[Rater], public_id: str) -> Rater | None:
    if not public_id:
        return judges[0] if judges else None
    found = next((judge for judge in judges if judge.public_id == public_id), None)
    if found is None:
        raise Http404(gettext("This study has no such judge."))
    return found


def asked_shape(name: str) -> Shape:
    """Return the calibration of this name; the line through means where there is none of it."""
    return next((shape for shape in SHAPES if shape == name), "means")


def shape_names() -> list[tuple[Shape, str]]:
    return [
        ("means", gettext("line through the models' means")),
        ("linear", gettext("line through single responses")),
        ("monotone", gettext("increasing curve through single responses")),
    ]


def page_of(found: UnratedModels) -> ResultPage:
    """The answer, the models' estimated means, whether one calibration serves all rated models, and the calibration."""
    blocks = [_means_block(found), _test_block(found), _calibration_block(found)]
    return ResultPage(title(), opening_of(found), blocks, ["judges.transport"])


def title() -> str:
    return gettext("Models that nobody rated")


def opening_of(found: UnratedModels) -> str:
    """Say of how many models a level is stated, and whether the calibration is shown to hold."""
    carried = found.transport.carried
    stated = sum(one.kind == "carried" for one in carried)
    if not carried:
        first = gettext(
            "People rated every model that %(judge)s scored; there is none whose ratings are to be estimated."
        )
    else:
        first = ngettext(
            "Of %(all)d model that people rated too little or not at all, %(judge)s's scores give an estimate of people's "
            "mean for %(stated)d.",
            "Of %(all)d models that people rated too little or not at all, %(judge)s's scores give an estimate of people's "
            "mean for %(stated)d.",
            len(carried),
        )
    shown = {"judge": found.judge, "all": len(carried), "stated": stated}
    return f"{first % shown} {_verdict_of(found)}"


def _verdict_of(found: UnratedModels) -> str:
    test = found.transport.test
    shown: dict[str, object] = {"margin": shortest(test.margin), "n": len(test.groups), "judge": found.judge}
    if test.verdict == "holds":
        told = gettext(
            "The calibration holds across the %(n)d rated models: predicted without its own ratings, each differs from "
            "people's mean by less than %(margin)s points."
        )
    elif test.verdict == "fails":
        outside = [one.name for one in test.groups if one.departs]
        shown["names"] = ", ".join([*outside[:NAMED], *(["…"] if len(outside) > NAMED else [])])
        told = gettext(
            "The calibration does not hold across the rated models: the prediction without its own ratings differs from "
            "people's mean by more than %(margin)s points for %(names)s. An unrated model may be off as far, which its "
            "interval includes; have people rate the models that matter."
        )
    else:
        told = gettext(
            "Whether the calibration holds is not shown: for some of the %(n)d rated models, a difference from people's "
            "mean of more than %(margin)s points cannot be ruled out."
        )
    return told % shown


def means_table(found: UnratedModels) -> Table:
    columns = [
        Column(gettext("Model")),
        *Column.interval(gettext("People's mean, estimated"), DIGITS),
        *Column.ends(gettext("These raters: low"), gettext("These raters: high"), DIGITS),
        Column(gettext("Level"), names=_kinds()),
        Column(gettext("Judge's mean"), DIGITS),
        Column(gettext("Share of its verdicts in the range"), 2),
        Column(gettext("Responses"), 0),
        Column(gettext("Rated responses"), 0),
    ]
    rows = [
        [
            one.model,
            *(one.value, one.low, one.high, one.these_low, one.these_high),
            *(one.reason or one.kind, one.judge, one.inside, one.n, one.n_rated),
        ]
        for one in _in_order(found)
    ]
    return Table(columns, rows)


def _kinds() -> dict[str, str]:
    return {
        "carried": gettext("estimated"),
        "mean_outside": gettext("not stated: its mean from the judge lies beyond those of the rated models"),
        "verdicts_outside": gettext("not stated: too many of its verdicts lie beyond those of the rated models"),
    }


def _in_order(found: UnratedModels) -> list[CarriedMean]:
    """Sort by the estimate; those that are not stated come last."""
    return sorted(found.transport.carried, key=lambda one: (one.value is None, -(one.value or 0.0), one.model))


def _means_block(found: UnratedModels) -> Block:
    estimated, rated = gettext("Estimated from the judge"), gettext("Rated by people")
    bars = [
        Bar(one.model, one.value, one.low, one.high, group=estimated)
        for one in _in_order(found)
        if one.value is not None
    ]
    people = sorted(found.transport.labelled, key=lambda one: -one.people)
    bars += [Bar(one.model, one.people, group=rated) for one in people]
    heading = gettext("People's mean score of each model")
    if found.transport.why_not_such is None:
        whom = gettext("The interval is for raters like these; beside it stands the one for exactly these raters.")
    else:
        whom = gettext("The interval is for exactly these raters.")
    notes = [
        whom,
        gettext(
            "Each interval allows for another draw of instructions and for the variation of such estimates from model to "
            "model. It presumes that the model is like the rated ones: nothing in the judge's scores shows that it is not."
        ),
        gettext(
            "A level is stated only where the judge's mean of the model lies between %(low)s and %(high)s, the least and "
            "the greatest of the rated models, and at least 95 %% of its verdicts lie between %(least)s and %(most)s."
        )
        % {
            "low": number(found.transport.mean_low),
            "high": number(found.transport.mean_high),
            "least": number(found.transport.low),
            "most": number(found.transport.high),
        },
    ]
    return Block(
        "means",
        heading,
        figure=interval_bars(bars, title=heading, x_title=gettext("Mean score")),
        caption=gettext(
            "Bars with an interval are estimated from the scores of %(judge)s, with their 95 %% interval; the others are "
            "means of people's ratings."
        )
        % {"judge": found.judge},
        table=means_table(found),
        notes=notes,
    )


def _test_block(found: UnratedModels) -> Block:
    test = found.transport.test
    verdicts = {
        "holds": gettext("Holds: every simultaneous 90 %% interval lies within the margin of %(margin)s points."),
        "fails": gettext("Fails: at least one interval lies beyond the margin of %(margin)s points."),
        "cannot_tell": gettext("Cannot tell: at least one interval reaches beyond the margin of %(margin)s points."),
    }
    columns = [
        Column(gettext("Model")),
        *Column.interval(gettext("People's mean minus prediction"), DIGITS),
        Column(gettext("People's mean"), DIGITS),
        Column(gettext("Judge's mean"), DIGITS),
        Column(gettext("Rated responses"), 0),
    ]
    rows = [
        [group.name, group.value, group.low, group.high, one.people, one.judge, one.n]
        for group, one in zip(test.groups, found.transport.labelled, strict=True)
    ]
    notes = [
        gettext(
            "Each rated model is predicted by the calibration of the others. Between models, these differences have a "
            "standard deviation of %(tau)s points (REML)."
        )
        % {"tau": number(found.transport.between)}
    ]
    if test.left_out:
        notes.append(
            ngettext(
                "%(n)d model has ratings on fewer than %(least)d instructions and counts as unrated.",
                "%(n)d models have ratings on fewer than %(least)d instructions and count as unrated.",
                test.left_out,
            )
            % {"n": test.left_out, "least": LEAST_OF_A_MODEL}
        )
    answer = verdicts[test.verdict] % {"margin": shortest(test.margin)}
    heading = gettext("One calibration for all models?")
    return Block("models", heading, answer=answer, table=Table(columns, rows), notes=notes, folded=True)


def _calibration_block(found: UnratedModels) -> Block:
    one = found.transport
    columns = [Column(gettext("Judge's score"), DIGITS), Column(gettext("People's score, predicted"), DIGITS)]
    answer = ""
    if one.slope is not None and one.intercept is not None:
        answer = gettext("People's score = %(intercept)s + %(slope)s × the judge's score.") % {
            "intercept": number(one.intercept),
            "slope": number(one.slope),
        }
    note = gettext("Fitted to %(n)s rated responses. It is for means of models, not for single responses.") % {
        "n": f"{one.n_rated:,}"
    }
    rows = [list(pair) for pair in zip(one.at, one.curve, strict=True)]
    heading = gettext("The calibration")
    return Block("calibration", heading, answer=answer, table=Table(columns, rows), notes=[note], folded=True)
