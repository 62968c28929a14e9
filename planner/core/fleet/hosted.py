"""Hosted APIs priced per token: another way to serve a workload."""

from __future__ import annotations

from dataclasses import dataclass

from planner.core.fleet.offers import Stamp
from planner.core.quantities.arrays import require_non_negative


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiOffer:
    """A hosted API priced per token, as another way to serve a workload."""

    id: str
    workload: str
    usd_per_input_token: float
    usd_per_output_token: float
    stamp: Stamp | None = None

    def usd_per_request(self, input_tokens: float, output_tokens: float) -> float:
        """Price of one request.

        Parameters
        ----------
        input_tokens : float
            Prompt length [token].
        output_tokens : float
            Answer length [token].

        Returns
        -------
        float
            [USD].
        """
        prompt = float(require_non_negative("usd_per_input_token", self.usd_per_input_token)) * input_tokens
        return prompt + float(require_non_negative("usd_per_output_token", self.usd_per_output_token)) * output_tokens
