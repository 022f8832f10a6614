"""What of the library a user may read, or change as a lead of its workspace; for anybody else it is not there.

A slug is one benchmark's in a workspace, so a benchmark is looked up by its full slug, "workspace/slug".
"""

from django.db.models import QuerySet
from django.utils.translation import gettext

from accounts.models import User
from accounts.permissions import workspaces_led_by, workspaces_read_by
from core.web.access import visible_or_404
from core.web.addresses import of_full_slug
from generation.models import Benchmark, Endpoint, GenerationRun, Instruction, LanguageModel, Response


def benchmarks_read_by(user: User) -> QuerySet[Benchmark]:
    return Benchmark.objects.filter(workspace__in=workspaces_read_by(user)).select_related("workspace")


def benchmark_read_by(user: User, slug: str, *, message: str = "") -> Benchmark:
    """The benchmark of this full slug whose results the user may see; 404 for anybody else."""
    found = of_full_slug(benchmarks_read_by(user), slug)
    return visible_or_404(found, message=message or gettext("There is no such benchmark."))


def instruction_read_by(user: User, public_id: str) -> Instruction:
    """With its benchmark and categories; 404 for anybody who may not read it."""
    found = Instruction.objects.filter(
        benchmark__workspace__in=workspaces_read_by(user), public_id=public_id
    ).select_related("benchmark__workspace", "category__parent")
    return visible_or_404(found, message=gettext("There is no such instruction."))


def response_read_by(user: User, public_id: str) -> Response:
    """With its instruction, its model and its run; 404 for anybody who may not read it."""
    found = Response.objects.filter(
        instruction__benchmark__workspace__in=workspaces_read_by(user), public_id=public_id
    ).select_related("instruction__benchmark", "model__endpoint", "run")
    return visible_or_404(found, message=gettext("There is no such response."))


def runs_read_by(user: User) -> QuerySet[GenerationRun]:
    """The newest first."""
    found = GenerationRun.objects.filter(benchmark__workspace__in=workspaces_read_by(user))
    return found.select_related("benchmark__workspace", "created_by").order_by("-created_at")


def benchmark_at(user: User, workspace: str, slug: str) -> Benchmark:
    """Return the workspace's benchmark of this slug; 404 with a sentence if there is none that the user may read."""
    name = f"{workspace}/{slug}"
    return benchmark_read_by(user, name, message=f"There is no benchmark {name!r} in your workspaces.")


def run_read_by(user: User, public_id: str) -> GenerationRun:
    """404 for anybody who may not see it."""
    found = runs_read_by(user).filter(public_id=public_id)
    return visible_or_404(found, message=gettext("There is no such run."))


def endpoint_led_by(user: User, pk: int) -> Endpoint:
    """The endpoint where the user may change it; 404 for anybody else."""
    found = Endpoint.objects.filter(workspace__in=workspaces_led_by(user), pk=pk)
    return visible_or_404(found, message=gettext("There is no such endpoint."))


def model_led_by(user: User, pk: int) -> LanguageModel:
    """The model where the user may change it; 404 for anybody else."""
    found = LanguageModel.objects.filter(workspace__in=workspaces_led_by(user), pk=pk)
    return visible_or_404(found, message=gettext("There is no such model."))
