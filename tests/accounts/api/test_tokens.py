"""API tokens: their scopes, expiry and workspace, the page on which they are made, and what ends them."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import get_resolver, reverse
from django.utils import timezone

from accounts.api.access import ReadsResults
from accounts.api.tokens import issue_token, valid_tokens
from accounts.members.changes import remove_person
from accounts.members.invitations import invite
from accounts.models import ApiToken, Event, Membership, User
from annotation.models import (
    BonusBatch,
    BrowserRequest,
    Checklist,
    Cohort,
    Flag,
    Guideline,
    MailedInvitation,
    Participant,
    ProlificStudy,
    SavedMapping,
)
from annotation.uploads.kept_files import keep_table, kept_tables
from annotation.uploads.kinds import KINDS
from annotation.uploads.study_archives import StudyArchive, keep_archive
from calibration.models import Fit
from generation.models import Endpoint, GenerationRun, Import, LanguageModel
from generation.webhooks.subscriptions import add_webhook, send_test
from judging.archive.made_files import ask_for, files_of
from judging.importing.uploads import keep_upload, uploads
from judging.judges.making import create_judge
from judging.models import Alignment, PromptTrial, Watch
from tests.factories import make_checklist_study, make_rater, make_user, make_workspace, plan_run
from tests.markup import markup

pytestmark = pytest.mark.django_db
EVERYTHING = ApiToken.Scope.values
MORE = {
    "{id}/invitations/": ["post"],
    "/settings/": ["patch"],
    "/guideline/": ["put"],
    "/adjudication/": ["put"],
    "/self-naming/": ["put"],
    "/studies/{slug}/rubric/": ["put"],
    "{slug}/questionnaires/{moment}/": ["put"],
    "/cohorts/": ["post"],
    "/cohorts/{id}/": ["patch"],
    "/pay/": ["put"],
    "/minimum/": ["put"],
    "/prolific/": ["post"],
    "/tasks/{task}/": ["put", "delete"],
    "/drafted-checklists/": ["post"],
    "/drafted-checklists/{instruction}/": ["put"],
    "/webhooks/": ["post"],
    "/webhooks/{public_id}/": ["patch", "delete"],
    "/endpoints/": ["post"],
    "/endpoints/{id}/": ["patch", "delete"],
    "/endpoints/{id}/models/": ["post"],
    "/models/{id}/": ["patch", "delete"],
    "/error-phrases/": ["put", "delete"],
    "/runs/{public_id}/reviews/": ["post"],
    "/runs/{public_id}/checks/": ["post"],
    "/studies/{slug}/delete/": ["get"],
    "/imports/{id}/undo/": ["get"],
    "/mappings/": ["post"],
    "/demonstration/": ["post"],
}
"""Methods that change what the address returns or, of a deletion, say what it would remove, by its end."""
COSTLY = {
    "/runs/{public_id}/budget/": ["put"],
    "/generation/{public_id}/budget/": ["put"],
    "/monitors/{public_id}/": ["patch"],
    "/spending/": ["put"],
    "/bonus-cap/": ["put"],
    "/bonuses/": ["post"],
}
"""Those by which money may be spent."""
OF_PEOPLE = {
    "/members/": ["post"],
    "/members/{public_id}/": ["patch", "delete"],
    "w/{workspace}/invitations/": ["post"],
}
"""Those that decide who belongs to a workspace."""
VERBS = ("start", "pause", "cancel", "retry")
OF_RUN = {
    "label_run": lambda run: [],
    "run_budget": lambda run: [],
    "reviews": lambda run: [],
    "drawn_checks": lambda run: [],
    "compare_runs": lambda run: [],
    "compared_verdicts": lambda run: [],
    "verdict": lambda run: [run.items.first().pk],
    "run_prompt": lambda run: [run.items.first().pk],
    "run_file": lambda run: ["report.json"],
    "run_items": lambda run: [],
}
"""What follows the run in these addresses."""
OF_MONITOR = {"monitor": [], "steer_monitor": ["pause"], "monitored_verdicts": [], "set_baseline": []}
"""What follows the monitor in these addresses."""
OF_TRIAL = ("trial", "tried_answers", "stop_trial")
ADDED = [f"add_{kind}" for kind in KINDS]
OF_UPLOAD = ("map_file", "check_file", "load_file", "discard_file")
OF_ARCHIVE = ("load_archive", "discard_archive")
OF_WEBHOOKS = ("webhooks", "webhook", "test_webhook", "deliveries", "resend_delivery")
OF_SERVED = ("add_model", "model", "endpoints", "endpoint", "found_models")
OF_WORKSPACE = ("error_phrases", "spending", "demonstration")
OF_MEMBERS = ("members", "member", "invitations", "withdraw_invitation")
OF_RATER = ("exclude_rater", "include_rater", "erase_person")
NAMING = {
    "self_naming": "read",
    "self_naming_tasks": "read",
    "scan_self_naming": "change",
    "drop_self_naming": "change",
    "history": "ratings",
}
PREVIEWED = ("study_preview", "rating_screen", "shown_differences", "questionnaire_preview", "try_questionnaire")
OF_CONDUCT = ("disagreements", "task_answers", "adjudication", "flags", "skipped_tasks")
CONDUCTING = ("request_ratings", "release_task", "release_rater", "set_task_aside", "settle_flag")
OF_BENCHMARK = {
    "curation": "get",
    "curated_instructions": "get",
    "decide_on_instruction": "post",
    "apply_curation": "post",
    "ask_difficulty": "post",
    "drafted_checklists": "get",
    "drafted_checklist": "get",
}
OF_CHECKLIST = {
    "shared_checklist": ("get", []),
    "propose_criterion": ("post", []),
    "withdraw_criterion": ("post", [1]),
    "merge_criteria": ("put", []),
    "vote_on_criteria": ("post", []),
    "keep_criteria": ("post", []),
    "write_checklist_questions": ("put", []),
    "review_questions": ("post", []),
    "draft_checklist_questions": ("post", []),
    "steer_checklist": ("post", ["finish"]),
}
"""By address: its method, and what follows the checklist."""
OF_PAGE = {
    "result_page": lambda study, run, fit: [*at(study), "agreement"],
    **dict.fromkeys(("plan", "routing", "transport", "questionnaire"), lambda study, run, fit: at(study)),
    "fit": lambda study, run, fit: [fit.public_id],
    "all_judges": lambda study, run, fit: [],
    "judge_card": lambda study, run, fit: [run.judge.rater.public_id],
    **dict.fromkeys(("bridge", "probes"), lambda study, run, fit: [run.public_id]),
    "alignment": lambda study, run, fit: [study.alignments.get().public_id],
    "monitor": lambda study, run, fit: [study.watches.get().public_id],
    **dict.fromkeys(
        ("board", "rankings", "lengths", "compared_models", "text_statistics", "paper_tables"),
        lambda study, run, fit: at(study.benchmark),
    ),
    "paper_table": lambda study, run, fit: [*at(study.benchmark), "2"],
}
"""The pages whose figures and tables are files: what their addresses have of a study, a run and a fit."""
FILES = {f"{page}_{end}": page for page in OF_PAGE for end in ("files", "file")}


def at(row):
    return [row.workspace.slug, row.slug]


SCOPES = {
    **{name: "ratings" if page == "questionnaire" else "read" for name, page in FILES.items()},
    "schema": "read",
    **dict.fromkeys(OF_MEMBERS, "members"),
    "benchmarks": "read",
    "instructions": "read",
    "responses": "read",
    "models": "read",
    **dict.fromkeys(OF_WEBHOOKS, "change"),
    **dict.fromkeys(OF_SERVED, "change"),
    "test_endpoint": "run",
    "start_generation": "run",
    "generation_runs": "read",
    "generation_run": "read",
    "generation_budget": "read",
    "steer_generation": "change",
    "studies": "read",
    "make_study": "change",
    "study": "read",
    "scores": "ratings",
    "all_scores": "ratings",
    "exclusions": "ratings",
    "exclude_rater": "change",
    "include_rater": "change",
    "erase_person": "change",
    "delete_study": "change",
    "upload_file": "change",
    "uploaded_file": "change",
    "bad_rows": "change",
    "upload_benchmark_files": "change",
    "uploaded_benchmark_files": "change",
    "map_file": "change",
    "check_file": "change",
    "load_file": "change",
    "discard_file": "change",
    "undo_loading": "change",
    "saved_mappings": "change",
    "remove_mapping": "change",
    "upload_archive": "change",
    "uploaded_archive": "change",
    "load_archive": "change",
    "discard_archive": "change",
    **dict.fromkeys(ADDED, "change"),
    "study_settings": "read",
    "steer_study": "change",
    "archive_study": "change",
    "restore_study": "change",
    "duplicate_study": "change",
    "guideline": "read",
    "steer_rater": "change",
    "message_rater": "change",
    "browser_requests": "change",
    "answer_browser": "change",
    "tasks": "ratings",
    "known_answer": "ratings",
    "raters": "ratings",
    "cohorts": "read",
    "cohort": "change",
    "steer_cohort": "change",
    **dict.fromkeys(OF_CONDUCT, "ratings"),
    **dict.fromkeys(CONDUCTING, "change"),
    "closing": "read",
    **NAMING,
    **dict.fromkeys(OF_CHECKLIST, "change"),
    "shared_checklists": "read",
    **{name: "read" if method == "get" else "change" for name, method in OF_BENCHMARK.items()},
    "shared_checklist": "read",
    "draft_checklist_questions": "run",
    "start_checklist": "change",
    "study_rubric": "read",
    "questionnaire": "read",
    "questionnaire_answers": "ratings",
    "invited_people": "change",
    "send_to_listed": "change",
    "resend_failed": "change",
    "erase_invited_person": "change",
    "payments": "ratings",
    "cohort_pay": "read",
    "approvals": "ratings",
    "minimum": "read",
    "platform_values": "change",
    "prolific_study": "read",
    "submissions": "ratings",
    "review_submissions": "run",
    "bonus_cap": "read",
    "propose_bonuses": "run",
    "bonuses": "read",
    "bonus_list": "ratings",
    "steer_bonuses": "run",
    "rubrics": "read",
    "imports": "change",
    "make_fit": "change",
    "publish": "change",
    "make_export": "ratings",
    "export_file": "ratings",
    "make_judge": "change",
    "run_on_study": "run",
    "run_on_benchmark": "run",
    "jobs": "read",
    "job": "read",
    "cancel_job": "change",
    "own_data": "ratings",
    "reports": "read",
    "fits": "read",
    "fit": "read",
    "export": "ratings",
    "judges": "read",
    "runs": "read",
    "run": "read",
    "verdicts": "read",
    "board": "read",
    "rankings": "read",
    "text_statistics": "read",
    "compare_models": "read",
    "compared_instructions": "read",
    "compared_instruction": "ratings",
    "bridge": "read",
    "draw_anchors": "run",
    "causes": "read",
    "transport": "read",
    "loaded_verdicts": "read",
    "routing": "read",
    "draw_for_people": "change",
    "panel": "read",
    "make_panel": "change",
    "alignments": "read",
    "begin_alignment": "change",
    "alignment": "read",
    "add_version": "change",
    "drafts": "read",
    "propose_prompt": "run",
    "take_look": "change",
    "judge_card": "read",
    "judge_table": "read",
    "all_judges_table": "read",
    "probe_judge": "run",
    "run_probes": "read",
    "lengths": "read",
    "paper_tables": "read",
    "paper_table": "read",
    **dict.fromkeys(OF_WORKSPACE, "read"),
    "demonstration": "change",
    "load_library": "change",
    "guidelines": "read",
    "study_progress": "ratings",
    "result_page": "read",
    "plan": "read",
    "generation_file": "read",
    "start_trial": "run",
    "trial": "read",
    "tried_answers": "ratings",
    "stop_trial": "change",
    "monitors": "read",
    "make_monitor": "run",
    "monitor": "read",
    "steer_monitor": "change",
    "monitored_verdicts": "read",
    "set_baseline": "change",
    "label_run": "change",
    "run_budget": "read",
    "reviews": "read",
    "drawn_checks": "read",
    "compare_runs": "read",
    "compared_verdicts": "read",
    "verdict": "ratings",
    "run_prompt": "read",
    "judge_prompt": "read",
    "preview_prompt": "read",
    "render_markdown": "read",
    **dict.fromkeys(PREVIEWED, "read"),
    "run_file": "read",
    "run_items": "read",
    "start": "run",
    "pause": "change",
    "cancel": "change",
    "retry": "run",
}
"""The scope of every address, and of every verb of the address that steers a run."""


OF_CROWD = ("cohort_pay", "approvals", "platform_values", "prolific_study", "submissions", "propose_bonuses", "bonuses")
PARTS = {"training": [], "validation": [], "test": []}
OF_STUDY = {
    "study_settings": lambda study: [],
    "steer_study": lambda study: ["pause"],
    "archive_study": lambda study: [],
    "restore_study": lambda study: [],
    "duplicate_study": lambda study: [],
    "guideline": lambda study: [],
    "steer_rater": lambda study: [study.raters.get().public_id, "resume"],
    "message_rater": lambda study: [study.raters.get().public_id],
    "browser_requests": lambda study: [],
    "answer_browser": lambda study: [BrowserRequest.objects.get(participant__study=study).pk, "admit"],
    "study_progress": lambda study: [],
    "study_preview": lambda study: [],
    **dict.fromkeys(("rating_screen", "shown_differences"), lambda study: [1]),
    "questionnaire_preview": lambda study: ["before"],
    "try_questionnaire": lambda study: ["before"],
    "plan": lambda study: [],
    "result_page": lambda study: ["agreement"],
    "tasks": lambda study: [],
    "known_answer": lambda study: [study.tasks.get().public_id],
    **dict.fromkeys(("disagreements", "flags", "skipped_tasks", "closing", "request_ratings"), lambda study: []),
    **dict.fromkeys(
        ("task_answers", "adjudication", "release_task", "set_task_aside"), lambda study: [study.tasks.get().public_id]
    ),
    **dict.fromkeys(NAMING, lambda study: []),
    **dict.fromkeys(("study_rubric", "questionnaire_answers"), lambda study: []),
    "questionnaire": lambda study: ["before"],
    "settle_flag": lambda study: [study.tasks.get().flags.get().pk],
    "release_rater": lambda study: [study.raters.get().public_id],
    "raters": lambda study: [],
    "cohorts": lambda study: [],
    "cohort": lambda study: [study.cohorts.get(name="crowd").pk],
    "steer_cohort": lambda study: [study.cohorts.get(name="crowd").pk, "revoke"],
    "invited_people": lambda study: [study.cohorts.get(name="readers").pk],
    "send_to_listed": lambda study: [study.cohorts.get(name="readers").pk],
    "resend_failed": lambda study: [study.cohorts.get(name="readers").pk],
    "erase_invited_person": lambda study: [
        study.cohorts.get(name="readers").pk,
        MailedInvitation.objects.get(cohort__study=study).pk,
    ],
    "payments": lambda study: [],
    "minimum": lambda study: [],
    **dict.fromkeys(OF_CROWD, lambda study: [study.cohorts.get(name="crowd").pk]),
    "review_submissions": lambda study: [study.cohorts.get(name="crowd").pk, "approve"],
    "bonus_cap": lambda study: [],
    "bonus_list": lambda study: [study.cohorts.get(name="crowd").pk, study.bonus_batches.get().public_id],
    "steer_bonuses": lambda study: [study.cohorts.get(name="crowd").pk, study.bonus_batches.get().public_id, "drop"],
    "make_fit": lambda study: [],
    "make_export": lambda study: [],
    "run_on_study": lambda study: [],
    "make_panel": lambda study: [],
    "routing": lambda study: [],
    "draw_for_people": lambda study: [],
    "alignments": lambda study: [],
    "begin_alignment": lambda study: [],
}
"""What follows the study in these addresses."""
POSTED = (
    "try_questionnaire",
    *CONDUCTING,
    "scan_self_naming",
    "drop_self_naming",
    "steer_study",
    "archive_study",
    "restore_study",
    "duplicate_study",
    "steer_rater",
    "message_rater",
    "answer_browser",
    "send_to_listed",
    "resend_failed",
    "review_submissions",
    "propose_bonuses",
    "steer_bonuses",
    "steer_cohort",
    "make_fit",
    "make_export",
    "run_on_study",
    "begin_alignment",
    "make_panel",
    "draw_for_people",
)


DELETED = ("erase_invited_person",)


def bearer(user, scopes=EVERYTHING, **options):
    _token, secret = issue_token(user=user, name="script", scopes=scopes, **options)
    return {"headers": {"Authorization": f"Bearer {secret}"}}


def filled(slug):
    """A study with a run, a fit, an uploaded table and an import, in a workspace of its own."""
    study = make_checklist_study(instructions=1, models=1, workspace=make_workspace(slug))
    participant = Participant.objects.create(study=study, rater=make_rater(study), mark="m")
    Flag.objects.create(task=study.tasks.get(), rater=participant.rater, kind="note", text="Unclear.")
    BrowserRequest.objects.create(participant=participant, browser="b", number="1234", at=timezone.now())
    endpoint = Endpoint.objects.create(workspace=study.workspace, name="script", kind="scripted")
    model = LanguageModel.objects.create(workspace=study.workspace, name="scripted", endpoint=endpoint)
    run = plan_run(judge=create_judge(model=model), study=study)
    GenerationRun.objects.create(benchmark=study.benchmark, name="written")
    Alignment.objects.create(study=study, baseline=run.judge, criterion="item0", shares=[0.3, 0.3, 0.4], parts=PARTS)
    Watch.objects.create(study=study, judge=run.judge, tasks=[study.tasks.get().pk], next_at=timezone.now())
    PromptTrial.objects.create(language_model=model, method="checklist", prompt="a", prompt_hash="b", source="study:1")
    fit = Fit.objects.create(workspace=study.workspace, kind="published", published_name="table-1")
    user, sent = (
        make_user("lead", study.workspace, username=f"sender-{slug}"),
        SimpleUploadedFile("a.csv", b"id,prompt"),
    )
    keep_table(workspace=study.workspace, user=user, sent=sent, clock=timezone.now)
    zipped = SimpleUploadedFile("a.zip", b"PK")
    keep_archive(workspace=study.workspace, user=user, sent=zipped, clock=timezone.now)
    packed = SimpleUploadedFile("b.zip", b"PK")
    keep_upload(workspace=study.workspace, user=user, benchmark="hellobench", archive=packed, tasks=None, skip=False)
    Import.objects.create(workspace=study.workspace, command="load_table", file="a.csv", about="a")
    SavedMapping.objects.create(workspace=study.workspace, name="ours", kind="ratings")
    crowd = Cohort.objects.create(study=study, name="crowd", kind="crowd")
    ProlificStudy.objects.create(cohort=crowd, external_id="s1", made_at=timezone.now())
    BonusBatch.objects.create(
        study=study,
        cohort=crowd,
        external_study="s1",
        basis="given",
        total_minor=150,
        made_at=timezone.now(),
        changed_at=timezone.now(),
    )
    readers = Cohort.objects.create(study=study, name="readers", kind="public")
    MailedInvitation.objects.create(cohort=readers, address="ann@example.org", state="held", made_at=timezone.now())
    Checklist.objects.create(workspace=study.workspace, names={"en": slug})
    Guideline.objects.create(workspace=study.workspace, key="care", texts={"en": "Read with care."})
    hook, _secret = add_webhook(workspace=study.workspace, url="https://example.org/", events=["drift.found"])
    send_test(hook)
    invite(workspace=study.workspace, role="analyst", note="Ana", days=7, by=user, clock=timezone.now)
    made = ask_for(study, user, "csv")
    (made.folder / "file").write_text("a")
    replace(made, state="made").save()
    return study, run, fit


@pytest.fixture(autouse=True)
def folder(settings, tmp_path):
    settings.DATA_DIR = tmp_path


@pytest.fixture
def lab():
    return filled("lab")


@pytest.fixture
def lead(lab):
    return make_user("lead", lab[0].workspace, username="lena")


def sender(study):
    """Who uploaded the table of `filled`."""
    return User.objects.get(username=f"sender-{study.workspace.slug}")


def addresses(study, run, fit):
    """Yield (name or verb, path, method) of every address of the API."""
    of = {
        "study": study.slug,
        "run": run.public_id,
        "verdicts": run.public_id,
        "bridge": run.public_id,
        "run_probes": run.public_id,
        "judge_card": run.judge.rater.public_id,
        "judge_prompt": run.judge.rater.public_id,
        "fit": fit.public_id,
    }
    of |= dict.fromkeys(("scores", "reports", "export"), study.slug)
    of |= dict.fromkeys(("instructions", "responses", "board", "rankings", "lengths"), study.benchmark.slug)
    of |= dict.fromkeys(("paper_tables", "text_statistics", "compare_models"), study.benchmark.slug)
    of["compared_instructions"] = study.benchmark.slug
    of |= dict.fromkeys(("scores", "all_scores", "reports", "export", "exclusions"), study.slug)
    of |= dict.fromkeys(("causes", "transport", "loaded_verdicts", "panel", "judge_table"), study.slug)
    of |= dict.fromkeys(("alignment", "drafts"), study.alignments.get().public_id)
    of |= dict.fromkeys(("instructions", "responses", "board"), study.benchmark.slug)
    for pattern in get_resolver("config.api_urls").url_patterns:
        parts = pattern.pattern.regex.groupindex
        if pattern.name in FILES:
            named = ["page.json"] if pattern.name.endswith("_file") else []
            path = reverse(f"api:{pattern.name}", args=[*OF_PAGE[FILES[pattern.name]](study, run, fit), *named])
            yield pattern.name, path, "get"
        elif pattern.name == "steer_run":
            yield from ((verb, reverse("api:steer_run", args=[run.public_id, verb]), "post") for verb in VERBS)
        elif pattern.name in OF_BENCHMARK:
            parts = [study.workspace.slug, study.benchmark.slug]
            parts += [study.benchmark.instructions.get().public_id] if pattern.name == "drafted_checklist" else []
            yield pattern.name, reverse(f"api:{pattern.name}", args=parts), OF_BENCHMARK[pattern.name]
        elif pattern.name in OF_CHECKLIST:
            method, more = OF_CHECKLIST[pattern.name]
            yield (
                pattern.name,
                reverse(f"api:{pattern.name}", args=[study.workspace.checklists.get().public_id, *more]),
                method,
            )
        elif pattern.name in ("make_study", "start_checklist", "load_library", *ADDED):
            yield pattern.name, reverse(f"api:{pattern.name}", args=[study.workspace.slug]), "post"
        elif pattern.name in ("add_version", "propose_prompt", "take_look"):
            yield pattern.name, reverse(f"api:{pattern.name}", args=[study.alignments.get().public_id]), "post"
        elif pattern.name in OF_RUN:
            path = reverse(f"api:{pattern.name}", args=[run.public_id, *OF_RUN[pattern.name](run)])
            yield pattern.name, path, "post" if pattern.name == "label_run" else "get"
        elif pattern.name == "draw_anchors":
            yield pattern.name, reverse("api:draw_anchors", args=[run.public_id]), "post"
        elif pattern.name == "probe_judge":
            yield pattern.name, reverse("api:probe_judge", args=[run.judge.rater.public_id]), "post"
        elif pattern.name == "paper_table":
            args = [study.workspace.slug, study.benchmark.slug, "2"]
            yield pattern.name, reverse("api:paper_table", args=args), "get"
        elif pattern.name == "compared_instruction":
            instruction = study.benchmark.instructions.first().public_id
            args = [study.workspace.slug, study.benchmark.slug, instruction]
            yield pattern.name, reverse("api:compared_instruction", args=args), "get"
        elif pattern.name == "uploaded_benchmark_files":
            (packed,) = [one for one in uploads() if one.workspace == study.workspace_id]
            yield pattern.name, reverse(f"api:{pattern.name}", args=[packed.public_id]), "get"
        elif pattern.name in ("upload_file", "upload_archive", "upload_benchmark_files"):
            yield pattern.name, reverse(f"api:{pattern.name}", args=[study.workspace.slug]), "post"
        elif pattern.name == "uploaded_archive" or pattern.name in OF_ARCHIVE:
            (upload,) = [one for one in StudyArchive.kept() if one.workspace == study.workspace_id]
            path = reverse(f"api:{pattern.name}", args=[upload.public_id])
            yield pattern.name, path, "post" if pattern.name in OF_ARCHIVE else "get"
        elif pattern.name in ("uploaded_file", "bad_rows", *OF_UPLOAD):
            (upload,) = [one for one in kept_tables() if one.workspace == study.workspace_id]
            path = reverse(f"api:{pattern.name}", args=[upload.public_id])
            yield pattern.name, path, "post" if pattern.name in OF_UPLOAD else "get"
        elif pattern.name == "undo_loading":
            path = reverse("api:undo_loading", args=[study.workspace.imports.get().pk])
            yield pattern.name, path, "post"
        elif pattern.name in ("saved_mappings", "remove_mapping"):
            parts = [study.workspace.saved_mappings.get().pk] if pattern.name == "remove_mapping" else []
            path = reverse(f"api:{pattern.name}", args=[study.workspace.slug, *parts])
            yield pattern.name, path, "delete" if parts else "get"
        elif pattern.name in OF_MEMBERS:
            row = {"member": sender(study), "withdraw_invitation": study.workspace.invitations.get()}
            parts = [study.workspace.slug, *([row[pattern.name].public_id] if pattern.name in row else [])]
            method = "delete" if pattern.name == "withdraw_invitation" else "get"
            yield pattern.name, reverse(f"api:{pattern.name}", args=parts), method
        elif pattern.name in OF_WEBHOOKS:
            hook = study.workspace.webhooks.get()
            parts = [study.workspace.slug, *([hook.public_id] if pattern.name != "webhooks" else [])]
            parts += [hook.deliveries.first().public_id] if pattern.name == "resend_delivery" else []
            method = "post" if pattern.name in ("test_webhook", "resend_delivery") else "get"
            yield pattern.name, reverse(f"api:{pattern.name}", args=parts), method
        elif pattern.name in (*OF_SERVED, "test_endpoint"):
            endpoint = study.workspace.endpoints.get()
            row = {"model": endpoint.language_models.get(), "endpoint": endpoint, "test_endpoint": endpoint}
            row["found_models"] = endpoint
            parts = [study.workspace.slug, *([row[pattern.name].pk] if pattern.name in row else [])]
            method = "post" if pattern.name in ("add_model", "test_endpoint") else "get"
            yield pattern.name, reverse(f"api:{pattern.name}", args=parts), method
        elif pattern.name in ("generation_run", "generation_budget", "generation_file", "steer_generation"):
            written = study.benchmark.generation_runs.get(name="written").public_id
            parts = [
                written,
                *{"steer_generation": ["pause"], "generation_file": ["report.json"]}.get(pattern.name, []),
            ]
            path = reverse(f"api:{pattern.name}", args=parts)
            yield pattern.name, path, "post" if pattern.name == "steer_generation" else "get"
        elif pattern.name in OF_STUDY:
            parts = [study.workspace.slug, study.slug, *OF_STUDY[pattern.name](study)]
            method = "post" if pattern.name in POSTED else "delete" if pattern.name in DELETED else "get"
            yield pattern.name, reverse(f"api:{pattern.name}", args=parts), method
        elif pattern.name in ("make_judge", "make_monitor", "start_trial", "preview_prompt", "render_markdown"):
            yield pattern.name, reverse(f"api:{pattern.name}", args=[study.workspace.slug]), "post"
        elif pattern.name in OF_WORKSPACE:
            yield pattern.name, reverse(f"api:{pattern.name}", args=[study.workspace.slug]), "get"
        elif pattern.name in OF_TRIAL:
            path = reverse(f"api:{pattern.name}", args=[run.judge.language_model.prompt_trials.get().public_id])
            yield pattern.name, path, "post" if pattern.name == "stop_trial" else "get"
        elif pattern.name in OF_MONITOR:
            path = reverse(f"api:{pattern.name}", args=[study.watches.get().public_id, *OF_MONITOR[pattern.name]])
            yield pattern.name, path, "post" if pattern.name in ("steer_monitor", "set_baseline") else "get"
        elif pattern.name in ("run_on_benchmark", "start_generation"):
            parts = [study.workspace.slug, study.benchmark.slug]
            yield pattern.name, reverse(f"api:{pattern.name}", args=parts), "post"
        elif pattern.name == "publish":
            yield pattern.name, reverse("api:publish", args=[fit.public_id]), "post"
        elif pattern.name in ("job", "cancel_job"):
            path = reverse(f"api:{pattern.name}", args=[f"run-{run.public_id}"])
            yield pattern.name, path, "get" if pattern.name == "job" else "post"
        elif pattern.name == "export_file":
            (made,) = [one for one in files_of(study) if one.state == "made"]
            yield pattern.name, reverse("api:export_file", args=[made.public_id]), "get"
        elif pattern.name == "delete_study":
            yield pattern.name, reverse("api:delete_study", args=[study.workspace.slug, study.slug]), "post"
        elif pattern.name in OF_RATER:
            parts = [study.workspace.slug, study.slug, study.raters.get().public_id]
            yield pattern.name, reverse(f"api:{pattern.name}", args=parts), "post"
        elif pattern.name:  # old addresses have none
            own = [study.workspace.slug] if "workspace" in parts else []
            yield pattern.name, reverse(f"api:{pattern.name}", args=[*own, of[pattern.name]] if parts else []), "get"


def ask(client, method, path, **options):
    """The answer; what is sent is JSON, without any field."""
    if method == "get":
        return client.get(path, **options)
    return getattr(client, method)(path, {}, "application/json", **options)


def test_every_address_states_its_scope_and_refuses_a_token_without_it(client, lab, lead):
    lead.memberships.update(role="owner")
    without = {scope: bearer(lead, [one for one in EVERYTHING if one != scope]) for scope in EVERYTHING}
    alone = {scope: bearer(lead, [scope]) for scope in EVERYTHING}
    walked = list(addresses(*lab))
    assert {name for name, _path, _method in walked} == set(SCOPES)
    for name, path, method in walked:
        refused = ask(client, method, path, **without[SCOPES[name]])
        assert refused.status_code == 403, path
        assert f"lacks the scope {SCOPES[name]}." in refused.json()["detail"], path
        assert refused["WWW-Authenticate"] == f'Bearer error="insufficient_scope", scope="{SCOPES[name]}"'
        lab[1].refresh_from_db()
        assert lab[1].status == "planned", path
    for name, path, method in walked:
        # Where the token has the scope, the address itself decides: a run of this state cannot be paused.
        assert ask(client, method, path, **alone[SCOPES[name]]).status_code in (200, 201, 202, 204, 400, 409), path


def test_the_schema_states_the_scope_of_every_address(client, lab, lead):
    schema = client.get("/api/v1/schema/", **bearer(lead, ["read"])).json()
    operations = [one for path in schema["paths"].values() for one in path.values()]
    # The schema is not in itself, four verbs are one address, and MORE, COSTLY and OF_PEOPLE have several methods.
    more = sum(len(methods) for known in (MORE, COSTLY, OF_PEOPLE) for methods in known.values())
    assert len(operations) == len(SCOPES) - len(VERBS) + more
    for scope, known in (("change", MORE), ("run", COSTLY), ("members", OF_PEOPLE)):
        for name, methods in known.items():
            (path,) = [one for one in schema["paths"] if one.endswith(name)]
            assert all(schema["paths"][path][method]["x-scope"] == scope for method in methods)
    for operation in operations:
        assert operation["x-scope"] in EVERYTHING
        assert f"Needs a token with the scope `{operation['x-scope']}`" in operation["description"]
        assert {"401", "403"} <= set(operation["responses"])
    steering = {one["operationId"]: one for one in operations if "x-scope-by-verb" in one}
    by_verb = {name: (one["x-scope"], one["x-scope-by-verb"]) for name, one in steering.items()}
    assert by_verb == {
        "steer_run": ("change", {"start": "run", "retry": "run"}),
        "steer_generation": ("change", {"start": "run", "retry": "run"}),
        "steer_monitor": ("change", {"resume": "run", "run": "run"}),
        "review_submissions": ("change", {"approve": "run"}),
    }


def test_an_address_that_states_no_scope_is_open_to_no_token(client, lab, lead, monkeypatch):
    pattern = next(one for one in get_resolver("config.api_urls").url_patterns if one.name == "runs")
    monkeypatch.setattr(pattern.callback.cls, "permission_classes", [ReadsResults])
    assert client.get("/api/v1/runs/", **bearer(lead)).status_code == 403
    client.force_login(lead)
    assert client.get("/api/v1/runs/").status_code == 200


def test_a_token_for_one_workspace_sees_nothing_of_another_of_its_owner(client, lab, lead):
    other = filled("other")
    Membership.objects.create(user=lead, workspace=other[0].workspace, role="owner")
    Endpoint.objects.filter(workspace=other[0].workspace).update(name="elsewhere")
    other[0].benchmark.__class__.objects.filter(pk=other[0].benchmark.pk).update(slug="theirs")
    other[0].__class__.objects.filter(pk=other[0].pk).update(slug="theirs")
    for row in (other[0], other[0].benchmark):
        row.refresh_from_db()
    one = bearer(lead, workspace=lab[0].workspace)
    both = bearer(lead)
    for name, path, method in addresses(*other):
        if name == "schema":
            continue
        answer = ask(client, method, path, **one)
        if name.startswith("all_judges"):
            assert answer.status_code == 200 and b"theirs" not in answer.content
        elif path.count("/") > 4:
            assert answer.status_code == 404, path
            assert ask(client, method, path, **both).status_code in (200, 201, 202, 204, 400, 409), path
        else:
            # A list: half of what the token for all workspaces sees.
            seen, all_seen = answer.json()["results"], client.get(path, **both).json()["results"]
            assert seen and len(all_seen) == 2 * len(seen), path
            said = str([{**row, "prompt": ""} for row in seen])  # prompts use the word
            assert "theirs" not in said and "other" not in said, path
    Membership.objects.filter(user=lead, workspace=lab[0].workspace).update(role="rater")
    assert client.get("/api/v1/runs/", **one).status_code == 403
    assert len(client.get("/api/v1/runs/", **both).json()["results"]) == 1


def test_an_expired_token_gives_no_access_and_says_so(client, lab, lead):
    head = bearer(lead)
    assert client.get("/api/v1/runs/", **head).status_code == 200
    ended = timezone.now() - timedelta(seconds=1)
    ApiToken.objects.update(expires_at=ended)
    refused = client.get("/api/v1/runs/", **head)
    assert refused.status_code == 401
    assert refused.json()["detail"].startswith(f"This token expired on {ended:%Y-%m-%d %H:%M} (UTC).")
    assert not valid_tokens(lead, clock=timezone.now).exists()


class TestThePage:
    FIELDS = {"name": "nightly", "scopes": ["read", "run"], "workspace": "", "days": "30"}

    def test_makes_a_token_shows_it_once_and_revokes_it(self, client, lab, lead):
        client.force_login(lead)
        assert 'href="/account/tokens/"' in markup(client.get("/"))
        made = client.post("/account/tokens/", {**self.FIELDS, "workspace": lab[0].workspace.pk})
        secret = markup(made).partition("<code>plumbline_")[2].partition("</code>")[0]
        token = ApiToken.objects.get()
        assert (token.scopes, token.workspace) == (["read", "run"], lab[0].workspace)
        assert abs(token.expires_at - timezone.now() - timedelta(days=30)) < timedelta(minutes=1)
        row = markup(client.get("/account/tokens/")).partition("<tbody>")[2].partition("</tbody>")[0]
        assert "nightly" in row and "never" in row and "expired" not in row and secret not in row
        head = {"headers": {"Authorization": f"Bearer plumbline_{secret}"}}
        assert client.get("/api/v1/runs/", **head).status_code == 200
        assert f"{timezone.now():%Y-%m-%d}" in markup(client.get("/account/tokens/")).partition("nightly")[2]
        token.refresh_from_db()
        assert token.used_at is not None
        client.force_login(make_user("lead", make_workspace("other"), username="otto"))
        assert client.post(f"/account/tokens/{token.public_id}/revoke/").status_code == 404
        client.force_login(lead)
        assert client.post(f"/account/tokens/{token.public_id}/revoke/").status_code == 302
        assert "<table" not in markup(client.get("/account/tokens/"))
        assert client.get("/api/v1/runs/", **head).status_code == 401
        logged = Event.objects.filter(object_id=token.public_id).order_by("pk")
        assert list(logged.values_list("verb", flat=True)) == ["token created", "token revoked"]

    def test_says_which_tokens_have_expired(self, client, lead):
        issue_token(user=lead, name="old")
        ApiToken.objects.update(expires_at=timezone.now() - timedelta(days=1))
        client.force_login(lead)
        assert "expired" in markup(client.get("/account/tokens/")).partition("<tbody>")[2]

    @pytest.mark.parametrize(
        ("changed", "field"),
        [
            ({"days": "366"}, "days"),
            ({"days": "0"}, "days"),
            ({"scopes": []}, "scopes"),
            ({"scopes": ["admin"]}, "scopes"),
            ({"name": ""}, "name"),
        ],
    )
    def test_refuses_what_no_token_may_have(self, client, lead, changed, field):
        client.force_login(lead)
        refused = client.post("/account/tokens/", {**self.FIELDS, **changed})
        assert (refused.status_code, list(refused.context["form"].errors)) == (422, [field])
        assert not ApiToken.objects.exists()

    def test_keeps_to_the_operators_maximum(self, client, lead, settings):
        settings.TOKEN_DAYS, settings.TOKEN_DAYS_MOST = 7, 10
        client.force_login(lead)
        assert 'value="7"' in markup(client.get("/account/tokens/"))
        assert client.post("/account/tokens/", {**self.FIELDS, "days": "11"}).status_code == 422

    def test_offers_no_workspace_of_others(self, client, lead):
        client.force_login(lead)
        foreign = make_workspace("foreign")
        assert client.post("/account/tokens/", {**self.FIELDS, "workspace": foreign.pk}).status_code == 422

    def test_is_not_for_raters(self, client, lab):
        client.force_login(make_user("rater", lab[0].workspace, username="rita"))
        assert "/account/tokens/" not in markup(client.get("/account/"))
        assert client.get("/account/tokens/").status_code == 403
        assert client.post("/account/tokens/", self.FIELDS).status_code == 403
        client.logout()
        assert client.get("/account/tokens/").status_code == 302
        assert not ApiToken.objects.exists()


class TestANewPassword:
    WORDS = {"old_password": "plumb line 12", "new_password1": "another long 7", "new_password2": "another long 7"}

    @pytest.mark.parametrize("revoked", [True, False])
    def test_of_ones_own_offers_to_revoke_the_tokens(self, client, lab, lead, revoked):
        head = bearer(lead)
        client.force_login(lead)
        page = markup(client.get("/account/password/"))
        assert "checked" in page.partition('name="revoke_tokens"')[2].partition(">")[0]
        answer = client.post(
            "/account/password/", {**self.WORDS, **({"revoke_tokens": "on"} if revoked else {})}, follow=True
        )
        assert ("1 API token has been revoked" in markup(answer)) == revoked
        assert client.get("/api/v1/runs/", **head).status_code == (401 if revoked else 200)

    def test_offers_nothing_where_there_is_no_token(self, client, lead):
        issue_token(user=lead, name="old")
        ApiToken.objects.update(expires_at=timezone.now())
        client.force_login(lead)
        assert "revoke_tokens" not in markup(client.get("/account/password/"))

    def test_given_in_the_administration_revokes_them(self, client, lab, lead):
        head = bearer(lead)
        client.force_login(make_user(username="root", is_staff=True, is_superuser=True))
        given = {"password1": "another long 7", "password2": "another long 7", "usable_password": "true"}
        assert client.post(f"/admin/accounts/user/{lead.pk}/password/", given).status_code == 302
        assert client.get("/api/v1/runs/", **head).status_code == 401


def test_who_leaves_a_workspace_leaves_the_tokens_for_it(client, lab, lead):
    other = make_workspace("other")
    for workspace, role in ((lab[0].workspace, "owner"), (other, "owner")):
        make_user(role, workspace)
    membership = Membership.objects.create(user=lead, workspace=other, role="analyst")
    issue_token(user=lead, name="for it", workspace=other)
    issue_token(user=lead, name="for all")
    remove_person(membership=membership, by=None)
    assert [token.name for token in valid_tokens(lead, clock=timezone.now)] == ["for all"]
