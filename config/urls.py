from django.conf import settings
from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

from accounts.sign_in.pages import administration_sign_in
from config.health import health, live, ready
from config.home import home

handler400 = "core.web.refused_requests.bad_request"
handler404 = "core.web.api_errors.page_not_found"
handler500 = "core.web.busy_database.server_error"
urlpatterns = [
    path("", home, name="home"),
    path("", include("accounts.urls")),
    *([path("", include("accounts.identity.urls"))] if settings.IDENTITY else []),
    path("", include("generation.urls")),
    path("", include("annotation.urls")),
    path("", include("annotation.web.rubric.library_urls")),
    path("", include("calibration.urls")),
    path("", include("judging.urls")),
    path("", include("config.old_addresses")),
    path("api/v1/", include("config.api_urls")),
    path("health/", health, name="health"),
    path("health/live/", live, name="live"),
    path("health/ready/", ready, name="ready"),
    path("i18n/", include("django.conf.urls.i18n")),
    # Passwords are checked only on pages that limit how often.
    path("admin/login/", administration_sign_in),
    path("admin/password_change/", RedirectView.as_view(pattern_name="accounts:change_password")),
    path("admin/", admin.site.urls),
]
if settings.METRICS:
    from config.observability.metrics import metrics

    urlpatterns.append(path("metrics", metrics, name="metrics"))
