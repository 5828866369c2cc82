"""Print the types of all protocol messages as Python source, from ``docs/protocol.schema.json``.

::

    python tools/generate_types.py > src/ludex/_messages.py

``tests/run --bless`` does this. Only the standard library is needed.
"""

from __future__ import annotations

import json
import keyword
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SCHEMA = Path(__file__).resolve().parents[3] / "docs/protocol.schema.json"
WIDTH = 100
PLAIN = {
    "boolean": "bool",
    "integer": "int",
    "null": "None",
    "number": "float",
    "string": "str",
    "array": "list[Any]",
    "object": "dict[str, Any]",
}

# Suffixes of the classes of a tagged union.
SUFFIXES = {"ServerMessage": "Message", "ClientMessage": "Request"}

Schema = dict[str, Any]

HEAD = '''"""Types of the protocol's messages, in the form that MessagePack carries.

Generated from docs/protocol.schema.json: tests/run --bless
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

if TYPE_CHECKING:
    from typing_extensions import NotRequired
'''


def main() -> None:
    """Print the module."""
    print(generate(json.loads(SCHEMA.read_text(encoding="utf-8"))), end="")


def generate(schema: Schema) -> str:
    """Return the source of the module for a schema."""
    parts = [HEAD]
    definitions = {pascal_case(name): entry for name, entry in schema["$defs"].items()}
    # A class must follow its base.
    for name in sorted(definitions, key=lambda name: depth(name, definitions)):
        parts += define(name, definitions)
    return "\n\n\n".join(part.strip("\n") for part in parts) + "\n"


def depth(name: str, definitions: dict[str, Schema]) -> int:
    """Return the number of definitions that the bases of a definition's classes go through."""
    bases = [reference(variant) for variant in definitions[name].get("oneOf", [])]
    return max((1 + depth(base, definitions) for base in bases if base), default=0)


def define(name: str, definitions: dict[str, Schema]) -> Iterator[str]:
    """Yield the declarations of a definition and of its variants."""
    schema = definitions[name]
    variants = schema.get("oneOf", [])
    if variants and all("const" in variant for variant in variants):
        yield alias(name, literal([variant["const"] for variant in variants]), schema)
    elif variants:
        base = f"{name}Base" if "properties" in schema else None
        if base is not None:
            yield from typed_dict(base, schema, None)
        names = []
        for variant in variants:
            target = reference(variant)
            # A reference to a union yields a class for each member.
            for parent in members(target, definitions) if target else [base]:
                names.append(variant_name(name, variant))
                if parent is not None and parent not in (base, target):
                    names[-1] = parent + SUFFIXES.get(name, name)
                yield from typed_dict(names[-1], variant, parent)
        yield alias(name, " | ".join(names), schema)
    elif "properties" in schema:
        yield from typed_dict(name, schema, None)
    elif name.startswith("Column"):
        yield alias(name, "bytes | list[Any]", schema)
    elif name == "Bytes":
        yield alias(name, "bytes | str", schema)
    elif schema.get("type") == "object" and "additionalProperties" not in schema:
        yield from typed_dict(name, {**schema, "properties": {}}, None)
    else:
        yield alias(name, annotation(schema), schema)


def members(name: str, definitions: dict[str, Schema]) -> list[str]:
    """Return the classes of a definition: its variants if it is a union, else itself."""
    variants = definitions[name].get("oneOf", [])
    return [variant_name(name, variant) for variant in variants] or [name]


def typed_dict(name: str, schema: Schema, parent: str | None) -> Iterator[str]:
    """Yield a ``TypedDict``; fields whose names are keywords need a base in functional form."""
    required = set(schema.get("required", []))
    fields = {
        field: annotation(value) if field in required else f"NotRequired[{annotation(value)}]"
        for field, value in schema["properties"].items()
    }
    reserved = {field: kind for field, kind in fields.items() if keyword.iskeyword(field)}
    bases = [parent] if parent else []
    if reserved:
        bases.append(f"_{name}")
        entries = ", ".join(f'"{field}": "{kind}"' for field, kind in reserved.items())
        yield f'_{name} = TypedDict("_{name}", {{{entries}}})'
    lines = [f"class {name}({', '.join(bases) or 'TypedDict'}):"]
    lines += docstring(schema)
    lines += [f"    {field}: {kind}" for field, kind in fields.items() if field not in reserved]
    yield "\n".join(lines)


def docstring(schema: Schema) -> list[str]:
    """Return the lines of a class docstring with the descriptions of the fields."""
    lines = fill(schema.get("description", "A message."), "    ", "    ")
    fields = {
        field: value["description"]
        for field, value in schema["properties"].items()
        if "description" in value and not ("$ref" in schema and field in ("id", "re"))
    }
    if fields:
        lines += ["", "    Attributes:"]
        for field, text in fields.items():
            lines += fill(f"{field}: {text}", " " * 8, " " * 12)
    lines[0] = f'    """{lines[0].strip()}'
    if len(lines) == 1:
        return [f'{lines[0]}"""', ""]
    return [*lines, '    """', ""]


def fill(text: str, first: str, rest: str) -> list[str]:
    """Wrap a text into indented lines."""
    text = text.replace("\\", "\\\\").replace('"""', "'''")
    return textwrap.wrap(
        " ".join(text.split()),
        WIDTH - 6,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


def alias(name: str, kind: str, schema: Schema) -> str:
    """Return a type alias with its description."""
    quoted = kind if kind.startswith("Literal") else f'"{kind}"'
    lines = [f"{name}: TypeAlias = {quoted}"]
    if len(lines[0]) > WIDTH and kind.startswith("Literal"):
        values = kind.removeprefix("Literal[").removesuffix("]").split(", ")
        lines = [f"{name}: TypeAlias = Literal[", *(f"    {value}," for value in values), "]"]
    elif len(lines[0]) > WIDTH:
        names = kind.split(" | ")
        strings = (
            [f'"{kind}"']
            if len(kind) + 6 <= WIDTH
            else [f'"{names[0]}"', *(f'" | {entry}"' for entry in names[1:])]
        )
        lines = [f"{name}: TypeAlias = (", *(f"    {entry}" for entry in strings), ")"]
    if "description" in schema:
        described = fill(schema["description"], "", "")
        lines += [f'"""{described[0]}', *described[1:]]
        lines[-1] += '"""'
    return "\n".join(lines)


def annotation(schema: Schema) -> str:
    """Return the annotation for a value of a schema."""
    if (named := reference(schema)) is not None:
        return named
    if "const" in schema:
        return literal([schema["const"]])
    if "anyOf" in schema:
        return union([annotation(entry) for entry in schema["anyOf"]])
    types = schema.get("type")
    if types is None:
        return "Any"
    return union([of_type(kind, schema) for kind in ([types] if isinstance(types, str) else types)])


def of_type(kind: str, schema: Schema) -> str:
    """Return the annotation for one JSON type of a schema."""
    if kind == "array" and isinstance(schema.get("items"), dict):
        return f"list[{annotation(schema['items'])}]"
    more = schema.get("additionalProperties")
    if kind == "object" and isinstance(more, dict) and more:
        return f"dict[str, {annotation(more)}]"
    return PLAIN[kind]


def union(kinds: list[str]) -> str:
    """Join annotations, without repetitions."""
    return " | ".join(dict.fromkeys(kinds))


def literal(values: list[str]) -> str:
    """Return a ``Literal`` of strings."""
    return f"Literal[{', '.join(json.dumps(value) for value in values)}]"


def reference(schema: Schema) -> str | None:
    """Return the name of the definition that a schema refers to."""
    path = schema.get("$ref")
    return None if path is None else pascal_case(path.rsplit("/", 1)[1])


def variant_name(name: str, variant: Schema) -> str:
    """Return a name for a variant, from its tag: ``WelcomeMessage``, ``EventMove``."""
    tag, value = next(
        (field, entry["const"])
        for field, entry in variant["properties"].items()
        if "const" in entry
    )
    if tag != "type":
        return name + pascal_case(value)
    return pascal_case(value) + SUFFIXES.get(name, name)


def pascal_case(name: str) -> str:
    """Return a name in PascalCase."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


if __name__ == "__main__":
    main()
