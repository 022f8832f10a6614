r"""Chemical formulas and units in LaTeX, spelled out in the commands that the MathML converter knows.

Models write \ce{H2O} (mhchem) and \SI{9.81}{\metre\per\second\squared} (siunitx), which are packages and not LaTeX
itself. What is not understood inside them is shown as upright text. Reads each character a few times at most.
"""

import re
from collections.abc import Callable

LONGEST_ARGUMENT = 400
_COMMAND = re.compile(r"\\(ce|ch|pu|SIrange|qtyrange|SI|si|qty|unit|numrange|num|ang)(?![A-Za-z])")
_ARGUMENTS = {"SI": 2, "qty": 2, "numrange": 2, "SIrange": 3, "qtyrange": 3}
_SYMBOL = re.compile(r"\\(degreeCelsius|celsius|perthousand|ohm|micro)(?![A-Za-z])")
_SYMBOLS = {
    **{"celsius": r"{^{\circ}\text{C}}", "degreeCelsius": r"{^{\circ}\text{C}}"},
    **{"perthousand": r"\text{‰}", "ohm": r"\Omega ", "micro": r"\mu "},
}
_UPRIGHT_LETTER = re.compile(r"\\mathrm\s*\{\s*([A-Za-z])\s*\}")
_OPTIONS = re.compile(r"\s*\[[^\[\]]{0,200}\]")
_ARROWS = {"<=>": r"\rightleftharpoons ", "<->": r"\leftrightarrow ", "->": r"\rightarrow ", "<-": r"\leftarrow "}
_SPECIES = re.compile(
    r"(?P<space>\s+)|(?P<arrow>(?:<=>|<->|->|<-)(?:\[[^\[\]]{0,40}\])?)|(?P<state>\((?:aq|s|l|g)\))|(?P<element>[A-Za-z]+)|(?P<digits>\d+(?:\.\d+)?)"
    r"|(?P<charge>\^\{[^{}]{0,20}\}|\^\d*[+-]|\^\d+)|(?P<sub>_\{[^{}]{0,20}\}|_\w)|(?P<sign>[+-])|(?P<dot>[*.·])"
    r"|(?P<bond>[=#])|(?P<bracket>[()\[\]])|(?P<other>.)",
    re.DOTALL,
)
_UNIT_WORD = re.compile(r"\\([A-Za-z]+)\s*|(?P<plain>(?:[^\\]|\\[^A-Za-z])+)")
_NUMBER_AHEAD = re.compile(r"\s*([+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*(.*)", re.DOTALL)
_DOT = re.compile(r"(?<=[A-Za-z])\.(?=[A-Za-z])")
_PREFIXES = {
    **{"pico": "p", "nano": "n", "micro": "µ", "milli": "m", "centi": "c", "deci": "d"},
    **{"kilo": "k", "mega": "M", "giga": "G", "tera": "T"},
}
_UNITS = {
    **{"metre": "m", "meter": "m", "second": "s", "gram": "g", "kilogram": "kg", "ampere": "A", "kelvin": "K"},
    **{"mole": "mol", "candela": "cd", "hertz": "Hz", "newton": "N", "pascal": "Pa", "joule": "J", "watt": "W"},
    **{"coulomb": "C", "volt": "V", "farad": "F", "ohm": "Ω", "siemens": "S", "tesla": "T", "henry": "H"},
    **{"lumen": "lm", "lux": "lx", "becquerel": "Bq", "gray": "Gy", "sievert": "Sv", "litre": "L", "liter": "L"},
    **{"celsius": "°C", "degreeCelsius": "°C", "degree": "°", "percent": r"\%", "minute": "min", "hour": "h"},
    **{"day": "d", "tonne": "t", "hectare": "ha", "bar": "bar", "electronvolt": "eV", "dalton": "Da", "radian": "rad"},
    **{"atm": "atm", "angstrom": "Å", "molar": "M", "km": "km", "cm": "cm", "mm": "mm", "kg": "kg", "mg": "mg"},
}
_POWERS = {"squared": "2", "cubed": "3"}
_POWERS_AHEAD = {"square": "2", "cubic": "3"}


def spelled_out(tex: str) -> str:
    """Return the formula without commands of mhchem and siunitx; unchanged where it has none or one is not closed."""
    pieces: list[str] = []
    at = 0
    while found := _COMMAND.search(tex, at):
        name, after = found[1], found.end()
        arguments = []
        for _ in range(_ARGUMENTS.get(name, 1)):
            read = _argument(tex, after)
            if read is None:
                break
            arguments.append(read[0])
            after = read[1]
        else:
            pieces += [tex[at : found.start()], _WRITERS[name](*arguments)]
            at = after
            continue
        pieces.append(tex[at : found.end()])
        at = found.end()
    return _SYMBOL.sub(lambda symbol: _SYMBOLS[symbol[1]], "".join([*pieces, tex[at:]]))


def upright(tex: str) -> str:
    r"""Return the formula with \text{m} for \mathrm{m}: the converter to MathML makes a single letter slanted."""
    return _UPRIGHT_LETTER.sub(r"\\text{\1}", tex)


def _argument(tex: str, at: int) -> tuple[str, int] | None:
    """Return what stands in the braces at this place, after options in brackets, and the offset behind them."""
    options = _OPTIONS.match(tex, at)
    start = options.end() if options else at
    while start < len(tex) and tex[start].isspace():
        start += 1
    if not tex.startswith("{", start):
        return None
    depth = 0
    for place in range(start, min(len(tex), start + LONGEST_ARGUMENT)):
        depth += {"{": 1, "}": -1}.get(tex[place], 0)
        if depth == 0:
            return tex[start + 1 : place], place + 1
    return None


def _chemistry(written: str) -> str:
    """Write a chemical equation: 2H2 + O2 -> 2H2O, SO4^2-, Na+, (aq)."""
    out: list[str] = []
    before = ""
    for token in _SPECIES.finditer(written):
        kind, text = str(token.lastgroup), token[0]
        out.append(_species(kind, text, before, written[token.end() : token.end() + 1]))
        before = kind
    return "{" + "".join(out) + "}"


def _species(kind: str, text: str, before: str, following: str) -> str:
    attached = before in ("element", "bracket", "digits", "sub", "charge")
    if kind == "space":
        return " "
    if kind == "arrow":
        arrow, _mark, label = text.rstrip("]").partition("[")
        if label and arrow == "->":
            return rf"\xrightarrow{{\mathrm{{{label}}}}} "
        return _ARROWS[arrow] + (rf"\mathrm{{({label})}}" if label else "")
    if kind in ("element", "state"):
        return rf"\mathrm{{{text}}}"
    if kind == "digits":
        return f"_{{{text}}}" if before in ("element", "bracket") else rf"{text}\,"
    if kind == "charge":
        return f"^{{{text[1:].strip('{}')}}}"
    if kind == "sub":
        return f"_{{{text[1:].strip('{}')}}}"
    if kind == "sign":
        return f"^{{{text}}}" if attached and not following.isalnum() else text
    return {"dot": r"\cdot ", "bond": r"\equiv " if text == "#" else "="}.get(kind, text)


def _unit(written: str) -> str:
    r"""Write a unit: \kilo\metre\per\hour as km h^-1, or its letters upright as they stand."""
    shown: list[str] = []
    prefix, ahead, sign = "", "", ""
    for word in _UNIT_WORD.finditer(written):
        name = word[1]
        if name is None:
            plain = _DOT.sub(r"\\,", word["plain"]).replace("~", " ").strip()
            shown += [rf"\mathrm{{{plain}}}"] if plain else []
        elif name == "per":
            sign = "-"
        elif name in _PREFIXES:
            prefix = _PREFIXES[name]
        elif name in _POWERS_AHEAD:
            ahead = _POWERS_AHEAD[name]
        elif name in _POWERS and shown:
            shown[-1] = _raised(shown[-1], _POWERS[name])
        else:
            unit = rf"\mathrm{{{prefix}{_UNITS.get(name, name)}}}"
            power = sign + (ahead or ("1" if sign else ""))
            shown.append(f"{unit}^{{{power}}}" if power else unit)
            prefix, ahead, sign = "", "", ""
    return r"\,".join(shown)


def _raised(unit: str, power: str) -> str:
    """Put a power behind a unit: after \\per the sign is kept."""
    return f"{unit.removesuffix('^{-1}')}^{{-{power}}}" if unit.endswith("^{-1}") else f"{unit}^{{{power}}}"


def _number(written: str) -> str:
    """Write a number: 6.02e23 as 6.02 times ten to the 23."""
    mantissa, mark, exponent = written.strip().replace("E", "e").partition("e")
    if not mark or not exponent.lstrip("+-").isdigit():
        return written.strip()
    return rf"{mantissa}\times 10^{{{exponent.lstrip('+')}}}"


def _quantity(number: str, unit: str) -> str:
    return rf"{_number(number)}\,{_unit(unit)}"


def _physical(written: str) -> str:
    found = _NUMBER_AHEAD.fullmatch(written)
    return _quantity(found[1], found[2]) if found else _unit(written)


def _range(low: str, high: str, unit: str = "") -> str:
    numbers = rf"{_number(low)}\text{{–}}{_number(high)}"
    return rf"{numbers}\,{_unit(unit)}" if unit else numbers


def _angle(written: str) -> str:
    return rf"{written.strip()}^{{\circ}}"


_WRITERS: dict[str, Callable[..., str]] = {
    "ce": _chemistry,
    "ch": _chemistry,
    "pu": _physical,
    "SI": _quantity,
    "qty": _quantity,
    "si": _unit,
    "unit": _unit,
    "num": _number,
    "SIrange": _range,
    "qtyrange": _range,
    "numrange": _range,
    "ang": _angle,
}
