"""Addresses of the library's rubrics and guidelines."""

from django.urls import path

from annotation.web.rubric import library

app_name = "library"
urlpatterns = [
    # /library/
    path("library/rubrics/", library.rubrics, name="rubrics"),
    path("library/rubrics/<int:pk>/", library.rubric, name="rubric"),
    path("library/guidelines/", library.guidelines, name="guidelines"),
    path("library/guidelines/<int:pk>/", library.guideline, name="guideline"),
]
