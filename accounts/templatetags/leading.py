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
    user = context["request"].user if "request" in context else None
    if user is None or not user.is_authenticated:
        return False
    return permissions.leads_workspace_of(user, row)
