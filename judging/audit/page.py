"""An audit as one self-contained HTML page: no script, no address, and every text of the file escaped. PURE."""

from html import escape

from judging.audit import messages
from judging.audit.languages import Language, visible
from judging.audit.report import AuditReport
from judging.audit.sections import Section, agreement_figure, bias_figure, sections, verdict

POLICY = "default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'"
STYLE = """
:root { color-scheme: light dark; --ink: #1f2328; --paper: #fff; --mark: #9a3412; --edge: #d0d7de }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --paper: #0d1117; --mark: #fdba74; --edge: #30363d } }
body { margin: 2rem auto; padding: 0 1rem; max-width: 48rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, "Noto Sans", "Noto Sans CJK SC", sans-serif; overflow-wrap: anywhere }
h1 { font-size: 1.5rem; line-height: 1.25 } h2 { font-size: 1.15rem; margin-top: 2rem }
.verdict { font-size: 1.1rem; font-weight: 600; border-left: .25rem solid var(--edge); padding-left: .75rem }
.finding, .verdict.finding { border-color: var(--mark) } li { margin: .5rem 0 }
li.finding { list-style: none; margin-left: -1rem; padding-left: .75rem; border-left: .25rem solid var(--mark) }
figure { margin: 1rem 0 } svg { display: block; width: 100%; overflow: visible }
svg text { font-family: inherit }
"""


def html_page(report: AuditReport, language: Language) -> str:
    """The whole page in one language."""
    title = _safe(language.text(messages.TITLE(file=report.file)))
    figures = {
        messages.AGREEMENT.code: agreement_figure(report, language),
        messages.TESTS.code: bias_figure(report, language),
    }
    body = "".join(_section(section, figures.get(section.title.code, ""), language) for section in sections(report))
    mark = "verdict finding" if report.findings else "verdict"
    return (
        f'<!doctype html>\n<html lang="{language.code}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n"
        f'<p class="{mark}">{_safe(language.text(verdict(report)))}</p>\n{body}</main>\n</body>\n</html>\n'
    )


def _section(section: Section, figure: str, language: Language) -> str:
    lines = "".join(
        _line(_safe(language.text(sentence)), place in section.findings)
        for place, sentence in enumerate(section.sentences)
    )
    drawn = f"<figure>{figure}</figure>\n" if figure else ""
    return f"<section>\n<h2>{_safe(language.text(section.title))}</h2>\n{drawn}<ul>\n{lines}</ul>\n</section>\n"


def _line(text: str, finding: bool) -> str:
    return f'<li class="finding">{text}</li>\n' if finding else f"<li>{text}</li>\n"


def _safe(text: str) -> str:
    return escape(visible(text))
