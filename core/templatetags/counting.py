"""A count with its noun in templates: {{ study.tasks|counted:"tasks" }}."""

from django import template

from core.messages.counts import counted

register = template.Library()
register.filter("counted", counted)
