"""The workspace in which a command works."""

from accounts.models import Workspace
from core.errors import UserError


def workspace_for_command(slug: str = "") -> Workspace:
    """Return the named workspace or, without a name, the only one, which is created if there is none.

    Raises UserError, which lists the choices.
    """
    known = {workspace.slug: workspace for workspace in Workspace.objects.all()}
    if slug:
        if slug not in known:
            raise UserError(f"There is no workspace {slug!r}; there are: {', '.join(known) or 'none'}.")
        return known[slug]
    if not known:
        return Workspace.objects.get_or_create(slug="main", defaults={"name": "Main"})[0]
    if len(known) > 1:
        raise UserError(f"Say which workspace with --workspace: {', '.join(known)}.")
    return next(iter(known.values()))


def workspace_for_load(slug: str = "") -> Workspace:
    """Return the workspace, locked until the transaction ends, so that loads into one workspace take turns.

    Raises UserError.
    """
    workspace = workspace_for_command(slug)
    return Workspace.objects.select_for_update(no_key=True).get(pk=workspace.pk)
