from django.urls import path

from annotation import (
    attention,
    cohort_desk,
    desk,
    joining,
    known_answers,
    other_browsers,
    rater_desk,
    rubric_pages,
    self_naming_pages,
    study_pages,
    study_previews,
    task_desk,
    views,
)

app_name = "annotation"
urlpatterns = [
    # rate/preview-
    path("rate/preview-<int:number>-<str:study_id>/", study_previews.preview_rate, name="preview_rate"),
    path(
        "rate/preview-<int:number>-<str:study_id>/draft/", study_previews.preview_draft, name="preview_draft"
    ),
    path("rate/preview-<int:number>-<str:study_id>/skip/", study_previews.preview_skip, name="preview_skip"),
    path("rate/preview-<int:number>-<str:study_id>/hold/", study_previews.preview_hold, name="preview_hold"),
    path(
        "rate/preview-<int:number>-<str:study_id>/differences/",
        study_previews.preview_differences,
        name="preview_differences",
    ),
    path(
        "studies/<slug:slug>/preview/guideline/", study_previews.preview_guideline, name="preview_guideline"
    ),
    # rate/
    path("rate/<str:assignment_id>/", views.rate, name="rate"),
    path("rate/<str:assignment_id>/draft/", views.save_draft, name="save_draft"),
    path("rate/<str:assignment_id>/alive/", views.keep_alive, name="keep_alive"),
    path("rate/<str:assignment_id>/skip/", views.skip_task, name="skip_task"),
    path("rate/<str:assignment_id>/hold/", views.hold, name="hold"),
    path("rate/<str:assignment_id>/differences/", views.differences, name="differences"),
    path("rate/<str:assignment_id>/feedback/", joining.feedback, name="feedback"),
    path("rate/<str:assignment_id>/time/", joining.correct_time, name="correct_time"),
    path("done/<slug:slug>/", views.done, name="done"),
    path("done/<slug:slug>/appeal/", joining.appeal_pause, name="appeal"),
    path("done/<slug:slug>/other-browser/", other_browsers.other_browser, name="other_browser"),
    path("join/<str:token>/", joining.join_study, name="join"),
    # studies/
    path("studies/", desk.studies, name="studies"),
    path("studies/new/", study_pages.new_study, name="new_study"),
    path("studies/<slug:slug>/", desk.overview, name="desk"),
    path("studies/<slug:slug>/live/progress/", desk.live_progress, name="live_progress"),
    path("studies/<slug:slug>/live/raters/", desk.live_raters, name="live_raters"),
    path("studies/<slug:slug>/live/attention/", desk.live_attention, name="live_attention"),
    path("studies/<slug:slug>/setup/", study_pages.setup, name="setup"),
    path("studies/<slug:slug>/preview/", study_previews.preview, name="preview"),
    path("studies/<slug:slug>/launch/", study_pages.launch, name="launch"),
    path("studies/<slug:slug>/launching/", study_pages.launching, name="launching"),
    path("studies/<slug:slug>/status/", study_pages.change_status, name="change_status"),
    path("studies/<slug:slug>/guideline/edit/", study_pages.edit_guideline, name="edit_guideline"),
    path("studies/<slug:slug>/questions/", rubric_pages.write_rubric, name="write_rubric"),
    path("studies/<slug:slug>/known/", known_answers.known_answers, name="known_answers"),
    path("studies/<slug:slug>/known/<str:task_id>/", known_answers.mark_task, name="mark_task"),
    path("studies/<slug:slug>/known/<str:task_id>/unmark/", known_answers.unmark_task, name="unmark_task"),
    path("studies/<slug:slug>/disagreements/", task_desk.queue, name="disagreements"),
    path("studies/<slug:slug>/more/", task_desk.more_answers, name="more_answers"),
    path("studies/<slug:slug>/tasks/<str:task_id>/", task_desk.task_page, name="task"),
    path("studies/<slug:slug>/tasks/<str:task_id>/release/", task_desk.release, name="release"),
    path("studies/<slug:slug>/raters/<str:rater_id>/", rater_desk.rater_page, name="rater"),
    path("studies/<slug:slug>/raters/<str:rater_id>/take-back/", rater_desk.take_back, name="take_back"),
    path("studies/<slug:slug>/attention/", attention.attention, name="attention"),
    path("studies/<slug:slug>/attention/<int:flag_id>/", attention.settle_flag, name="settle_flag"),
    path("studies/<slug:slug>/self-naming/", self_naming_pages.self_naming, name="self_naming"),
    path(
        "studies/<slug:slug>/self-naming/change/",
        self_naming_pages.change_self_naming,
        name="change_self_naming",
    ),
    path("studies/<slug:slug>/history/", study_pages.history, name="history"),
    path("studies/<slug:slug>/rate/", views.start, name="start"),
    path("studies/<slug:slug>/guideline/", views.guideline, name="guideline"),
    path("studies/<slug:slug>/cohorts/", cohort_desk.cohorts, name="cohorts"),
    path("studies/<slug:slug>/cohorts/<int:cohort_id>/", cohort_desk.change_cohort, name="change_cohort"),
    path("studies/<slug:slug>/minimum/", cohort_desk.change_minimum, name="change_minimum"),
    path("studies/<slug:slug>/browsers/<int:request_id>/", cohort_desk.answer_browser, name="answer_browser"),
    path("studies/<slug:slug>/raters/<str:rater_id>/stand/", cohort_desk.change_rater, name="change_rater"),
    path("studies/<slug:slug>/skipped/<str:task_id>/", cohort_desk.set_aside, name="set_aside"),
]
