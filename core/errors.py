"""The base of every error that somebody outside the code can put right, and of every refusal. PURE."""


class UserError(Exception):
    """What was asked is not possible; the sentence names the thing, the place and the remedy.

    A subclass exists only where a caller tells it apart; commands and pages that show the sentence catch this one.
    """

    @property
    def message(self) -> str:
        """The sentence: a message with its code where the error was raised with one, else English text."""
        return str(self)
