"""The page on which a lead has people rate instructions drawn where a judge is unsure, and reads what they say."""

import secrets
from collections.abc import Sequence
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext, gettext_lazy as _
from django.views.decorators.http import require_http_methods

from accounts.models import User
from accounts.permissions import leads_workspace_of, results_page
from annotation.models import Rater, Study
from annotation.policies.policies import MOST_OVERLAP, Policies
from annotation.studies.access import study_read_by
from annotation.studies.provenance import provenance_of
from calibration.web.serving import file_of
from core.errors import UserError
from core.messages.rendering import for_reader
from generation.models import LanguageModel
from judging.comparison.judge_against_people import judges_in
from judging.comparison.routing.draws import (
    LARGEST_SEED,
    RoutingPlan,
    RoutingRequest,
    draws_about,
    freeze_draw,
    make_tasks,
    plan_draw,
)
from judging.comparison.routing.estimates import Routing, routing_of
from judging.models import RoutedDraw
from judging.web.comparison.depth_pages import addressed, judge_links
from judging.web.comparison.routing_blocks import plan_words, routing_page, strata_table, title

PREVIEW, MAKE = "preview", "make"


class DrawForm(forms.Form):
    """Whose spread says where ratings are worth most, what is compared, and how many labels there are."""

    judges = forms.MultipleChoiceField(
        label=_("Judges"),
        help_text=_(
            "Several judges are a panel: their spread says where they are unsure. One needs repeats or soft verdicts."
        ),
        widget=forms.CheckboxSelectMultiple,
    )
    models = forms.MultipleChoiceField(
        label=_("Models compared"),
        help_text=_("An instruction is drawn with all responses of these models; none chosen means all."),
        widget=forms.CheckboxSelectMultiple,
        required=False,
    )
    instructions = forms.FloatField(label=_("Instructions to rate (expected)"), min_value=1, required=False)
    responses = forms.FloatField(label=_("Or responses"), min_value=1, required=False)
    overlap = forms.IntegerField(label=_("Ratings of each response"), min_value=1, max_value=MOST_OVERLAP)
    spread = forms.ChoiceField(
        label=_("Spread"), choices=[("", _("what the verdicts have")), *RoutedDraw.SpreadKind.choices], required=False
    )
    strata = forms.ChoiceField(label=_("Strata with one probability"), choices=RoutedDraw.Strata.choices)
    seed = forms.IntegerField(widget=forms.HiddenInput, min_value=0, max_value=LARGEST_SEED - 1)

    def __init__(self, *args: Any, judges: Sequence[Rater], names: Sequence[str], **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})
        for field, choices in (
            ("judges", [(judge.public_id, judge.name) for judge in judges]),
            ("models", [(name, name) for name in names]),
        ):
            chosen = self.fields[field]
            assert isinstance(chosen, forms.MultipleChoiceField)
            chosen.choices = choices

    def request(self, study: Study, judges: Sequence[Rater], user: User) -> RoutingRequest:
        given = self.cleaned_data
        return RoutingRequest(
            study,
            tuple(judge for judge in judges if judge.public_id in given["judges"]),
            instructions=given["instructions"],
            responses=given["responses"],
            models=tuple(given["models"]),
            spread=given["spread"],
            strata=given["strata"],
            overlap=given["overlap"],
            seed=given["seed"],
            user=user,
        )


@require_http_methods(["GET", "HEAD", "POST"])
@results_page
def routing(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the draws and their estimates; a lead previews a draw, draws, or makes the tasks of a draw. ?file= is a file.

    The page of a study that rates a draw is that of the study from which was drawn.
    """
    user = cast(User, request.user)
    study = study_read_by(user, slug)
    source = Study.objects.filter(routed_draws__rated_in=study).select_related("workspace").first()
    if source is not None and request.method != "POST":
        return redirect(reverse("judging:routing", args=[source]))
    leads = leads_workspace_of(user, study)
    if request.method == "POST" and not leads:
        raise PermissionDenied
    draws = draws_about(study)
    if request.method == "POST" and request.POST.get("action") == MAKE:
        return _make(request, study, draws, user)
    judges, names = judges_in(study), _models_of(study)
    form = DrawForm(
        request.POST if request.method == "POST" else None,
        judges=judges,
        names=names,
        initial={
            "overlap": Policies.of(study).overlap,
            "seed": secrets.randbelow(LARGEST_SEED),
            "judges": _first(judges),
        },
    )
    plan: RoutingPlan | None = None
    if form.is_bound and form.is_valid():
        wanted = form.request(study, judges, user)
        known = next((one for one in draws if one.seed == wanted.seed), None)
        try:
            if request.POST.get("action") == PREVIEW:
                plan = plan_draw(wanted)
            else:
                # What is sent twice has one seed, and is drawn once.
                make_tasks(known or freeze_draw(wanted), by=user)
                return redirect(reverse("judging:routing", args=[study]))
        except UserError as error:
            form.add_error(None, for_reader(error))
    found = routing_of(study, draws)
    slugs = [one.rated_in for one in draws if one.rated_in is not None]
    page = routing_page(found, {one.slug: reverse("annotation:desk", args=[one]) for one in slugs})
    if "file" in request.GET:
        return file_of(page, request.GET["file"], f"{study.slug}-routing")
    query = request.GET.copy()
    context: dict[str, object] = {
        "study": study,
        "provenance": provenance_of(study),
        "leads": leads,
        "judges": judges,
        "form": form,
        "plan": plan,
        "plan_words": plan_words(plan) if plan else [],
        "strata": strata_table(plan) if plan else None,
        "page": page,
        "draws": draws,
        "next": _next_step(found, draws),
        "links": addressed(study, judge_links("judging:routing")),
        "path": reverse("judging:routing", args=[study]),
        "query": query.urlencode(),
        "title": title(),
    }
    status = 422 if form.is_bound and form.errors else 200
    part = "#plan" if getattr(request, "htmx", False) and request.POST.get("action") == PREVIEW else ""
    return render(request, f"judging/routing.html{part}", context, status=status)


def _make(request: HttpRequest, study: Study, draws: Sequence[RoutedDraw], user: User) -> HttpResponse:
    made = next((one for one in draws if one.public_id == request.POST.get("draw")), None)
    if made is None:
        raise Http404(gettext("This study has no such draw."))
    try:
        make_tasks(made, by=user)
    except UserError as error:
        messages.warning(request, for_reader(error))
    return redirect(reverse("judging:routing", args=[study]))


def _models_of(study: Study) -> list[str]:
    asked = study.tasks.filter(gold__isnull=True, response_b=None)
    names = LanguageModel.objects.filter(pk__in=asked.values("response_a__model")).values_list("name", flat=True)
    return sorted(names)


def _first(judges: Sequence[Rater]) -> list[str]:
    return [judge.public_id for judge in judges]


def _next_step(found: Routing, draws: Sequence[RoutedDraw]) -> dict[str, str] | None:
    """Return the one step that comes next: an address or the id of a draw, with the words of the button."""
    if not draws:
        return None
    last, batch = draws[-1], found.batches[-1]
    if last.rated_in is None:
        return {"draw": last.public_id, "words": gettext("Make the tasks of the draw")}
    address = reverse("annotation:desk", args=[last.rated_in])
    words = {
        "not_open": gettext("Open the study that rates the draw"),
        "waiting": gettext("Go to the study that rates the draw"),
        "incomplete": gettext("Open the study of the draw again"),
    }
    return {"address": address, "words": words[batch.state]} if batch.state in words else None
