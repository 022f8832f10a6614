"""Under which names the answers of leads who decide disagreements are kept, and leave the installation."""

from annotation.models import Rater, Study

OF_LEAD = "lead "
"""How the label of a key rater begins that holds a lead's answers; the account's public id follows."""


def names_outside(study: Study) -> dict[int, str]:
    """Return, by rater, under which names leads' own answers leave the installation: lead A, lead B, oldest first.

    On pages they have the names of the leads' accounts.
    """
    names: dict[int, str] = {}
    for number, (pk, label) in enumerate(
        study.raters.filter(kind=Rater.Kind.KEY).order_by("pk").values_list("pk", "label")
    ):
        if label.startswith(OF_LEAD):
            names[pk] = f"lead {_letters(number)}"
    return names


def _letters(number: int) -> str:
    """A to Z, then AA, AB and so on."""
    before, place = divmod(number, 26)
    return (_letters(before - 1) if before else "") + chr(ord("A") + place)
