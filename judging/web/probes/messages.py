"""The names of probes, and what their results say, in the reader's language."""

from django.utils.translation import gettext, ngettext

from calibration.figures.drawing import decimals
from judging.probes.request import Group
from judging.probes.results import ProbeReport

POINTS = 100
"""The length of a scale in the points of a page."""


def group_names() -> dict[str, str]:
    return {
        Group.PADDING: gettext("Padding: sentences without content, a quarter and half as many words more"),
        Group.FORMAT: gettext("Format: the same claims as prose, as a list, with headings, in bold"),
        Group.WORDING: gettext("Wording: the same prompt in other words"),
        Group.ORDER: gettext("Order: the pair the other way round"),
        Group.AUTHOR: gettext("Author: a line that claims who wrote the response"),
    }


def probe_names() -> dict[str, str]:
    """Return the name of each probe."""
    return {
        "padding_25": gettext("Padding, 25 % more words"),
        "padding_50": gettext("Padding, 50 % more words"),
        "prose": gettext("As plain prose"),
        "bullets": gettext("As a list"),
        "headings": gettext("With headings"),
        "bold": gettext("With bold print"),
        "order": gettext("The other response first"),
        "author": gettext("With a claimed author"),
        **{f"wording_{n}": gettext("Prompt in other words (%(n)d)") % {"n": n} for n in (1, 2, 3)},
    }


def points(share: float) -> str:
    return decimals(POINTS * share, 1)


def opening_of(report: ProbeReport) -> str:
    """Say what was found, and no more; where nothing was, which change would have been."""
    names, effects, found = probe_names(), dict(report.effects), report.found
    if not found:
        most = max(effect.detectable for effect in effects.values())
        told = ngettext(
            "The probe is not shown to move the verdicts of %(judge)s: it would have found a mean change of %(most)s points "
            "of 100 with 80 %% power.",
            "None of the %(n)d probes is shown to move the verdicts of %(judge)s: each would have found a mean change of "
            "%(most)s points of 100 with 80 %% power.",
            len(effects),
        )
        return told % {"n": len(effects), "judge": report.judge, "most": points(most)}
    key = next((one for one in found if effects[one].found), found[0])
    effect = effects[key]
    shown = {
        "judge": report.judge,
        "probe": names[key],
        "n": len(found),
        "mean": points(effect.mean),
        "low": points(effect.low),
        "high": points(effect.high),
        "share": decimals(100 * effect.changed.value, 0),
        "alone": decimals(100 * effect.alone.value, 0) if effect.alone else "",
    }
    if effect.found:
        told = ngettext(
            "%(n)d change that must not matter moves the verdicts of %(judge)s: “%(probe)s” by %(mean)s points of 100 on "
            "average (95 %% interval %(low)s to %(high)s).",
            "%(n)d changes that must not matter move the verdicts of %(judge)s, above all “%(probe)s”: by %(mean)s points "
            "of 100 on average (95 %% interval %(low)s to %(high)s).",
            len(found),
        )
    else:
        told = ngettext(
            "%(n)d change that must not matter unsettles the verdicts of %(judge)s: “%(probe)s” changes %(share)s %% of "
            "them, and asking the same again changes %(alone)s %%.",
            "%(n)d changes that must not matter unsettle the verdicts of %(judge)s, above all “%(probe)s”: it changes "
            "%(share)s %% of them, and asking the same again changes %(alone)s %%.",
            len(found),
        )
    return told % shown
