"""A form field for choosing several rows."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError

LONGEST_NUMBER = 18  # digits; every number of this length fits into 64 bits


class RowsField(forms.ModelMultipleChoiceField):  # type: ignore[type-arg]
    """A choice of rows by primary key; a number too large for the database is an invalid choice and not a server error."""

    def clean(self, value: Any) -> Any:
        for one in value or ():
            if isinstance(one, str) and len(one) > LONGEST_NUMBER:
                raise ValidationError(
                    self.error_messages["invalid_choice"], code="invalid_choice", params={"value": one[:50]}
                )
        return super().clean(value)
