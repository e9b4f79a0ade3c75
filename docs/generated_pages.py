"""MkDocs hook that adds the reference pages that are derived from the code.

The operations come from their groups in the HTTP interface, the command line from the application
of cyclopts, the paths and schemas from the OpenAPI document, and the error codes from the
exceptions. So none of these pages can be out of date.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from cyclopts.docs.markdown import generate_markdown_docs
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from mnemic.adapters.cli.application import whole
from mnemic.adapters.cli.invocation.failures import failure
from mnemic.adapters.http.description.openapi import document
from mnemic.adapters.inprocess.registry import GROUPS, declarations
from mnemic.adapters.remote.errors import known

ROOT = Path(__file__).parent.parent
LAYERS = ("kernel", "projections", "adapters", "specs")
ADR = "adr/*"
SOURCES = ".tmp/site-sources"
"""Folder that the handler of mkdocstrings reads: the four portions of the package as one."""
DOCUMENTED = "mnemic.kernel.errors"
"""Module of errors with a page of its own; those of the interfaces are in the table alone."""
SHARED_OPTIONS = re.compile(r"\*\*Options of every command\*\*:\n\n(?:\* .*\n(?: +.*\n)*)+\n?")
INDENTED = re.compile(r"^(?: {4}.*\n)+", re.MULTILINE)

Schema = Mapping[str, Any]


def on_startup(**_: Any) -> None:
    """Link the portions of ``mnemic`` into one folder, since static analysis imports none of them.

    This has to happen before mkdocstrings reads its configuration, which drops missing folders.
    """
    package = ROOT / SOURCES / "mnemic"
    package.mkdir(parents=True, exist_ok=True)
    targets = {layer: ROOT / layer / "mnemic" / layer for layer in LAYERS}
    targets["__init__.py"] = ROOT / "kernel/mnemic/__init__.py"
    for name, target in targets.items():
        link = package / name
        if not link.exists():
            link.unlink(missing_ok=True)
            link.symlink_to(target)


def on_config(config: MkDocsConfig) -> None:
    """Replace ``adr/*`` in the navigation by all decision records, in numerical order."""
    records = [f"adr/{path.name}" for path in sorted((ROOT / "docs/adr").glob("0*.md"))]
    for section in config.nav or []:
        for entry in next(iter(section.values())):
            if isinstance(entry, dict) and ADR in next(iter(entry.values())):
                pages = next(iter(entry.values()))
                pages[pages.index(ADR) :] = records


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    for path, content in pages():
        files.append(File.generated(config, f"reference/{path}", content=content))
    return files


def pages() -> Iterator[tuple[str, str]]:
    """Yield every generated file: its path below ``reference/`` and its content."""
    description = document()
    operations = declarations()
    for group in GROUPS:
        names = [name for name, each in operations.items() if each.group == group]
        yield f"operations/{slug(group)}.md", operations_page(group, names)
    yield "error-codes.md", error_codes_page()
    yield "command-line.md", command_line_page()
    yield "http-paths.md", paths_page(description)
    yield "http-schemas.md", schemas_page(description)
    yield "openapi.json", json.dumps(description, indent=1)


def slug(title: str) -> str:
    """Return a title as the name of a file or an anchor."""
    return title.lower().replace(" ", "-")


# --- operations and errors ------------------------------------------------------------------------


def operations_page(group: str, names: Iterable[str]) -> str:
    """Return the page of one group of operations, as methods of ``SyncMemory``."""
    directives = "\n".join(
        f"::: mnemic.adapters.inprocess.sync.SyncMemory.{name}\n    options:\n"
        "      show_root_full_path: false\n"
        for name in names
    )
    return f"# {group}\n\n{directives}"


def error_codes_page() -> str:
    """Return the table of all error codes, sorted."""
    lines = ["# Error codes", "", "| code | class | HTTP | exit code | recovery |"]
    lines.append("|---|---|--:|--:|---|")
    for code, error in sorted(known().items()):
        exit_code = int(failure(error("")).exit)
        recovery = error.default_recovery or "depends on the case"
        name = f"`{error.__name__}`"
        if error.__module__ == DOCUMENTED:
            name = f"[{name}][{DOCUMENTED}.{error.__name__}]"
        lines.append(f"| `{code}` | {name} | {error.status} | {exit_code} | {cell(recovery)} |")
    return "\n".join(lines)


# --- the command line -----------------------------------------------------------------------------


def command_line_page() -> str:
    """Return the documentation of all commands; options that all have in common appear once."""
    text = generate_markdown_docs(whole(), max_heading_level=3, generate_toc=False)
    text = INDENTED.sub(lambda block: f"```text\n{dedented(block[0])}```\n", text, count=1)
    text = text.replace("(#mnemic-as-of-", "(#mnemic-")  # its queries are commands too
    shared = SHARED_OPTIONS.search(text)
    if shared is None:
        raise ValueError("the documentation of the commands has no section of shared options")
    first = text.index("\n## ")
    commands = SHARED_OPTIONS.sub("", text[first:])
    overview = SHARED_OPTIONS.sub("", text[:first])
    return f"{overview}\n\n## Options of every command\n\n{shared[0].split(':', 1)[1]}{commands}"


def dedented(block: str) -> str:
    """Return a block of Markdown code without its four columns of indentation."""
    return "".join(line[4:] for line in block.splitlines(keepends=True))


# --- HTTP -----------------------------------------------------------------------------------------


def paths_page(description: Schema) -> str:
    """Return all paths of the HTTP interface by group."""
    found: dict[str, list[str]] = {tag["name"]: [] for tag in description["tags"]}
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            found[operation["tags"][0]].append(path_section(path, method, operation, description))
    groups = [f"## {tag}\n\n" + "\n\n".join(sections) for tag, sections in found.items()]
    about = (
        "# HTTP paths\n\nGenerated from the [OpenAPI document](openapi.json), which a server"
        " returns under `/v1/openapi.json`. What all paths have in common: [HTTP](../http.md)."
    )
    return "\n\n".join([about, *groups])


def path_section(path: str, method: str, operation: Schema, description: Schema) -> str:
    """Return the section of one operation: address, parameters, body and answers."""
    lines = [f"### {operation['operationId']}", f"`{method.upper()} {path}`"]
    lines += [operation.get("summary", ""), operation.get("description", "")]
    parameters = [resolved(each, description) for each in operation.get("parameters", ())]
    if parameters:
        lines.append(
            table(
                ("parameter", "in", "description"),
                [(f"`{each['name']}`", each["in"], each["description"]) for each in parameters],
            )
        )
    body = operation.get("requestBody", {}).get("content", {})
    lines += [f"Body, `{media}`: {kind(content['schema'])}." for media, content in body.items()]
    lines.append(
        table(
            ("status", "answer"),
            [
                (status, answer_of(resolved(answer, description)))
                for status, answer in operation["responses"].items()
            ],
        )
    )
    return "\n\n".join(filter(None, lines))


def answer_of(answer: Schema) -> str:
    """Return the description of an answer, with its schema where it is no error."""
    kinds = {
        kind(content["schema"])
        for media, content in answer.get("content", {}).items()
        if "schema" in content and "problem" not in media
    }
    return " ".join([answer["description"], *sorted(kinds)])


def schemas_page(description: Schema) -> str:
    """Return all schemas of bodies and answers, with their fields."""
    lines = ["# HTTP schemas"]
    for name, schema in sorted(description["components"]["schemas"].items()):
        required = set(schema.get("required", ()))
        lines += [f"## {name}", schema.get("description", "")]
        fields = [
            (f"`{field}`" + ("*" * (field in required)), kind(each), each.get("description", ""))
            for field, each in schema.get("properties", {}).items()
        ]
        lines.append(table(("field (* required)", "type", "description"), fields))
    return "\n\n".join(filter(None, lines))


def resolved(here: Schema, description: Schema) -> Schema:
    """Return the target of a reference, or the value itself; its own description comes first."""
    if "$ref" not in here:
        return here
    target: Any = description
    for part in here["$ref"].removeprefix("#/").split("/"):
        target = target[part]
    return {**target, **{name: each for name, each in here.items() if name != "$ref"}}


def kind(schema: Schema) -> str:
    """Return the type of a value in a few words, with links to other schemas."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](http-schemas.md#{name.lower()})"
    alternatives = schema.get("anyOf") or schema.get("oneOf")
    if alternatives:
        return " or ".join(kind(each) for each in alternatives)
    if "enum" in schema:
        return ", ".join(f"`{each}`" for each in schema["enum"])
    types = schema.get("type", "any")
    types = [types] if isinstance(types, str) else types
    text = " or ".join(types)
    if "items" in schema:
        text += f" of {kind(schema['items'])}"
    limits = [
        f"{sign} {schema[name]}"
        for name, sign in (("minimum", "≥"), ("maximum", "≤"))
        if name in schema
    ]
    return ", ".join([text, *limits])


def table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Return a table of Markdown, or nothing if it has no rows."""
    lines = ["| " + " | ".join(cell(each) for each in row) + " |" for row in rows]
    if not lines:
        return ""
    return "\n".join(["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads), *lines])


def cell(text: str) -> str:
    """Return *text* as the content of a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")
