"""Stored sentences of the program are read once more, for the columns with their codes."""

from typing import Any

from django.db import migrations
from django.db.migrations.state import StateApps

from generation.migrations._sentences_before_codes import fill, message_of


def read(apps: StateApps, _editor: object) -> None:
    fill(apps.get_model("generation", "GenerationRun").objects, "message")
    fill(apps.get_model("generation", "GenerationItem").objects, "error")
    for endpoint in apps.get_model("generation", "Endpoint").objects.exclude(probed_at=None).order_by("pk"):
        words: Any = endpoint.capabilities.get("words") if isinstance(endpoint.capabilities, dict) else None
        if isinstance(words, dict) and "words_json" not in endpoint.capabilities:
            coded = {name: message_of(text) for name, text in words.items() if isinstance(text, str)}
            endpoint.capabilities = {**endpoint.capabilities, "words_json": coded}
            endpoint.save(update_fields=["capabilities"])


class Migration(migrations.Migration):
    dependencies = [("generation", "0010_messages_as_json")]

    operations = [migrations.RunPython(read, migrations.RunPython.noop)]
