"""A reader who clicks through pages by the words on them, without a script: links, buttons, fields and menus."""

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urljoin

from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


@dataclass
class Form:
    action: str
    method: str
    sent: dict[str, Any] = field(default_factory=dict)
    labels: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    """What choosing a label's words sends: fields with their values, '' where the value is typed or a menu's."""
    menus: dict[str, dict[str, str]] = field(default_factory=dict)
    """By field, the value of each choice's words."""


class _Page(HTMLParser):
    """The text of a page, its links by their words, and its buttons by theirs with the form that each sends."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text = ""
        self.links: list[tuple[str, str]] = []
        self.buttons: list[tuple[str, Form, dict[str, str]]] = []
        self.forms: list[Form] = []
        self._by_id: dict[str, Form] = {}
        self._form: Form | None = None
        self._open: list[tuple[str, dict[str, str], int]] = []
        self._fields: dict[str, tuple[Form, str, str]] = {}
        self._label_for: list[tuple[str, str]] = []
        self._select: tuple[Form, str] | None = None
        self._pending: list[tuple[str, dict[str, str], Form | None]] = []
        for found in re.findall(r"<form\b[^>]*>", html):
            attributes = dict(re.findall(r'([\w-]+)="([^"]*)"', found))
            form = Form(attributes.get("action", ""), attributes.get("method", "get"))
            self.forms.append(form)
            if "id" in attributes:
                self._by_id[attributes["id"]] = form
        self._next = iter(self.forms)
        self.feed(re.sub(r"(?s)<(script|style|template)\b.*?</\1>", "", html))
        self.text = " ".join(self.text.split())
        for words, identifier in self._label_for:
            if identifier in self._fields:
                form, name, value = self._fields[identifier]
                form.labels.setdefault(words, []).append((name, value))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._form = next(self._next)
        form = self._by_id.get(said.get("form", ""), self._form)
        if tag in ("input", "select", "textarea") and form is not None and said.get("name"):
            self._field(tag, said, form)
        if tag == "option" and self._select is not None and "selected" in said:
            self._select[0].sent[self._select[1]] = said.get("value", "")
        if tag not in VOID:
            self._open.append((tag, said, len(self.text)))
        if tag == "button":
            self._pending.append((tag, said, form))

    def _field(self, tag: str, said: dict[str, str], form: Form) -> None:
        name, kind, value = said["name"], said.get("type", "text"), said.get("value", "")
        choice = kind in ("radio", "checkbox")
        if choice:
            value = value or "on"
            if "checked" in said and "disabled" not in said:
                form.sent[name] = value
        elif kind not in ("submit", "file"):
            form.sent.setdefault(name, value)
        shown = value if choice else ""
        if "id" in said:
            self._fields[said["id"]] = (form, name, shown)
        for open_tag, attributes, _at in self._open:
            if open_tag == "label":
                attributes.setdefault("field", f"{len(self._fields)}-{name}")
                self._fields[attributes["field"]] = (form, name, shown)
        if tag == "select":
            self._select = (form, name)

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_endtag(self, tag: str) -> None:
        while self._open:
            name, said, at = self._open.pop()
            words = " ".join(self.text[at:].split())
            if name == "a" and "href" in said:
                self.links.append((said.get("aria-label", words), said["href"]))
            elif name == "button":
                _tag, attributes, form = self._pending.pop()
                if form is not None and attributes.get("type", "submit") == "submit":
                    own = {attributes["name"]: attributes.get("value", "")} if attributes.get("name") else {}
                    self.buttons.append((words, form, own))
            elif name == "label":
                self._label_for.append((words, said.get("for") or said.get("field", "")))
            elif name == "option" and self._select is not None:
                form, menu = self._select
                form.menus.setdefault(menu, {})[words] = said.get("value", words)
                form.sent.setdefault(menu, said.get("value", words))
            elif name == "select":
                self._select = None
            elif name == "form":
                self._form = None
            if name == tag:
                break
        self.text += " "


class Reader:
    """Somebody at a browser: `page` has the words of the page that is open, `html` its markup, `address` where it is.

    `seen` has the words of every page that was open.
    """

    def __init__(self) -> None:
        self.client, self.address, self.page, self.html = Client(), "", "", ""
        self.seen: list[str] = []
        self._read: _Page | None = None

    def open(self, address: str) -> None:
        self._shown(self.client.get(address, follow=True), address)

    def _shown(self, answer: Any, address: str) -> None:
        if answer.redirect_chain:
            address = urljoin(address, answer.redirect_chain[-1][0])
        assert answer.status_code == 200, f"{address}: {answer.status_code} {_Page(answer.content.decode()).text}"
        self.address, self.html = address, answer.content.decode()
        self._read = _Page(self.html)
        self.page = self._read.text
        self.seen.append(self.page)

    def follow(self, words: str) -> None:
        """Follow the link with these words, or whose words begin with them."""
        assert self._read is not None
        found = [href for said, href in self._read.links if said == words] or [
            href for said, href in self._read.links if said.startswith(words)
        ]
        assert found, f"{self.address} has no link {words!r}, but {[said for said, _href in self._read.links]}"
        self.open(urljoin(self.address, found[0]))

    def press(self, words: str, files: dict[str, tuple[str, bytes]] | None = None, **chosen: str) -> None:
        """Press the button with these words, with what was typed or chosen by the words of its label or by its name.

        The keyword `_` of `chosen` is no field: it is a label whose words say what is chosen.
        """
        assert self._read is not None
        found = [(form, own) for said, form, own in self._read.buttons if said == words]
        assert found, f"{self.address} has no button {words!r}, but {[said for said, *_rest in self._read.buttons]}"
        form, own = found[0]
        sent = {**form.sent, **own}
        for name, value in chosen.items():
            assert name in form.sent or name in {one for pairs in form.labels.values() for one, _value in pairs}, name
            sent[name] = form.menus.get(name, {}).get(value, value)
        for name, (filename, content) in (files or {}).items():
            sent[name] = SimpleUploadedFile(filename, content)
        address = urljoin(self.address, form.action)
        ask = self.client.post if form.method.lower() == "post" else self.client.get
        self._shown(ask(address, sent, follow=True), address)

    def chosen(self, *labels: str) -> dict[str, str]:
        """What choosing these labels sends, wherever the page offers them; each is the beginning of a choice's words."""
        assert self._read is not None
        found: dict[str, str] = {}
        for label in labels:
            pairs = [
                pair
                for form in self._read.forms
                for words, some in form.labels.items()
                for pair in some
                if words.startswith(label)
            ]
            assert pairs, f"{self.address} has no choice {label!r}"
            found |= dict(pairs)
        return found

    def has_link(self, words: str) -> bool:
        assert self._read is not None
        return any(said == words for said, _href in self._read.links)
