"""The page of a benchmark's curation: what would go and why, decisions of people, and the tag for those that stay."""

from typing import cast

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_http_methods

from accounts.models import User
from accounts.permissions import leads_workspace_of, results_page
from core.errors import UserError
from core.messages.rendering import for_reader
from core.web.addresses import full_slug
from generation.curation import applying
from generation.curation.curating import CuratedInstruction, Curation, ask_difficulty, curation_of
from generation.curation.reviews import VERBS, decide, decisions_of
from generation.curation.rules.filters import Reason
from generation.library.access import benchmark_read_by
from generation.models import Benchmark, Instruction
from generation.web.curation.forms import REASONS, CurationForm, usual_values

ON_A_PAGE = 50
STAYING = "stay"


@require_http_methods(["GET", "HEAD", "POST"])
@results_page
def curation(request: HttpRequest, slug: str) -> HttpResponse:
    """The rules stand in the address; ?show= is a reason, or "stay" for the instructions that stay."""
    user = cast(User, request.user)
    benchmark = benchmark_read_by(user, slug)
    leads = leads_workspace_of(user, benchmark)
    if request.method == "POST" and not leads:
        raise PermissionDenied
    form = CurationForm(request.GET if "shortest" in request.GET else usual_values())
    if request.method == "POST":
        return _changed(request, benchmark, form)
    total = benchmark.instructions.count()
    context = {"benchmark": benchmark, "form": form, "leads": leads, "total": total, "most": applying.MOST_INSTRUCTIONS}
    if total > applying.MOST_INSTRUCTIONS and form.is_valid():
        tag = form.cleaned_data["tag"]
        context |= {"tag": tag, "tagged": applying.number_tagged(benchmark, tag)}
    elif form.is_valid():
        context |= _found(request, curation_of(benchmark, form.rules), form.cleaned_data["tag"])
    return render(request, "generation/curation.html", context, status=200 if form.is_valid() else 422)


def _changed(request: HttpRequest, benchmark: Benchmark, form: CurationForm) -> HttpResponse:
    """Apply the rules, record a decision, or make the questions about difficulty."""
    user = cast(User, request.user)
    action = request.POST.get("action", "")
    try:
        if action in VERBS:
            public_id = request.POST.get("instruction", "")
            chosen = benchmark.instructions.select_related("benchmark").filter(public_id=public_id).first()
            if chosen is None:
                raise Http404
            decide(chosen, action, request.POST.get("reason", ""), user=user)
            messages.success(request, gettext("The decision on %(name)s has been saved.") % {"name": chosen})
        elif action == "ask":
            questions = ask_difficulty(benchmark, by=user)
            return redirect("generation:start_run", full_slug(questions))
        elif action == "apply" and form.is_valid():
            tagged = applying.apply_rules(benchmark, form.rules, form.cleaned_data["tag"], by=user)
            if tagged is None:
                messages.success(request, gettext("A worker applies the rules. Open this page again in some minutes."))
            else:
                told = ngettext(
                    "%(n)s instruction has the tag %(tag)s now.",
                    "%(n)s instructions have the tag %(tag)s now.",
                    tagged.kept,
                )
                messages.success(request, told % {"n": f"{tagged.kept:,}", "tag": form.cleaned_data["tag"]})
        elif action != "apply":
            raise Http404
    except UserError as error:
        messages.error(request, for_reader(error))
    query = request.GET.urlencode()
    return redirect(reverse("generation:curation", args=[benchmark]) + (f"?{query}" if query else ""))


def _found(request: HttpRequest, found: Curation, tag: str) -> dict[str, object]:
    shown = request.GET.get("show", "")
    if shown == STAYING:
        rows = found.staying
    else:
        rows = [row for row in found.leaving if row.leaving and shown in ("", row.leaving.reason.value)]
    page = Paginator(rows, ON_A_PAGE).get_page(request.GET.get("page"))
    texts = Instruction.objects.in_bulk([row.pk for row in page])
    decisions = decisions_of(found.benchmark)
    tagged = sum(tag in row.facts.tags for row in found.rows)
    return {
        "curation": found,
        "staying": len(found.staying),
        "unstated": found.unstated,
        "reasons": [(reason.value, REASONS[reason], count) for reason, count in found.by_reason.items()],
        "page": page,
        "rows": [(row, texts[row.pk], _reason(row), decisions.get(row.public_id)) for row in page if row.pk in texts],
        "shown": shown,
        "tagged": tagged,
        "tag": tag,
    }


def _reason(row: CuratedInstruction) -> str:
    """Why an instruction goes, in words; '' where it stays."""
    leaving = row.leaving
    if leaving is None:
        return ""
    name = str(REASONS[leaving.reason])
    if leaving.reason == Reason.DUPLICATE:
        alike = gettext("%(reason)s of %(name)s (similarity %(share).2f)")
        return alike % {"reason": name, "name": leaving.what, "share": leaving.similarity}
    if leaving.reason == Reason.USER:
        return gettext("%(reason)s, before %(name)s") % {"reason": name, "name": leaving.what}
    if leaving.reason == Reason.EASY or not leaving.what:
        return name
    return gettext("%(reason)s: %(what)s") % {"reason": name, "what": leaving.what}
