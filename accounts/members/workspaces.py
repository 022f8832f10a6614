"""Which workspace a command works in."""

from accounts.models import Workspace
from core.errors import UserError


class UnknownWorkspace(UserError):
    """No workspace has this slug, or several exist and none was named."""


def workspace_for_command(slug: str = "") -> Workspace:
    """The named workspace; unnamed, the only one there is, made where there is none.

    Raises UnknownWorkspace with a sentence that names the choices.
    """
    known = {workspace.slug: workspace for workspace in Workspace.objects.all()}
    if slug:
        if slug not in known:
            raise UnknownWorkspace(f"There is no workspace {slug!r}; there are: {', '.join(known) or 'none'}.")
        return known[slug]
    if not known:
        return Workspace.objects.get_or_create(slug="main", defaults={"name": "Main"})[0]
    if len(known) > 1:
        raise UnknownWorkspace(f"Say which workspace with --workspace: {', '.join(known)}.")
    return next(iter(known.values()))


def workspace_for_load(slug: str = "") -> Workspace:
    """The same, held until the transaction ends, so that loads into one workspace take turns.

    Raises UnknownWorkspace.
    """
    workspace = workspace_for_command(slug)
    return Workspace.objects.select_for_update(no_key=True).get(pk=workspace.pk)
