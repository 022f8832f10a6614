"""Count the words of stored responses in Chinese and Japanese by the character, as those stored from now on."""

import re
from typing import Any

from django.db import migrations

from generation.text_metrics.counts import word_count

READ_AT_ONCE = 500
UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")


def recount(apps: Any, schema_editor: Any) -> None:
    responses = apps.get_model("generation", "Response").objects
    last = 0
    while True:
        rows = responses.filter(pk__gt=last, text__isnull=False, words__isnull=False).order_by("pk")[:READ_AT_ONCE]
        some = list(rows.values_list("pk", "text", "words"))
        if not some:
            return
        for pk, text, words in some:
            if UNSPACED.search(text) and (now := word_count(text)) != words:
                responses.filter(pk=pk).update(words=now)
        last = some[-1][0]


class Migration(migrations.Migration):
    dependencies = [("generation", "0016_instruction_rubric")]

    operations = [migrations.RunPython(recount, migrations.RunPython.noop)]
