from django.urls import path

from annotation.recruitment import other_browsers
from annotation.web.monitoring import attention, dashboard, exclusions, rater as rater_pages, tasks as task_pages
from annotation.web.rating import answering, open_task, own_data, own_page
from annotation.web.recruitment import cohorts, joining, mail_invitations, platform_values, prolific
from annotation.web.rubric import pages as rubric_pages
from annotation.web.study import deletion, imports, known_answers, pages as study_pages, previews, self_naming
from annotation.web.uploads import pages as upload_pages

app_name = "annotation"
urlpatterns = [
    # rate/preview-
    path("rate/preview-<int:number>-<str:study_id>/", previews.preview_rate, name="preview_rate"),
    path("rate/preview-<int:number>-<str:study_id>/draft/", previews.preview_draft, name="preview_draft"),
    path("rate/preview-<int:number>-<str:study_id>/skip/", previews.preview_skip, name="preview_skip"),
    path("rate/preview-<int:number>-<str:study_id>/hold/", previews.preview_hold, name="preview_hold"),
    path(
        "rate/preview-<int:number>-<str:study_id>/differences/",
        previews.preview_differences,
        name="preview_differences",
    ),
    path("<study:slug>/preview/guideline/", previews.preview_guideline, name="preview_guideline"),
    # rate/
    path("rate/<str:assignment_id>/", answering.rate, name="rate"),
    path("rate/<str:assignment_id>/draft/", open_task.save_draft, name="save_draft"),
    path("rate/<str:assignment_id>/alive/", open_task.keep_alive, name="keep_alive"),
    path("rate/<str:assignment_id>/skip/", answering.skip_task, name="skip_task"),
    path("rate/<str:assignment_id>/hold/", open_task.hold, name="hold"),
    path("rate/<str:assignment_id>/differences/", open_task.differences, name="differences"),
    path("rate/<str:assignment_id>/feedback/", joining.feedback, name="feedback"),
    path("rate/<str:assignment_id>/time/", joining.correct_time, name="correct_time"),
    path("<study:slug>/done/", own_page.done, name="done"),
    path("<study:slug>/done/appeal/", joining.appeal_pause, name="appeal"),
    path("<study:slug>/done/other-browser/", other_browsers.other_browser, name="other_browser"),
    path("<study:slug>/done/data/", own_data.rater_data, name="rater_data"),
    path("<study:slug>/done/erase/", own_data.erase_own, name="erase_own"),
    # account/
    path("account/data/", own_data.account_data, name="account_data"),
    path("account/erase/", own_data.erase_own_account, name="erase_own_account"),
    path("join/<str:token>/", joining.join_study, name="join"),
    # imports/
    path("imports/", imports.imports, name="imports"),
    path("imports/table/", upload_pages.upload_table, name="upload_table"),
    path("imports/table/<str:public_id>/", upload_pages.table, name="table"),
    path("imports/table/<str:public_id>/state/", upload_pages.table_state, name="table_state"),
    path("imports/table/<str:public_id>/bad-rows.csv", upload_pages.bad_rows, name="table_bad_rows"),
    path("imports/<int:pk>/undo/", imports.undo, name="undo_import"),
    # studies/
    path("studies/", dashboard.studies, name="studies"),
    path("studies/new/", study_pages.new_study, name="new_study"),
    path("<study:slug>/", dashboard.overview, name="desk"),
    path("<study:slug>/live/progress/", dashboard.live_progress, name="live_progress"),
    path("<study:slug>/live/raters/", dashboard.live_raters, name="live_raters"),
    path("<study:slug>/live/attention/", dashboard.live_attention, name="live_attention"),
    path("<study:slug>/setup/", study_pages.setup, name="setup"),
    path("<study:slug>/preview/", previews.preview, name="preview"),
    path("<study:slug>/launch/", study_pages.launch, name="launch"),
    path("<study:slug>/launching/", study_pages.launching, name="launching"),
    path("<study:slug>/status/", study_pages.change_status, name="change_status"),
    path("<study:slug>/guideline/edit/", study_pages.edit_guideline, name="edit_guideline"),
    path("<study:slug>/questions/", rubric_pages.write_rubric, name="write_rubric"),
    path("<study:slug>/known/", known_answers.known_answers, name="known_answers"),
    path("<study:slug>/known/<str:task_id>/", known_answers.mark_task, name="mark_task"),
    path("<study:slug>/known/<str:task_id>/unmark/", known_answers.unmark_task, name="unmark_task"),
    path("<study:slug>/disagreements/", task_pages.queue, name="disagreements"),
    path("<study:slug>/more/", task_pages.more_answers, name="more_answers"),
    path("<study:slug>/tasks/<str:task_id>/", task_pages.task_page, name="task"),
    path("<study:slug>/tasks/<str:task_id>/release/", task_pages.release, name="release"),
    path("<study:slug>/raters/<str:rater_id>/", rater_pages.rater_page, name="rater"),
    path("<study:slug>/raters/<str:rater_id>/take-back/", rater_pages.take_back, name="take_back"),
    path("<study:slug>/raters/<str:rater_id>/exclusion/", exclusions.exclusion_page, name="exclusion"),
    path("<study:slug>/raters/<str:rater_id>/exclusion/lift/", exclusions.lift_exclusion, name="lift_exclusion"),
    path("<study:slug>/attention/", attention.attention, name="attention"),
    path("<study:slug>/attention/<int:flag_id>/", attention.settle_flag, name="settle_flag"),
    path("<study:slug>/self-naming/", self_naming.self_naming, name="self_naming"),
    path("<study:slug>/self-naming/change/", self_naming.change_self_naming, name="change_self_naming"),
    path("<study:slug>/delete/", deletion.delete_study, name="delete_study"),
    path("workspaces/<slug:slug>/delete/", deletion.delete_workspace, name="delete_workspace"),
    path("<study:slug>/history/", study_pages.history, name="history"),
    path("<study:slug>/rate/", answering.start, name="start"),
    path("<study:slug>/guideline/", own_page.guideline, name="guideline"),
    path("<study:slug>/cohorts/", cohorts.cohorts, name="cohorts"),
    path("<study:slug>/cohorts/<int:cohort_id>/", cohorts.change_cohort, name="change_cohort"),
    path("<study:slug>/cohorts/<int:cohort_id>/values/", platform_values.platform_values, name="platform_values"),
    path("<study:slug>/cohorts/<int:cohort_id>/mail/", mail_invitations.mail_invitations, name="mail_invitations"),
    path("<study:slug>/cohorts/<int:cohort_id>/prolific/", prolific.prolific_study, name="prolific_study"),
    path("<study:slug>/minimum/", cohorts.change_minimum, name="change_minimum"),
    path("<study:slug>/browsers/<int:request_id>/", cohorts.answer_browser, name="answer_browser"),
    path("<study:slug>/raters/<str:rater_id>/stand/", cohorts.change_rater, name="change_rater"),
    path("<study:slug>/skipped/<str:task_id>/", cohorts.set_aside, name="set_aside"),
]
