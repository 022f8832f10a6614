"""The guideline of a study: a text in versions, of which raters read the newest."""

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.models import Guideline, Study
from annotation.studies.life_cycle import StudyRefused, log_event


def save_guideline(study: Study, texts: dict[str, str], *, by: User) -> Guideline:
    """Save the texts as the first or next version of the study's guideline, unless they are unchanged."""
    before = study.guideline
    if before is not None and before.texts == texts:
        return before
    key = before.key if before is not None else study.slug
    for _attempt in range(5):
        latest = Guideline.objects.filter(workspace=study.workspace_id, key=key).order_by("-version").first()
        try:
            with transaction.atomic():
                made = Guideline.objects.create(
                    workspace_id=study.workspace_id, key=key, version=latest.version + 1 if latest else 1, texts=texts
                )
                study.guideline = made
                study.save(update_fields=["guideline"])
                log_event(
                    study,
                    by,
                    "change_guideline",
                    before={"guideline": str(before or "")},
                    after={"guideline": str(made)},
                )
        except IntegrityError:  # saved at the same moment by somebody else
            continue
        return made
    raise StudyRefused(_("Someone else is changing the guideline. Try again."))
