"""Measuring a design of the coverage benchmark once, and noting in a file what was measured."""

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from inference.design import Design, NullDesign

FEW_ROWS = 50
TIMED = 3
"""Data sets that are timed for an estimate, after a first one that may prepare the truth of all."""


@dataclass(frozen=True)
class Measured:
    """What a design gave: by quantity, the share of intervals that held, or of studies with a claim, from 0 to 1.

    `rows` are the shares with every row taken as independent, `widths` the stated standard errors over the true ones, and
    `any_claim` the share of studies in which any finding claims an effect.
    """

    shares: dict[str, float]
    seconds: float
    rows: dict[str, float] = field(default_factory=dict)
    widths: dict[str, float] = field(default_factory=dict)
    any_claim: float = 0.0


class Store:
    """A file with a line of JSON for each design that was measured; without a path nothing is noted."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.known: dict[str, Measured] = {}
        if path is not None and path.exists():
            for line in path.read_text().splitlines():
                noted = json.loads(line)
                self.known[noted["design"]] = Measured(**noted["measured"])

    def measured(self, key: str, measure: Callable[[], Measured]) -> Measured:
        """What was noted under the key, or else what `measure` gives, which is noted."""
        if key not in self.known:
            self.known[key] = measure()
            if self.path is not None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                with self.path.open("a") as file:
                    file.write(json.dumps({"design": key, "measured": asdict(self.known[key])}) + "\n")
        return self.known[key]


def measured_design(
    store: Store, topic: str, place: int, design: Design, draws: int, resamples: int, seed: int
) -> Measured:
    """The coverage of a design's intervals over `draws` data sets, each drawn from its own seed."""

    def measure() -> Measured:
        start = time.perf_counter()
        shares = covered(design, draws, resamples, [seed, *topic.encode(), place], clustered=True)
        widths = design.widths.ratios() if design.widths else {}
        few = min(draws, max(FEW_ROWS, draws // 10))
        rows = covered(design, few, resamples, [seed, *topic.encode(), place], False) if design.rows_fail else {}
        return Measured(shares, time.perf_counter() - start, rows, widths)

    return store.measured(f"{topic}: {', '.join(design.promises)}; {design.text}; {draws} x {resamples}", measure)


def covered(design: Design, draws: int, resamples: int, seed: list[int], clustered: bool) -> dict[str, float]:
    """Share of intervals that held, by quantity, over `draws` data sets."""
    hits, given = dict.fromkeys(design.promises, 0.0), dict.fromkeys(design.promises, 0)
    for number in range(draws):
        found = design.draw(np.random.default_rng([*seed, number]), resamples, clustered)
        for name in hits:
            if found[name].size:
                hits[name] += float(found[name].mean())
                given[name] += 1
    return {name: count / max(1, given[name]) for name, count in hits.items()}


def false_claims(store: Store, topic: str, place: int, design: NullDesign, draws: int, seed: int) -> Measured:
    """Share of studies in which each finding claims an effect, and in which any of them does."""

    def measure() -> Measured:
        start = time.perf_counter()
        claims, any_claim = dict.fromkeys(design.findings, 0), 0
        for number in range(draws):
            found = design.draw(np.random.default_rng([seed, *topic.encode(), place, number]))
            for name in claims:
                claims[name] += bool(found[name])
            any_claim += any(found[name] for name in claims)
        shares = {name: count / draws for name, count in claims.items()}
        return Measured(shares, time.perf_counter() - start, any_claim=any_claim / draws)

    return store.measured(f"{topic}: claims {', '.join(design.findings)}; {design.text}; {draws}", measure)


def estimated_seconds(design: Design | NullDesign, draws: int, resamples: int) -> float:
    """How long a design takes on one core, from a few data sets."""

    def drawn(number: int) -> None:
        rng = np.random.default_rng(number)
        if isinstance(design, NullDesign):
            design.draw(rng)
        else:
            design.draw(rng, resamples, True)

    times = [time.perf_counter()]
    for number in range(1 + TIMED):
        drawn(number)
        times.append(time.perf_counter())
    first, others = times[1] - times[0], (times[-1] - times[1]) / TIMED
    rows = draws / 10 if isinstance(design, Design) and design.rows_fail else 0
    return first + others * (draws - 1 + rows)
