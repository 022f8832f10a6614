"""The LaTeX of a paper: its text, and a table or a figure for each block of its pages. PURE."""

from collections.abc import Sequence

from calibration.web.blocks import Block
from calibration.web.table_files import latex_words
from judging.paper.contents import Chapter

HEAD = r"""\documentclass{article}
\usepackage{iftex}
\ifPDFTeX
  \usepackage[T1]{fontenc}
  \usepackage[utf8]{inputenc}
  \usepackage{textcomp}
\else
  \usepackage{fontspec}
  \IfFontExistsTF{Noto Serif CJK SC}{\usepackage{xeCJK}\setCJKmainfont{Noto Serif CJK SC}}{}
\fi
\usepackage[margin=2.5cm]{geometry}
\usepackage{amsmath}
\usepackage{booktabs}
\usepackage{longtable}
\usepackage{graphicx}
\usepackage{url}
"""
ROWS_IN_TEXT = 30
"""A longer table stands in its files only."""
COLUMNS_IN_TEXT = 12
WIDE = 5
"""A table of more columns is scaled to the width of the text."""


def document(
    title: str, methods: Sequence[str], limits: Sequence[str], chapters: Sequence[Chapter], words: dict[str, str]
) -> str:
    """Return main.tex. `words` are the headings: "methods", "limitations", "results"."""
    parts = [HEAD, rf"\title{{{latex_words(title)}}}", r"\date{}", r"\begin{document}", r"\maketitle"]
    parts += [rf"\section{{{latex_words(words['methods'])}}}", " ".join(map(latex_words, methods))]
    parts += [rf"\section{{{latex_words(words['limitations'])}}}", r"\begin{itemize}"]
    parts += [rf"  \item {latex_words(one)}" for one in limits]
    parts += [r"\end{itemize}", rf"\section{{{latex_words(words['results'])}}}"]
    for chapter in chapters:
        parts += [rf"\subsection{{{latex_words(chapter.title)}}}", latex_words(chapter.page.opening)]
        for block in chapter.page.blocks:
            parts += _block(chapter.key, block)
    parts += [
        r"\clearpage",
        r"\nocite{*}",
        r"\bibliographystyle{plain}",
        r"\bibliography{references}",
        r"\end{document}",
    ]
    return "\n".join(parts) + "\n"


def _block(key: str, block: Block) -> list[str]:
    stem, parts = f"{key}-{block.key}", []
    title = latex_words(block.title)
    title += "" if title.endswith(("?", "!", ".", "？")) else "."
    about = " ".join(latex_words(one) for one in (block.caption, *block.notes) if one)
    if block.answer:
        parts.append("\n" + latex_words(block.answer))
    if block.figure:
        parts += [
            r"\begin{figure}[htbp]",
            r"  \centering",
            rf"  \includegraphics[width=\linewidth]{{figures/{stem}.pdf}}",
            rf"  \caption{{{f'{title} {about}'.strip()}}}",
            r"\end{figure}",
        ]
    table = block.table
    if table and table.rows and len(table.rows) <= ROWS_IN_TEXT and len(table.shown_columns) <= COLUMNS_IN_TEXT:
        inside = rf"\input{{tables/{stem}.tex}}"
        wide = len(table.shown_columns) > WIDE
        parts += [
            r"\begin{table}[htbp]",
            r"  \centering",
            rf"  \caption{{{title if block.figure else f'{title} {about}'.strip()}}}",
            rf"  \resizebox{{\linewidth}}{{!}}{{{inside}}}" if wide else f"  {inside}",
            r"\end{table}",
        ]
    return parts
