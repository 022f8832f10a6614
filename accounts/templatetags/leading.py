"""A template tag that tells whether the visitor leads the workspace of an object."""

from typing import Any

from django import template
from django.template.context import Context

from accounts import permissions

register = template.Library()


@register.simple_tag(takes_context=True)
def leads_workspace_of(context: Context, row: Any) -> bool:
    """Return whether the visitor may change `row`, which has a workspace; the page's "can_lead" saves the query."""
    if "can_lead" in context:
        return bool(context["can_lead"])
    request = context.get("request")
    if request is None or not request.user.is_authenticated:
        return False
    if not hasattr(request, "workspaces_led"):  # a page may ask about many rows
        request.workspaces_led = permissions.led_by(request.user)
    return row.workspace_id in request.workspaces_led
