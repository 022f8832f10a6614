"""A page's figures and tables as files of the API, beside those that the page itself serves."""

MAGIC = {"image/svg+xml": b"<svg", "image/png": b"\x89PNG", "application/pdf": b"%PDF"}
WHOLE = "page.json"


def check_files(client, address, page, asked=None, *, asked_of_page=None, without=()):
    """Return the names of the files that the API lists after `address`, each of which is the page's own file.

    `asked` are the choices of the address, and `asked_of_page` those of the page where it calls them otherwise. Of
    figures, only the first PNG and the first PDF are drawn, and only looked at; files in `without` are not compared.
    """
    answer = client.get(f"{address}files/", asked)
    assert answer.status_code == 200, answer.content
    listed, drawn = answer.json()["files"], set()
    assert len({one["name"] for one in listed}) == len(listed)
    for one in listed:
        name, kind = one["name"], one["type"]
        if kind in drawn:
            continue
        file = client.get(f"{address}files/{name}/", asked, headers={"Accept": kind})
        assert file.status_code == 200, (name, file.content)
        assert file["Content-Type"].partition(";")[0] == kind and one["title"] is not None
        assert file.content.startswith(MAGIC.get(kind, b"")), name
        if kind in ("image/png", "application/pdf"):
            drawn.add(kind)
        elif name not in without:
            own = client.get(page, {**((asked if asked_of_page is None else asked_of_page) or {}), "file": name})
            assert (own.status_code, own.content) == (200, file.content), name
            assert own["Content-Disposition"] == file["Content-Disposition"]
    missing = client.get(f"{address}files/nothing.svg/", asked)
    assert missing.status_code == 404 and "no such file" in missing.json()["detail"]
    return [one["name"] for one in listed]
