"""Writing a study's paper into a folder: text, tables, figures, references, and how to compute it all again."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

from django.utils.translation import gettext

from annotation.models import Study
from calibration.web.blocks import TABLE_FILES
from calibration.web.serving import FIGURE_FORMATS
from calibration.web.table_files import TABLE_FORMATS
from core.errors import UserError
from core.messages.message import Wording
from judging.paper.contents import Chapter, chapters
from judging.paper.latex import document
from judging.paper.methods import facts_of, limitations, methods_paragraph
from judging.paper.references import bibtex, cited

NOT_EMPTY = Wording("paper_folder_not_empty", "The folder %(folder)s is not empty; name a new or an empty folder.")
NOT_WRITABLE = Wording("paper_folder_not_writable", "The folder %(folder)s cannot be written: %(why)s.")
NO_RESULTS = Wording("paper_without_results", "The study %(study)s has no results yet, so there is nothing to write.")


def write_paper(study: Study, folder: Path, program: str) -> Iterator[str]:
    """Write the paper, and yield the title of each section when its files are written.

    `program` is how the commands of this installation begin. Raises UserError where the folder is not empty or cannot be
    written, and where the study has no results; nothing is left there then.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(NOT_EMPTY(folder=str(folder)))
    written: list[Chapter] = []
    try:
        for name in ("tables", "figures"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        for chapter in chapters(study):
            _write_files(folder, chapter)
            written.append(chapter)
            yield chapter.title
        if not written:
            raise UserError(NO_RESULTS(study=study.slug))
        _write_text(study, folder, written, program)
    except OSError as error:
        raise UserError(NOT_WRITABLE(folder=str(folder), why=error.strerror or str(error))) from error
    finally:
        if not written:
            _remove(folder)


def _write_files(folder: Path, chapter: Chapter) -> None:
    for block in chapter.page.blocks:
        stem = f"{chapter.key}-{block.key}"
        if block.table and block.table.rows:
            for suffix, _name in TABLE_FILES:
                (folder / "tables" / f"{stem}.{suffix}").write_text(TABLE_FORMATS[suffix](block.table), "utf-8")
        if block.figure:
            for suffix, drawn in FIGURE_FORMATS.items():
                _write(folder / "figures" / f"{stem}.{suffix}", drawn, block.figure)


def _write(path: Path, drawn: Callable[[str], str | bytes], figure: str) -> None:
    content = drawn(figure)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def _write_text(study: Study, folder: Path, written: list[Chapter], program: str) -> None:
    facts = facts_of(study)
    numbers, others = cited(source for chapter in written for source in chapter.page.sources)
    title = study.name or study.slug
    methods, limits = methods_paragraph(study, facts), limitations(study, facts)
    if others:
        methods.append(gettext("Further sources of the methods: %(sources)s.") % {"sources": "; ".join(others)})
    words = {"methods": gettext("Methods"), "limitations": gettext("Limitations"), "results": gettext("Results")}
    (folder / "main.tex").write_text(document(title, methods, limits, written, words), "utf-8")
    (folder / "references.bib").write_text(bibtex(numbers), "utf-8")
    (folder / "facts.json").write_text(json.dumps(vars(facts), ensure_ascii=False, indent=1) + "\n", "utf-8")
    (folder / "README.md").write_text(_readme(study, title, program), "utf-8")


def _readme(study: Study, title: str, program: str) -> str:
    lines = [
        f"# {title}",
        gettext("Compile the text with:"),
        "    pdflatex main && bibtex main && pdflatex main && pdflatex main",
        gettext("If the tables hold Chinese or other scripts, use xelatex in place of pdflatex."),
        gettext(
            "Every table stands in tables/ as CSV with all digits, JSON, LaTeX and Markdown, every figure in figures/ as "
            "SVG, PNG and PDF. Long and wide tables are in the files only."
        ),
        gettext("Write this folder again from the same database with:"),
        f"    {program} paper {study.slug} FOLDER",
        gettext("The archive of the study, from the page Export, gives every number again with:"),
        f"    {program} recompute FILE",
    ]
    return "\n\n".join(lines) + "\n"


def _remove(folder: Path) -> None:
    for name in ("tables", "figures"):
        for path in (folder / name).glob("*"):
            path.unlink()
        if (folder / name).is_dir():
            (folder / name).rmdir()
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
