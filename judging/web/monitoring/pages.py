"""Pages of drift monitors: the list, a new one, one with its rounds, and its controls."""

from typing import Any, cast

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.models import User, Workspace
from accounts.permissions import leads_workspace_of, results_page, workspaces_led_by, workspaces_read_by
from annotation.models import Rater, Study
from calibration.web.serving import file_of
from judging.models import Judge, JudgeRun, Watch
from judging.monitoring.access import judges_to_monitor, monitor_read_by, monitors_read_by, studies_to_monitor
from judging.monitoring.monitors import (
    LARGEST,
    LONGEST_PAUSE,
    USUAL_SIZE,
    WatchRefused,
    ask_now,
    change_terms,
    create_watch,
    set_active,
    set_baseline,
)
from judging.monitoring.readings import last_check, readings, row_of
from judging.web.judges.method_messages import method_words
from judging.web.monitoring.blocks import watch_panel
from judging.web.monitoring.moved import baseline_rows, moved_rows


class TermsForm(forms.Form):
    """The interval between a monitor's rounds and their maximum cost."""

    every_hours = forms.IntegerField(
        label=gettext_lazy("Hours between rounds"), min_value=1, max_value=LONGEST_PAUSE, initial=24
    )
    budget_money = forms.DecimalField(
        label=gettext_lazy("Maximum cost per round"),
        min_value=0,
        max_digits=12,
        decimal_places=6,
        required=False,
        help_text=gettext_lazy("Leave empty for no limit. In the currency of the endpoint's prices."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})


class WatchForm(TermsForm):
    """The judge, the tasks and the interval of a monitor."""

    field_order = ("study", "judge", "size")

    study = forms.ModelChoiceField(label=gettext_lazy("Study"), queryset=Study.objects.none())
    judge = forms.ModelChoiceField(label=gettext_lazy("Judge"), queryset=Judge.objects.none())
    size = forms.IntegerField(
        label=gettext_lazy("Tasks"),
        min_value=2,
        max_value=LARGEST,
        initial=USUAL_SIZE,
        help_text=gettext_lazy("Drawn now and fixed from then on. Tasks that people have rated are preferred."),
    )

    def __init__(self, *args: Any, workspaces: "QuerySet[Workspace]", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        study, judge = self.fields["study"], self.fields["judge"]
        assert isinstance(study, forms.ModelChoiceField)
        assert isinstance(judge, forms.ModelChoiceField)
        study.queryset, judge.queryset = studies_to_monitor(workspaces), judges_to_monitor(workspaces)
        study.label_from_instance = lambda obj: str(obj.name)  # type: ignore[method-assign]
        judge.label_from_instance = lambda obj: f"{obj.rater.name} · {method_words(obj.method).name}"  # type: ignore[method-assign]


@require_safe
@results_page
def watches(request: HttpRequest) -> HttpResponse:
    """All drift monitors of the reader's workspaces, with the result of their latest round."""
    user = cast(User, request.user)
    rows = [row_of(watch) for watch in list(monitors_read_by(user))]
    leads = workspaces_led_by(user).exists()
    return render(request, "judging/watches.html", {"rows": rows, "leads": leads})


@require_http_methods(["GET", "HEAD", "POST"])
@results_page
def new_watch(request: HttpRequest) -> HttpResponse:
    """?study= and ?judge= set the initial values."""
    user = cast(User, request.user)
    led = workspaces_led_by(user)
    if not led.exists():
        raise PermissionDenied
    first = {
        "study": Study.objects.filter(workspace__in=led, slug=request.GET.get("study", "")).first(),
        "judge": Judge.objects.filter(workspace__in=led, rater__public_id=request.GET.get("judge", "")).first(),
    }
    form = WatchForm(request.POST or None, workspaces=led, initial={k: v for k, v in first.items() if v})
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        try:
            if data["study"].workspace_id != data["judge"].workspace_id:
                raise WatchRefused(gettext("The judge and the study belong to different workspaces."))
            made = create_watch(
                judge=data["judge"],
                study=data["study"],
                every_hours=data["every_hours"],
                size=data["size"],
                budget_money=data["budget_money"],
                clock=timezone.now,
                user=user,
            )
            return redirect("judging:watch", made.public_id)
        except WatchRefused as error:
            form.add_error(None, str(error))
    status = 422 if form.is_bound and form.errors else 200
    return render(request, "judging/new_watch.html", {"form": form}, status=status)


@require_safe
@results_page
def watch(request: HttpRequest, public_id: str) -> HttpResponse:
    """One monitor with its rounds; ?file= is one of its figures or tables."""
    found = monitor_read_by(cast(User, request.user), public_id)
    read = readings(found)
    panel = watch_panel(found, read)
    if "file" in request.GET:
        return file_of(panel.page, request.GET["file"], "watch")
    context = {
        "watch": found,
        "panel": panel,
        "rounds": list(reversed(read.rounds)),
        "others": list(reversed(read.others)),
        "size": len(found.tasks),
        "leads": leads_workspace_of(cast(User, request.user), found.study),
        "going": any(run.status in (JudgeRun.Status.RUNNING, JudgeRun.Status.PLANNED) for run in read.others),
        "provenance": [found.judge.rater.provenance] if found.judge.rater.provenance else [],
        "terms": TermsForm(initial={"every_hours": found.every_hours, "budget_money": found.budget_money}),
        "path": request.path,
        "moved": moved_rows(found, read),
        "baselines": baseline_rows(found, read),
        "baseline": read.baseline,
        "latest_changed": read.changed[-1] if read.changed and read.changed[-1] is read.rounds[-1] else None,
    }
    return render(request, "judging/watch.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@results_page
def new_baseline(request: HttpRequest, public_id: str) -> HttpResponse:
    """Ask whether the latest round is to become the baseline of later ones, and do it."""
    user = cast(User, request.user)
    found = monitor_read_by(user, public_id)
    if not leads_workspace_of(user, found.study):
        raise PermissionDenied
    run, changed = last_check(found)
    if run is None or not changed:
        messages.warning(request, gettext("The latest check found no change, so the present baseline stays."))
        return redirect("judging:watch", public_id)
    if request.method == "POST":
        asked = found.rounds.filter(public_id=request.POST.get("run", "")).first() or run
        try:
            set_baseline(found, asked, user=user)
            messages.success(request, gettext("Later rounds are compared with this round from now on."))
        except WatchRefused as error:
            messages.warning(request, str(error))
        return redirect("judging:watch", public_id)
    context = {"watch": found, "run": run, "number": run.manifest["watch"]["round"]}
    return render(request, "judging/new_baseline.html", context)


@require_POST
@results_page
def control_watch(request: HttpRequest, public_id: str) -> HttpResponse:
    """Pause, resume, change (interval and cost) or run (start a round now)."""
    user = cast(User, request.user)
    found = monitor_read_by(user, public_id)
    if not leads_workspace_of(user, found.study):
        raise PermissionDenied
    action = request.POST.get("action", "")
    if action in ("pause", "resume"):
        set_active(found, action == "resume", clock=timezone.now, user=user)
    elif action == "change":
        form = TermsForm(request.POST)
        if form.is_valid():
            change_terms(found, **form.cleaned_data, clock=timezone.now, user=user)
            messages.success(request, gettext("The drift monitor was changed."))
        else:
            for name, errors in form.errors.items():
                messages.warning(request, f"{form.fields[name].label}: {' '.join(map(str, errors))}")
    elif action == "run":
        try:
            ask_now(found, clock=timezone.now, user=user)
            messages.success(request, gettext("A round has started."))
        except WatchRefused as error:
            messages.warning(request, str(error))
    else:
        raise Http404
    return redirect("judging:watch", public_id)


def flagged_watches(user: User) -> list[Watch]:
    """Return active monitors whose latest evaluated round is flagged; pausing a monitor removes its notice."""
    found = Watch.objects.filter(
        active=True, study__workspace__in=workspaces_read_by(user), rounds__manifest__watch__flagged=True
    ).distinct()
    return [one for one in found.select_related("judge__rater", "study__workspace") if last_check(one)[1]]


def failing_watches(user: User) -> list[Watch]:
    """Return active monitors whose latest round failed or is stuck, so that nothing is known about their judge."""
    stuck = (JudgeRun.Status.FAILED, JudgeRun.Status.PAUSED)
    latest = JudgeRun.objects.filter(watch=OuterRef("pk")).order_by("-created_at").values("status")[:1]
    found = Watch.objects.filter(active=True, study__workspace__in=workspaces_read_by(user))
    found = found.annotate(latest=Subquery(latest)).filter(latest__in=stuck)
    return list(found.select_related("judge__rater", "study__workspace"))


def changed_since(judge: Rater) -> list[Watch]:
    """Return the monitors by which this judge is flagged."""
    found = Watch.objects.filter(judge__rater=judge, rounds__manifest__watch__flagged=True).distinct()
    return [one for one in found.select_related("judge__rater", "study__workspace") if last_check(one)[1]]
