"""Leaderboards: the list, and one benchmark's, whose address contains all choices."""

import json
from collections.abc import Sequence
from typing import Any, cast

from django.db.models import Count, Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.text import slugify
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_safe

from accounts.models import User
from accounts.permissions import results_page
from annotation.models import Assignment, Rater
from annotation.studies.provenance import provenance_of
from calibration.data.verdicts import JudgesVerdicts
from calibration.fits.store import versions
from calibration.statistics.errors import NoStatistic
from calibration.web.blocks import ResultPage
from calibration.web.messages.reasons import reason_of
from calibration.web.pages import file_of
from core.messages.reader_language import for_reader
from generation.library.access import benchmark_read_by, benchmarks_read_by
from generation.models import MAIN_EXPERIMENT, Benchmark
from judging.leaderboards.query import BoardQuery, board_query
from judging.leaderboards.table import Leaderboard, discredited_on, leaderboard as compute_board, verdicts_on
from judging.leaderboards.weighting import MissingWeights, UnknownWeights
from judging.scores.benchmark_scores import NothingScored, NotOnScale
from judging.scores.points import NoVerdicts, OnlyDiscredited, WithoutWeight
from judging.web.leaderboards.choices import board_choices
from judging.web.leaderboards.page import BoardPanel, board_panel, default_weights, weights_choices
from judging.web.monitoring.pages import changed_since

FORMAT = "plumbline-leaderboard-1"


@require_safe
@results_page
def leaderboards(request: HttpRequest) -> HttpResponse:
    """The benchmarks with verdicts of judges, and those without."""
    answers = "instructions__responses__tasks_as_a__assignments"
    judged = Q(
        **{
            f"{answers}__rater__kind": Rater.Kind.JUDGE,
            f"{answers}__repeat": 0,
            f"{answers}__status__in": [Assignment.Status.SUBMITTED, Assignment.Status.DERIVED],
        }
    )
    benchmarks = benchmarks_read_by(cast(User, request.user)).annotate(
        judges=Count("instructions__responses__tasks_as_a__assignments__rater", filter=judged, distinct=True)
    )
    return render(request, "judging/leaderboards.html", {"benchmarks": benchmarks.order_by("slug")})


@require_safe
@results_page
def leaderboard(request: HttpRequest, slug: str) -> HttpResponse:
    """The board that the address asks for (see BoardQuery), or with ?file= one of its files; errors are explained."""
    benchmark = benchmark_read_by(cast(User, request.user), slug)
    query = board_query(request.GET)
    known = verdicts_on(benchmark)
    judges = [row.judge for row in known]
    judge = chosen_judge(known, query.judge)
    weights = query.weights or default_weights(benchmark)
    context: dict[str, Any] = {
        "benchmark": benchmark,
        "judges": judges,
        "judge_choices": [(row.judge, choice_words(row)) for row in known],
        "discredited": next((row.discredited for row in known if row.judge == judge), 0),
        "look_anyway": query.address(judge=judge.public_id, discredited=True) if judge else "",
        "believed_only": query.address(discredited=False),
        "judge": judge,
        "weights": weights,
        "weights_choices": weights_choices(benchmark),
        "query": query.address(),
        "files": f"{query.address()}&" if query.address() else "",
        "asked": query,
        "path": request.path,
        "provenance": [judge.provenance] if judge and judge.provenance else [],
    }
    if judge is not None:
        board, why = board_or_why(benchmark, judge, weights, query)
        context |= why
        context["choices"] = board_choices(benchmark, board, query)
        context["changed"] = changed_since(judge)
        if board is not None:
            panel = board_panel(board)
            if "file" in request.GET:
                return _file_of(board, panel, request.GET["file"])
            context["panel"] = panel
            context["board"] = board
            context["provenance"] = board_provenance(board)
    if "file" in request.GET:
        raise Http404(gettext("This page has no such file."))
    if not getattr(request, "htmx", False):
        return render(request, "judging/leaderboard.html", context)
    response = render(request, "judging/leaderboard.html#board", context)
    response["HX-Push-Url"] = f"{request.path}?{query.address()}"
    return response


def board_or_why(
    benchmark: Benchmark, judge: Rater, weights: str, query: BoardQuery, *, beside_people: bool = True
) -> tuple[Leaderboard | None, dict[str, str]]:
    """Return the board, with people's scores if wanted, or the reason why there is none: a sentence and its detail."""
    experiment = query.experiment or MAIN_EXPERIMENT
    try:
        return compute_board(
            benchmark, judge, weights, experiment=experiment, query=query, beside_people=beside_people
        ), {}
    except OnlyDiscredited:
        doubted = discredited_on(benchmark, judge)
        said = ngettext(
            "Its %(n)d verdict here comes from a run that failed its canary texts, so no model is ranked by it.",
            "All its %(n)d verdicts here come from a run that failed its canary texts, so no model is ranked by them.",
            doubted,
        )
        return None, {"reason": said % {"n": doubted}}
    except (NoVerdicts, WithoutWeight):
        return None, {"reason": gettext("This judge has no usable verdicts for this selection.")}
    except MissingWeights as error:
        said = gettext("These weights do not cover every judged category.")
        return None, {"reason": said, "detail": for_reader(error)}
    except UnknownWeights as error:
        return None, {"reason": gettext("There are no such weights."), "detail": for_reader(error)}
    except (NotOnScale, NothingScored) as error:
        said = gettext("The verdicts are not on the scale that this score needs.")
        return None, {"reason": said, "detail": for_reader(error)}
    except NoStatistic as error:
        said = gettext("The verdicts are not on the scale that this score needs.")
        return None, {"reason": said, "detail": reason_of({"why": type(error).__name__})}


def _file_of(board: Leaderboard, panel: BoardPanel, name: str) -> HttpResponse:
    """Serve 'board.json', or a block's file; 404 if there is none."""
    if name != "board.json":
        return file_of(ResultPage("", "", [panel.scores, *panel.blocks], []), name, board.benchmark.slug)
    content = json.dumps(board_json(board, panel), ensure_ascii=False, indent=1)
    response = HttpResponse(content, content_type="application/json")
    stem = slugify(f"{board.benchmark.slug}-board")
    response["Content-Disposition"] = f'attachment; filename="{stem}.json"'
    return response


def board_json(board: Leaderboard, panel: BoardPanel) -> dict[str, Any]:
    """Return everything on the page, with all digits, and what is needed to show it again."""
    fit = board.weighting.fit
    return {
        "format": FORMAT,
        "benchmark": board.benchmark.slug,
        "judge": {"id": board.judge.public_id, "name": board.judge.name},
        "weights": {"name": board.weighting.name, "fit": fit.public_id if fit else None},
        "experiment": board.experiment,
        "measure": board.measure.name,
        "query": board.query.as_json(),
        "address": board.query.address(judge=board.judge.public_id, weights=board.weighting.name),
        "data_hash": board.data_hash,
        "versions": versions(),
        **board.as_json(),
        "tables": {
            block.key: {
                "columns": [column.label for column in block.table.columns],
                "rows": [list(row) for row in block.table.rows],
            }
            for block in [panel.scores, *panel.blocks]
            if block.table
        },
    }


def board_provenance(board: Leaderboard) -> list[str]:
    """What is simulated or scripted on a board: its judge, and the people behind its weights and scores."""
    found = {board.judge.provenance}
    fit = board.weighting.fit
    if fit is not None and fit.study is not None:
        # A scripted judge of the fit's study has no part in the weights.
        found |= {kind for kind in provenance_of(fit.study) if kind == Rater.Provenance.SIMULATED}
    if board.people is not None:
        people = Rater.objects.filter(
            kind=Rater.Kind.PERSON,
            provenance=Rater.Provenance.SIMULATED,
            assignments__task__response_a__instruction__benchmark=board.benchmark,
        )
        found |= {str(Rater.Provenance.SIMULATED)} if people.exists() else set()
    return sorted(kind for kind in found if kind)


def choice_words(row: JudgesVerdicts) -> str:
    """Return the text next to a judge's name: its number of verdicts, or why it is not ranked."""
    if row.verdicts:
        return ngettext("%(n)d verdict", "%(n)d verdicts", row.verdicts) % {"n": row.verdicts}
    if row.discredited:
        return gettext("failed its canary texts")
    return gettext("no usable verdicts")


def chosen_judge(known: Sequence[JudgesVerdicts], asked: str) -> Rater | None:
    """Return the requested judge, else the one with most verdicts; a scripted one only if no other has any."""
    judges = [row.judge for row in known]
    if asked:
        found = next((judge for judge in judges if asked in (judge.public_id, judge.label)), None)
        if found is None:
            raise Http404(gettext("This judge has not rated this benchmark."))
        return found
    usable = [row.judge for row in known if row.verdicts] or judges
    return next((judge for judge in usable if not judge.provenance), usable[0] if usable else None)
