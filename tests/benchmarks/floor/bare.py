"""The floor against which the rating pages are timed: a Django view without middleware, forms or templates.

GET claims the next seat and answers with the text of its response; POST inserts the answer. POST with ?next=1 does
both in one request.
"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

import django
from django.conf import settings
from django.core.wsgi import get_wsgi_application

settings.MIDDLEWARE = []
settings.ROOT_URLCONF = "bare"
django.setup()

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.utils import timezone

from annotation.assignment.slots import claim_slot
from annotation.models import Assignment, Rater, Score, Seat, Study
from generation.models import Response


def claim(rater: int, study: int) -> HttpResponse:
    claimed = claim_slot(Rater(pk=rater), Study(pk=study), clock=timezone.now)
    if claimed is None:
        return HttpResponse(status=404, headers={"Content-Length": "0"})
    text = Response.objects.filter(tasks_as_a=claimed[1]).values_list("text", flat=True).get()
    body = (text or "").encode()
    names = {"X-Seat": str(claimed[0]), "X-Task": str(claimed[1]), "Content-Length": str(len(body))}
    return HttpResponse(body, headers=names)


def view(request: HttpRequest, study: int, rater: int) -> HttpResponse:
    if request.method == "GET":
        return claim(rater, study)
    given = request.POST
    with transaction.atomic():
        Seat.objects.filter(pk=given["seat"]).update(state="taken", leased_until=None)
        assignment = Assignment.objects.create(
            task_id=given["task"],
            rater_id=rater,
            seat_id=given["seat"],
            status="submitted",
            submitted_at=timezone.now(),
        )
        Score.objects.bulk_create(
            Score(assignment=assignment, criterion_id=name, value=float(value))
            for name, value in given.items()
            if name.isdecimal()
        )
    return claim(rater, study) if "next" in request.GET else HttpResponse(b"kept", headers={"Content-Length": "4"})


urlpatterns = [path("bare/<int:study>/<int:rater>/", view)]
application = get_wsgi_application()
