"""The part of the Python client that is generated from the schema of the API: types of all that is sent and returned
(by datamodel-code-generator), and a method for each operation.

    tests/client_code.py            say whether plumbline/client/generated/ is of the current schema
    tests/client_code.py --update   write it
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from textwrap import fill

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "plumbline" / "client" / "generated"
PROGRAMS = Path(sys.executable).parent
WIDTH = 120
PREFIX = "/api/v1/"
OWN = {"cursor", "page", "size"}
"""Parameters that the transport sets by itself."""
PLAIN = {
    "string": 'str = ""',
    "integer": "int | None = None",
    "number": "float | None = None",
    "boolean": "bool = False",
    "array": "Sequence[str] = ()",
}
HEAD = '''"""{what} of the API. Written by tests/client_code.py; do not change it by hand."""

'''


def schema() -> dict:
    """Return the schema as the server serves it."""
    import django

    sys.path.insert(0, str(ROOT))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from django.utils import translation
    from drf_spectacular.generators import SchemaGenerator

    with translation.override("en"):
        return json.loads(json.dumps(SchemaGenerator().get_schema(request=None, public=True), default=str))


def generated() -> dict[str, str]:
    """Return the content of each generated file by its name."""
    found = schema()
    return {"shapes.py": _formatted(_shapes(found)), "operations.py": _formatted(_operations(found))}


def _shapes(found: dict) -> str:
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "schema.json", Path(folder) / "shapes.py"
        source.write_text(json.dumps(found))
        options = "--input-file-type openapi --output-model-type typing.TypedDict --target-python-version 3.11"
        options += " --formatters builtin --strict-nullable --collapse-root-models --use-schema-description"
        options += " --disable-timestamp --custom-file-header #"
        command = [str(PROGRAMS / "datamodel-codegen"), "--input", str(source), "--output", str(target)]
        subprocess.run([*command, *options.split()], check=True)
        text = target.read_text()
    return HEAD.format(what="What is sent to and returned by the addresses") + text[text.index("from __future__") :]


def _operations(found: dict) -> str:
    methods = [
        _method(path.removeprefix(PREFIX), method.upper(), operation)
        for path, operations in found["paths"].items()
        for method, operation in operations.items()
    ]
    return (
        HEAD.format(what="A method for each operation")
        + "from collections.abc import Iterator, Mapping, Sequence\nfrom typing import Any, Literal\n\n"
        + "from plumbline.client.generated import shapes\n"
        + "from plumbline.client.transport import Download, Transport, address\n\n\n"
        + 'class Operations:\n    """The operations by their names in the schema; lists are read page by page."""\n\n'
        + "    def __init__(self, transport: Transport) -> None:\n        self._transport = transport\n\n"
        + "\n\n".join(sorted(methods))
    )


def _method(path: str, verb: str, operation: dict) -> str:
    parameters = operation.get("parameters", [])
    parts = re.findall(r"{(\w+)}", path)
    of_path = {one["name"]: one["schema"] for one in parameters if one["in"] == "path"}
    headers = {one["name"] for one in parameters if one["in"] == "header"}
    query = [one for one in parameters if one["in"] == "query" and one["name"] not in OWN]
    paged = any(one["in"] == "query" and one["name"] in ("cursor", "page") for one in parameters)
    takes = ["self", *(f"{name}: {_type(of_path[name])}" for name in parts)]
    content = operation.get("requestBody", {}).get("content", {})
    sends = next(iter(content), None)
    if sends:
        takes.append(_body(content[sends].get("schema", {})))
    named = [f"{_name(one)}: {_given(one)}" for one in query]
    named += ["unchanged: bool = False"] if "If-Match" in headers else []
    takes += ["*", *named] if named else []
    returns = _returned(operation["responses"], paged=paged)
    form = re.sub(r"{\w+}", "{}", path)
    place = f'address("{form}", {", ".join(parts)})' if parts else f'"{path}"'
    asked = "{" + ", ".join(f'"{one["name"]}": {_name(one)}' for one in query) + "}" if query else ""
    if paged or returns == "Download":
        call = f"self._transport.{'rows' if paged else 'download'}({place}{', ' + asked if asked else ''})"
    else:
        given = [f'"{verb}"', place, *([f"query={asked}"] if asked else []), *(["body=body"] if sends else [])]
        given += ["keyed=True"] if "Idempotency-Key" in headers else []
        given += ["unchanged=unchanged"] if "If-Match" in headers else []
        call = f"self._transport.answer({', '.join(given)})"
    told = operation["description"].replace("\\", "").split("\n\n")
    words = [" ".join(part.split()) for part in told if part.strip()]
    lines = "\n\n".join(fill(part, WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 8) for part in words)
    body = f"        {call}" if returns == "None" else f"        answered: {returns} = {call}\n        return answered"
    close = '"""' if len(words) == 1 and len(words[0]) < WIDTH - 14 else '\n        """'
    return (
        f"    def {operation['operationId']}({', '.join(takes)}) -> {returns}:\n"
        f'        """{lines.strip()}{close}\n{body}\n'
    )


def _name(parameter: dict) -> str:
    return "as_" if parameter["name"] == "as" else parameter["name"]


def _given(parameter: dict) -> str:
    """Return the type of a parameter with its default, which leaves it out."""
    described = parameter["schema"]
    if parameter.get("required"):
        return _type(described)
    if "enum" in described and described["type"] == "string":
        return f'{_literal(["", *described["enum"]])} = ""'
    return PLAIN[described["type"]]


def _type(described: dict) -> str:
    if "enum" in described:
        return _literal(described["enum"])
    return "int" if described["type"] == "integer" else "str"


def _literal(values: list) -> str:
    return f"Literal[{', '.join(json.dumps(value) for value in values)}]"


def _body(described: dict) -> str:
    if described.get("format") == "binary":
        return "body: bytes"
    if "$ref" not in described:
        return "body: Mapping[str, Any]"
    return f"body: {_shape(described)}"


def _shape(described: dict) -> str:
    return f"shapes.{described['$ref'].rpartition('/')[2]}"


def _returned(responses: dict, *, paged: bool) -> str:
    """Return the type of the answers of status 200 to 299; a download waits for a file that is not there yet."""
    found = []
    for status, response in sorted(responses.items()):
        if status.startswith("2"):
            content = response.get("content", {})
            found.append(_answered(content, paged=paged) if content else "None")
    return "Download" if "Download" in found else " | ".join(dict.fromkeys(found))


def _answered(content: dict, *, paged: bool) -> str:
    if content.keys() - {"application/json"}:
        return "Download"
    described = content["application/json"]["schema"]
    if paged:
        return f"Iterator[{_shape(described['properties']['results']['items'])}]"
    if described.get("type") == "array":
        return f"list[{_shape(described['items'])}]"
    return _shape(described) if "$ref" in described else "dict[str, Any]"


def _formatted(text: str) -> str:
    ruff, place = str(PROGRAMS / "ruff"), ["--stdin-filename", str(FOLDER / "formatted.py")]
    for command in (["check", "--fix-only", "--quiet", "--select", "I,UP,F401"], ["format", "--quiet"]):
        done = subprocess.run(
            [ruff, *command, *place], input=text, capture_output=True, text=True, cwd=ROOT, check=True
        )
        text = done.stdout
    return text


def main() -> None:
    wanted = generated()
    if "--update" in sys.argv:
        FOLDER.mkdir(parents=True, exist_ok=True)
        (FOLDER / "__init__.py").touch()
        for name, text in wanted.items():
            (FOLDER / name).write_text(text)
        return
    old = [name for name, text in wanted.items() if (FOLDER / name).read_text() != text]
    if old:
        sys.exit(f"{', '.join(old)} is not of the current schema; run make client.")
    print("The generated part of the client is of the current schema.")


if __name__ == "__main__":
    main()
