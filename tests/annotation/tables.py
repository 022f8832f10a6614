"""What the tests of loading share: small tables, the command, and a picture of the whole database."""

from io import StringIO

from django.apps import apps
from django.core.management import call_command

RATINGS = (
    "--study",
    "s",
    "--column",
    "item=item",
    "--column",
    "rater=rater",
    "--column",
    "criterion=criterion",
    "--column",
    "value=value",
    "--scale",
    "*=1:6",
)

COUNTERS = ("studycounter", "studychange", "ratercounter", "instructioncounter", "workchange")


def written(folder, content, name="r.csv"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def load(kind, path, *arguments, drop=()):
    """The command's output; `drop` leaves out --column options of these names."""
    dropped = (drop,) if isinstance(drop, str) else drop
    kept, rest = [], list(arguments)
    while rest:
        word = rest.pop(0)
        if word == "--column" and rest[0].partition("=")[0] in dropped:
            rest.pop(0)
        else:
            kept.append(word)
    output = StringIO()
    call_command("load_table", kind, str(path), *kept, stdout=output)
    return output.getvalue()


def everything():
    """Every row of our tables, without the counts of studies, some of which grow with each change."""
    return {
        model._meta.label: list(model.objects.order_by("pk").values())
        for app in ("accounts", "generation", "annotation", "calibration", "judging")
        for model in apps.get_app_config(app).get_models()
        if model._meta.model_name not in COUNTERS
    }
