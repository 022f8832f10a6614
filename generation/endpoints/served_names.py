"""Under which names an endpoint said that it answered: the one hint that a hosted model is another than it was."""

from django.db import transaction

from core.text import storable
from generation.run_fields import AnyRun

SERVED = "served"
"""In a run's manifest: the names, in the order in which they came."""
MOST_NAMES = 20
LONGEST_NAME = 200


def remember_served(run: AnyRun, name: str) -> None:
    """Adds the name to the run's manifest where it is new to it."""
    name = storable(name)[:LONGEST_NAME]
    known = served_names(run)
    if not name or name in known or len(known) >= MOST_NAMES:
        return
    with transaction.atomic():
        stored = type(run)._default_manager.select_for_update(no_key=True).only("manifest").get(pk=run.pk)
        names = served_names(stored)
        if name not in names and len(names) < MOST_NAMES:
            stored.manifest = {**stored.manifest, SERVED: [*names, name]}
            stored.save(update_fields=["manifest"])
    run.manifest[SERVED] = served_names(stored)


def served_names(run: AnyRun) -> list[str]:
    """What was answered under; empty where no reply said so."""
    return list(run.manifest.get(SERVED, []))
