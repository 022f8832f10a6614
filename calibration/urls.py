from django.urls import path

from calibration.web import dashboard, method_notes, plan_fragment, planner, views
from calibration.web.agreement.detail import DETAIL_PAGE
from calibration.web.agreement.page import AGREEMENT_PAGE
from calibration.web.desk import rater
from calibration.web.rankings.page import RANKINGS_PAGE
from calibration.web.raters.page import RATERS_PAGE
from calibration.web.raters.questionnaires import questionnaires
from calibration.web.serving import result_view
from calibration.web.weights.detail import DEPTH_PAGE

app_name = "calibration"
# /w/<workspace>/studies/<slug>/
urlpatterns = [
    path("<study:slug>/weights/", views.weights, name="weights"),
    path("<study:slug>/weights/depth/", result_view(DEPTH_PAGE), name="weights_depth"),
    path("<study:slug>/weights/fit/", views.fit_now, name="fit_now"),
    path("<study:slug>/weights/<str:public_id>/publish/", views.publish, name="publish"),
    path("<study:slug>/weights/<str:public_id>.json", views.download_fit, name="download_fit"),
    path("<study:slug>/planner/", planner.planner, name="planner"),
    path("<study:slug>/raters/", result_view(RATERS_PAGE), name="raters"),
    path("<study:slug>/questionnaires/", questionnaires, name="questionnaires"),
    path("<study:slug>/rankings/", result_view(RANKINGS_PAGE), name="rankings"),
    path("<study:slug>/agreement/", result_view(AGREEMENT_PAGE), name="agreement"),
    path("<study:slug>/agreement/detail/", result_view(DETAIL_PAGE), name="agreement_detail"),
    path("<study:slug>/summary/", views.summary, name="summary"),
    path("<study:slug>/plan/", plan_fragment.plan_fragment, name="plan_fragment"),
    path("<study:slug>/figures/", dashboard.desk_figures, name="desk_figures"),
    path("<study:slug>/raters/<str:rater_id>/figures/", rater.rater_figures, name="rater_figures"),
    # /method/
    path("method/<str:module>/", method_notes.method, name="method"),
]
