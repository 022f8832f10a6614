from django.urls import path

from generation import library, serving_pages, views

app_name = "generation"
urlpatterns = [
    # /library/
    path("library/", library.library, name="library"),
    path("library/benchmarks/<slug:slug>/", library.benchmark, name="benchmark"),
    path("library/benchmarks/<slug:slug>/generate/", views.start_run, name="start_run"),
    path("library/instructions/<str:public_id>/", library.instruction, name="instruction"),
    path("library/responses/", library.responses, name="responses"),
    path("library/responses/<str:public_id>/", library.response, name="response"),
    path("library/models/", serving_pages.models, name="models"),
    path("library/models/new/", serving_pages.edit_model, name="new_model"),
    path("library/models/<int:pk>/", serving_pages.edit_model, name="edit_model"),
    path("library/models/<int:pk>/remove/", serving_pages.remove_model, name="remove_model"),
    path("library/endpoints/", serving_pages.endpoints, name="endpoints"),
    path("library/endpoints/new/", serving_pages.edit_endpoint, name="new_endpoint"),
    path("library/endpoints/<int:pk>/", serving_pages.edit_endpoint, name="edit_endpoint"),
    path("library/endpoints/<int:pk>/remove/", serving_pages.remove_endpoint, name="remove_endpoint"),
    path("library/endpoints/<int:pk>/test/", serving_pages.test_endpoint, name="test_endpoint"),
    # /runs/generation/
    path("runs/generation/", views.runs, name="runs"),
    path("runs/generation/<str:public_id>/", views.run, name="run"),
    path("runs/generation/<str:public_id>/control/", views.control_run, name="control_run"),
    path("runs/generation/<str:public_id>/files/<str:name>", views.run_file, name="run_file"),
]
