"""Readers of the files under deploy/, without a container engine."""

import json
import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
GIVEN = {
    "PLUMBLINE_SECRET_KEY": "a-key-of-the-tests-0123456789-and-48-characters",
    "PLUMBLINE_ALLOWED_HOSTS": "rate.example.org",
    "POSTGRES_PASSWORD": "letters",
    "PLUMBLINE_CERTIFICATES": "/somewhere",
}
"""What an operator must fill in."""


@dataclass
class Stage:
    """One FROM of a Dockerfile: its image, its instructions in order, and its environment."""

    image: str
    steps: list[tuple[str, str]] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)

    def last(self, word):
        return [text for name, text in self.steps if name == word][-1]

    def all(self, word):
        return [text for name, text in self.steps if name == word]


def dockerfile():
    """The stages of the Dockerfile."""
    text = "\n".join(line for line in (DEPLOY / "Dockerfile").read_text().splitlines() if not line.startswith("#"))
    stages = []
    for line in re.sub(r"\\\n\s*", " ", text).splitlines():
        if not line.strip():
            continue
        word, _space, rest = line.strip().partition(" ")
        if word == "FROM":
            stages.append(Stage(rest.split()[0]))
            continue
        stages[-1].steps.append((word, rest))
        if word == "ENV":
            stages[-1].environment |= dict(pair.split("=", 1) for pair in shlex.split(rest))
    return stages


def compose(given=GIVEN):
    """The compose file with its variables replaced. Raises KeyError with the sentence of one that must be given."""

    def value(match):
        name, how, rest = match[1], match[2], match[3]
        if given.get(name):
            return given[name]
        if how == ":?":
            raise KeyError(f"{name}: {rest}")
        return rest if how == ":-" else ""

    def filled(part):
        if isinstance(part, dict):
            return {key: filled(one) for key, one in part.items()}
        if isinstance(part, list):
            return [filled(one) for one in part]
        return re.sub(r"\$\{(\w+)(:[-?])?([^}]*)\}", value, part) if isinstance(part, str) else part

    return filled(yaml.safe_load((DEPLOY / "compose" / "compose.yaml").read_text()))


def exec_form(text):
    """The words of CMD ["...", "..."]."""
    return json.loads(text)


def units():
    """Section -> name -> values of each unit of systemd."""
    found = {}
    for path in sorted((DEPLOY / "systemd").glob("plumbline*.*")):
        if path.suffix not in (".service", ".timer"):
            continue
        sections = found.setdefault(path.name, {})
        for line in path.read_text().splitlines():
            if line.startswith("["):
                current = sections.setdefault(line.strip("[]"), {})
            elif "=" in line:
                name, _equals, words = line.partition("=")
                current.setdefault(name, []).append(words)
    return found
