"""Lines of the coverage benchmark on what is said about single raters and about the pool of raters."""

from inference.design import Design, NullDesign


def designs() -> list[Design]:
    return []


def null_designs() -> list[NullDesign]:
    return []
