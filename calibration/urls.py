from django.urls import path

from calibration.web import dashboard, method_notes, plan_fragment, planner, views
from calibration.web.agreement.detail import DETAIL_PAGE
from calibration.web.agreement.page import AGREEMENT_PAGE
from calibration.web.rankings.page import RANKINGS_PAGE
from calibration.web.raters.page import RATERS_PAGE
from calibration.web.serving import result_view
from calibration.web.weights.detail import DEPTH_PAGE

app_name = "calibration"
# /studies/<slug>/
urlpatterns = [
    path("studies/<slug:slug>/weights/", views.weights, name="weights"),
    path("studies/<slug:slug>/weights/depth/", result_view(DEPTH_PAGE), name="weights_depth"),
    path("studies/<slug:slug>/weights/fit/", views.fit_now, name="fit_now"),
    path("studies/<slug:slug>/weights/<str:public_id>/publish/", views.publish, name="publish"),
    path("studies/<slug:slug>/weights/<str:public_id>.json", views.download_fit, name="download_fit"),
    path("studies/<slug:slug>/planner/", planner.planner, name="planner"),
    path("studies/<slug:slug>/raters/", result_view(RATERS_PAGE), name="raters"),
    path("studies/<slug:slug>/rankings/", result_view(RANKINGS_PAGE), name="rankings"),
    path("studies/<slug:slug>/agreement/", result_view(AGREEMENT_PAGE), name="agreement"),
    path("studies/<slug:slug>/agreement/detail/", result_view(DETAIL_PAGE), name="agreement_detail"),
    path("studies/<slug:slug>/summary/", views.summary, name="summary"),
    path("studies/<slug:slug>/plan/", plan_fragment.plan_fragment, name="plan_fragment"),
    path("studies/<slug:slug>/figures/", dashboard.desk_figures, name="desk_figures"),
    # /method/
    path("method/<str:module>/", method_notes.method, name="method"),
]
