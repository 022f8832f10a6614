"""Where writers write in tests, and tasks with answers made for them."""

from judging.formats.answers import ExportedAnswer, ExportedResponse, ExportedScore, ExportedTask


class Texts:
    """The files of a writer as texts by name."""

    def __init__(self):
        self.texts = {}

    def write(self, text, name=""):
        self.texts[name] = self.texts.get(name, "") + text


def rated(number, *, prompt="Why?", response="So.", model="m", value=3.0, level="", rater="r1", kind="person", **more):
    """A single response with one rating."""
    task = ExportedTask(
        "s",
        f"t{number}",
        number,
        f"i{number}",
        ExportedResponse(model, f"i{number}", text=response),
        messages=(("user", prompt),) if prompt is not None else (),
    )
    score = ExportedScore("quality", value, level, bool(level), more.pop("reason", ""), 1, 5)
    return task, [ExportedAnswer(rater, kind, (score,), **more)]


def compared(number, *, prompt="Why?", first="A text", second="B text", choices=("a",), kind="person", reason=""):
    """A pair with a choice of as many raters."""
    task = ExportedTask(
        "s",
        f"t{number}",
        number,
        f"i{number}",
        ExportedResponse("m1", f"i{number}", text=first),
        ExportedResponse("m2", f"i{number}", text=second),
        messages=(("user", prompt),),
    )
    values = {"a": 1.0, "b": -1.0, "tie": 0.0, "both_bad": 0.0}
    return task, [
        ExportedAnswer(
            f"r{at}", kind, (ExportedScore("preference", values[choice], choice, True, reason, -1, 1),), choice=choice
        )
        for at, choice in enumerate(choices)
    ]
