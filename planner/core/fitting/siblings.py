"""What tables of one kernel say about each other: usual values for the parameters their own rows leave open.

The same kernel on a sister chip has the same tiles, splits and launch path, so that its fitted parameters are a far
better guess than a handbook's. They are a guess all the same: with a prior worth a hundredth of a row's error, a
parameter that a table's own rows determine goes where the rows say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from planner.core.fitting.forms import Form, Values
from planner.core.fitting.measurement import KernelTable

# Width of the prior on ln(value) around the median of sister chips, and around other formats' on the same chip: of
# 0.02 to 0.2 these gave the smallest errors on shapes left out (docs/adr/0030). Latent attention was timed at five head
# counts, so that a fold knows least of its own; other kernels' shares move with a chip's ratio of memory to arithmetic.
_SISTER_WIDTH, _LATENT_WIDTH, _FORMAT_WIDTH = 0.1, 0.03, 0.1
# Blocks of latent attention in several weight formats share their attention, not their projections or their floor.
_ATTENTION = frozenset({"growth", "memory", "compute", "serial", "passes", "partial_tile", "reuse"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Siblings:
    """Tables of the same kernel elsewhere, what they have in common with it, and how alike they are."""

    tables: tuple[KernelTable, ...] = ()
    shared: frozenset[str] | None = None
    """Parameters in common; None is all."""
    width: float = 1.0
    """Standard deviation of ln(value/sibling's value) [1]."""


def siblings(table: KernelTable, tables: Sequence[KernelTable], architecture: Mapping[str, str]) -> Siblings:
    """The tables a kernel's parameters may be guessed from.

    Parameters
    ----------
    table : KernelTable
        The kernel.
    tables : sequence of KernelTable
        Every table of the fit.
    architecture : mapping
        Chip → architecture family.

    Returns
    -------
    Siblings
        The same kernel on other chips of the family; failing those, for latent attention, the same cache on the same
        chip and engine beside weights in other formats; failing those, none.
    """
    sisters = tuple(t for t in tables if t.chip != table.chip and _kernel(t) == _kernel(table)
                    and architecture[t.chip] == architecture[table.chip])
    if sisters:
        return Siblings(tables=sisters, width=_LATENT_WIDTH if _cache(table) else _SISTER_WIDTH)
    formats = tuple(t for t in tables if t.key != table.key and _cache(t) == _cache(table)
                    and (t.operator, t.chip, t.engine) == (table.operator, table.chip, table.engine))
    return Siblings(tables=formats, shared=_ATTENTION, width=_FORMAT_WIDTH) if _cache(table) else Siblings()


def informed(form: Form, known: Sequence[Values], like: Siblings) -> Form:
    """A form whose priors sit at the median of what siblings were fitted with.

    Parameters
    ----------
    form : Form
        The operator's form.
    known : sequence of mapping
        Fitted values of the siblings; none leaves the form as it is.
    like : Siblings
        What they share and how alike they are.

    Returns
    -------
    Form
        The same bounds and formula.
    """
    if not known:
        return form
    parameters = tuple(
        p if like.shared is not None and p.name not in like.shared else replace(
            p, prior=like.width,
            usual=float(np.clip(np.exp(np.median([np.log(values[p.name]) for values in known])), p.low, p.high)))
        for p in form.parameters)
    return replace(form, parameters=parameters)


def _kernel(table: KernelTable) -> tuple[str, ...]:
    return (table.operator, table.key, table.engine, table.kernel)


def _cache(table: KernelTable) -> str:
    """The cache format of a latent kernel; empty for any other."""
    return table.key.split("+")[0] if table.operator.startswith("mla") else ""
