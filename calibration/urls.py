from django.urls import path

from calibration.web import answers, dashboard, method_notes, plan_fragment, views

app_name = "calibration"
# /studies/<slug>/
urlpatterns = [
    path("studies/<slug:slug>/weights/", views.weights, name="weights"),
    path("studies/<slug:slug>/weights/depth/", answers.weights_depth, name="weights_depth"),
    path("studies/<slug:slug>/weights/fit/", views.fit_now, name="fit_now"),
    path("studies/<slug:slug>/weights/<str:public_id>/publish/", views.publish, name="publish"),
    path("studies/<slug:slug>/weights/<str:public_id>.json", views.download_fit, name="download_fit"),
    path("studies/<slug:slug>/planner/", answers.planner, name="planner"),
    path("studies/<slug:slug>/raters/", answers.raters, name="raters"),
    path("studies/<slug:slug>/rankings/", answers.rankings, name="rankings"),
    path("studies/<slug:slug>/agreement/", views.agreement, name="agreement"),
    path("studies/<slug:slug>/agreement/detail/", answers.agreement_detail, name="agreement_detail"),
    path("studies/<slug:slug>/summary/", views.summary, name="summary"),
    path("studies/<slug:slug>/plan/", plan_fragment.plan_fragment, name="plan_fragment"),
    path("studies/<slug:slug>/figures/", dashboard.desk_figures, name="desk_figures"),
    # /method/
    path("method/<str:module>/", method_notes.method, name="method"),
]
