"""Every error the planner raises on purpose.

PlannerError
├── DomainError            the question contradicts itself or physics
│   ├── InvalidQuantity    a number out of its range
│   ├── UnknownField       a field that no form of ours has
│   ├── InvalidLayout      a parallel layout the model cannot take
│   └── UnsupportedFormat  a number format this chip or engine cannot run
├── MissingFact            a fact the answer needs is not known
├── NotFound               no entry of that name
├── Ambiguous              several entries answer to that name
├── Conflict               the change collides with what is stored
├── Stale                  the change was made against an older version
└── AdapterError           a file, database, device or remote service failed
"""


class PlannerError(Exception):
    """Root of the planner's own errors: a machine-readable code, one plain sentence and a hint."""

    code = "planner_error"
    title = "The planner could not answer"

    def __init__(self, detail: str, *, hint: str | None = None, pointer: str | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.hint = hint
        self.pointer = pointer


class DomainError(PlannerError):
    """The question contradicts itself or physics."""

    code = "domain_error"
    title = "The question cannot be answered as asked"


class InvalidQuantity(DomainError):  # noqa: N818 - named as the house's error table names it
    """A number is outside its range."""

    code = "invalid_quantity"
    title = "A quantity is out of range"


class UnknownField(DomainError):  # noqa: N818 - as above
    """A document has a field that its form does not have."""

    code = "unknown_field"
    title = "A field is not known"


class InvalidLayout(DomainError):  # noqa: N818 - as above
    """A parallel layout the model or the node cannot take."""

    code = "invalid_layout"
    title = "The parallel layout does not fit the model"


class UnsupportedFormat(DomainError):  # noqa: N818 - as above
    """A number format that is not one of the planner's formats."""

    code = "unsupported_format"
    title = "Unknown number format"


class MissingFact(PlannerError):  # noqa: N818 - as above
    """A fact the answer needs is not known, so it is refused by name."""

    code = "missing_fact"
    title = "A fact is missing"

    def __init__(self, detail: str, *, fact: str, hint: str | None = None, pointer: str | None = None) -> None:
        super().__init__(detail, hint=hint, pointer=pointer)
        self.fact = fact


class NotFound(PlannerError):  # noqa: N818 - as above
    """No entry of that name."""

    code = "not_found"
    title = "No such entry"

    def __init__(self, detail: str, *, candidates: tuple[str, ...] = (), hint: str | None = None,
                 pointer: str | None = None) -> None:
        super().__init__(detail, hint=hint, pointer=pointer)
        self.candidates = candidates


class Ambiguous(PlannerError):  # noqa: N818 - as above
    """Several entries answer to that name."""

    code = "ambiguous"
    title = "The name means several entries"

    def __init__(self, detail: str, *, candidates: tuple[str, ...] = (), hint: str | None = None,
                 pointer: str | None = None) -> None:
        super().__init__(detail, hint=hint, pointer=pointer)
        self.candidates = candidates


class Conflict(PlannerError):  # noqa: N818 - as above
    """The change collides with what is stored."""

    code = "conflict"
    title = "The change collides with what is stored"


class BuiltIn(Conflict):
    """A built-in catalogue entry cannot be changed; copy it under another name."""

    code = "built_in"
    title = "Built-in entries are read-only"


class Stale(PlannerError):  # noqa: N818 - as above
    """The change was made against an older version."""

    code = "stale"
    title = "The entry has changed since it was read"


class AdapterError(PlannerError):
    """A file, database, device or remote service failed."""

    code = "adapter_error"
    title = "Something outside the planner failed"


def reason(error: Exception) -> str:
    """Return what went wrong in words: of a file what the system says, without its number and the path again."""
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)
