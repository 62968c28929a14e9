"""A table that takes the terminal's width: names break where `wrapping` breaks them, never inside a word."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from planner.cli.wrapping import column_widths, folded

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult


class FittedTable(Table):
    """A table of texts, laid out when the width it is printed at is known."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Lay the table out for the width at hand."""
        yield from _laid_out(self, options.max_width).__rich_console__(console, options)


def _laid_out(made: FittedTable, width: int) -> Table:
    """The same table with its heads and cells folded to columns that fit together."""
    columns = [[str(column.header), *map(str, column.cells)] for column in made.columns]
    widths = column_widths([[max(text.split("\n"), key=len) for text in line]
                            for line in zip(*columns, strict=True)], width)
    rows = Table(title=made.title, title_justify=made.title_justify, title_style=made.title_style, box=made.box,
                 caption=made.caption, pad_edge=made.pad_edge, padding=made.padding)
    for column, texts, size in zip(made.columns, columns, widths, strict=True):
        rows.add_column(_folded(texts[0], size), justify=column.justify, overflow="fold", min_width=size)
    for place, row in enumerate(made.rows, start=1):
        cells = [_folded(texts[place], size) for texts, size in zip(columns, widths, strict=True)]
        rows.add_row(*cells, style=row.style)
    return rows


def _folded(text: str, width: int) -> str:
    """A text of one or more lines, each folded."""
    return "\n".join(line for part in text.split("\n") for line in folded(part, width))
