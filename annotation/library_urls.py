"""Addresses of the library's rubrics and guidelines."""

from django.urls import path

from annotation import library_pages

app_name = "library"
urlpatterns = [
    # /library/
    path("library/rubrics/", library_pages.rubrics, name="rubrics"),
    path("library/rubrics/<int:pk>/", library_pages.rubric, name="rubric"),
    path("library/guidelines/", library_pages.guidelines, name="guidelines"),
    path("library/guidelines/<int:pk>/", library_pages.guideline, name="guideline"),
]
