"""Every address of the program, what stands in it, and the rows without which a page would have nothing to show."""

from dataclasses import replace
from io import StringIO

from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.db import connections, transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone

from accounts.members.invitations import invite
from accounts.models import Membership, User
from annotation.assignment.attention_checks import mark_gold
from annotation.assignment.new_slots import make_seats
from annotation.authoring.questions import start_review
from annotation.models import Assignment, BonusBatch, BonusPayment, Checklist, Cohort, Guideline, Rater, Rubric, Study
from annotation.questionnaires.asking import give, save_questions
from annotation.questionnaires.presets import preset
from annotation.recruitment.cohorts import make_cohort
from annotation.recruitment.participation import make_rater, rater_in
from annotation.uploads.asked import begin_check
from annotation.uploads.kept_files import keep_table, kept_tables
from annotation.uploads.loading import carry_out
from annotation.uploads.reading import recognise
from annotation.uploads.study_archives import StudyArchive
from core.tables.bad_rows import BadRow
from core.tables.rows_left_out import SkippedRows
from generation.models import Benchmark, Endpoint, GenerationRun, Import, Instruction, LanguageModel, Response
from generation.webhooks.events import EventName, announce_of_study
from generation.webhooks.subscriptions import add_webhook
from judging.alignment.looks import take_look
from judging.alignment.records import add_version, begin_alignment
from judging.archive.made_files import ask_for, files_of, make
from judging.demonstration.making import BENCHMARK, PASSWORD, SLUG
from judging.importing.uploads import Upload, uploads
from judging.models import Alignment, AlignmentVersion, Judge, JudgeRun, PromptTrial, Watch
from judging.trials.chosen_tasks import tasks_to_try
from judging.trials.queue import work_on_trial
from judging.trials.records import begin_trial, draft_judge
from tests.annotation.authoring.checklists import written_checklist
from tests.e2e.answers import LEFT
from tests.factories import make_checklist_study, make_workspace
from tests.judging.alignment.studies import half, judge_right, nearly_all, other_half, rated_study
from tests.screen_studies import make_pair_study

NOT_OURS = ("admin", "api")
PRACTICE = "practice"
ASKED = "asked"
VISITOR = ""
"""Whoever opens a page without an account."""
PEOPLE = ("lead", "ana", "rater", VISITOR)

SENT = "takes what a form sends and shows no page"
PART = "a part of a page, which is looked at where the page shows it"
FILE = "a file or a word for a program"
AWAY = "leads to another address"
SAME = "shows what another address shows, and only while a study of near-copies is a draft"
NOT_PAGES = {
    SENT: {
        "accounts:change_person",
        "accounts:forget_browsers",
        "accounts:revoke_token",
        "accounts:sign_out",
        "accounts:withdraw_invitation",
        "annotation:answer_browser",
        "annotation:archive_study",
        "annotation:appeal",
        "annotation:change_cohort",
        "annotation:change_minimum",
        "annotation:change_pay",
        "annotation:change_rater",
        "annotation:change_self_naming",
        "annotation:change_status",
        "annotation:confirm_message",
        "annotation:correct_time",
        "annotation:duplicate_study",
        "annotation:hold",
        "annotation:keep_alive",
        "annotation:launch",
        "annotation:lift_exclusion",
        "annotation:message_rater",
        "annotation:more_answers",
        "annotation:other_browser",
        "annotation:preview_draft",
        "annotation:preview_hold",
        "annotation:preview_skip",
        "annotation:release",
        "annotation:remove_mapping",
        "annotation:save_draft",
        "annotation:set_aside",
        "annotation:settle_flag",
        "annotation:skip_task",
        "annotation:take_back",
        "annotation:unmark_task",
        "calibration:fit_now",
        "calibration:publish",
        "generation:add_found_models",
        "generation:control_run",
        "generation:remove_webhook",
        "generation:resend_message",
        "generation:test_endpoint",
        "generation:test_webhook",
        "judging:control_run",
        "judging:control_watch",
        "judging:draw_checks",
        "judging:label_run",
        "judging:make_file",
        "judging:remove_file",
        "judging:review_run",
        "judging:stop_trial",
    },
    PART: {
        "annotation:live_attention",
        "annotation:table_state",
        "annotation:live_progress",
        "annotation:live_raters",
        "calibration:desk_figures",
        "calibration:plan_fragment",
        "calibration:rater_figures",
        "calibration:summary",
        "judging:made_files",
        "judging:demonstration_state",
        "judging:trial_state",
        "judging:study_archive_state",
        "judging:upload_state",
    },
    FILE: {
        "annotation:account_data",
        "annotation:approvals",
        "annotation:bonus_payments",
        "annotation:links",
        "annotation:table_bad_rows",
        "annotation:rater_data",
        "calibration:download_fit",
        "generation:run_file",
        "health",
        "judging:export_file",
        "judging:made_file",
        "judging:run_file",
        "judging:upload_bad_rows",
        "live",
        "ready",
    },
    AWAY: {
        "accounts:begin",
        "annotation:erase_own",
        "annotation:launching",
        "annotation:start",
        "judging:new_baseline",
        "set_language",
    },
    SAME: {"annotation:preview_differences"},
}
"""Addresses without a page of their own, by why; the test finds out whether it is so."""

QUERIES = {
    "judging:new_judge": ("", "?method=checklist", "?method=pair_of_five"),
    "annotation:attention": ("", "?settled=1"),
    "annotation:studies": ("", "?archived=1"),
    "annotation:setup": ("", "?step=questions", "?step=checks", "?step=texts", "?step=review"),
    "generation:curation": ("", "?shortest=1&longest=0&most_turns=0&difficulty=0&similarity=0.5&tag=curated&show=stay"),
    "judging:verdicts": ("", "?show=unusable", "?show=lowest", "?show=farthest", "?show=canaries"),
}
"""What else an address shows, by what is asked of it."""


def named_routes(patterns=None, namespace=""):
    """(full name, names of its parts) of every address of ours."""
    for one in get_resolver().url_patterns if patterns is None else patterns:
        if isinstance(one, URLResolver):
            if one.namespace not in NOT_OURS:
                yield from named_routes(one.url_patterns, f"{one.namespace}:" if one.namespace else namespace)
        elif isinstance(one, URLPattern) and one.name:
            yield namespace + one.name, tuple(one.pattern.regex.groupindex)


OF_BENCHMARKS = {
    "generation:benchmark",
    "generation:curation",
    "library:drafted_checklists",
    "generation:start_run",
    "judging:leaderboard",
    "judging:compare_models",
    "judging:compare_item",
    "judging:judge_benchmark",
    "judging:length_scores",
    "judging:paper_tables",
    "judging:rankings_beside",
    "judging:text_page",
}
OF_WORKSPACES = {
    "accounts:people_of",
    "annotation:delete_workspace",
    "accounts:change_person",
    "accounts:withdraw_invitation",
    "generation:error_phrases",
    "generation:remove_webhook",
    "generation:resend_message",
    "generation:test_webhook",
    "generation:webhook",
    "generation:webhooks_of",
    "judging:demonstration",
    "judging:demonstration_state",
}
INVITED: dict[str, str] = {}
"""The secret of an invitation that nobody has accepted, which only its making tells."""
OF_PAIRS = {"annotation:preview_differences"}
PUBLIC = {
    "annotation:bonus_batch": lambda: _a_list_of_bonuses(),
    "generation:instruction": lambda: Instruction.objects.filter(benchmark__slug=BENCHMARK).first().public_id,
    "library:drafted_checklist": lambda: Instruction.objects.filter(benchmark__slug=BENCHMARK).first().public_id,
    "generation:response": lambda: Response.objects.filter(instruction__benchmark__slug=BENCHMARK).first().public_id,
    **dict.fromkeys(
        ("generation:webhook", "generation:test_webhook", "generation:remove_webhook", "generation:resend_message"),
        lambda: _a_webhook().public_id,
    ),
    "generation:run": lambda: GenerationRun.objects.get().public_id,
    "generation:run_file": lambda: GenerationRun.objects.get().public_id,
    "judging:judge": lambda: Judge.objects.first().rater.public_id,
    "judging:probe_judge": lambda: Judge.objects.filter(language_model__isnull=False).first().rater.public_id,
    "judging:judge_card": lambda: Judge.objects.filter(language_model__isnull=False).first().rater.public_id,
    "judging:run_probes": lambda: JudgeRun.objects.filter(probes__isnull=False).first().public_id,
    "judging:alignment": lambda: Alignment.objects.get().public_id,
    "judging:propose_prompt": lambda: Alignment.objects.get().public_id,
    "judging:take_look": lambda: Alignment.objects.get().public_id,
    "judging:draw_anchors": lambda: JudgeRun.objects.filter(probes__isnull=True, watch=None).first().public_id,
    "judging:bridge_runs": lambda: JudgeRun.objects.first().public_id,
    "judging:compare_runs": lambda: JudgeRun.objects.first().public_id,
    "judging:run": lambda: JudgeRun.objects.first().public_id,
    "judging:run_file": lambda: JudgeRun.objects.first().public_id,
    "judging:made_file": lambda: _a_made_file(),
    "judging:remove_file": lambda: _a_made_file(),
    "judging:verdict": lambda: JudgeRun.objects.first().public_id,
    "judging:verdicts": lambda: JudgeRun.objects.first().public_id,
    "annotation:table": lambda: _a_table(),
    "annotation:table_bad_rows": lambda: _a_table(),
    "annotation:table_state": lambda: _a_table(),
    "judging:study_archive": lambda: _an_archive(),
    "judging:study_archive_state": lambda: _an_archive(),
    "judging:upload": lambda: _an_upload(),
    "judging:upload_state": lambda: _an_upload(),
    "judging:upload_bad_rows": lambda: _an_upload(),
    "judging:trial": lambda: _a_trial(),
    "judging:trial_state": lambda: _a_trial(),
    "judging:stop_trial": lambda: _a_trial(),
    "judging:watch": lambda: Watch.objects.get().public_id,
    "judging:new_baseline": lambda: Watch.objects.get().public_id,
    "calibration:download_fit": lambda: Study.objects.get(slug=SLUG).fits.first().public_id,
    "library:checklist": lambda: Checklist.objects.get(stage="review").public_id,
}
ROWS = {
    "generation:edit_model": lambda: LanguageModel.objects.first().pk,
    "generation:edit_endpoint": lambda: Endpoint.objects.first().pk,
    "generation:remove_model": lambda: LanguageModel.objects.first().pk,
    "generation:remove_endpoint": lambda: Endpoint.objects.first().pk,
    "library:rubric": lambda: Rubric.objects.first().pk,
    "library:guideline": lambda: Guideline.objects.first().pk,
    "annotation:undo_import": lambda: (
        Import.objects.get_or_create(
            workspace=Study.objects.get(slug=SLUG).workspace, command="load_table", file="ratings.csv", about=SLUG
        )[0].pk
    ),
}
LISTED = ("annotation:mail_invitations", "annotation:links")
SLUGS = {
    "annotation:questionnaire": ASKED,
    "annotation:write_questionnaire": ASKED,
    "annotation:preview_questionnaire": ASKED,
    "calibration:questionnaires": ASKED,
    "annotation:setup": "draft",
    "annotation:write_rubric": "draft",
    "annotation:approvals": PRACTICE,
    "annotation:bonuses": PRACTICE,
    "annotation:bonus_batch": PRACTICE,
    "annotation:platform_values": PRACTICE,
    "annotation:mail_invitations": PRACTICE,
    "annotation:links": PRACTICE,
    "annotation:prolific_study": PRACTICE,
}


def _a_webhook():
    """One that was told of something."""
    workspace = Study.objects.get(slug=SLUG).workspace
    if not workspace.webhooks.exists():
        hook, _secret = add_webhook(workspace=workspace, url="https://example.org/hooks", events=["study.finished"])
        with transaction.atomic():
            announce_of_study(Study.objects.get(slug=SLUG), EventName.STUDY_FINISHED, {"reason": "closed"})
        hook.deliveries.update(state="failed", attempts=8, http_status=503, reply="<b>unavailable</b>")
    return workspace.webhooks.first()


def _an_upload():
    """An archive that was loaded."""
    known = list(uploads())
    study = Study.objects.get(slug=SLUG)
    if not known:
        counts = {"created": 3, "completed": 0, "already_there": 0, "skipped": 1, "unscored": 0, "empty": 0}
        upload = Upload(
            public_id="uploaded",
            workspace=study.workspace.pk,
            user=User.objects.get(username="lead").pk,
            benchmark="hellobench",
            file="HelloBench.zip",
            skip=True,
            asked_at=timezone.now().isoformat(),
            state="loaded",
            result={"responses": counts, "absent": ["data/"], "unknown": {"data/*: note": 2}, "differing": ["chat_1"]},
        )
        upload.folder.mkdir(parents=True)
        skipped = SkippedRows()
        skipped(BadRow("chat.jsonl", 3, "the line is not valid JSON", "write one JSON object per line"))
        upload.with_bad_rows(skipped).save()
        known = [upload]
    return known[0].public_id


def _an_archive():
    """An archive of a study that was checked."""
    known = list(StudyArchive.kept())
    if not known:
        upload = StudyArchive(
            public_id="archived",
            workspace=Study.objects.get(slug=SLUG).workspace.pk,
            user=User.objects.get(username="lead").pk,
            file="essays.plumbline.zip",
            asked_at=timezone.now().isoformat(),
            state="checked",
            study="essays",
            rows={"annotation.study": 1, "annotation.assignment": 1200, "annotation.score": 9600, "annotation.seat": 3},
            done=10804,
            total=10804,
        )
        upload.folder.mkdir(parents=True)
        upload.save()
        known = [upload]
    return known[0].public_id


def _a_list_of_bonuses():
    """A list that waits for the lead's confirmation."""
    cohort = Cohort.objects.get(kind="crowd")
    held = {"external_study": "s1", "basis": "given", "key": "given:round 1", "currency": "GBP", "total_minor": 150}
    now = timezone.now()
    batch, new = BonusBatch.objects.get_or_create(
        cohort=cohort,
        purpose="Round 1",
        defaults=held
        | {
            "study": cohort.study,
            "state": "prepared",
            "external_id": "bulk1",
            "charged": 200,
            "made_at": now,
            "made_by": User.objects.get(username="lead"),
            "changed_at": now,
        },
    )
    if new:
        rater = Rater.objects.filter(study=cohort.study).first()
        BonusPayment.objects.create(batch=batch, rater=rater, submission="66a1f0c2", minor=150, already_minor=0)
    return batch.public_id


def _a_trial():
    """A version of the demonstration's prompt that was tried on five of its answers."""
    if not PromptTrial.objects.exists():
        study, judge = Study.objects.get(slug=SLUG), Judge.objects.filter(language_model__isnull=False).first()
        source = f"study:{study.pk}"
        tasks = tasks_to_try(study.workspace, judge.method, source, 1, 5)
        draft = draft_judge(judge.language_model, judge.method, judge.prompt, {})
        work_on_trial(begin_trial(draft, tasks, source=source, number=1, clock=timezone.now))
    return PromptTrial.objects.first().public_id


def _a_made_file():
    """A table of answers that a worker has made."""
    study = Study.objects.get(slug=SLUG)
    if not files_of(study):
        make(ask_for(study, User.objects.get(username="lead"), "csv").public_id)
    return files_of(study)[0].public_id


def _a_table():
    """A table of ratings that was uploaded and checked, with a bad row."""
    known = list(kept_tables())
    if not known:
        study = Study.objects.get(slug=SLUG)
        sent = SimpleUploadedFile("marks.csv", b"item,rater,score\na,r1,3\na,r2,9\n")
        lead = User.objects.get(username="lead")
        upload = recognise(keep_table(workspace=study.workspace, user=lead, sent=sent, clock=timezone.now))
        begin_check(replace(upload, options={"scale": "1:5"}))
        carry_out(upload.public_id)
        known = [upload]
    return known[0].public_id


def _assignment_of(name):
    """The rater's own: the one in hand in the demonstration, the near-copies of the pair, the practice text answered."""
    own = Assignment.objects.filter(rater__user__username="rater").order_by("pk")
    slug = {"annotation:feedback": PRACTICE, "annotation:differences": "pairs"}.get(name, SLUG)
    return own.filter(task__study__slug=slug).first().public_id


def parts_of(name):
    """What stands in the address of a route."""
    study = Study.objects.get(slug="pairs" if name in OF_PAIRS else SLUG)
    workspace = study.workspace.slug
    if name in OF_WORKSPACES:
        slug = workspace
    else:
        slug = f"{workspace}/{BENCHMARK if name in OF_BENCHMARKS else SLUGS.get(name, SLUG)}"
    return {
        "slug": slug,
        "study_id": study.public_id,
        "number": 1,
        "module": "calibration.statistics.agreement.alpha",
        "name": "report.json",
        "verb": "role",
        "flag_id": 1,
        "moment": "before",
        "cohort_id": Cohort.objects.get(kind="public" if name in LISTED else "crowd").pk,
        "token": INVITED["secret"] if name == "accounts:invitation" else Cohort.objects.get(kind="public").entry_token,
        "request_id": 1,
        "item_id": JudgeRun.objects.first().items.filter(status="scored").first().pk,
        "task_id": study.tasks.first().public_id,
        "rater_id": Rater.objects.filter(kind="person", study=study).first().public_id,
        "assignment_id": _assignment_of(name),
        "public_id": PUBLIC.get(name, lambda: "none")(),
        "delivery": "none",
        "pk": ROWS.get(name, lambda: 1)(),
        "judge_id": AlignmentVersion.objects.latest("pk").judge.rater.public_id,
    }


def addresses_of(name, wanted):
    parts = parts_of(name)
    address = reverse(name, kwargs={part: parts[part] for part in wanted})
    return [address + query for query in QUERIES.get(name, ("",))]


def client_of(username):
    client = Client()
    if username:
        assert client.login(username=username, password=PASSWORD)
    return client


def make_demonstration():
    workspace = make_workspace()
    call_command("demo", "--no-serve", stdout=StringIO())
    connections.close_all()
    return workspace


def make_every_row():
    """The demonstration, and beside it whatever else a page needs: nobody's page is empty, and none is missing."""
    workspace = make_demonstration()
    analyst = User.objects.create_user("ana", password=PASSWORD)
    Membership.objects.create(workspace=workspace, user=analyst, role="analyst")
    _new_texts(workspace)
    _watched(workspace)
    _probed(workspace)
    _aligned(workspace)
    _draft(workspace)
    _near_copies(workspace)
    _practised(workspace)
    _checklists(workspace)
    _asked(workspace)
    lead = User.objects.get(username="lead")
    _invitation, INVITED["secret"] = invite(
        workspace=workspace, role="analyst", note="Ana", days=7, by=lead, clock=timezone.now
    )
    rater = client_of("rater")
    for slug in (SLUG, "pairs"):
        rater.post(reverse("annotation:start", args=[f"{workspace.slug}/{slug}"]))
    _a_trial()  # here, because its calls need an event loop of their own
    connections.close_all()


def _checklists(workspace):
    """One checklist under review."""
    lead = User.objects.get(username="lead")
    checklist = written_checklist(workspace, lead)
    start_review(checklist, by=lead)


def _asked(workspace):
    """A study that asks its raters about themselves: one has answered, and another is about to."""
    study = make_checklist_study(slug=ASKED, instructions=2, models=1, workspace=workspace)
    make_seats(study)
    asked = save_questions(study, "before", [*preset("person"), *preset("workload")], by=None)
    answers = {"age_group": "25_34", "native_language": "Irish", "expertise": 4, "effort": 12}
    give(asked, make_rater(study), answers, language="en")
    rater_in(study, User.objects.get(username="rater"))


def _new_texts(workspace):
    """A run that generated some responses, by a script."""
    LanguageModel.objects.create(
        workspace=workspace,
        name="scripted-writer",
        endpoint=Endpoint.objects.get(name="scripted"),
        fictional=True,
        parameters={"script": {"seed": 3, "writes": 60}},
    )
    call_command(
        "generate",
        BENCHMARK,
        model=["scripted-writer"],
        limit=3,
        name="New texts",
        workspace=workspace.slug,
        stdout=StringIO(),
    )


def _watched(workspace):
    """A watch with two rounds."""
    judge = Judge.objects.first().rater.label
    silent = {"workspace": workspace.slug, "stdout": StringIO()}
    call_command("watch", new=SLUG, judge=judge, tasks=12, **silent)
    call_command("watch", **silent)
    call_command("watch", now=Watch.objects.get().public_id, **silent)


def _probed(workspace):
    """A run of probes, on a study with more instructions than the demonstration has."""
    study = make_checklist_study(slug="probed", instructions=20, models=1, workspace=workspace)
    for response in Response.objects.filter(instruction__benchmark=study.benchmark):
        response.text = "The harbour lies in the north of the town. It was built long ago and is in use today.\n\n" * 3
        response.save()
    judge = Judge.objects.filter(language_model__isnull=False).first().rater.label
    silent = {"workspace": workspace.slug, "stdout": StringIO()}
    call_command("probe_judge", study.slug, judge=judge, change="padding,author", **silent)


def _aligned(workspace):
    """An alignment with two versions, one of which was measured on the test part; the other waits for it."""
    study = rated_study(slug="aligned", workspace=workspace)
    found = begin_alignment(study, judge_right(study, half, name="the prompt in force"))
    first = add_version(found, judge_right(study, other_half, name="the shorter prompt"))
    add_version(found, judge_right(study, nearly_all, name="the prompt with examples"))
    take_look(first, by=User.objects.get(username="lead"))


def _draft(workspace):
    Study.objects.create(
        workspace=workspace,
        slug="draft",
        names={"en": "Not launched yet", "zh-hans": "尚未启动"},
        kind="checklist",
        benchmark=Benchmark.objects.get(slug=BENCHMARK),
    )


def _near_copies(workspace):
    make_seats(make_pair_study("four", texts=(LEFT, LEFT.replace("shade", "light", 2))))


def _practised(workspace):
    """A study with a door and a practice text, which the rater has answered otherwise than expected."""
    study = make_checklist_study(slug=PRACTICE, instructions=6, models=1, workspace=workspace)
    study.policies = {"training": True, "qualification": {"of": 1, "pass": 1}, "quota": 4}
    study.guideline = Guideline.objects.filter(workspace=workspace).first()
    study.save()
    first, second, *_others = study.tasks.order_by("pk")
    mark_gold(
        first,
        {"overall": [4, 6], "item0": 0.5},
        purpose="training",
        why={"en": "It is *middling*.", "zh-hans": "它*中等*。"},
    )
    mark_gold(second, {"overall": 5}, purpose="qualification")
    make_seats(study)
    make_cohort(study, "Spring", "public")
    make_cohort(study, "Panel", "crowd")
    rater = client_of("rater")
    rater.post(reverse("annotation:start", args=[study]))
    task = Assignment.objects.get(task__study=study)
    answers = {"c-item0": "0", "c-item1": "2", "c-item2": "2", "c-overall": "5"}
    rater.post(reverse("annotation:rate", args=[task.public_id]), answers)
