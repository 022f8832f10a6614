from django.urls import path

from judging import (
    export_page,
    judge_making,
    judge_pages,
    leaderboard_views,
    model_pair_views,
    results,
    run_starting,
    text_statistics_page,
    views,
    watch_views,
)

app_name = "judging"
urlpatterns = [
    # /library/judges/
    path("library/judges/", judge_making.judge_list, name="judge_list"),
    path("library/judges/new/", judge_making.new_judge, name="new_judge"),
    path("library/judges/<str:public_id>/", judge_making.judge, name="judge"),
    # /library/benchmarks/<slug>/
    path("library/benchmarks/<slug:slug>/judge/", run_starting.judge_benchmark, name="judge_benchmark"),
    path("library/benchmarks/<slug:slug>/texts/", text_statistics_page.text_page, name="text_page"),
    # /runs/
    path("runs/", views.runs, name="runs"),
    path("runs/<str:public_id>/", views.run, name="run"),
    path("runs/<str:public_id>/control/", views.control_run, name="control_run"),
    path("runs/<str:public_id>/review/", views.review_run, name="review_run"),
    path("runs/<str:public_id>/files/<str:name>", views.run_file, name="run_file"),
    # /studies/<slug>/
    path("studies/<slug:slug>/judge/", run_starting.start_run, name="start_run"),
    path("studies/<slug:slug>/judges/", results.judges, name="judges"),
    path("studies/<slug:slug>/judges/depth/", judge_pages.judges_depth, name="judges_depth"),
    path("studies/<slug:slug>/judges/methods/", judge_pages.judges_methods, name="judges_methods"),
    path("studies/<slug:slug>/export/", export_page.export, name="export"),
    path("studies/<slug:slug>/export/file/", export_page.export_file, name="export_file"),
    # /watches/
    path("watches/", watch_views.watches, name="watches"),
    path("watches/new/", watch_views.new_watch, name="new_watch"),
    path("watches/<str:public_id>/", watch_views.watch, name="watch"),
    path("watches/<str:public_id>/control/", watch_views.control_watch, name="control_watch"),
    # /leaderboards/
    path("leaderboards/", leaderboard_views.leaderboards, name="leaderboards"),
    path("leaderboards/<slug:slug>/", leaderboard_views.leaderboard, name="leaderboard"),
    path("leaderboards/<slug:slug>/compare/", model_pair_views.compare_models, name="compare_models"),
    path("leaderboards/<slug:slug>/compare/item/", model_pair_views.compare_item, name="compare_item"),
]
