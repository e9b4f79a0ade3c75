from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
import tomllib
from collections.abc import Generator
from importlib.resources import files as resources
from pathlib import Path

import httpx
import pytest

from mnemic.adapters import explorer
from tests.adapters.http.interfaces import Interface, interface

FOLDER = resources(explorer)
VENDOR = tomllib.loads(FOLDER.joinpath("vendor", "vendor.toml").read_text(encoding="utf-8"))
BEFORE_THE_GRAPH_MAX = 100_000
GRAPH_ONLY = frozenset({"sigma.js", "graphology.js"})


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Generator[Interface]:
    with interface(tmp_path_factory.mktemp("page")) as it:
        yield it


def page(served: Interface, path: str, **headers: str) -> httpx.Response:
    """Ask for a file of the page without a token."""
    return served.ask("GET", path, headers={"authorization": "", **headers})


@pytest.mark.parametrize("name", sorted(VENDOR))
def test_a_library_is_the_one_of_its_package(name: str) -> None:
    body = FOLDER.joinpath("vendor", name).read_bytes()
    digest = base64.b64encode(hashlib.sha384(body).digest()).decode()
    entry = VENDOR[name]
    assert entry["sha384"] == digest
    assert {"package", "version", "path", "license"} <= set(entry)
    for each in entry["licenses"]:
        assert "copyright" in FOLDER.joinpath("vendor", each).read_text().lower()


def test_every_vendored_file_is_listed() -> None:
    found = {each.name for each in FOLDER.joinpath("vendor").iterdir()}
    licenses = {each for entry in VENDOR.values() for each in entry["licenses"]}
    assert found == {*VENDOR, *licenses, "vendor.toml"}


def test_the_page_is_small_before_the_graph() -> None:
    sizes = {name: len(each.compressed) for name, each in explorer.files().items()}
    assert (
        sum(size for name, size in sizes.items() if name not in GRAPH_ONLY) < BEFORE_THE_GRAPH_MAX
    )
    for each in explorer.files().values():
        assert gzip.decompress(each.compressed) == each.body


def test_the_import_map_is_the_only_inline_script_and_its_digest_is_in_the_policy() -> None:
    text = explorer.files()["index.html"].body.decode()
    scripts = re.findall(r"<script([^>]*)>(.*?)</script>", text, re.DOTALL)
    assert [attributes for attributes, body in scripts if body] == [' type="importmap"']
    (imports,) = (body for _, body in scripts if body)
    names = {each.removeprefix("./") for each in json.loads(imports)["imports"].values()}
    assert names <= set(explorer.files())
    digest = base64.b64encode(hashlib.sha256(imports.encode()).digest()).decode()
    policy = explorer.security_headers()["content-security-policy"]
    assert f"'sha256-{digest}'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert not re.search(r"\son\w+=|style=|javascript:", text)


@pytest.mark.parametrize("name", sorted(explorer.files()))
def test_no_module_sets_markup_or_evaluates_text(name: str) -> None:
    if name in VENDOR:
        return
    text = explorer.files()[name].body.decode()
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|eval\(|Function\(|document\.write", text
    )
    assert "dangerouslySetInnerHTML" not in text


def test_the_files_are_served_without_a_token_and_nothing_else_is(served: Interface) -> None:
    found = page(served, "/explore/")
    assert found.status_code == 200
    assert found.headers["content-type"] == "text/html; charset=utf-8"
    for name, value in explorer.security_headers().items():
        assert found.headers[name] == value
    for name, each in explorer.files().items():
        answer = page(served, f"/explore/{name}", **{"accept-encoding": "identity"})
        assert (answer.status_code, answer.content) == (200, each.body)
    for name in ("vendor.toml", "..%2Ffiles.py", "__init__.py", "page"):
        assert page(served, f"/explore/{name}").status_code == 404
    assert page(served, "/v1/spaces").status_code == 401


def test_a_file_is_compressed_for_those_who_take_it_and_not_sent_twice(served: Interface) -> None:
    plain = page(served, "/explore/app.js", **{"accept-encoding": "identity"})
    packed = page(served, "/explore/app.js", **{"accept-encoding": "gzip"})
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.content == plain.content  # the client decompresses
    again = page(served, "/explore/app.js", **{"if-none-match": plain.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_the_address_without_a_slash_leads_to_the_page(served: Interface) -> None:
    found = page(served, "/explore?space=a%20b&at=7")
    assert (found.status_code, found.headers["location"]) == (307, "explore/?space=a%20b&at=7")


def test_the_wheel_will_hold_every_file() -> None:
    folder = Path(str(FOLDER))
    assert {each.name for each in folder.rglob("*.js")} <= set(explorer.files())


def test_the_icon_is_kept_since_browsers_ask_for_it_at_every_step(served: Interface) -> None:
    assert "max-age=" in page(served, "/explore/icon.svg").headers["cache-control"]
    assert page(served, "/explore/app.js").headers["cache-control"] == "no-cache"
