"""Lines of the coverage benchmark on judges against people, their biases, and what a judge saves."""

from inference.design import Design, NullDesign


def designs() -> list[Design]:
    return []


def null_designs() -> list[NullDesign]:
    return []
