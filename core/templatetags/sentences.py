"""What the program says in errors and stored rows, in the reader's language: {{ run.message|for_reader }}."""

from django import template

from core.messages.reader_language import for_reader, is_programs_own

register = template.Library()
register.filter("for_reader", for_reader)
register.filter("is_programs_own", is_programs_own)
