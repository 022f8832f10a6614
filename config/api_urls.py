"""URLs under /api/v1/."""

from django.urls import path, re_path
from drf_spectacular.views import SpectacularJSONAPIView

from accounts.api.access import Scope, needing
from accounts.members import api as people
from annotation.api import (
    all_scores,
    attention,
    disagreements,
    keeping,
    previews,
    progress,
    questions,
    rows,
    saved_mappings,
    self_naming,
    settings,
    studies as annotation,
    tasks,
)
from annotation.api.participants import bonuses, cohorts, contact, mailing, pay, platforms
from annotation.web.authoring import api as authoring
from annotation.web.drafting import api as drafting
from annotation.web.uploads import api as annotation_uploads
from calibration import api as calibration
from config.old_addresses import api_urlpatterns
from generation import api as generation
from generation.web.curation import api as curating
from generation.web.endpoints import api as served
from generation.web.library import api as library
from generation.web.responses import api as texts
from generation.web.spending import api as spending
from generation.web.webhooks import api as webhooks
from judging.api import (
    aligning,
    archives,
    benchmark_files,
    comparisons,
    jobs,
    library as library_loading,
    making,
    monitoring,
    probing,
    prompts,
    result_pages,
    results as judging,
    routing,
    runs,
    trials,
)
from judging.api.files.addresses import FILE_ADDRESSES
from judging.api.leaderboards import boards, pairs

app_name = "api"
urlpatterns = [
    path("schema/", SpectacularJSONAPIView.as_view(permission_classes=[needing(Scope.READ)]), name="schema"),
    # accounts
    path("w/<str:workspace>/members/", people.members, name="members"),
    path("w/<str:workspace>/members/<str:public_id>/", people.member, name="member"),
    path("w/<str:workspace>/invitations/", people.invitations, name="invitations"),
    path("w/<str:workspace>/invitations/<str:public_id>/", people.invitation, name="withdraw_invitation"),
    # generation
    path("benchmarks/", generation.benchmarks, name="benchmarks"),
    path("w/<str:workspace>/benchmarks/<str:slug>/instructions/", generation.instructions, name="instructions"),
    path("w/<str:workspace>/benchmarks/<str:slug>/responses/", generation.responses, name="responses"),
    path("w/<str:workspace>/benchmarks/<str:slug>/curation/", curating.curation, name="curation"),
    path(
        "w/<str:workspace>/benchmarks/<str:slug>/curation/instructions/",
        curating.curated_instructions,
        name="curated_instructions",
    ),
    path(
        "w/<str:workspace>/benchmarks/<str:slug>/curation/decisions/",
        curating.decide_on_instruction,
        name="decide_on_instruction",
    ),
    path("w/<str:workspace>/benchmarks/<str:slug>/curation/apply/", curating.apply_curation, name="apply_curation"),
    path(
        "w/<str:workspace>/benchmarks/<str:slug>/curation/questions/",
        curating.ask_about_difficulty,
        name="ask_difficulty",
    ),
    path("models/", generation.models, name="models"),
    path("w/<str:workspace>/models/", served.add_model, name="add_model"),
    path("w/<str:workspace>/models/<int:pk>/", served.model, name="model"),
    path("w/<str:workspace>/endpoints/", served.endpoints, name="endpoints"),
    path("w/<str:workspace>/endpoints/<int:pk>/", served.endpoint, name="endpoint"),
    path("w/<str:workspace>/endpoints/<int:pk>/test/", served.test_endpoint, name="test_endpoint"),
    path("w/<str:workspace>/error-phrases/", library.error_phrases, name="error_phrases"),
    path("w/<str:workspace>/spending/", spending.spending, name="spending"),
    path("w/<str:workspace>/benchmarks/<str:slug>/texts/", library.texts, name="text_statistics"),
    path("w/<str:workspace>/endpoints/<int:pk>/models/", served.found_models, name="found_models"),
    path("w/<str:workspace>/benchmarks/<str:slug>/generation/", texts.start_generation, name="start_generation"),
    path("generation/", texts.generation_runs, name="generation_runs"),
    path("generation/<str:public_id>/", texts.generation_run, name="generation_run"),
    re_path(
        r"^generation/(?P<public_id>[^/]+)/(?P<verb>start|pause|cancel|retry)/$",
        texts.steer_generation,
        name="steer_generation",
    ),
    path("generation/<str:public_id>/files/<str:name>/", texts.generation_file, name="generation_file"),
    path("generation/<str:public_id>/budget/", texts.generation_budget, name="generation_budget"),
    path("w/<str:workspace>/webhooks/", webhooks.webhooks, name="webhooks"),
    path("w/<str:workspace>/webhooks/<str:public_id>/", webhooks.webhook, name="webhook"),
    path("w/<str:workspace>/webhooks/<str:public_id>/test/", webhooks.test_webhook, name="test_webhook"),
    path("w/<str:workspace>/webhooks/<str:public_id>/deliveries/", webhooks.deliveries, name="deliveries"),
    path(
        "w/<str:workspace>/webhooks/<str:public_id>/deliveries/<str:delivery>/resend/",
        webhooks.resend_delivery,
        name="resend_delivery",
    ),
    # annotation
    path("studies/", annotation.studies, name="studies"),
    path("w/<str:workspace>/studies/", annotation.make_study, name="make_study"),
    path("w/<str:workspace>/studies/<str:slug>/", annotation.study, name="study"),
    path("w/<str:workspace>/studies/<str:slug>/scores/", annotation.scores, name="scores"),
    path("w/<str:workspace>/studies/<str:slug>/scores/all/", all_scores.all_scores, name="all_scores"),
    path("w/<str:workspace>/studies/<str:slug>/progress/", progress.progress, name="study_progress"),
    path("w/<str:workspace>/studies/<str:slug>/settings/", settings.study_settings, name="study_settings"),
    re_path(
        r"^w/(?P<workspace>[^/]+)/studies/(?P<slug>[^/]+)/(?P<verb>launch|open|pause|close)/$",
        settings.steer_study,
        name="steer_study",
    ),
    path("w/<str:workspace>/studies/<str:slug>/archive/", keeping.archive, name="archive_study"),
    path("w/<str:workspace>/studies/<str:slug>/restore/", keeping.restore, name="restore_study"),
    path("w/<str:workspace>/studies/<str:slug>/duplicate/", keeping.duplicate, name="duplicate_study"),
    path("w/<str:workspace>/studies/<str:slug>/guideline/", keeping.guideline, name="guideline"),
    re_path(
        r"^w/(?P<workspace>[^/]+)/studies/(?P<slug>[^/]+)/raters/(?P<rater>[^/]+)/(?P<verb>pause|resume)/$",
        keeping.steer_rater,
        name="steer_rater",
    ),
    path(
        "w/<str:workspace>/studies/<str:slug>/raters/<str:rater>/message/", contact.message_rater, name="message_rater"
    ),
    path("w/<str:workspace>/studies/<str:slug>/browser-requests/", contact.browser_requests, name="browser_requests"),
    re_path(
        r"^w/(?P<workspace>[^/]+)/studies/(?P<slug>[^/]+)/browser-requests/(?P<pk>[0-9]{1,18})/(?P<verb>admit|refuse)/$",
        contact.answer_browser,
        name="answer_browser",
    ),
    path("w/<str:workspace>/studies/<str:slug>/tasks/", tasks.tasks, name="tasks"),
    path("w/<str:workspace>/studies/<str:slug>/tasks/<str:task>/", tasks.known_answer, name="known_answer"),
    path(
        "w/<str:workspace>/studies/<str:slug>/tasks/<str:task>/answers/",
        disagreements.task_answers,
        name="task_answers",
    ),
    path(
        "w/<str:workspace>/studies/<str:slug>/tasks/<str:task>/adjudication/",
        disagreements.adjudication,
        name="adjudication",
    ),
    path("w/<str:workspace>/studies/<str:slug>/tasks/<str:task>/release/", disagreements.release, name="release_task"),
    path(
        "w/<str:workspace>/studies/<str:slug>/tasks/<str:task>/set-aside/",
        attention.set_task_aside,
        name="set_task_aside",
    ),
    path("w/<str:workspace>/studies/<str:slug>/disagreements/", disagreements.disagreements, name="disagreements"),
    path(
        "w/<str:workspace>/studies/<str:slug>/disagreements/ratings/",
        disagreements.request_ratings,
        name="request_ratings",
    ),
    path("w/<str:workspace>/studies/<str:slug>/rubric/", questions.study_rubric, name="study_rubric"),
    path(
        "w/<str:workspace>/studies/<str:slug>/questionnaires/<str:moment>/",
        questions.questionnaire,
        name="questionnaire",
    ),
    path(
        "w/<str:workspace>/studies/<str:slug>/questionnaire-answers/",
        questions.questionnaire_answers,
        name="questionnaire_answers",
    ),
    path("w/<str:workspace>/studies/<str:slug>/preview/", previews.study_preview, name="study_preview"),
    path(
        "w/<str:workspace>/studies/<str:slug>/preview/tasks/<int:number>/", previews.rating_screen, name="rating_screen"
    ),
    path(
        "w/<str:workspace>/studies/<str:slug>/preview/tasks/<int:number>/differences/",
        previews.differences,
        name="shown_differences",
    ),
    path(
        "w/<str:workspace>/studies/<str:slug>/preview/questionnaires/<str:moment>/",
        previews.questionnaire_preview,
        name="questionnaire_preview",
    ),
    path(
        "w/<str:workspace>/studies/<str:slug>/preview/questionnaires/<str:moment>/answers/",
        previews.try_questionnaire,
        name="try_questionnaire",
    ),
    path("w/<str:workspace>/markdown/", previews.render_markdown, name="render_markdown"),
    path("w/<str:workspace>/studies/<str:slug>/self-naming/", self_naming.self_naming, name="self_naming"),
    path(
        "w/<str:workspace>/studies/<str:slug>/self-naming/tasks/",
        self_naming.self_naming_tasks,
        name="self_naming_tasks",
    ),
    path(
        "w/<str:workspace>/studies/<str:slug>/self-naming/scan/", self_naming.scan_self_naming, name="scan_self_naming"
    ),
    path(
        "w/<str:workspace>/studies/<str:slug>/self-naming/drop/", self_naming.drop_self_naming, name="drop_self_naming"
    ),
    path("w/<str:workspace>/studies/<str:slug>/history/", self_naming.history, name="history"),
    path("w/<str:workspace>/studies/<str:slug>/flags/", attention.flags, name="flags"),
    path("w/<str:workspace>/studies/<str:slug>/flags/<int:pk>/settle/", attention.settle_flag, name="settle_flag"),
    path("w/<str:workspace>/studies/<str:slug>/skipped-tasks/", attention.skipped_tasks, name="skipped_tasks"),
    path("w/<str:workspace>/studies/<str:slug>/closing/", attention.closing, name="closing"),
    path(
        "w/<str:workspace>/studies/<str:slug>/raters/<str:rater>/release/",
        attention.release_open_tasks,
        name="release_rater",
    ),
    path("w/<str:workspace>/studies/<str:slug>/raters/", cohorts.raters, name="raters"),
    path("w/<str:workspace>/studies/<str:slug>/cohorts/", cohorts.cohorts, name="cohorts"),
    path("w/<str:workspace>/studies/<str:slug>/cohorts/<int:pk>/", cohorts.cohort, name="cohort"),
    re_path(
        r"^w/(?P<workspace>[^/]+)/studies/(?P<slug>[^/]+)/cohorts/(?P<pk>[0-9]{1,18})/(?P<verb>revoke|renew)/$",
        cohorts.steer_cohort,
        name="steer_cohort",
    ),
    path("checklists/", authoring.shared_checklists, name="shared_checklists"),
    path("checklists/<str:public_id>/", authoring.shared_checklist, name="shared_checklist"),
    path("checklists/<str:public_id>/proposals/", authoring.propose_criterion, name="propose_criterion"),
    path(
        "checklists/<str:public_id>/proposals/<int:pk>/withdraw/",
        authoring.withdraw_criterion,
        name="withdraw_criterion",
    ),
    path("checklists/<str:public_id>/groups/", authoring.merge_criteria, name="merge_criteria"),
    path("checklists/<str:public_id>/ballot/", authoring.vote_on_criteria, name="vote_on_criteria"),
    path("checklists/<str:public_id>/choice/", authoring.keep_criteria, name="keep_criteria"),
    path(
        "checklists/<str:public_id>/questions/", authoring.write_checklist_questions, name="write_checklist_questions"
    ),
    path("checklists/<str:public_id>/reviews/", authoring.review_questions, name="review_questions"),
    path("checklists/<str:public_id>/drafts/", authoring.draft_checklist_questions, name="draft_checklist_questions"),
    re_path(
        r"^checklists/(?P<public_id>[^/]+)/(?P<verb>close-proposals|open-vote|close-vote|start-review|finish)/$",
        authoring.steer_checklist,
        name="steer_checklist",
    ),
    path("w/<str:workspace>/checklists/start/", authoring.start_shared_checklist, name="start_checklist"),
    path(
        "w/<str:workspace>/benchmarks/<str:slug>/drafted-checklists/",
        drafting.drafted_checklists,
        name="drafted_checklists",
    ),
    path(
        "w/<str:workspace>/benchmarks/<str:slug>/drafted-checklists/<str:instruction>/",
        drafting.drafted_checklist,
        name="drafted_checklist",
    ),
    path(
        "w/<str:workspace>/studies/<str:slug>/cohorts/<int:pk>/invitations/",
        mailing.invited_people,
        name="invited_people",
    ),
    path(
        "w/<str:workspace>/studies/<str:slug>/cohorts/<int:pk>/invitations/send/",
        mailing.send_to_listed,
        name="send_to_listed",
    ),
    path(
        "w/<str:workspace>/studies/<str:slug>/cohorts/<int:pk>/invitations/resend/",
        mailing.resend,
        name="resend_failed",
    ),
    path(
        "w/<str:workspace>/studies/<str:slug>/cohorts/<int:pk>/invitations/<int:invited>/",
        mailing.invited_person,
        name="erase_invited_person",
    ),
    path("w/<str:workspace>/studies/<str:slug>/payments/", pay.payments, name="payments"),
    path("w/<str:workspace>/studies/<str:slug>/cohorts/<int:pk>/pay/", pay.cohort_pay, name="cohort_pay"),
    path("w/<str:workspace>/studies/<str:slug>/cohorts/<int:pk>/approvals/", pay.approvals, name="approvals"),
    path("w/<str:workspace>/studies/<str:slug>/minimum/", platforms.minimum, name="minimum"),
    path(
        "w/<str:workspace>/studies/<str:slug>/cohorts/<int:pk>/platform-values/",
        platforms.platform_values,
        name="platform_values",
    ),
    path(
        "w/<str:workspace>/studies/<str:slug>/cohorts/<int:pk>/prolific/",
        platforms.prolific_study,
        name="prolific_study",
    ),
    path(
        "w/<str:workspace>/studies/<str:slug>/cohorts/<int:pk>/prolific/submissions/",
        platforms.submissions,
        name="submissions",
    ),
    re_path(
        r"^w/(?P<workspace>[^/]+)/studies/(?P<slug>[^/]+)/cohorts/(?P<pk>[0-9]{1,18})/prolific/(?P<verb>approve|reject)/$",
        platforms.review_submissions,
        name="review_submissions",
    ),
    path("w/<str:workspace>/studies/<str:slug>/bonus-cap/", bonuses.bonus_cap, name="bonus_cap"),
    path("w/<str:workspace>/studies/<str:slug>/cohorts/<int:pk>/bonuses/", bonuses.bonuses, name="bonuses"),
    path(
        "w/<str:workspace>/studies/<str:slug>/cohorts/<int:pk>/bonuses/propose/",
        bonuses.propose_bonuses,
        name="propose_bonuses",
    ),
    path(
        "w/<str:workspace>/studies/<str:slug>/cohorts/<int:pk>/bonuses/<str:public_id>/",
        bonuses.bonus_list,
        name="bonus_list",
    ),
    re_path(
        r"^w/(?P<workspace>[^/]+)/studies/(?P<slug>[^/]+)/cohorts/(?P<pk>[0-9]{1,18})/bonuses/(?P<public_id>[^/]+)/"
        r"(?P<verb>drop|look)/$",
        bonuses.steer_bonuses,
        name="steer_bonuses",
    ),
    path("rubrics/", tasks.rubrics, name="rubrics"),
    path("guidelines/", tasks.guidelines, name="guidelines"),
    path("imports/", tasks.imports, name="imports"),
    path("w/<str:workspace>/studies/<str:slug>/exclusions/", annotation.exclusions, name="exclusions"),
    path("w/<str:workspace>/studies/<str:slug>/delete/", annotation.delete_study, name="delete_study"),
    path(
        "w/<str:workspace>/studies/<str:slug>/raters/<str:rater>/exclude/",
        annotation.exclude_rater,
        name="exclude_rater",
    ),
    path(
        "w/<str:workspace>/studies/<str:slug>/raters/<str:rater>/include/",
        annotation.include_rater,
        name="include_rater",
    ),
    path(
        "w/<str:workspace>/studies/<str:slug>/raters/<str:rater>/erase/", annotation.erase_person, name="erase_person"
    ),
    path("w/<str:workspace>/uploads/", annotation_uploads.upload_file, name="upload_file"),
    path("uploads/<str:public_id>/", annotation_uploads.uploaded_file, name="uploaded_file"),
    path("uploads/<str:public_id>/bad-rows/", annotation_uploads.bad_rows, name="bad_rows"),
    path("uploads/<str:public_id>/mapping/", annotation_uploads.map_file, name="map_file"),
    path("uploads/<str:public_id>/check/", annotation_uploads.check_file, name="check_file"),
    path("uploads/<str:public_id>/load/", annotation_uploads.load_file, name="load_file"),
    path("uploads/<str:public_id>/discard/", annotation_uploads.discard_file, name="discard_file"),
    path("w/<str:workspace>/mappings/", saved_mappings.saved_mappings, name="saved_mappings"),
    path("w/<str:workspace>/mappings/<int:pk>/", saved_mappings.remove_mapping, name="remove_mapping"),
    path("imports/<int:pk>/undo/", annotation_uploads.undo_loading, name="undo_loading"),
    *(path(f"w/<str:workspace>/{kind}/", view, name=f"add_{kind}") for kind, view in rows.ADDERS.items()),
    path("account/data/", annotation.own_data, name="own_data"),
    # calibration
    path("w/<str:workspace>/studies/<str:slug>/reports/", calibration.reports, name="reports"),
    path("fits/", calibration.fits, name="fits"),
    path("fits/<str:public_id>/", calibration.fit, name="fit"),
    path("w/<str:workspace>/studies/<str:slug>/fits/", calibration.make_fit, name="make_fit"),
    path("fits/<str:public_id>/publish/", calibration.publish, name="publish"),
    # judging
    *FILE_ADDRESSES,
    path("w/<str:workspace>/library/", library_loading.load_library, name="load_library"),
    path("w/<str:workspace>/demonstration/", library_loading.demonstration, name="demonstration"),
    path("w/<str:workspace>/studies/<str:slug>/results/<str:page>/", result_pages.result_page, name="result_page"),
    path("w/<str:workspace>/studies/<str:slug>/plan/", result_pages.plan, name="plan"),
    path("w/<str:workspace>/archives/", archives.upload_archive, name="upload_archive"),
    path("archives/<str:public_id>/", archives.uploaded_archive, name="uploaded_archive"),
    path("w/<str:workspace>/benchmark-files/", benchmark_files.upload_benchmark_files, name="upload_benchmark_files"),
    path("benchmark-files/<str:public_id>/", benchmark_files.uploaded_benchmark_files, name="uploaded_benchmark_files"),
    path("archives/<str:public_id>/load/", archives.load_archive, name="load_archive"),
    path("archives/<str:public_id>/discard/", archives.discard_archive, name="discard_archive"),
    path("w/<str:workspace>/studies/<str:slug>/export/", judging.export, name="export"),
    path("w/<str:workspace>/studies/<str:slug>/causes/", comparisons.causes, name="causes"),
    path("w/<str:workspace>/studies/<str:slug>/judges/", probing.table, name="judge_table"),
    path("w/<str:workspace>/studies/<str:slug>/panel/", comparisons.panel, name="panel"),
    path("w/<str:workspace>/studies/<str:slug>/panel/judge/", comparisons.make_panel, name="make_panel"),
    path("w/<str:workspace>/studies/<str:slug>/routing/", routing.routing, name="routing"),
    path("w/<str:workspace>/studies/<str:slug>/routing/draws/", routing.draw_for_people, name="draw_for_people"),
    path("w/<str:workspace>/studies/<str:slug>/transport/", comparisons.transport, name="transport"),
    path("w/<str:workspace>/studies/<str:slug>/loaded-verdicts/", comparisons.loaded_verdicts, name="loaded_verdicts"),
    path("w/<str:workspace>/studies/<str:slug>/alignments/", aligning.alignments, name="alignments"),
    path("w/<str:workspace>/studies/<str:slug>/alignments/begin/", aligning.begin, name="begin_alignment"),
    path("alignments/<str:public_id>/", aligning.alignment, name="alignment"),
    path("alignments/<str:public_id>/versions/", aligning.add, name="add_version"),
    path("alignments/<str:public_id>/drafts/", aligning.drafts, name="drafts"),
    path("alignments/<str:public_id>/propose/", aligning.propose, name="propose_prompt"),
    path("alignments/<str:public_id>/looks/", aligning.look, name="take_look"),
    path("w/<str:workspace>/studies/<str:slug>/exports/", jobs.make_export, name="make_export"),
    path("exports/<str:public_id>/file/", jobs.export_file, name="export_file"),
    path("w/<str:workspace>/judges/", making.make_judge, name="make_judge"),
    path("w/<str:workspace>/studies/<str:slug>/runs/", making.run_on_study, name="run_on_study"),
    path("w/<str:workspace>/benchmarks/<str:slug>/runs/", making.run_on_benchmark, name="run_on_benchmark"),
    path("monitors/", monitoring.monitors, name="monitors"),
    path("w/<str:workspace>/monitors/", monitoring.make_monitor, name="make_monitor"),
    path("monitors/<str:public_id>/", monitoring.monitor, name="monitor"),
    re_path(
        r"^monitors/(?P<public_id>[^/]+)/(?P<verb>pause|resume|run)/$", monitoring.steer_monitor, name="steer_monitor"
    ),
    path("monitors/<str:public_id>/moved/", monitoring.moved, name="monitored_verdicts"),
    path("monitors/<str:public_id>/baseline/", monitoring.new_baseline, name="set_baseline"),
    path("w/<str:workspace>/trials/", trials.start_trial, name="start_trial"),
    path("trials/<str:public_id>/", trials.trial, name="trial"),
    path("trials/<str:public_id>/answers/", trials.tried_answers, name="tried_answers"),
    path("trials/<str:public_id>/stop/", trials.stop_trial, name="stop_trial"),
    path("jobs/", jobs.jobs, name="jobs"),
    path("jobs/<str:job_id>/", jobs.job, name="job"),
    path("jobs/<str:job_id>/cancel/", jobs.cancel_job, name="cancel_job"),
    path("judges/", judging.judges, name="judges"),
    path("judges/table/", probing.all_judges, name="all_judges_table"),
    path("judges/<str:public_id>/card/", probing.card, name="judge_card"),
    path("judges/<str:public_id>/prompt/", prompts.judge_prompt, name="judge_prompt"),
    path("w/<str:workspace>/prompts/preview/", prompts.preview_prompt, name="preview_prompt"),
    path("runs/<str:public_id>/verdicts/<int:item>/prompt/", prompts.run_prompt, name="run_prompt"),
    path("judges/<str:public_id>/probes/", probing.probe_judge, name="probe_judge"),
    path("runs/", judging.runs, name="runs"),
    path("runs/<str:public_id>/", judging.run, name="run"),
    path("runs/<str:public_id>/anchors/", comparisons.draw_anchors, name="draw_anchors"),
    path("runs/<str:public_id>/bridge/", comparisons.bridge, name="bridge"),
    path("runs/<str:public_id>/probes/", probing.run_probes, name="run_probes"),
    path("runs/<str:public_id>/verdicts/", judging.verdicts, name="verdicts"),
    re_path(r"^runs/(?P<public_id>[^/]+)/(?P<verb>start|pause|cancel|retry)/$", judging.steer_run, name="steer_run"),
    path("runs/<str:public_id>/label/", runs.label, name="label_run"),
    path("runs/<str:public_id>/budget/", runs.budget, name="run_budget"),
    path("runs/<str:public_id>/reviews/", runs.reviews, name="reviews"),
    path("runs/<str:public_id>/checks/", runs.checks, name="drawn_checks"),
    path("runs/<str:public_id>/compare/", runs.compare, name="compare_runs"),
    path("runs/<str:public_id>/compare/verdicts/", runs.compared_verdicts, name="compared_verdicts"),
    path("runs/<str:public_id>/verdicts/<int:item>/", runs.verdict, name="verdict"),
    path("runs/<str:public_id>/files/<str:name>/", runs.run_file, name="run_file"),
    path("runs/<str:public_id>/items/", runs.run_items, name="run_items"),
    path("w/<str:workspace>/leaderboards/<str:slug>/", boards.board, name="board"),
    path("w/<str:workspace>/leaderboards/<str:slug>/compare/", pairs.compare_models, name="compare_models"),
    path(
        "w/<str:workspace>/leaderboards/<str:slug>/compare/instructions/",
        pairs.compared_instructions,
        name="compared_instructions",
    ),
    path(
        "w/<str:workspace>/leaderboards/<str:slug>/compare/instructions/<str:instruction>/",
        pairs.compared_instruction,
        name="compared_instruction",
    ),
    path("w/<str:workspace>/leaderboards/<str:slug>/rankings/", boards.rankings, name="rankings"),
    path("w/<str:workspace>/leaderboards/<str:slug>/lengths/", boards.lengths, name="lengths"),
    path("w/<str:workspace>/benchmarks/<str:slug>/tables/", boards.paper_tables, name="paper_tables"),
    path("w/<str:workspace>/benchmarks/<str:slug>/tables/<str:number>/", boards.paper_table, name="paper_table"),
    *api_urlpatterns,
]
