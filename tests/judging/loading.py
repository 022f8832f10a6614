"""Load a benchmark's files by the command, as a user does."""

import io
import json

from django.core.management import call_command

from generation.models import Benchmark


def load_benchmark(name, root, **options):
    """What the command says, as JSON: counts by kind, absent files, unread fields."""
    out = io.StringIO()
    call_command("load_benchmark", name, str(root), json=True, stdout=out, stderr=io.StringIO(), **options)
    return json.loads(out.getvalue())


def loaded_benchmark(name, root, **options):
    load_benchmark(name, root, **options)
    return Benchmark.objects.get(slug=name)
