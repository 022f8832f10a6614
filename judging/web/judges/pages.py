"""Pages of judges: the list, one judge, and creating one with a custom prompt."""

from dataclasses import dataclass
from typing import cast

from django.contrib import messages
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_safe

from accounts.models import Event, User, Workspace
from accounts.permissions import results_page, workspaces_led_by, workspaces_read_by
from annotation.models import Assignment, Rater, Study, Task
from calibration.data.verdicts import JudgesVerdicts, judges_of_answers
from core.errors import UserError
from core.messages.rendering import for_reader
from core.web.access import visible_or_404
from generation.models import LanguageModel
from generation.web.library.pages import page_of
from judging.alignment.proposals import Draft, draft_of
from judging.alignment.records import add_version
from judging.judges.making import JudgeRefused, create_judge, create_rule_judge, needs_no_model, stock_prompt
from judging.methods.line_diff import Line, line_diff
from judging.methods.prompts import prompt_hash
from judging.methods.registry import METHODS, OFFERED, PROMPTED
from judging.methods.sample_questions import placeholders_of
from judging.methods.spec import Transport
from judging.methods.weighted import FITTED
from judging.models import Alignment, Judge, JudgeRun, PromptTrial
from judging.trials.chosen_tasks import task_sources
from judging.trials.records import draft_judge
from judging.web.judges.forms import JudgeForm, MethodForm
from judging.web.judges.method_messages import MethodWords, all_methods, method_words
from judging.web.judges.prompt_preview import PromptPreview, prompt_preview
from judging.web.judges.trials import Offer, offer_of, trial_begun, trial_to_edit
from judging.web.monitoring.pages import changed_since

RUNS_SHOWN = 50
STUDIES_TO_ASK = 20


@dataclass(frozen=True)
class ListedJudge:
    """A judge in the list: its method (None if its verdicts were imported), its runs, and its verdicts."""

    rater: Rater
    method: MethodWords | None
    runs: int
    counted: JudgesVerdicts

    @property
    def verdicts(self) -> int:
        return self.counted.verdicts + self.counted.discredited


def runs_with(judge: Judge) -> "QuerySet[JudgeRun]":
    """The runs that it leads, and those of the panels of which it is a member."""
    return JudgeRun.objects.filter(Q(judge=judge) | Q(judge__jurors=judge)).distinct()


@require_safe
@results_page
def judge_list(request: HttpRequest) -> HttpResponse:
    """Every judge: those created here, panels, and those with imported verdicts."""
    page = page_of(request, _readable(request).order_by("label", "pk"))
    counts = {row.judge.pk: row for row in judges_of_answers(Assignment.objects.filter(rater__in=page.object_list))}
    rows = [
        ListedJudge(
            rater,
            method_words(made.method) if (made := judge_of(rater)) else None,
            runs_with(made).count() if made else 0,
            counts.get(rater.pk) or JudgesVerdicts(rater, 0, 0),
        )
        for rater in page.object_list
    ]
    context = {"page": page, "rows": rows, "leads": _led(request).exists()}
    return render(request, "judging/judge_list.html", context)


@require_safe
@results_page
def judge(request: HttpRequest, public_id: str) -> HttpResponse:
    """A judge in full, its runs, and links to comparisons of its verdicts with people's."""
    rater = _rater(request, public_id)
    made = judge_of(rater)
    own = Assignment.objects.filter(rater=rater)
    verdicts = own.filter(task__study=OuterRef("pk")).verdicts()
    counted = next(iter(judges_of_answers(own)), JudgesVerdicts(rater, 0, 0))
    runs: QuerySet[JudgeRun] = JudgeRun.objects.none()
    stock: list[Line] = []
    if made is not None:
        runs = runs_with(made).select_related("study__workspace", "created_by", "judge__rater").order_by("-created_at")
        stock = line_diff(stock_prompt(made.method), made.prompt) if made.method in PROMPTED else []
    context = {
        "rater": rater,
        "judge": made,
        "method": method_words(made.method) if made else None,
        "stock_diff": stock,
        "jurors": made.jurors.select_related("rater") if made else [],
        "panels": made.panels.select_related("rater") if made else [],
        "runs": runs[:RUNS_SHOWN],
        "verdicts": counted.verdicts + counted.discredited,
        "discredited": counted.discredited,
        "studies": Study.objects.filter(Exists(verdicts), workspace=rater.workspace_id)
        .select_related("workspace", "benchmark__workspace")
        .order_by("-created_at"),
        "leads": _led(request).filter(pk=rater.workspace_id).exists(),
        "provenance": [rater.provenance] if rater.provenance else [],
        "changed": changed_since(rater),
        "asks": _studies_to_ask(request, rater, made),
        "can_be_probed": made is not None and METHODS[made.method].transport == Transport.CHAT,
    }
    return render(request, "judging/judge.html", context)


def _studies_to_ask(request: HttpRequest, rater: Rater, made: Judge | None) -> list[Study]:
    """Return the newest studies, of those that the reader leads, with tasks of the kind that the judge answers."""
    if made is None or (made.jurors.exists() and made.method not in FITTED):
        return []
    tasks = Task.objects.filter(study=OuterRef("pk"), kind=METHODS[made.method].task_kind)
    found = Study.objects.filter(Exists(tasks), workspace__in=_led(request).filter(pk=rater.workspace_id))
    return list(found.select_related("workspace").order_by("-created_at", "-pk")[:STUDIES_TO_ASK])


@require_http_methods(["GET", "HEAD", "POST"])
@results_page
def new_judge(request: HttpRequest) -> HttpResponse:
    """First the method (?method=, a judge to copy with ?like=, or ?trial=), then the judge.

    A preview and the price of a trial store nothing; a trial is begun at the price that was shown. With ?alignment= the
    judge becomes a version of it; ?draft= begins with a prompt that a model proposed there.
    """
    led = _led(request)
    like, tried = _like(request, led), trial_to_edit(request, led)
    aligned = _alignment(request, led)
    draft = draft_of(aligned, request.GET.get("draft", "")) if aligned else None
    like = draft.like if draft else like
    method = like.method if like else tried.method if tried else request.GET.get("method", "")
    if method not in OFFERED:
        context = {"method_form": MethodForm(), "methods": all_methods(), "led": led}
        return render(request, "judging/new_judge.html", context)
    models = _served_models(led)
    initial = _initial_of_trial(tried) if tried else _initial(method, like)
    initial |= {"prompt": draft.prompt} if draft else {}
    form = JudgeForm(request.POST or None, method=method, workspaces=led, models=models, initial=initial)
    action = request.POST.get("action", "make") if request.method == "POST" else ""
    offer: Offer | None = None
    if action.startswith(("price", "try")) and method in PROMPTED and form.is_valid():
        offer = offer_of(request, form, method)
        if action.startswith("try") and (begun := trial_begun(request, offer)):
            return redirect("judging:trial", begun.public_id)
    if action == "make" and form.is_valid():
        made = judge_made(form, method, cast(User, request.user))
        if made is not None:
            return _after_making(request, made, aligned, draft)
    context = _editor_context(request, form, method, like, models)
    context |= {"offer": offer, "asked_to_try": action.startswith(("price", "try")), "tried": tried}
    context |= {"aligned": aligned, "draft": draft}
    if tried and request.method != "POST":
        context |= {"source": tried.source, "number": tried.number}
    if action == "preview":
        context["preview"] = _preview(request, form, method)
    if action != "make" and getattr(request, "htmx", False):
        return render(request, "judging/new_judge.html#preview", context, status=_status(form))
    return render(request, "judging/new_judge.html", context, status=_status(form))


def _alignment(request: HttpRequest, led: "QuerySet[Workspace]") -> Alignment | None:
    found = Alignment.objects.filter(study__workspace__in=led, public_id=request.GET.get("alignment", ""))
    return found.select_related("study__workspace", "baseline__rater").first()


def _after_making(request: HttpRequest, made: Judge, aligned: Alignment | None, draft: Draft | None) -> HttpResponse:
    """Lead to the new judge, or to the alignment of which it becomes a version."""
    if aligned is None:
        return redirect("judging:judge", made.rater.public_id)
    try:
        add_version(aligned, made, draft=draft.response if draft else None, by=cast(User, request.user))
    except UserError as error:
        messages.error(request, for_reader(error))
    return redirect("judging:alignment", aligned.public_id)


def _editor_context(
    request: HttpRequest, form: JudgeForm, method: str, like: Judge | None, models: "QuerySet[LanguageModel]"
) -> dict[str, object]:
    edited = method in PROMPTED
    prompt = str(form["prompt"].value() or "").replace("\r\n", "\n") if edited else ""
    known, needed = placeholders_of(method) if edited else ((), ())
    workspace = _workspace_of(form, models)
    return {
        "form": form,
        "method": method_words(method),
        "like": like,
        "models": models,
        "placeholders": [(f"${name}", name in needed) for name in known],
        "diff": line_diff(stock_prompt(method), prompt) if edited else [],
        "hash": prompt_hash(prompt),
        "sources": task_sources(workspace, method) if edited and workspace else [],
        "source": request.POST.get("source", ""),
        "number": _number(request),
        "led": _led(request),
    }


def _preview(request: HttpRequest, form: JudgeForm, method: str) -> PromptPreview | None:
    """None if the form has an error, or the source has no task."""
    if not form.is_valid():
        return None
    given = form.cleaned_data
    judge = draft_judge(given["model"], method, given["prompt"], form.parameters)
    return prompt_preview(judge, source=request.POST.get("source", ""), number=_number(request))


def judge_made(form: JudgeForm, method: str, user: User) -> Judge | None:
    """Return the judge of the form; None, with an error in the form, if its name is taken."""
    given = form.cleaned_data
    try:
        with transaction.atomic():
            if needs_no_model(method):
                made = create_rule_judge(workspace=given["workspace"], method=method, name=given["name"])
            else:
                made = create_judge(
                    model=given["model"],
                    method=method,
                    prompt=given.get("prompt"),
                    parameters=form.parameters if method in PROMPTED else None,
                    name=given["name"],
                )
            Event.objects.create(
                workspace_id=made.workspace_id,
                actor=user,
                verb="judge made",
                object_type="judging.Judge",
                object_id=made.rater.public_id,
                after={"name": made.rater.label, "method": method, "prompt_hash": made.prompt_hash},
            )
            return made
    except JudgeRefused:
        form.add_error("name", gettext("Another judge already has this name. Choose a different name."))
    return None


def _initial(method: str, like: Judge | None) -> dict[str, object]:
    if like is None:
        return {"prompt": stock_prompt(method), "others": {}}
    parameters = dict(like.parameters)
    own = ("temperature", "max_tokens")
    return {
        "model": like.language_model_id,
        "prompt": like.prompt,
        **{name: parameters.get(name) for name in own},
        "others": {name: value for name, value in parameters.items() if name not in own},
    }


def _initial_of_trial(tried: PromptTrial) -> dict[str, object]:
    """Return what the form begins with where the version of a trial is changed further."""
    own = ("temperature", "max_tokens")
    return {
        "model": tried.language_model_id,
        "prompt": tried.prompt,
        **{name: tried.parameters.get(name) for name in own},
        "others": {name: value for name, value in tried.parameters.items() if name not in own},
    }


def _like(request: HttpRequest, led: "QuerySet[Workspace]") -> Judge | None:
    found = Judge.objects.filter(workspace__in=led, jurors=None)
    return found.filter(rater__public_id=request.GET.get("like", "")).select_related("rater").first()


def _workspace_of(form: JudgeForm, models: "QuerySet[LanguageModel]") -> Workspace | None:
    """The parameters of the chosen model, else of the first one."""
    chosen = str(form["model"].value() or "") if "model" in form.fields else ""
    model = models.filter(pk=int(chosen)).first() if chosen.isdecimal() else models.first()
    return model.workspace if model else None


def _served_models(led: "QuerySet[Workspace]") -> "QuerySet[LanguageModel]":
    found = LanguageModel.objects.filter(workspace__in=led, endpoint__isnull=False)
    return found.select_related("endpoint", "workspace").order_by("name", "pk")


def _number(request: HttpRequest) -> int:
    given = request.POST.get("number", "1")
    return max(1, int(given)) if given.isdecimal() and len(given) < 10 else 1


def _status(form: JudgeForm) -> int:
    return 422 if form.is_bound and form.errors else 200


def judge_of(rater: Rater) -> Judge | None:
    """None if the judge's verdicts were imported."""
    return getattr(rater, "judge", None)


def _readable(request: HttpRequest) -> "QuerySet[Rater]":
    workspaces = workspaces_read_by(cast(User, request.user))
    found = Rater.objects.filter(workspace__in=workspaces, kind=Rater.Kind.JUDGE, study=None)
    return found.select_related("judge__language_model__endpoint", "workspace")


def _rater(request: HttpRequest, public_id: str) -> Rater:
    found = _readable(request).filter(public_id=public_id)
    return visible_or_404(found, message=gettext("There is no such judge."))


def _led(request: HttpRequest) -> "QuerySet[Workspace]":
    return workspaces_led_by(cast(User, request.user))
