from django.urls import path

from calibration.web.serving import result_view
from judging.web import archive, demonstration, library, study_archives, uploads
from judging.web.alignment import pages as alignment_pages
from judging.web.comparison import (
    depth_pages,
    fitted_panel as panel_pages,
    pages as comparison_pages,
    routing as routing_pages,
    unrated_models,
)
from judging.web.judges import card as card_pages, pages as judge_pages, table as table_pages, trials as trial_pages
from judging.web.leaderboards import (
    lengths,
    model_pair,
    page as leaderboard_page,
    paper_tables,
    rankings,
    text_statistics,
)
from judging.web.monitoring import pages as monitor_pages
from judging.web.probes import pages as probe_pages
from judging.web.runs import (
    anchors as anchor_pages,
    bridge as bridge_pages,
    compare as compare_pages,
    pages as run_pages,
    start,
    verdicts as verdict_pages,
)

app_name = "judging"
urlpatterns = [
    # /library/judges/
    path("library/load/", library.load_library, name="load_library"),
    path("library/judges/", judge_pages.judge_list, name="judge_list"),
    path("library/judges/table/", table_pages.all_judges_table, name="all_judges_table"),
    path("library/judges/new/", judge_pages.new_judge, name="new_judge"),
    path("library/judges/trials/<str:public_id>/", trial_pages.trial, name="trial"),
    path("library/judges/trials/<str:public_id>/state/", trial_pages.trial_state, name="trial_state"),
    path("library/judges/trials/<str:public_id>/stop/", trial_pages.stop_trial, name="stop_trial"),
    path("library/judges/<str:public_id>/", judge_pages.judge, name="judge"),
    path("library/judges/<str:public_id>/card/", card_pages.judge_card_page, name="judge_card"),
    path("library/judges/<str:public_id>/probe/<str:study_id>/", probe_pages.probe_judge, name="probe_judge"),
    # /w/<workspace>/library/benchmarks/<slug>/
    path("<benchmark:slug>/judge/", start.judge_benchmark, name="judge_benchmark"),
    path("<benchmark:slug>/texts/", text_statistics.text_page, name="text_page"),
    path("<benchmark:slug>/tables/", paper_tables.paper_tables, name="paper_tables"),
    # /demonstration/
    path("demonstration/<slug:slug>/", demonstration.demonstration, name="demonstration"),
    path("demonstration/<slug:slug>/state/", demonstration.demonstration_state, name="demonstration_state"),
    # /imports/
    path("imports/upload/", uploads.upload_benchmark, name="upload_benchmark"),
    path("imports/upload/<str:public_id>/", uploads.upload, name="upload"),
    path("imports/upload/<str:public_id>/state/", uploads.upload_state, name="upload_state"),
    path("imports/upload/<str:public_id>/bad-rows.csv", uploads.upload_bad_rows, name="upload_bad_rows"),
    path("imports/archive/", study_archives.upload_archive, name="upload_archive"),
    path("imports/archive/<str:public_id>/", study_archives.study_archive, name="study_archive"),
    path("imports/archive/<str:public_id>/state/", study_archives.study_archive_state, name="study_archive_state"),
    # /runs/
    path("runs/", run_pages.runs, name="runs"),
    path("runs/<str:public_id>/", run_pages.run, name="run"),
    path("runs/<str:public_id>/control/", run_pages.control_run, name="control_run"),
    path("runs/<str:public_id>/anchors/", anchor_pages.draw_anchors, name="draw_anchors"),
    path("runs/<str:public_id>/bridge/", bridge_pages.bridge_runs, name="bridge_runs"),
    path("runs/<str:public_id>/compare/", compare_pages.compare_runs, name="compare_runs"),
    path("runs/<str:public_id>/label/", run_pages.label_run, name="label_run"),
    path("runs/<str:public_id>/probes/", probe_pages.run_probes, name="run_probes"),
    path("runs/<str:public_id>/review/", run_pages.review_run, name="review_run"),
    path("runs/<str:public_id>/checks/", run_pages.draw_checks, name="draw_checks"),
    path("runs/<str:public_id>/verdicts/", verdict_pages.verdicts, name="verdicts"),
    path("runs/<str:public_id>/verdicts/<int:item_id>/", verdict_pages.verdict, name="verdict"),
    path("runs/<str:public_id>/files/<str:name>", run_pages.run_file, name="run_file"),
    # /w/<workspace>/studies/<slug>/
    path("<study:slug>/judge/", start.start_run, name="start_run"),
    path("<study:slug>/judges/", comparison_pages.judges, name="judges"),
    path("<study:slug>/judges/table/", table_pages.judge_table, name="judge_table"),
    path("<study:slug>/judges/depth/", result_view(depth_pages.JUDGES_DEPTH_PAGE), name="judges_depth"),
    path("<study:slug>/judges/metrics/", result_view(depth_pages.AGAINST_PEOPLE_PAGE), name="judges_metrics"),
    path("<study:slug>/judges/methods/", result_view(depth_pages.METHODS_PAGE), name="judges_methods"),
    path("<study:slug>/judges/causes/", result_view(depth_pages.CAUSES_PAGE), name="causes"),
    path("<study:slug>/judges/panel/", result_view(depth_pages.PANEL_PAGE), name="judge_panel"),
    path("<study:slug>/judges/panel/judge/", panel_pages.make_panel, name="make_panel"),
    path("<study:slug>/judges/alignment/", alignment_pages.new_alignment, name="new_alignment"),
    path("<study:slug>/judges/unrated/", unrated_models.unrated_models_page, name="unrated_models"),
    path("<study:slug>/judges/routing/", routing_pages.routing, name="routing"),
    path("<study:slug>/export/", archive.export, name="export"),
    path("<study:slug>/export/file/", archive.export_file, name="export_file"),
    path("<study:slug>/export/make/", archive.make_file, name="make_file"),
    path("<study:slug>/export/files/", archive.made_files, name="made_files"),
    path("<study:slug>/export/files/<str:public_id>/", archive.made_file, name="made_file"),
    path("<study:slug>/export/files/<str:public_id>/remove/", archive.remove_file, name="remove_file"),
    # /alignments/
    path("alignments/<str:public_id>/", alignment_pages.alignment, name="alignment"),
    path("alignments/<str:public_id>/propose/", alignment_pages.propose_prompt, name="propose_prompt"),
    path("alignments/<str:public_id>/look/<str:judge_id>/", alignment_pages.look_at_test, name="take_look"),
    # /watches/
    path("watches/", monitor_pages.watches, name="watches"),
    path("watches/new/", monitor_pages.new_watch, name="new_watch"),
    path("watches/<str:public_id>/", monitor_pages.watch, name="watch"),
    path("watches/<str:public_id>/baseline/", monitor_pages.new_baseline, name="new_baseline"),
    path("watches/<str:public_id>/control/", monitor_pages.control_watch, name="control_watch"),
    # /leaderboards/
    path("leaderboards/", leaderboard_page.leaderboards, name="leaderboards"),
    path("<leaderboard:slug>/", leaderboard_page.leaderboard, name="leaderboard"),
    path("<leaderboard:slug>/rankings/", rankings.rankings_beside, name="rankings_beside"),
    path("<leaderboard:slug>/lengths/", lengths.length_page, name="length_scores"),
    path("<leaderboard:slug>/compare/", model_pair.compare_models, name="compare_models"),
    path("<leaderboard:slug>/compare/item/", model_pair.compare_item, name="compare_item"),
]
