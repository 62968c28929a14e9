"""Made-up step tables: a large and a small model on a fast GPU."""

from __future__ import annotations

import numpy as np

from planner.core.execution.step_table import StepTable

NODES = 2.0 ** np.arange(0, 16.01, 0.25)


def large() -> StepTable:
    return _table(6e-3 + np.maximum(6e-3, NODES * 2.8e-4 / 4), 2.67e-8, 1e-10, 1e-3)


def small() -> StepTable:
    return _table(3e-3 + np.maximum(2.5e-3, NODES * 3.2e-5), 4.27e-8, 2e-11, 2e-4)


def _table(base, per_context, per_pair, extra) -> StepTable:
    return StepTable(nodes=NODES, base=base, windows=np.array([np.inf]), per_context_token=np.array([per_context]),
                     per_pair=np.array(per_pair), per_request=np.array(5e-6), prefill_extra=np.array(extra))
