from django.urls import path

from generation.web.curation import pages as curation_pages
from generation.web.endpoints import pages as endpoint_pages
from generation.web.library import error_phrases, pages as library_pages
from generation.web.responses import pages as run_pages
from generation.web.spending import pages as spending_page
from generation.web.webhooks import pages as webhook_pages

app_name = "generation"
urlpatterns = [
    # /library/
    path("library/", library_pages.library, name="library"),
    path("<benchmark:slug>/", library_pages.benchmark, name="benchmark"),
    path("<benchmark:slug>/generate/", run_pages.start_run, name="start_run"),
    path("<benchmark:slug>/curation/", curation_pages.curation, name="curation"),
    path("library/instructions/<str:public_id>/", library_pages.instruction, name="instruction"),
    path("library/responses/", library_pages.responses, name="responses"),
    path("library/responses/<str:public_id>/", library_pages.response, name="response"),
    path("library/models/", endpoint_pages.models, name="models"),
    path("library/models/new/", endpoint_pages.edit_model, name="new_model"),
    path("library/models/<int:pk>/", endpoint_pages.edit_model, name="edit_model"),
    path("library/models/<int:pk>/remove/", endpoint_pages.remove_model, name="remove_model"),
    path("library/endpoints/", endpoint_pages.endpoints, name="endpoints"),
    path("library/endpoints/new/", endpoint_pages.edit_endpoint, name="new_endpoint"),
    path("library/endpoints/<int:pk>/", endpoint_pages.edit_endpoint, name="edit_endpoint"),
    path("library/endpoints/<int:pk>/remove/", endpoint_pages.remove_endpoint, name="remove_endpoint"),
    path("library/endpoints/<int:pk>/test/", endpoint_pages.test_endpoint, name="test_endpoint"),
    path("library/endpoints/<int:pk>/models/", endpoint_pages.add_found_models, name="add_found_models"),
    path("library/error-phrases/<slug:slug>/", error_phrases.error_phrases, name="error_phrases"),
    path("runs/spending/", spending_page.spending, name="spending"),
    # /webhooks/
    path("webhooks/", webhook_pages.webhooks, name="webhooks"),
    path("webhooks/<slug:slug>/", webhook_pages.webhooks, name="webhooks_of"),
    path("webhooks/<slug:slug>/<str:public_id>/", webhook_pages.webhook, name="webhook"),
    path("webhooks/<slug:slug>/<str:public_id>/test/", webhook_pages.test_webhook, name="test_webhook"),
    path("webhooks/<slug:slug>/<str:public_id>/remove/", webhook_pages.remove, name="remove_webhook"),
    path("webhooks/<slug:slug>/<str:public_id>/resend/<str:delivery>/", webhook_pages.resend, name="resend_message"),
    # /runs/generation/
    path("runs/generation/", run_pages.runs, name="runs"),
    path("runs/generation/<str:public_id>/", run_pages.run, name="run"),
    path("runs/generation/<str:public_id>/control/", run_pages.control_run, name="control_run"),
    path("runs/generation/<str:public_id>/files/<str:name>", run_pages.run_file, name="run_file"),
]
