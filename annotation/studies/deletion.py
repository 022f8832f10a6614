"""Deletion of a study or a workspace by its owner, with everything in it: counted first, then removed at once."""

from django.db import IntegrityError
from django.db.models import Model
from django.http import Http404
from django.utils.translation import gettext as _

from accounts.models import Event, Membership, User, Workspace
from annotation.answers.awaiting import await_answers
from annotation.models import Study, Task
from core.db.append_only import removing
from core.db.removal import Removal
from core.errors import UserError
from generation.run_fields import AnyRun


def owns(user: User, workspace_id: int) -> bool:
    return Membership.objects.filter(user=user, workspace=workspace_id, role=Membership.Role.OWNER).exists()


def owned_or_404(user: User, workspace_id: int) -> None:
    """Raise Http404 unless the user owns the workspace."""
    if not owns(user, workspace_id):
        raise Http404(_("Only an owner of the workspace can delete this."))


def what_goes(row: Study | Workspace) -> Removal:
    """The row with all that belongs to it; changes nothing."""
    return Removal().add(type(row), [row.pk])


def why_not_now(row: Study | Workspace) -> str:
    """What must be done before anything is counted: an open study is paused or closed first; '' where nothing."""
    if isinstance(row, Study) and row.status == Study.Status.OPEN:
        return _("The study is open. Pause or close it first.")
    return ""


def why_it_stays(row: Study | Workspace, removal: Removal) -> str:
    """What must be done before the row can be deleted, in one sentence; '' where nothing."""
    for model, ids in removal.ids.items():
        if issubclass(model, AnyRun) and _running(model, ids):
            return _("Runs are in progress. Pause or cancel them first.")
    if not isinstance(row, Study):
        return ""
    if now := why_not_now(row):
        return now
    others = Study.objects.filter(tasks__in=Task.objects.filter(pk__in=_foreign(row, removal))).distinct()
    used = {*others, *Study.objects.filter(pk__in=removal.ids[Study] - {row.pk})}
    if used:
        slugs = ", ".join(sorted(study.slug for study in used))
        return _("Other studies use its questions or review its answers: %(studies)s. Delete them first.") % {
            "studies": slugs
        }
    return ""


def delete(row: Study | Workspace, *, by: User | None) -> dict[str, int]:
    """Delete the row with all that belongs to it and return the counts by model label. Raises UserError."""
    study = isinstance(row, Study)
    event = Event(
        workspace_id=row.workspace_id if isinstance(row, Study) else None,
        actor=by,
        verb="delete_study" if study else "delete_workspace",
        object_type="study" if study else "accounts.Workspace",
        object_id=row.public_id if isinstance(row, Study) else row.slug,
        before={"slug": row.slug},
    )
    try:
        with removing(event):
            within: dict[str, Model] = {"study": row} if isinstance(row, Study) else {"study__workspace": row}
            await_answers(set(Task.objects.filter(**within).order_by().values_list("pk", flat=True)))
            type(row)._default_manager.select_for_update().get(pk=row.pk)
            row.refresh_from_db()
            removal = what_goes(row)
            if problem := why_it_stays(row, removal):
                raise UserError(problem)
            event.after = removal.counts()
            removal.carry_out()
    except IntegrityError as error:  # the commit found a row that was added while the deletion was under way
        raise UserError(_("Somebody is working on it at this moment. Try again.")) from error
    return dict(event.after or {})


def _running(model: type[Model], ids: set[int]) -> bool:
    return model._default_manager.filter(pk__in=list(ids), status=AnyRun.Status.RUNNING).exists()


def _foreign(study: Study, removal: Removal) -> list[int]:
    """The tasks of other studies that would go with this one."""
    own = set(Task.objects.filter(study=study).order_by().values_list("pk", flat=True))
    return sorted(removal.ids.get(Task, set()) - own)[:500]
