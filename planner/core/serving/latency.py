"""Latencies of requests from the state of a replica: means exactly from it, percentiles by matching two moments."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, nan

from planner.core.quantities import numeric as num
from planner.core.quantities.numeric import Number
from planner.core.serving.fixed_point import Flow, at_least_one
from planner.core.serving.percentiles import Z50, Z95, Z99, lognormal_quantile, normal_quantile
from planner.core.serving.step_law import TINY, StepLaw


@dataclass(frozen=True, slots=True, kw_only=True)
class Latencies:
    """Time to first token, per output token, between tokens and end to end, on the grid [s].

    Times per and between tokens are NaN where an answer is one token: nothing follows it.
    """

    closed: bool
    """Whether users form a closed loop."""
    ttft_mean: Number
    ttft_p50: Number
    ttft_p95: Number
    ttft_p99: Number
    tpot_mean: Number
    tpot_p50: Number
    tpot_p95: Number
    tpot_p99: Number
    itl_mean: Number
    itl_p99: Number
    e2e_mean: Number
    e2e_p95: Number

    @property
    def speed_mean(self) -> Number:
        """What a user reads on the mean [token/s]."""
        return speed(self.tpot_mean)


def speed(time_per_token: Number) -> Number:
    r"""Speed at which one user's answer grows.

    .. math:: v = 1 / T_{POT}

    Parameters
    ----------
    time_per_token : ndarray
        Time per output token, above zero [s].

    Returns
    -------
    ndarray
        [token/s].

    Notes
    -----
    Of a mean time it is the speed over a whole answer, which is less than the mean of the speeds of its tokens.
    """
    return 1.0 / time_per_token


def latencies(law: StepLaw, flow: Flow, *, wait: Number, wait_variance: Number,
              closed_users: Number | None) -> Latencies:
    """Latency means and percentiles of a flow.

    Parameters
    ----------
    law : StepLaw
        The bound step law.
    flow : Flow
        State of one attention group.
    wait : ndarray
        Mean wait before admission; inf when it grows without bound [s].
    wait_variance : ndarray
        Its variance [s²].
    closed_users : ndarray or None
        Users per group of a closed loop; None in an open one.

    Returns
    -------
    Latencies
        Of the flow's grid.

    Notes
    -----
    TPOT divides by the tokens gained in a step, so that speculation shows.
    """
    bounded = num.isfinite(wait)
    finite_wait = num.where(bounded, wait, 0.0)
    ttft = law.policy.request_latency_s + flow.first_token + finite_wait
    ttft_variance = _first_token_variance(law, flow) + wait_variance
    gained = num.maximum(law.lengths.output - 1.0, TINY) / num.maximum(law.decode_steps, TINY)
    tpot = flow.step / gained
    batch_variance = 0.0 * tpot if closed_users is not None else flow.slope**2 * flow.mean_batch
    tpot_variance = (_pace_variance(law, flow) + 2.0 / 3.0 * batch_variance) / gained**2
    e2e = ttft + law.decode_steps * flow.step
    spread = law.lengths.output_square - law.lengths.output**2
    e2e_variance = ttft_variance + (law.lengths.output - 1.0)**2 * tpot_variance + spread * tpot**2
    unbounded = num.where(bounded, 0.0, inf)
    tpot, step = (time + num.where(law.lengths.output > 1.0, 0.0, nan) for time in (tpot, flow.step))
    gap_p99 = _gap_p99(law, flow, batch_variance) + 0.0 * step
    return Latencies(
        closed=closed_users is not None,
        ttft_mean=ttft + unbounded, ttft_p50=lognormal_quantile(ttft, ttft_variance, Z50) + unbounded,
        ttft_p95=lognormal_quantile(ttft, ttft_variance, Z95) + unbounded,
        ttft_p99=lognormal_quantile(ttft, ttft_variance, Z99) + unbounded,
        tpot_mean=tpot, tpot_p50=lognormal_quantile(tpot, tpot_variance, Z50),
        tpot_p95=lognormal_quantile(tpot, tpot_variance, Z95), tpot_p99=lognormal_quantile(tpot, tpot_variance, Z99),
        itl_mean=step, itl_p99=gap_p99,
        e2e_mean=e2e + unbounded, e2e_p95=lognormal_quantile(e2e, e2e_variance, Z95) + unbounded)


def _first_token_variance(law: StepLaw, flow: Flow) -> Number:
    """Variance of the wait within a gate that is short or long, of what else arrived in it, of lengths and backlog."""
    prompt, square = law.lengths.prompt, law.lengths.prompt_square
    lump, lump_variance = _lump_moments(law, flow)
    long = flow.t_decode + flow.per_token * lump
    share = num.clip((flow.biased_step - flow.t_decode) / num.maximum(long - flow.t_decode, TINY), 0.0, 1.0)
    gate_square = (1.0 - share) * flow.t_decode**2 + share * (long**2 + 3.0 * flow.per_token**2 * lump_variance)
    beside = flow.load
    gate = ((1.0 / 3.0 + beside + beside**2) * num.maximum(gate_square, flow.biased_step**2)
            - ((0.5 + beside) * flow.biased_step)**2)
    own_rate = flow.own / flow.group
    others = flow.rate * flow.biased_step * flow.busy
    alone: Number = flow.busy * gate + own_rate**2 * (square - prompt**2 + others * square)
    return alone + _backlog_variance(law, flow, own_rate)


def _backlog_variance(law: StepLaw, flow: Flow, own_rate: Number) -> Number:
    """Variance of the wait behind prompts ahead: M/G/1 (Takács), for the share of requests that queue at all."""
    spread = law.prompt_spread
    idle = num.maximum(1.0 - flow.rate * own_rate * law.lengths.prompt, 0.02)
    single = flow.rate * own_rate**2 * law.lengths.prompt_square / (2.0 * idle)
    third = flow.rate * (own_rate * law.lengths.prompt * spread)**3 / (3.0 * idle)
    share = num.minimum(flow.backlog / num.maximum(single, TINY), 1.0)
    variance: Number = flow.backlog**2 + share * third
    return variance


def _lump_moments(law: StepLaw, flow: Flow) -> tuple[Number, Number]:
    """Mean and variance of the prompt tokens of a step that has some."""
    chunk = num.minimum(law.lengths.prompt, law.room(flow.batch))
    prompts = num.maximum(flow.lump / chunk, 1.0)
    return flow.lump, chunk**2 * (prompts * (law.prompt_spread - 1.0) + prompts - 1.0)


def _pace_variance(law: StepLaw, flow: Flow) -> Number:
    """Variance of a request's mean gap: prompts that arrive while it decodes lengthen its stay, and so meet more."""
    arriving = flow.rate * flow.step * flow.per_token**2 * law.lengths.prompt_square
    answers = law.lengths.output_square / law.lengths.output**2
    pace: Number = arriving / (1.0 - flow.load)**2 * answers / law.answering
    return pace


def _stalls(law: StepLaw, flow: Flow) -> tuple[Number, Number, Number]:
    """Share of gaps that prompts lengthen, and mean and variance of what they add [1, s, s²]."""
    a = flow.per_token
    if law.mixed:
        lump, variance = _lump_moments(law, flow)
        return flow.phi, a * lump, a**2 * variance
    share = at_least_one(flow.rate * flow.t_decode * law.policy.poll_steps) / law.policy.poll_steps
    mean = num.maximum(flow.step - flow.t_decode, 0.0) / num.maximum(share, TINY)
    busy = a * law.lengths.prompt_square / law.lengths.prompt / (1.0 - flow.load)**2
    return share, mean, mean * busy


def _gap_p99(law: StepLaw, flow: Flow, batch_variance: Number) -> Number:
    """99th percentile of the gaps: decode steps, and steps or pauses that prompts lengthen."""
    share, mean, variance = _stalls(law, flow)
    within = num.maximum(1.0 - 0.01 / num.maximum(share, TINY), 0.0)
    extra = lognormal_quantile(num.maximum(mean, TINY), variance, normal_quantile(within))
    if law.mixed:
        extra = num.minimum(extra, flow.per_token * num.maximum(law.room(flow.batch), flow.lump))
    plain = lognormal_quantile(flow.t_decode, batch_variance, Z99)
    mixed = num.sqrt((plain - flow.t_decode)**2 + num.where(within > 0.0, extra, 0.0)**2)
    gap: Number = num.maximum(flow.t_decode + mixed, flow.step)
    return gap
