from django.conf import settings
from django.contrib import admin
from django.urls import include, path

from config.health import health, live, ready
from config.home import home

handler400 = "core.web.refused_requests.bad_request"
handler404 = "core.web.api_errors.page_not_found"
handler500 = "core.web.busy_database.server_error"
urlpatterns = [
    path("", home, name="home"),
    path("", include("accounts.urls")),
    path("", include("generation.urls")),
    path("", include("annotation.urls")),
    path("", include("annotation.web.rubric.library_urls")),
    path("", include("calibration.urls")),
    path("", include("judging.urls")),
    path("api/v1/", include("config.api_urls")),
    path("health/", health, name="health"),
    path("health/live/", live, name="live"),
    path("health/ready/", ready, name="ready"),
    path("i18n/", include("django.conf.urls.i18n")),
    path("admin/", admin.site.urls),
]
if settings.METRICS:
    from config.observability.metrics import metrics

    urlpatterns.append(path("metrics", metrics, name="metrics"))
