"""What a lead chooses from when setting up a study: (stored value, label)."""

from django.utils.translation import gettext_lazy

ORDERS = [
    ("spread", gettext_lazy("Spread: rate every task once before any task a second time")),
    ("finish", gettext_lazy("Finish early: collect all ratings of a task close together")),
    ("random", gettext_lazy("Random")),
]
HINTS = [
    ("hidden", gettext_lazy("Hidden")),
    ("shown", gettext_lazy("Visible")),
    ("split", gettext_lazy("Split: visible to half of the raters, chosen at random")),
]
PAIRS = [
    ("all", gettext_lazy("All pairs of models")),
    ("baselines", gettext_lazy("Every model against the chosen baselines")),
    ("even", gettext_lazy("A fixed number of pairs, sampled evenly")),
]
SAMPLES = [("first", gettext_lazy("One response per model and instruction")), ("all", gettext_lazy("All responses"))]
STOPPING = [
    ("", gettext_lazy("No question")),
    ("agreement", gettext_lazy("Does the raters' agreement reach a threshold?")),
    ("better", gettext_lazy("Which of two models is better?")),
    ("leader", gettext_lazy("Which model leads?")),
    ("top_three", gettext_lazy("Which models are the top three?")),
    ("weights", gettext_lazy("Do fitted weights predict better than equal weights?")),
]
