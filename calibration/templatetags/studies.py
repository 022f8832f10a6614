"""What templates ask about a study."""

from django import template

from annotation.models import Study
from annotation.policies.policies import Policies

register = template.Library()


@register.filter
def by_items(study: Study) -> bool:
    """Whether a study's clusters are items, because its table named no instructions."""
    return Policies.of(study).clusters == "items"
