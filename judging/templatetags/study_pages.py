"""What stands on the pages of a study: its tabs, and its next step."""

from django import template
from django.template.context import Context

from accounts.templatetags.leading import leads_workspace_of
from annotation.models import Study
from generation.models import Benchmark
from judging.web.study_steps import ShownStep, StepAfterLeaderboard, step_after_leaderboard, steps_of
from judging.web.study_tabs import Tabs, tabs_of

register = template.Library()


@register.simple_tag(takes_context=True)
def tabs_of_study(context: Context, study: Study) -> Tabs:
    """Return the tabs of the study for the visitor, with the current page marked."""
    request = context["request"]
    found = request.resolver_match
    opened = found.view_name if found is not None else ""
    return tabs_of(study, leads=leads_workspace_of(context, study), opened=opened, path=request.path)


@register.simple_tag
def next_step_of_study(study: Study) -> ShownStep:
    """Return the study's next step, as every page that advises about the study shows it."""
    return steps_of([study])[study.pk]


@register.simple_tag(takes_context=True)
def step_after_leaderboard_of(context: Context, benchmark: Benchmark) -> StepAfterLeaderboard | None:
    """Return what comes after a benchmark's leaderboard for the visitor."""
    return step_after_leaderboard(benchmark, context["request"].user)
