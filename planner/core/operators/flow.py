"""Where bytes flow: streams within memory, and the boundaries they cross."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from planner.core.quantities.arrays import Array

Value = TypeVar("Value", bound=np.generic)


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """Work and traffic of a group of operators on one GPU, shape (op, *grid), for one execution of each."""

    work: Array
    """W [FLOP]."""
    weights: Array
    """Weight bytes read from memory [byte]."""
    cache: Array
    """KV-cache and recurrent-state bytes read and written [byte]."""
    activations: Array
    """Activation bytes read and written [byte]."""

    @property
    def traffic(self) -> Array:
        """Q at the memory boundary, all streams [byte]."""
        return self.weights + self.cache + self.activations


def rows(values: npt.NDArray[Value], like: Array) -> npt.NDArray[Value]:
    """Row coefficients shaped to broadcast against a grid.

    Parameters
    ----------
    values : ndarray
        Shape (op,) or (op, variant).
    like : ndarray
        The grid they meet, shape (*grid) or (variant, *grid).

    Returns
    -------
    ndarray
        The same numbers with trailing axes of length one, shape (op, 1, …).
    """
    missing = like.ndim + 1 - values.ndim
    return values.reshape(values.shape + (1,) * missing) if missing else values
