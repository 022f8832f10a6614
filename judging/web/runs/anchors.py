"""The page on which a lead has another judge score anchors of a run, so that the two judges can be bridged."""

from typing import Any, cast

from django import forms
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy as _
from django.views.decorators.http import require_http_methods

from accounts.models import User
from accounts.permissions import leads_workspace_of, results_page
from calibration.figures.drawing import shortest
from calibration.statistics.judges.between_models import LEAST_OF_A_MODEL
from core.errors import UserError
from generation.endpoints.registration import untested
from generation.models import LanguageModel
from generation.web.run_controls import BudgetForm
from judging.comparison.bridging.anchors import (
    USUAL_CORRELATION,
    AnchorPlan,
    AnchorRequest,
    plan_anchors,
    run_request,
    started_anchor_run,
)
from judging.comparison.bridging.loaded import Scores, rater_of, scores_read_by
from judging.models import Judge, JudgeRun
from judging.runs.planning.estimates import Estimate, estimate_run
from judging.web.alignment.forms import JudgeField
from judging.web.runs.start import may_be_asked, refusal_words

PREVIEW = "preview"
MOST = 1_000_000


class AnchorForm(BudgetForm):
    """The judge to ask, how many anchors, and the budget."""

    judge = JudgeField(label=_("Judge to ask"), queryset=Judge.objects.none(), empty_label=None)
    half_width = forms.FloatField(
        label=_("Half width wanted, in points of the scale"),
        help_text=_("As many responses of each model are drawn as an interval this narrow needs, at 95 %."),
        min_value=0,
        required=False,
    )
    per_model = forms.IntegerField(
        label=_("Or responses of each model"), min_value=LEAST_OF_A_MODEL, max_value=MOST, required=False
    )
    correlation = forms.FloatField(
        label=_("Correlation of the two judges that is assumed"),
        help_text=_("Used only where the two judges have scored too few responses in common to tell."),
        min_value=0,
        max_value=0.999,
        initial=USUAL_CORRELATION,
        required=False,
    )
    canaries = forms.BooleanField(label=_("Add canary texts"), initial=True, required=False)
    field_order = ["judge", "half_width", "per_model", "correlation", "canaries"]

    def __init__(self, *args: Any, judges: "QuerySet[Judge]", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["judge"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = judges

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        if not self.errors and bool(given.get("half_width")) == bool(given.get("per_model")):
            raise ValidationError(_("Say either the half width or the number of responses of each model."))
        return given

    def request(self, run: Scores, user: User) -> AnchorRequest:
        given = self.cleaned_data
        correlation = given.get("correlation")
        return AnchorRequest(
            run,
            given["judge"],
            half_width=given.get("half_width") or None,
            per_model=given.get("per_model"),
            correlation=USUAL_CORRELATION if correlation is None else correlation,
            canaries=bool(given.get("canaries")),
            budget=self.ceiling,
            user=user,
        )


@require_http_methods(["GET", "HEAD", "POST"])
@results_page
def draw_anchors(request: HttpRequest, public_id: str) -> HttpResponse:
    """Draw anchors of a run for another judge (?judge=); a preview says which and prices them, and stores nothing."""
    user = cast(User, request.user)
    run = scores_read_by(user, public_id)
    if not leads_workspace_of(user, run.study):
        raise PermissionDenied
    judges = judges_to_ask(run)
    asked = judges.filter(rater__public_id=request.GET.get("judge", "")).first()
    form = AnchorForm(
        request.POST if request.method == "POST" else None,
        judges=judges,
        initial={"judge": asked.pk if asked else None, "canaries": True},
    )
    plan: AnchorPlan | None = None
    estimate: Estimate | None = None
    if request.method == "POST" and form.is_valid():
        wanted = form.request(run, user)
        try:
            if request.POST.get("action") == PREVIEW:
                plan = plan_anchors(wanted)
                estimate = estimate_run(run_request(wanted, plan))
            else:
                return redirect("judging:run", started_anchor_run(wanted, clock=timezone.now).public_id)
        except UserError as error:
            plan = None
            form.add_error(None, refusal_words(error))
    models = LanguageModel.objects.filter(judges__in=judges, endpoint__isnull=False).select_related("endpoint")
    context: dict[str, object] = {
        "run": run if isinstance(run, JudgeRun) else None,
        "scored": run,
        "judge": rater_of(run).name,
        "form": form,
        "judges": judges,
        "plan": plan,
        "spread_words": _spread_words(plan, form) if plan else "",
        "estimate": estimate,
        "untested": untested(models),
    }
    status = 422 if form.is_bound and form.errors else 200
    part = "#estimate" if getattr(request, "htmx", False) and request.POST.get("action") == PREVIEW else ""
    return render(request, f"judging/draw_anchors.html{part}", context, status=status)


def judges_to_ask(run: Scores) -> "QuerySet[Judge]":
    """Return the judges, other than the run's own, that can be asked about single responses."""
    _models, judges = may_be_asked(run.study.workspace)
    return judges.exclude(rater=rater_of(run)).order_by("rater__label", "pk")


def _spread_words(plan: AnchorPlan, form: AnchorForm) -> str:
    spread = shortest(round(plan.spread, 3))
    if plan.from_bridge:
        return gettext(
            "The number rests on the bridge between these two judges as it is: old scores spread about their predictions "
            "with a standard deviation of %(spread)s points."
        ) % {"spread": spread}
    correlation = form.cleaned_data.get("correlation")
    return gettext(
        "The number is a plan: it assumes that the two judges' scores correlate at %(correlation)s, so that old scores "
        "spread about their predictions with a standard deviation of %(spread)s points. The bridge then states the widths "
        "reached."
    ) % {"spread": spread, "correlation": shortest(USUAL_CORRELATION if correlation is None else correlation)}
