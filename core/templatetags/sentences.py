"""Messages of the program in the reader's language: {{ run|stored_text:"message" }} of a row, {{ error|for_reader }}."""

from django import template

from core.messages.rendering import for_reader, stored_for_reader

register = template.Library()
register.filter("for_reader", for_reader)
register.filter("stored_text", stored_for_reader)
