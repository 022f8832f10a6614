"""Leaderboards: the list, and one benchmark's, whose address contains all choices."""

import json
from collections.abc import Sequence
from typing import cast

from django.db.models import Count, Exists, OuterRef, Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.text import slugify
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_safe

from accounts.models import User
from accounts.permissions import results_page
from annotation.models import Assignment, Rater, Seat, Study, excluded_shown
from annotation.studies.provenance import provenance_of
from calibration.data.verdicts import JudgesVerdicts
from calibration.fits.store import versions
from calibration.statistics.errors import NoStatistic
from calibration.web.answer_notes import benchmark_notes, is_asked
from calibration.web.messages.reasons import error_words
from calibration.web.serving import file_of
from core.messages.rendering import for_reader
from generation.library.access import benchmark_read_by, benchmarks_read_by
from generation.models import Benchmark
from judging.leaderboards.filters import Filters, read_filters
from judging.leaderboards.lengths import has_lengths
from judging.leaderboards.table import Leaderboard, discredited_on, leaderboard as compute_board, verdicts_on
from judging.leaderboards.task_groups import UnknownGroup
from judging.leaderboards.weighting import MissingWeights, UnknownWeights
from judging.scores.benchmark_scores import NothingScored, NotOnScale
from judging.scores.points import NoVerdicts, OnlyDiscredited, WithoutWeight
from judging.web.leaderboards.filter_menus import board_choices, default_weights, weights_choices
from judging.web.leaderboards.table import LeaderboardPage, leaderboard_page
from judging.web.monitoring.pages import changed_since

FORMAT = "plumbline-leaderboard-1"


@require_safe
@results_page
def leaderboards(request: HttpRequest) -> HttpResponse:
    """The benchmarks with verdicts of judges, and those without.

    Items of a table of ratings wait for no judge; they are listed once one has rated them.
    """
    answers = "instructions__responses__tasks_as_a__assignments"
    judged = Q(
        **{
            f"{answers}__rater__kind": Rater.Kind.JUDGE,
            f"{answers}__repeat": 0,
            f"{answers}__status__in": [Assignment.Status.SUBMITTED, Assignment.Status.DERIVED],
        }
    )
    unusable = Q(
        **{
            f"{answers}__rater__kind": Rater.Kind.JUDGE,
            f"{answers}__repeat": 0,
            f"{answers}__status": Assignment.Status.UNSCORED,
        }
    )
    of_table = Study.objects.filter(
        ~Exists(Seat.objects.filter(study=OuterRef("pk"))),
        benchmark=OuterRef("pk"),
        slug=OuterRef("slug"),
        status=Study.Status.CLOSED,
    )
    benchmarks = benchmarks_read_by(cast(User, request.user)).annotate(
        judges=Count(f"{answers}__rater", filter=judged, distinct=True),
        without_verdict=Count(f"{answers}__rater", filter=unusable, distinct=True),
    )
    benchmarks = benchmarks.exclude(Exists(of_table), judges=0, without_verdict=0)
    return render(request, "judging/leaderboards.html", {"benchmarks": benchmarks.order_by("slug")})


@require_safe
@results_page
def leaderboard(request: HttpRequest, slug: str) -> HttpResponse:
    """The board that the address asks for (see Filters), or with ?file= one of its files; errors are explained."""
    benchmark = benchmark_read_by(cast(User, request.user), slug)
    with excluded_shown(is_asked(request)):
        return _leaderboard(request, benchmark)


def _leaderboard(request: HttpRequest, benchmark: Benchmark) -> HttpResponse:
    filters = read_filters(request.GET)
    known = verdicts_on(benchmark)
    judges = [row.judge for row in known]
    judge = chosen_judge(known, filters.judge)
    weights = filters.weights or default_weights(benchmark)
    context: dict[str, object] = {
        "benchmark": benchmark,
        "judges": judges,
        "judge_choices": [(row.judge, choice_words(row)) for row in known],
        "discredited": next((row.discredited for row in known if row.judge == judge), 0),
        "board_address": filters.address(judge=judge.public_id, weights=weights) if judge else "",
        "look_anyway": filters.address(judge=judge.public_id, discredited=True) if judge else "",
        "believed_only": filters.address(discredited=False),
        "judge": judge,
        "weights": weights,
        "weights_choices": weights_choices(benchmark),
        "query": filters.address(),
        "files": f"{filters.address()}&" if filters.address() else "",
        "asked": filters,
        "path": request.path,
        "has_lengths": has_lengths(benchmark),
        "provenance": [judge.provenance] if judge and judge.provenance else [],
        **benchmark_notes(request, benchmark),
    }
    if judge is not None:
        board, why = board_or_reason(benchmark, judge, weights, filters)
        context |= why
        context["choices"] = board_choices(benchmark, board, filters)
        context["changed"] = changed_since(judge)
        if board is not None:
            page = leaderboard_page(board)
            if "file" in request.GET:
                return board_file(board, page, request.GET["file"])
            context |= {"page": page, "board": board, "provenance": board_provenance(board)}
    if "file" in request.GET:
        raise Http404(gettext("This page has no such file."))
    if not getattr(request, "htmx", False):
        return render(request, "judging/leaderboard.html", context)
    response = render(request, "judging/leaderboard.html#board", context)
    response["HX-Push-Url"] = f"{request.path}?{filters.address()}"
    return response


def board_or_reason(
    benchmark: Benchmark, judge: Rater, weights: str, filters: Filters, *, beside_people: bool = True
) -> tuple[Leaderboard | None, dict[str, str]]:
    """Return the board, with people's scores if wanted, or the reason why there is none: a sentence and its detail."""
    off_scale = gettext("The verdicts are not on the scale that this score needs.")
    try:
        return compute_board(benchmark, judge, weights, filters=filters, beside_people=beside_people), {}
    except OnlyDiscredited:
        discredited = discredited_on(benchmark, judge)
        reason = ngettext(
            "Its %(n)s verdict here comes from a run that failed its canary texts, so no model is ranked by it.",
            "All its %(n)s verdicts here come from a run that failed its canary texts, so no model is ranked by them.",
            discredited,
        )
        return None, {"reason": reason % {"n": f"{discredited:,}"}}
    except (NoVerdicts, WithoutWeight):
        return None, {"reason": gettext("This judge has no usable verdicts for this selection.")}
    except MissingWeights as error:
        reason = gettext("These weights do not cover every judged category.")
        return None, {"reason": reason, "detail": for_reader(error)}
    except UnknownWeights as error:
        return None, {"reason": gettext("There are no such weights."), "detail": for_reader(error)}
    except UnknownGroup as error:
        return None, {"reason": gettext("The weights of the groups cannot be read."), "detail": for_reader(error)}
    except (NotOnScale, NothingScored) as error:
        return None, {"reason": off_scale, "detail": for_reader(error)}
    except NoStatistic as error:
        return None, {"reason": off_scale, "detail": error_words(error.code)}


def board_file(board: Leaderboard, page: LeaderboardPage, name: str) -> HttpResponse:
    """Serve 'board.json', or a block's file; 404 if there is none."""
    if name != "board.json":
        return file_of(page, name, board.benchmark.slug)
    content = json.dumps(board_json(board, page), ensure_ascii=False, indent=1)
    response = HttpResponse(content, content_type="application/json")
    stem = slugify(f"{board.benchmark.slug}-board")
    response["Content-Disposition"] = f'attachment; filename="{stem}.json"'
    return response


def board_json(board: Leaderboard, page: LeaderboardPage) -> dict[str, object]:
    """Return everything on the page, with all digits, and what is needed to show it again."""
    fit = board.weighting.fit
    return {
        "format": FORMAT,
        "benchmark": board.benchmark.slug,
        "judge": {"id": board.judge.public_id, "name": board.judge.name},
        "weights": {"name": board.weighting.name, "fit": fit.public_id if fit else None},
        "experiment": board.filters.run_experiment,
        "measure": board.metric.name,
        "query": board.filters.as_json(),
        "address": board.filters.address(judge=board.judge.public_id, weights=board.weighting.name),
        "data_hash": board.data_hash,
        "versions": versions(),
        **board.as_json(),
        "tables": {
            block.key: {
                "columns": [column.label for column in block.table.columns],
                "rows": [list(row) for row in block.table.rows],
            }
            for block in page.blocks
            if block.table
        },
    }


def board_provenance(board: Leaderboard) -> list[str]:
    """Return what is simulated or scripted on a board: its judge, and the people behind its weights and scores."""
    provenance = {board.judge.provenance}
    fit = board.weighting.fit
    if fit is not None and fit.study is not None:
        # A scripted judge of the fit's study has no part in the weights.
        provenance |= {kind for kind in provenance_of(fit.study) if kind == Rater.Provenance.SIMULATED}
    if board.people is not None:
        provenance |= simulated_people(board.benchmark)
    return sorted(kind for kind in provenance if kind)


def simulated_people(benchmark: Benchmark) -> set[str]:
    """Return the provenance "simulated" if simulated people rated responses of the benchmark, else nothing."""
    people = Rater.objects.filter(
        kind=Rater.Kind.PERSON,
        provenance=Rater.Provenance.SIMULATED,
        assignments__task__response_a__instruction__benchmark=benchmark,
    )
    return {str(Rater.Provenance.SIMULATED)} if people.exists() else set()


def choice_words(row: JudgesVerdicts) -> str:
    """Return the text next to a judge's name: its number of verdicts, or why it is not ranked."""
    if row.verdicts:
        return ngettext("%(n)s verdict", "%(n)s verdicts", row.verdicts) % {"n": f"{row.verdicts:,}"}
    if row.discredited:
        return gettext("failed its canary texts")
    return gettext("no usable verdicts")


def chosen_judge(known: Sequence[JudgesVerdicts], asked: str) -> Rater | None:
    """Return the requested judge, else the one with most verdicts; a scripted one only if no other has any."""
    judges = [row.judge for row in known]
    if asked:
        judge = next((judge for judge in judges if asked in (judge.public_id, judge.label)), None)
        if judge is None:
            raise Http404(gettext("This judge has not rated this benchmark."))
        return judge
    usable = [row.judge for row in known if row.verdicts] or judges
    return next((judge for judge in usable if not judge.provenance), usable[0] if usable else None)
