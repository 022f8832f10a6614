"""Fit checklist weights to the raters' answers in a study, or repeat a fit from its export."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotation.models import excluded_shown
from calibration.data.frames import NothingToRead
from calibration.fits.categories import FitRefused
from calibration.fits.export import FitExport, fit_to_json, refit_from_json
from calibration.fits.store import publish_fit, run_fit
from calibration.management.study_command import StudyCommand, add_excluded, excluded_line
from calibration.statistics.weights.certificates import certificate_from_dict, pooled_from_dict
from calibration.statistics.weights.gains import Gain
from calibration.web.messages.populations import gain_words
from calibration.web.weights.certificate import held_out_reason, held_out_words, pooling_sentences, warning_sentence
from core.errors import UserError

MOST_DRAWS = 20_000


def _ends(low: Sequence[float], high: Sequence[float]) -> list[str]:
    """Write the ends of each weight for one of the two populations; empty where none are stated."""
    return [f"[{least:.1f}, {most:.1f}]" for least, most in zip(low, high, strict=True)]


class Command(StudyCommand):
    help = "Fit checklist weights to a study's answers and print their certificate, or repeat an exported fit."
    study_optional = True

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        add_excluded(parser)
        parser.add_argument("--floor", type=float, default=0.5, help="The smallest raw weight (default 0.5).")
        parser.add_argument("--pool", action="store_true", help="Pool each category's weights toward its parent's.")
        parser.add_argument(
            "--draws", type=int, default=1000, help="Number of bootstrap resamples of clusters (default 1000)."
        )
        parser.add_argument("--seed", type=int, default=0, help="Seed of the bootstrap and of the folds (default 0).")
        parser.add_argument(
            "--skip-small", action="store_true", help="Leave out categories with fewer answers than items."
        )
        parser.add_argument("--publish", metavar="NAME", help="Publish the fit under this name.")
        parser.add_argument(
            "--export", metavar="FILE", help="Write the fit and its rows to FILE, so that it can be repeated."
        )
        parser.add_argument(
            "--from", dest="source", metavar="FILE", help="Repeat the fit exported to FILE and compare the results."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if bool(options["source"]) == bool(options["study"]):
            raise CommandError("Give either a study to fit, or --from with an exported fit to repeat.")
        if options["source"]:
            self._repeat(Path(options["source"]), options["json"])
            return
        if not 0 <= options["floor"] <= 10 or not math.isfinite(options["floor"]):
            raise CommandError(f"--floor {options['floor']:g} is not between 0 and 10.")
        if options["draws"] < 0 or options["seed"] < 0:
            raise CommandError("--draws and --seed must be whole numbers of at least 0.")
        if options["draws"] > MOST_DRAWS:
            raise CommandError(f"--draws must be at most {MOST_DRAWS:,}; more draws no longer change an interval.")
        study = self.study_of(options)
        try:
            with excluded_shown(options["excluded"]):
                fit = run_fit(
                    study=study,
                    floor=options["floor"],
                    pool=options["pool"],
                    seed=options["seed"],
                    draws=options["draws"],
                    skip_small=options["skip_small"],
                    progress=self._progress,
                )
            if options["publish"] is not None:
                fit = publish_fit(fit=fit, name=options["publish"])
        except NothingToRead as error:
            raise CommandError(f"Study {study.slug!r} cannot be fitted: {error}.") from error
        except UserError as error:
            raise CommandError(str(error)) from error
        if options["export"]:
            self._export(Path(options["export"]), fit_to_json(fit))
        self._print(fit_to_json(fit, rows=False), options["json"])
        if not options["json"] and (line := excluded_line(options["excluded"], task__study=study)):
            self.stdout.write(f"\n{line}")

    def _progress(self, done: int, total: int, key: str) -> None:
        if total > 1 and self.stderr.isatty():
            self.stderr.write(f"\r{done}/{total} {key:<40.40}", ending="" if done < total else "\n")

    def _export(self, path: Path, payload: FitExport) -> None:
        try:
            path.write_text(json.dumps(payload, ensure_ascii=False) + "\n", encoding="utf-8")
        except OSError as error:
            raise CommandError(f"Cannot write {path}: {error.strerror}. Choose another file.") from error

    def _repeat(self, path: Path, as_json: bool) -> None:
        try:
            payload = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise CommandError(f"Cannot read {path}: {error.strerror}.") from error
        except ValueError as error:
            raise CommandError(f"{path} is not UTF-8 encoded JSON: {error}.") from error
        try:
            again = refit_from_json(payload)
        except FitRefused as error:
            raise CommandError(f"{path}: {error}") from error
        if again.differences:
            made = ", ".join(f"{name} {number}" for name, number in payload["versions"].items())
            raise CommandError(
                f"{path}: the repeated fit is different; {len(again.differences)} figures differ "
                f"({', '.join(again.differences[:5])}). The original was computed with {made}."
            )
        self._print(again.payload, as_json, repeated=True)

    def _print(self, payload: FitExport, as_json: bool, *, repeated: bool = False) -> None:
        if as_json:
            plain = [{name: value for name, value in one.items() if name != "rows"} for one in payload["categories"]]
            more = {"repeated": True} if repeated else {}
            self.stdout.write(json.dumps({**payload, "categories": plain, **more}, ensure_ascii=False))
            return
        self.stdout.write(f"{payload['study']}: fit {payload['name'] or payload['fit']}")
        for one in payload["categories"]:
            certificate = certificate_from_dict(one["certificate"])
            known = "instruction" in certificate.out_of_sample
            said = held_out_words(certificate, step=0.001) if known else "not defined"
            self.stdout.write(f"\n{one['category']}: n {one['n']}, R2 {one['r2']:.4f}, on held-out instructions {said}")
            if why := held_out_reason(certificate):
                self.stdout.write(f"  {why}")
            if one["pooled"]:
                self.stdout.write(f"  {pooling_sentences(pooled_from_dict(one['pooled']), one['category'])}")
            gained = one["gain_over_equal_weights"]
            if one["better_than_equal_weights"] is not None and gained is not None:
                shown = "are" if one["better_than_equal_weights"] else "are not shown to be"
                gain = gain_words(Gain(**gained))
                self.stdout.write(
                    f"  These weights {shown} better than equal weights on held-out instructions: they reduce the mean "
                    f"squared error by {gain}."
                )
            found = one["populations"]
            such = _ends(found["such_low"], found["such_high"]) if found else []
            these = _ends(found["these_low"], found["these_high"]) if found else []
            if such or these:
                self.stdout.write("  weight  [raters like these]  [exactly these raters]")
            for place, (item, weight) in enumerate(zip(one["items"], one["weights"], strict=True)):
                floored = "  at the floor" if item in one["at_floor"] else ""
                ends = f"{such[place] if such else '–':15}  {these[place] if these else '–':15}"
                self.stdout.write(f"  {weight:6.2f}  {ends}  (raw {one['raw_weights'][place]:.4f})  {item}{floored}")
            reasons = [
                f"{dropped:,} because {why}"
                for dropped, why in (
                    (one["dropped_incomplete"], "an item or the overall score was not answered"),
                    (one["dropped_not_applicable"], "an item did not apply"),
                )
                if dropped
            ]
            if reasons:
                self.stdout.write(f"  Answers left out: {'; '.join(reasons)}.")
            for code in one["warnings"]:
                self.stdout.write(f"  {warning_sentence(code)}")
        for category, answers in payload["settings"].get("skipped", {}).items():
            self.stdout.write(f"\n{category}: left out because {answers} complete answers are fewer than its items.")
        if repeated:
            self.stdout.write("\nEvery figure is the same, to the last digit.")
