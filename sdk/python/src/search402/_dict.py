"""Plain dicts of what this package hands out."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, cast


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def plain(value: object) -> Any:
    """Return a value as JSON can hold it, with the names that the service and its docs use."""
    if isinstance(value, ToDict):
        return value.to_dict()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            _camel(field.name): plain(getattr(value, field.name))
            for field in dataclasses.fields(value)
            if getattr(value, field.name) is not None
        }
    if isinstance(value, Mapping):
        items = cast("Mapping[object, object]", value).items()
        return {str(name): plain(item) for name, item in items}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in cast("list[object]", value)]
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    return str(value)


class ToDict:
    """Something that can be shown as a plain dict."""

    def to_dict(self) -> dict[str, Any]:
        """Return a dict that ``json.dumps`` takes, with the names of the HTTP interface."""
        return {
            _camel(field.name): plain(getattr(self, field.name))
            for field in dataclasses.fields(cast("Any", self))
            if getattr(self, field.name) is not None
        }
