"""The library: benchmarks with their instructions, models, and what the models answered. For those who read results."""

from typing import Any, cast

from django.conf import settings
from django.core.paginator import Page, Paginator
from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.models import User
from accounts.permissions import leads_workspace_of, results_page, workspaces_read_by
from core.web.addresses import full_slug, of_full_slug
from generation.library.access import benchmark_read_by, benchmarks_read_by, instruction_read_by, response_read_by
from generation.library.search import saying
from generation.models import Endpoint, GenerationRun, LanguageModel, Response
from generation.text_metrics.counts import NoWords, most_repeated_sentence, repetition_4
from generation.text_metrics.refusals import opens_with_refusal

ON_A_PAGE = 50
LONGEST_MEASURED = 400_000


def user_of(request: HttpRequest) -> User:
    return cast(User, request.user)


def asked_for(request: HttpRequest, name: str) -> str:
    """What stands in the address under this name, without what no database searches for."""
    return request.GET.get(name, "").replace("\0", "").strip()


def page_of(request: HttpRequest, found: "QuerySet[Any]", size: int = ON_A_PAGE) -> Page[Any]:
    """The page that ?page= names, the nearest where there is none such."""
    return Paginator(found, size).get_page(request.GET.get("page"))


@require_safe
@results_page
def library(request: HttpRequest) -> HttpResponse:
    """Every benchmark, and how much there is of everything else."""
    workspaces = workspaces_read_by(user_of(request))
    benchmarks = benchmarks_read_by(user_of(request)).annotate(
        instruction_count=Count("instructions", distinct=True), run_count=Count("generation_runs", distinct=True)
    )
    context = {
        "benchmarks": page_of(request, benchmarks.order_by("slug", "pk")),
        "responses": Response.objects.to_read().filter(instruction__benchmark__workspace__in=workspaces).count(),
        "models": LanguageModel.objects.filter(workspace__in=workspaces).count(),
        "endpoints": Endpoint.objects.filter(workspace__in=workspaces).count(),
    }
    return render(request, "generation/library.html", context)


@require_safe
@results_page
def benchmark(request: HttpRequest, slug: str) -> HttpResponse:
    """A benchmark's categories and instructions; ?category= and ?q= narrow them down."""
    found = benchmark_read_by(user_of(request), slug)
    chosen, words = asked_for(request, "category"), asked_for(request, "q")
    written = Response.objects.to_read().filter(instruction=OuterRef("pk")).order_by().values("instruction")
    instructions = found.instructions.select_related("category__parent").annotate(
        response_count=Coalesce(Subquery(written.annotate(n=Count("pk")).values("n")), 0)
    )
    if chosen:
        instructions = instructions.filter(Q(category__key=chosen) | Q(category__parent__key=chosen))
    if words:
        instructions = instructions.filter(saying(words))
    categories = found.categories.filter(parent=None).prefetch_related("children")
    context = {
        "benchmark": found,
        "categories": categories.order_by("position", "pk"),
        "chosen": chosen,
        "words": words,
        "page": page_of(request, instructions.order_by("external_id", "pk")),
        "total": found.instructions.count(),
        "leads": leads_workspace_of(user_of(request), found),
        "runs": found.generation_runs.annotate(n=Count("responses")).order_by("-created_at")[:8],
        "has_printed_tables": (settings.BASE_DIR / "fixtures" / "published" / f"{found.slug}.json").exists(),
    }
    return render(request, "generation/benchmark.html", context)


@require_safe
@results_page
def instruction(request: HttpRequest, public_id: str) -> HttpResponse:
    """An instruction as it is sent, and the responses to it."""
    found = instruction_read_by(user_of(request), public_id)
    responses = found.responses.to_read().select_related("model__endpoint", "run").defer("text")
    context = {"instruction": found, "page": page_of(request, responses.order_by("model__name", "run", "sample", "pk"))}
    return render(request, "generation/instruction.html", context)


@require_safe
@results_page
def responses(request: HttpRequest) -> HttpResponse:
    """All responses without their texts; ?benchmark= (its full slug), ?model= and ?run= narrow them down."""
    workspaces = workspaces_read_by(user_of(request))
    benchmarks = benchmarks_read_by(user_of(request))
    found = Response.objects.to_read().filter(instruction__benchmark__workspace__in=workspaces)
    chosen = {name: asked_for(request, name) for name in ("benchmark", "model", "run")}
    if chosen["benchmark"]:
        named = of_full_slug(benchmarks, chosen["benchmark"])
        found = found.filter(instruction__benchmark__in=named or benchmarks.filter(slug=chosen["benchmark"]))
    if chosen["model"]:
        found = found.filter(model__name=chosen["model"])
    if chosen["run"]:
        found = found.filter(run__public_id=chosen["run"])
    rows = found.select_related("instruction__benchmark", "model__endpoint", "run").defer("text")
    context = {
        "page": page_of(request, rows.order_by("-pk")),
        "chosen": chosen,
        "benchmarks": [(full_slug(one), one.name) for one in benchmarks],
        "models": LanguageModel.objects.filter(workspace__in=workspaces),
        "run": GenerationRun.objects.filter(public_id=chosen["run"], benchmark__workspace__in=workspaces).first(),
    }
    return render(request, "generation/responses.html", context)


@require_safe
@results_page
def response(request: HttpRequest, public_id: str) -> HttpResponse:
    """One text with what can be counted in it and how it came about."""
    found = response_read_by(user_of(request), public_id)
    endpoint = found.model.endpoint if found.model else None
    scripted = endpoint is not None and endpoint.kind == Endpoint.Kind.SCRIPTED
    context = {
        "response": found,
        "measures": _measures(found.text or ""),
        "provenance": ["scripted"] if scripted else [],
    }
    return render(request, "generation/response.html", context)


def _measures(text: str) -> dict[str, Any]:
    """Repetition and refusal; nothing for a text without words, or one too long to be measured while a page waits."""
    if not text.strip() or len(text) > LONGEST_MEASURED:
        return {}
    measures: dict[str, Any] = {"refusal": opens_with_refusal(text)}
    try:
        measures["repetition"] = 100 * repetition_4(text)
        repeated = most_repeated_sentence(text)
        if repeated.times > 1:
            measures["repeated"] = repeated
    except NoWords:
        pass
    return measures
