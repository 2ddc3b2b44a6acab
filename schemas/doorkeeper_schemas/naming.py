"""How generated functions come by their names, so that versions with one layout share one.

A function is named for what it reads or writes and for the first version with its text. When the
text for the next version is the same, the name of the function before is used again.
"""

from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Functions:
    """The functions of one module, in the order in which they are made."""

    texts: dict[str, str] = field(default_factory=dict)
    _latest: dict[str, str] = field(default_factory=dict)

    def named(self, stem: str, version: int, signature: str, body: str) -> str:
        """Keep a function and return its name.

        `stem` is the name without the version, `signature` what stands behind the name.
        """
        text = f"{signature}\n{body}"
        before = self._latest.get(stem)
        if before is not None and self.texts[before] == text:
            return before
        name = f"{stem}_v{version}"
        self.texts[name] = text
        self._latest[stem] = name
        return name

    def source(self) -> str:
        """Return the definitions of all functions."""
        return "\n\n".join(f"def {name}{text}" for name, text in self.texts.items())


@dataclass(slots=True)
class Structs:
    """The struct.Struct constants of one module, by their codes."""

    kind: str
    _codes: set[tuple[str, ...]] = field(default_factory=set)

    def named(self, codes: tuple[str, ...]) -> str:
        """Return the name of the packing or unpacking function of a run of fields."""
        self._codes.add(codes)
        return f"_{self.kind}_" + "_".join(_WORDS[code] for code in codes)

    def source(self) -> str:
        """Return the assignments of all constants."""
        method = {"unpack": "unpack_from", "pack": "pack"}[self.kind]
        return "\n".join(
            f'{self.named(codes)} = Struct(">{"".join(codes)}").{method}'
            for codes in sorted(self._codes)
        )


_WORDS = {
    "b": "int8",
    "h": "int16",
    "H": "uint16",
    "i": "int32",
    "q": "int64",
    "d": "float64",
    "?": "bool",
    "16s": "uuid",
    "B": "byte",
    "x": "zero",
}


def code_of(node: Any) -> str:
    """Return the struct code of one of construct's numbers, which says "l" for "i"."""
    code = str(node.fmtstr[1:])
    return "i" if code == "l" else code
