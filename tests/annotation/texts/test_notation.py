r"""Chemistry and units as models write them, with mhchem and siunitx, are typeset and do not come out raw."""

import re
import time

import pytest

from annotation.texts.notation import spelled_out
from annotation.texts.rendering import render_text, text_map

WRITTEN = [
    (r"\ce{2H2 + O2 -> 2H2O}", r"{2\,\mathrm{H}_{2} + \mathrm{O}_{2} \rightarrow  2\,\mathrm{H}_{2}\mathrm{O}}"),
    (r"\ce{SO4^2-}", r"{\mathrm{SO}_{4}^{2-}}"),
    (r"\ce{HCO3-}", r"{\mathrm{HCO}_{3}^{-}}"),
    (r"\ce{A ->[heat] B}", r"{\mathrm{A} \xrightarrow{\mathrm{heat}}  \mathrm{B}}"),
    (r"\SI{9.81}{\metre\per\second\squared}", r"9.81\,\mathrm{m}\,\mathrm{s}^{-2}"),
    (r"\qty{5}{kg.m/s^2}", r"5\,\mathrm{kg\,m/s^2}"),
    (r"\si{\kilo\metre\per\hour}", r"\mathrm{km}\,\mathrm{h}^{-1}"),
    (r"\SI{1}{\newton\per\square\metre}", r"1\,\mathrm{N}\,\mathrm{m}^{-2}"),
    (r"\SI{5}{\%}", r"5\,\mathrm{\%}"),
    (r"\pu{9.8 m/s^2}", r"9.8\,\mathrm{m/s^2}"),
    (r"\num{6.02e23}", r"6.02\times 10^{23}"),
    (r"\ang{45}", r"45^{\circ}"),
    (r"\ch{H2O}", r"{\mathrm{H}_{2}\mathrm{O}}"),
    (r"\SIrange{1}{2}{\metre}", r"1\text{–}2\,\mathrm{m}"),
    (r"\numrange{1e3}{2e3}", r"1\times 10^{3}\text{–}2\times 10^{3}"),
    (r"25\,\celsius", r"25\,{^{\circ}\text{C}}"),
    (r"5\,\micro\ohm", r"5\,\mu \Omega "),
]


@pytest.mark.parametrize(("written", "spelled"), WRITTEN)
def test_what_is_written_is_spelled_out_and_typeset(written, spelled):
    assert spelled_out(written) == spelled
    html = str(render_text(f"It is ${written}$ here.").blocks[0])
    assert "<math" in html
    shown = re.sub(r"<[^>]*>", "", html)
    assert not re.search(r"\\|ce|SI|qty|squared|metre", shown.removesuffix(" here.</p>").replace(" here.", ""))


@pytest.mark.parametrize("written", [r"\ce{H2O", r"\SI{5}", r"\centerdot x", r"\sin x", r"\ce", r"a_{\text{ce}}", ""])
def test_what_is_not_such_a_command_stays(written):
    assert spelled_out(written) == written


@pytest.mark.parametrize("formula", [r"\mathrm{H}_2", r"\ce{H2}", r"\SI{1}{\metre}", r"\mathrm{d}x", r"\text{L}"])
def test_letters_of_chemistry_and_units_stand_upright(formula):
    html = "".join(render_text(f"Here: ${formula}$").blocks)
    assert re.search(r"<mtext>[HmdL]</mtext>", html)


def test_a_quotation_of_a_formula_is_the_whole_formula_as_it_was_written():
    text = r"Water is $\ce{H2O}$ and wet."
    shown = text_map(text)
    start = len("Wateris")
    assert text[slice(*shown.source_span(start, start + 1))] == r"$\ce{H2O}$"


@pytest.mark.parametrize("piece", [r"\ce{", r"\SI{1}", r"\ce{A", r"\si{\per", "{", r"\qty[", r"\ce{^", r"\num{1e"])
def test_hostile_formulas_are_quick_and_safe(piece):
    started = time.perf_counter()
    spelled_out(piece * (2000 // len(piece)))
    html = "".join(render_text(f"${piece * 200}<script>alert(1)</script>$").blocks)
    assert time.perf_counter() - started < 5
    assert "<script" not in html
