"""The page of a bridge: a new judge's run beside an old judge's, and model means on the old judge's scale."""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import cast

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_safe

from accounts.models import User
from accounts.permissions import leads_workspace_of, results_page
from calibration.figures.charts import Bar, interval_bars
from calibration.figures.drawing import number, shortest
from calibration.statistics.judges.between_models import LEAST_OF_A_MODEL, Residuals
from calibration.statistics.judges.bridge import BridgedMean
from calibration.web.blocks import Block, Column, ResultPage, Table
from calibration.web.serving import file_of
from core.errors import UserError
from core.messages.rendering import for_reader
from generation.models import Category
from judging.comparison.bridging.loaded import LoadedVerdicts, Scores, loaded_in
from judging.comparison.bridging.people_scale import PeoplesScale, peoples_scale
from judging.comparison.bridging.run_bridge import RunBridge, run_bridge
from judging.comparison.run_pairs import runs_beside
from judging.models import JudgeRun
from judging.runs.access import SHOWN_WITH_A_RUN, run_read_by, runs_read_by
from judging.web.runs.anchors import judges_to_ask
from judging.web.runs.bridge_boards import board_block, kind_names, people_block, people_words
from judging.web.runs.compare import OFFERED, run_names

DIGITS = 3
NAMED = 5


@require_safe
@results_page
def bridge_runs(request: HttpRequest, public_id: str) -> HttpResponse:
    """The run is the new judge's; ?old= names the old judge's run, ?margin= the difference that matters, ?file= a file."""
    user = cast(User, request.user)
    new = run_read_by(user, public_id)
    offered = list(runs_beside(new, runs_read_by(user)).select_related(*SHOWN_WITH_A_RUN)[:OFFERED])
    loaded = loaded_in([new.study.workspace], new.study)
    wanted = request.GET.get("old", "")
    old = _old_scores(user, new, loaded, wanted) if wanted else None
    page, reason = None, ""
    found: RunBridge | None = None
    if old is not None:
        try:
            found = run_bridge(old, new, margin=read_margin(request.GET.get("margin", "")))
            page = bridge_page(found, category_names(new), peoples_scale(old, new))
        except UserError as error:
            reason = for_reader(error)
    if "file" in request.GET:
        if page is None:
            raise Http404(gettext("This page has no such file."))
        return file_of(page, request.GET["file"], f"{new.study.slug}-bridge")
    query = request.GET.copy()
    query.pop("file", None)
    leads = leads_workspace_of(user, new.study)
    anchors = _anchor_links(old, new) if leads and old is not None else []
    step = _next_step(found, new, anchors) if leads and old is not None else None
    context: dict[str, object] = {
        "run": new,
        "old": old,
        "choices": [
            *((one.public_id, name) for one, name in zip(offered, run_names(offered), strict=True)),
            *((one.public_id, _loaded_name(one)) for one in loaded[:OFFERED]),
        ],
        "page": page,
        "reason": reason,
        "next": step,
        "anchors": [link for link in anchors if step is None or link[0] != step["address"]],
        "margin": request.GET.get("margin", "") or (shortest(found.bridge.by_model.margin) if found else ""),
        "path": request.path,
        "query": query.urlencode(),
    }
    return render(request, "judging/bridge_runs.html", context)


def _loaded_name(one: LoadedVerdicts) -> str:
    told = ngettext(
        "%(judge)s · %(study)s · %(n)s verdict from a file", "%(judge)s · %(study)s · %(n)s verdicts from a file", one.n
    )
    return told % {"judge": one.judge.name, "study": one.study.name, "n": f"{one.n:,}"}


def _next_step(found: RunBridge | None, new: JudgeRun, anchors: Sequence[tuple[str, str]]) -> dict[str, str] | None:
    """Say what comes next and why, by what the bridge shows; None where nothing can be asked."""
    if found is not None and found.bridge.by_model.verdict == "holds":
        return {
            "address": reverse("judging:judge_card", args=[new.judge.rater.public_id]),
            "button": gettext("Open the card of %(judge)s") % {"judge": found.new},
            "why": gettext("The leaderboard continues below. See for what the new judge may be used."),
        }
    if not anchors:
        return None
    if found is None:
        why = gettext("A bridge needs responses that both judges scored.")
    elif found.bridge.by_model.verdict == "fails":
        why = gettext("Models with anchors of their own are put on the old scale without relying on the others.")
    else:
        why = gettext("More anchors show whether one bridge serves all models.")
    address, button = anchors[0]
    return {"address": address, "button": button, "why": why}


def _anchor_links(old: Scores, new: JudgeRun) -> list[tuple[str, str]]:
    """Return the pages on which either judge is asked to score anchors of the other's run, where it can be asked."""
    links = []
    asked = [(old, new.judge), (new, old.judge)] if isinstance(old, JudgeRun) else [(old, new.judge)]
    for run, judge in asked:
        if judges_to_ask(run).filter(pk=judge.pk).exists():
            address = reverse("judging:draw_anchors", args=[run.public_id], query={"judge": judge.rater.public_id})
            words = gettext("Have %(judge)s score anchors") % {"judge": judge.rater.name}
            links.append((address, words))
    return links


def read_margin(written: str) -> float | None:
    """Read a margin; None where it is empty. What is no number above 0 is refused by the bridge itself, as 0."""
    if not written:
        return None
    try:
        value = float(written[:30])
    except ValueError:
        return 0.0
    return value if isfinite(value) else 0.0


def _old_scores(user: User, new: JudgeRun, loaded: Sequence[LoadedVerdicts], public_id: str) -> Scores:
    for one in loaded:
        if one.public_id == public_id:
            return one
    found = runs_beside(new, runs_read_by(user)).filter(public_id=public_id).select_related(*SHOWN_WITH_A_RUN).first()
    if found is None:
        raise Http404(gettext("There is no such run over the same study or benchmark."))
    return found


def category_names(run: JudgeRun) -> dict[str, str]:
    return {category.key: category.name for category in Category.objects.filter(benchmark=run.study.benchmark_id)}


def bridge_page(found: RunBridge, category_names: Mapping[str, str], people: PeoplesScale | None = None) -> ResultPage:
    """The answer, the models' means, whether one bridge serves all, the line, and how many anchors are needed.

    Where people rated, both judges on their scale stand first.
    """
    blocks = [
        Block(
            "means",
            gettext("Model means on the scale of %(judge)s") % {"judge": found.old},
            figure=_figure(found),
            caption=gettext(
                "Each bar is the mean score that %(judge)s is estimated to give to all responses of a model, with its 95 "
                "%% interval."
            )
            % {"judge": found.old},
            table=means_table(found),
            notes=_notes(found),
        ),
        _invariance_block("models", gettext("One bridge for all models?"), gettext("Model"), found.bridge.by_model),
    ]
    if len(found.bridge.by_category.groups) > 1:
        blocks.append(
            _invariance_block(
                "categories",
                gettext("One bridge for all categories?"),
                gettext("Category"),
                found.bridge.by_category,
                category_names,
            )
        )
    blocks.insert(1, board_block(found))
    if people is not None:
        blocks.insert(0 if people.both else 2, people_block(people))
    blocks += [_line_block(found), _plan_block(found)]
    opening = opening_of(found)
    if people is not None and people.both:
        opening = f"{people_words(people)} {opening}"
    return ResultPage(gettext("Bridge between two judges"), opening, blocks, ["judges.bridge"])


def opening_of(found: RunBridge) -> str:
    """Say whether the bridge holds across models, and no more than that."""
    by_model = found.bridge.by_model
    shown = {
        "old": found.old,
        "new": found.new,
        "margin": shortest(by_model.margin),
        "n": f"{found.bridge.n_anchors:,}",
        "models": len(by_model.groups),
    }
    if by_model.verdict == "holds":
        told = ngettext(
            "The bridge holds for the %(models)d model compared: what %(new)s predicts and what %(old)s gave differ by less "
            "than %(margin)s points on average.",
            "The bridge holds across the %(models)d models compared: for each of them, what %(new)s predicts and what "
            "%(old)s gave differ by less than %(margin)s points on average.",
            len(by_model.groups),
        )
        return told % shown
    if by_model.verdict == "fails":
        outside = [one.name for one in by_model.groups if one.low > by_model.margin or one.high < -by_model.margin]
        names = ", ".join([*outside[:NAMED], *(["…"] if len(outside) > NAMED else [])])
        told = ngettext(
            "The bridge does not hold across models: for %(names)s, what %(new)s predicts and what %(old)s gave differ by "
            "more than %(margin)s points on average. Only the means of models with anchors can be relied on.",
            "The bridge does not hold across models: for %(names)s, what %(new)s predicts and what %(old)s gave differ by "
            "more than %(margin)s points on average. Only the means of models with anchors can be relied on.",
            len(outside),
        )
        return told % {**shown, "names": names}
    told = gettext(
        "Whether one bridge serves all models is not shown: with %(n)s responses scored by both judges, differences of "
        "more than %(margin)s points between models cannot be ruled out."
    )
    return told % shown


def means_table(found: RunBridge) -> Table:
    columns = [
        Column(gettext("Model")),
        *Column.interval(gettext("Mean"), DIGITS),
        Column(gettext("Estimated from"), names=kind_names()),
        Column(gettext("Responses"), 0),
        Column(gettext("Scored by both"), 0),
        Column(gettext("Half width without the new judge"), DIGITS, optional=True),
    ]
    rows = [
        [one.model, one.value, one.low, one.high, one.reason or one.kind, one.n, one.n_anchors, one.anchors_alone]
        for one in _in_order(found)
    ]
    return Table(columns, rows)


def _in_order(found: RunBridge) -> list[BridgedMean]:
    """Sort by the mean; those that are not stated come last."""
    return sorted(found.bridge.models, key=lambda one: (one.kind == "not_stated", -one.value))


def _figure(found: RunBridge) -> str:
    stated = [one for one in _in_order(found) if one.kind != "not_stated"]
    if not stated:
        return ""
    bars = [Bar(one.model, one.value, one.low, one.high) for one in stated]
    title = gettext("Model means on the scale of %(judge)s") % {"judge": found.old}
    return interval_bars(bars, title=title, x_title=gettext("Mean score"))


def _notes(found: RunBridge) -> list[str]:
    told = [
        gettext(
            "The intervals say how far each mean may be from the one that %(judge)s would give to the same responses. They "
            "take the models and their responses as given, and assume that the responses scored by both judges were drawn "
            "by chance within each model and category."
        )
        % {"judge": found.old},
        gettext(
            "A model with fewer than %(n)d anchors is predicted alone; its interval includes the variation of such "
            "predictions from model to model."
        )
        % {"n": LEAST_OF_A_MODEL},
    ]
    if found.bridge.by_model.verdict == "fails" and any(one.kind == "carried" for one in found.bridge.models):
        told.append(
            gettext("The bridge does not hold across models, so do not rely on the means that are predictions alone.")
        )
    if found.other_rubric:
        told.append(
            ngettext(
                "%(n)s response was judged by another rubric and is not an anchor.",
                "%(n)s responses were judged by another rubric and are not anchors.",
                found.other_rubric,
            )
            % {"n": f"{found.other_rubric:,}"}
        )
    return told


def _invariance_block(
    key: str, title: str, label: str, found: Residuals, names: Mapping[str, str] | None = None
) -> Block:
    verdicts = {
        "holds": gettext("Holds: every simultaneous 90 %% interval lies within the margin of %(margin)s points."),
        "fails": gettext("Fails: at least one interval lies beyond the margin of %(margin)s points."),
        "cannot_tell": gettext("Cannot tell: at least one interval reaches beyond the margin of %(margin)s points."),
    }
    columns = [
        Column(label, names=names or {}),
        *Column.interval(gettext("Old score minus prediction"), DIGITS),
        Column(gettext("Scored by both"), 0),
    ]
    rows = [[one.name or "–", one.value, one.low, one.high, one.n] for one in found.groups]
    notes = []
    if found.left_out:
        notes.append(
            ngettext(
                "%(n)d group has fewer than %(least)d anchors and is not tested.",
                "%(n)d groups have fewer than %(least)d anchors and are not tested.",
                found.left_out,
            )
            % {"n": found.left_out, "least": LEAST_OF_A_MODEL}
        )
    answer = verdicts[found.verdict] % {"margin": shortest(found.margin)}
    return Block(key, title, answer=answer, table=Table(columns, rows), notes=notes, folded=True)


def _line_block(found: RunBridge) -> Block:
    one = found.bridge
    rows = [
        [gettext("Prediction, for means of models"), one.slope, one.intercept],
        [gettext("Linear equating, for single scores"), one.equated_slope, one.equated_intercept],
    ]
    columns = [Column(gettext("Use")), Column(gettext("Slope"), DIGITS), Column(gettext("Intercept"), DIGITS)]
    answer = gettext(
        "Over %(n)s responses scored by both judges, the correlation of their scores is %(r)s (Pearson, a description of "
        "these responses)."
    ) % {"n": f"{one.n_anchors:,}", "r": number(one.correlation)}
    note = gettext(
        "Old score = intercept + slope × new score. Never put single scores on the old scale with the prediction line: it "
        "draws them toward the mean."
    )
    title = gettext("Lines between the two scales")
    return Block("line", title, answer=answer, table=Table(columns, rows), notes=[note], folded=True)


def _plan_block(found: RunBridge) -> Block:
    columns = [Column(gettext("Half width wanted"), DIGITS), Column(gettext("Anchors per model"), 0)]
    rows = [[one.half_width, one.anchors] for one in found.plan]
    note = gettext(
        "For a model with the median number of responses, if further anchors spread about their predictions as these do "
        "(standard deviation %(spread)s)."
    ) % {"spread": number(found.bridge.spread)}
    title = gettext("How many anchors are needed")
    return Block("plan", title, table=Table(columns, rows), notes=[note], folded=True)
