"""Pages of drafted checklists: which instructions have drafts, and the review of one."""

from typing import cast

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext, gettext_lazy as _
from django.views.decorators.http import require_http_methods

from accounts.models import User
from accounts.permissions import leads_workspace_of, results_page
from annotation.drafting.checklists import approve, approved_in, ask_for_drafts, drafted, own_checklist
from annotation.rules.drafted_questions import LONGEST_QUESTION, MOST_QUESTIONS, MergedQuestion
from core.errors import UserError
from core.messages.rendering import for_reader
from core.web.addresses import full_slug
from generation.library.access import benchmark_read_by, instruction_read_by
from generation.models import Benchmark, Instruction

ON_A_PAGE = 50
SPARE = 3
"""Empty lines for questions of one's own."""
MOST_LINES = 3 * MOST_QUESTIONS


class ChecklistLineForm(forms.Form):
    """One line of a checklist: a question, and whether it is kept."""

    keep = forms.BooleanField(required=False)
    text = forms.CharField(
        required=False,
        max_length=LONGEST_QUESTION,
        label=_("Question"),
        widget=forms.Textarea(attrs={"rows": 2, "maxlength": LONGEST_QUESTION}),
    )


Questions = forms.formset_factory(
    ChecklistLineForm, extra=0, max_num=MOST_LINES, validate_max=True, absolute_max=MOST_LINES
)


@require_http_methods(["GET", "HEAD", "POST"])
@results_page
def checklists(request: HttpRequest, slug: str) -> HttpResponse:
    """The instructions with drafts; a lead has models draft more by a run of the questions about them."""
    user = cast(User, request.user)
    benchmark = benchmark_read_by(user, slug)
    leads = leads_workspace_of(user, benchmark)
    if request.method == "POST":
        if not leads:
            raise PermissionDenied
        try:
            return redirect("generation:start_run", full_slug(ask_for_drafts(benchmark, by=user)))
        except UserError as error:
            messages.error(request, for_reader(error))
            return redirect("library:drafted_checklists", benchmark)
    drafts, approved = drafted(benchmark), approved_in(benchmark)
    page = Paginator(sorted(drafts), ON_A_PAGE).get_page(request.GET.get("page"))
    found = {one.external_id: one for one in benchmark.instructions.filter(external_id__in=list(page))}
    context = {
        "benchmark": benchmark,
        "leads": leads,
        "page": page,
        "rows": [
            (found[name], len(drafts[name]), _models(drafts[name]), found[name].public_id in approved)
            for name in page
            if name in found
        ],
    }
    return render(request, "annotation/drafted_checklists.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@results_page
def checklist(request: HttpRequest, public_id: str) -> HttpResponse:
    """Review the drafts of one instruction: edit them, choose, and approve; then comes the next one to review."""
    user = cast(User, request.user)
    instruction = instruction_read_by(user, public_id)
    benchmark = instruction.benchmark
    leads = leads_workspace_of(user, benchmark)
    if request.method == "POST" and not leads:
        raise PermissionDenied
    drafts = drafted(benchmark, instruction.external_id).get(instruction.external_id, [])
    own = own_checklist(instruction)
    if request.method == "POST":
        lines = Questions(request.POST)
        if lines.is_valid():
            kept = [line["text"] for line in lines.cleaned_data if line.get("keep") and line.get("text", "").strip()]
            try:
                stored = approve(instruction, kept, by=user)
            except UserError as error:
                messages.error(request, for_reader(error))
            else:
                told = gettext("The checklist of %(name)s has been saved; questions: %(n)s.")
                messages.success(request, told % {"name": instruction, "n": len(stored)})
                following = _next(benchmark, instruction)
                if following is None:
                    return redirect("library:drafted_checklists", benchmark)
                return redirect("library:drafted_checklist", following.public_id)
    else:
        texts = [(text, True) for text in own] or [(one.text, True) for one in drafts]
        if own:
            texts += [(one.text, False) for one in drafts if one.text not in own]
        initial = [{"text": text, "keep": keep} for text, keep in texts[: MOST_LINES - SPARE]]
        lines = Questions(initial=[*initial, *({"text": "", "keep": True} for _spare in range(SPARE))])
    by = {one.text: one for one in drafts}
    context = {
        "instruction": instruction,
        "benchmark": benchmark,
        "leads": leads,
        "lines": lines,
        "rows": [(line, by.get(line["text"].value() or "")) for line in lines],
        "drafts": drafts,
    }
    status = 422 if lines.is_bound else 200
    return render(request, "annotation/drafted_checklist.html", context, status=status)


def _models(drafts: list[MergedQuestion]) -> list[str]:
    return sorted({model for one in drafts for model in one.models})


def _next(benchmark: Benchmark, before: Instruction) -> Instruction | None:
    """The next instruction, by name and from the beginning again, whose drafts nobody approved."""
    names = sorted(drafted(benchmark))
    approved = approved_in(benchmark)
    open_ones = [
        one
        for one in benchmark.instructions.filter(external_id__in=names).order_by("external_id")
        if one.public_id not in approved
    ]
    later = [one for one in open_ones if one.external_id > before.external_id]
    return next(iter([*later, *open_ones]), None)
