"""Addresses of the library's rubrics, guidelines and checklists, those that people write and those that models draft."""

from django.urls import path

from annotation.web.authoring import pages as authoring_pages
from annotation.web.drafting import pages as drafting_pages
from annotation.web.rubric import library

app_name = "library"
urlpatterns = [
    # /library/
    path("<benchmark:slug>/checklists/", drafting_pages.checklists, name="drafted_checklists"),
    path("library/instructions/<str:public_id>/checklist/", drafting_pages.checklist, name="drafted_checklist"),
    path("library/rubrics/", library.rubrics, name="rubrics"),
    path("library/rubrics/<int:pk>/", library.rubric, name="rubric"),
    path("library/guidelines/", library.guidelines, name="guidelines"),
    path("library/guidelines/<int:pk>/", library.guideline, name="guideline"),
    path("library/checklists/", authoring_pages.checklists, name="checklists"),
    path("library/checklists/new/", authoring_pages.new_checklist, name="new_checklist"),
    path("library/checklists/<str:public_id>/", authoring_pages.checklist, name="checklist"),
]
