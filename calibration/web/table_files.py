"""The files of a result page: tables as CSV, JSON and LaTeX, the whole page as JSON, and tables as Markdown."""

import io
import json
from collections.abc import Callable, Mapping
from math import isnan
from typing import Any

from calibration.reports.codec import plain
from calibration.web.blocks import Block, ResultPage, Table
from core.tables.formula_cells import CsvWriter

LATEX_SIGNS = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "–": "--",
    "†": r"$\dagger$",
    "−": "$-$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "∞": r"$\infty$",
    "→": r"$\to$",
    "²": "$^2$",
    "ε": r"$\varepsilon$",
    **{
        sign: rf"$\{name}$"
        for sign, name in {
            **{"α": "alpha", "β": "beta", "κ": "kappa", "λ": "lambda", "μ": "mu", "π": "pi", "ρ": "rho"},
            **{"σ": "sigma", "τ": "tau", "χ": "chi", "ω": "omega", "Δ": "Delta", "Σ": "Sigma"},
        }.items()
    },
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}


def as_csv(table: Table) -> str:
    """Return every row with every digit. Text that a spreadsheet would run as a formula gets an apostrophe."""
    out = io.StringIO()
    writer = CsvWriter(out)
    writer.writerow(column.label for column in table.columns)
    for row in table.rows:
        writer.writerow(row)
    return "\ufeff" + out.getvalue()


def as_latex(table: Table) -> str:
    """Return every row as a `tabular` of the booktabs package, with the columns and digits that the page shows."""
    columns, places = table.shown_columns, table.shown_places
    shape = "".join("l" if column.digits is None else "r" for column in columns)
    lines = [rf"\begin{{tabular}}{{{shape}}}", r"\toprule", _latex_row([column.label for column in columns])]
    lines.append(r"\midrule")
    lines += [
        _latex_row([column.shown(row[place]) for place, column in zip(places, columns, strict=True)])
        for row in table.rows
    ]
    lines += [r"\bottomrule", r"\end{tabular}"]
    caption = [f"% {' '.join(table.caption.split())}"] if table.caption else []
    return "\n".join([*caption, *lines]) + "\n"


def as_json(table: Table) -> str:
    """Return the columns' labels and every row with its exact values."""
    return _dumped(_table_values(table))


def as_markdown(table: Table) -> str:
    """Return every row as a table of GitHub's Markdown, with the columns and digits that the page shows."""
    columns, places = table.shown_columns, table.shown_places
    lines = [_markdown_row([column.label for column in columns])]
    lines.append(_markdown_row(["---" if column.digits is None else "---:" for column in columns]))
    lines += [
        _markdown_row([column.shown(row[place]) for place, column in zip(places, columns, strict=True)])
        for row in table.rows
    ]
    return "\n".join(lines) + "\n"


TABLE_FORMATS: Mapping[str, Callable[[Table], str]] = {
    "csv": as_csv,
    "json": as_json,
    "tex": as_latex,
    "md": as_markdown,
}


def page_as_json(page: ResultPage, freshness: Mapping[str, object]) -> str:
    """Return what the page says as the text of a JSON file."""
    return _dumped(page_values(page, freshness))


def page_values(page: ResultPage, freshness: Mapping[str, object]) -> dict[str, object]:
    """Return the page's answer, its freshness, every block's words and exact values, and the sources of its method.

    `failed_judges` stands there only if a judge failed its canary texts.
    """
    return {
        "title": page.title,
        "answer": page.opening,
        **freshness,
        **({"failed_judges": list(page.failed)} if page.failed else {}),
        "blocks": [_block_values(block) for block in page.blocks],
        "sources": list(page.sources),
    }


def _block_values(block: Block) -> dict[str, object]:
    return {
        "key": block.key,
        "title": block.title,
        "answer": block.answer,
        "caption": block.caption,
        "notes": list(block.notes),
        "reason": block.reason,
        "table": _table_values(block.table) if block.table else None,
    }


def _table_values(table: Table) -> dict[str, object]:
    rows = [[_json_value(value) for value in row] for row in table.rows]
    return {"columns": [column.label for column in table.columns], "rows": rows}


def _json_value(value: Any) -> Any:
    """Return a number or text as JSON carries it; what is not a number is null."""
    value = plain(value)
    return None if isinstance(value, float) and isnan(value) else value


def _dumped(values: Any) -> str:
    return json.dumps(values, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def _markdown_row(cells: list[str]) -> str:
    plain = [" ".join(cell.split()).replace("\\", "\\\\").replace("|", "\\|") for cell in cells]
    return f"| {' | '.join(plain)} |"


def _latex_row(cells: list[str]) -> str:
    return " & ".join(map(latex_words, cells)) + r" \\"


def latex_words(text: str) -> str:
    """Return text on one line, with every sign that LaTeX reads as a command escaped."""
    return "".join(LATEX_SIGNS.get(sign, sign) for sign in " ".join(text.split()))
