"""Choosing several rows in a form, where what was sent may be no row's number at all."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError

LONGEST_NUMBER = 18  # digits; every number of so many fits into 64 bits


class RowsField(forms.ModelMultipleChoiceField):  # type: ignore[type-arg]
    """Rows by primary key. A number that no database can hold is an invalid choice, not an error of the server."""

    def clean(self, value: Any) -> Any:
        for one in value or ():
            if isinstance(one, str) and len(one) > LONGEST_NUMBER:
                raise ValidationError(
                    self.error_messages["invalid_choice"], code="invalid_choice", params={"value": one[:50]}
                )
        return super().clean(value)
