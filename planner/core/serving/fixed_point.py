r"""Fixed points of continuous batching: prompts arrive in lumps, so a step is either a decode or a mixed one.

.. math::

    \bar t = (t_d(B) + \rho (T_{own} - \bar t)/D) / (1 - \rho), \quad \rho = \lambda E[u] a, \quad
    B = \lambda D \bar t, \quad T_{first} = M/2 + t(own\ group) + queue, \quad M = E[T^2]/E[T]

λ arrivals, D decode steps of a request, u prompt tokens, a time per prompt token in a lump of the size that really
occurs, M the length-biased step. Little's law closes the loop of a fixed number of users.

References
----------
Kleinrock, Queueing Systems I, 1975, §5.2 (residual life); Siegmund, Sequential Analysis, 1985, ch. X (overshoot
correction 0.5826 of a reflected walk); Sakasegawa, Ann. Inst. Statist. Math. 29, 1977 (multi-server wait).
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

from planner.core.quantities import numeric as num
from planner.core.quantities.numeric import Number
from planner.core.serving.step_law import TINY, StepLaw

ITERATIONS = 10
SWUNG = 0.25
"""Relative step of the batch, against the one before, that is halved: a swing and no approach [1]."""
LARGEST_EXPONENT = 60.0
"""exp(-60) is nothing, and does not underflow [1]."""
SIEGMUND = 2.0 * 0.5826
"""Twice the mean overshoot of a Gaussian walk over a barrier, in standard deviations."""


def at_least_one(expected: Number) -> Number:
    """Probability that a Poisson count is not zero.

    Parameters
    ----------
    expected : ndarray
        Its mean [1].

    Returns
    -------
    ndarray
        1 - exp(-mean) [1].
    """
    return -num.expm1(-num.minimum(expected, LARGEST_EXPONENT))


class Flow(NamedTuple):
    """State of one attention group at a given load; a tuple, since a plan makes dozens."""

    rate: Number
    """Requests finished [1/s]."""
    batch: Number
    """Mean decoding sequences a token shares its step with, itself included [1]."""
    mean_batch: Number
    """Mean decoding sequences over all time, empty steps included [1]."""
    t_decode: Number
    t_mixed: Number
    step: Number
    """Mean time between two tokens of a sequence [s]."""
    phi: Number
    """Share of decode steps that prompts lengthen [1]."""
    lump: Number
    """Prompt tokens in such a step [token]."""
    per_token: Number
    """Time a prompt token adds [s/token]."""
    biased_step: Number
    """Length-biased gate E[T²]/E[T] that an arrival meets [s]."""
    own: Number
    """Steps that carry the own prompt, others beside it included [s]."""
    backlog: Number
    """Wait for prompts ahead that did not fit into their step [s]."""
    busy: Number
    """Probability that an arrival meets a running step [1]."""
    load: Number
    """Share of time that prompts take [1]."""
    group: Number
    """Prompt tokens in the steps that carry the own prompt [token]."""
    slope: Number
    """dt_d/dB [s]."""

    @property
    def first_token(self) -> Number:
        """Mean time from admission to the first token [s]."""
        return self.busy * self.biased_step / 2.0 + self.own + self.backlog


class Guess(NamedTuple):
    """What an evaluation starts from; a tuple, as the flow."""

    batch: Number
    rate: Number
    others: Number
    """Share of the arrivals that come from other users: (N-1)/N in a closed loop, 1 in an open one."""
    busy: Number
    step: Number
    biased_step: Number
    own: Number
    """Steps that carried the own prompt: what arrived in them is computed while its first tokens are decoded [s]."""
    finite: Number
    """1 where a backlog can grow without bound (open loop), 0 where users limit it."""
    users: Number = inf
    """Users of a closed loop, whose prompts can never take more than their turn [1]."""


def _lumps(law: StepLaw, guess: Guess, room: Number) -> tuple[Number, Number, Number]:
    """Chunk of one prompt, lump of a step that has prompts, share of such steps."""
    prompt, arriving = law.lengths.prompt, guess.rate * guess.others
    chunk = num.minimum(prompt, room)
    interval = guess.step if law.mixed else guess.biased_step
    expected = num.maximum(arriving * interval * prompt / chunk, TINY)
    lump = num.minimum(chunk * expected / at_least_one(expected), room)
    phi = num.minimum(arriving * guess.step * prompt / lump, 1.0)
    return chunk, lump, phi


def _lump_variance(law: StepLaw, lump: Number, chunk: Number) -> Number:
    """Variance of the prompt tokens of a step that has some: their lengths and their number."""
    prompts = num.maximum(lump / chunk, 1.0)
    return chunk**2 * (prompts * (law.prompt_spread - 1.0) + (prompts - 1.0))


def _gate(law: StepLaw, guess: Guess, t_decode: Number, per_token: Number, lump: Number, chunk: Number,
          load: Number) -> tuple[Number, Number]:
    """Mean time between tokens and the length-biased gate an arrival waits for."""
    step = t_decode / (1.0 - load)
    if law.mixed:
        square = law.lengths.prompt * chunk * law.prompt_spread
        variance = per_token**2 * guess.rate * guess.others * step * square / (1.0 - load**2)
        return step, step + variance / step
    prefill = per_token * lump
    biased = prefill + per_token**2 * _lump_variance(law, lump, chunk) / num.maximum(prefill, TINY)
    return step, (1.0 - load) * law.policy.poll_steps * t_decode + load * biased


def _backlog(law: StepLaw, guess: Guess, step: Number, room: Number, t_full: Number) -> Number:
    """Mean wait for prompt tokens ahead that overflow their step: a reflected random walk of tokens per step."""
    finished = guess.rate * step
    arriving = finished * law.lengths.prompt
    deviation = num.sqrt(finished * law.lengths.prompt_square)
    drift = num.maximum(room - arriving, 1e-3 * room)
    overshoot = num.minimum(SIEGMUND * drift / num.maximum(deviation, TINY), LARGEST_EXPONENT)
    queue = deviation**2 / (2.0 * drift) * num.exp(-overshoot)
    return guess.finite * queue / room * t_full


def relax(law: StepLaw, guess: Guess) -> Flow:
    """The state that a guess implies, one evaluation of the step law.

    Parameters
    ----------
    law : StepLaw
        The bound step law.
    guess : Guess
        Batch, rate and step of the former iteration.

    Returns
    -------
    Flow
        Consistent with the guess's rate and batch.
    """
    batch, rate, others, busy, prompt = guess.batch, guess.rate, guess.others, guess.busy, law.lengths.prompt
    t_decode, slope, base = law.decode(batch)
    room = law.room(batch)
    chunk, lump, phi = _lumps(law, guess, room)
    any_rank = at_least_one(-law.groups * num.log1p(-num.minimum(phi, 1.0 - 1e-9)))
    overlap = any_rank / num.maximum(phi, TINY)
    a_lump = law.per_token(lump, batch, base)
    felt = (others + overlap - 1.0) * prompt * a_lump
    turn = law.decode_steps * t_decode / num.maximum(guess.users * num.maximum(felt, TINY), TINY)
    load = num.maximum(num.minimum(rate * felt, 1.0 / (1.0 + turn) - 1e-6), 0.0)
    inherited = load * num.maximum(guess.own - guess.step, 0.0) / law.answering
    step, biased = _gate(law, guess, t_decode + inherited, a_lump, lump, chunk, load)
    group = prompt * (1.0 + rate * others * biased * busy * (1.0 + num.minimum(1.0, room / prompt)) / 2.0)
    piece = num.minimum(group, room)
    fixed = t_decode if law.mixed else 0.0 * t_decode
    a_own = law.per_token(piece, batch, base)
    own = fixed * num.maximum(group / piece, 1.0) + a_own * group
    backlog = (_backlog(law, guess, step, room, fixed + a_own * room) if law.mixed
               else _exhaustive_wait(law, guess, a_own, load))
    return Flow(rate=rate, batch=batch, mean_batch=rate * law.decode_steps * step, t_decode=t_decode,
                t_mixed=fixed + a_lump * lump, step=step, phi=any_rank, lump=lump, per_token=a_lump,
                biased_step=biased, own=own, backlog=backlog, busy=busy, load=load, group=group, slope=slope)


def _exhaustive_wait(law: StepLaw, guess: Guess, per_token: Number, load: Number) -> Number:
    """Wait behind prompts that need several steps of their own, beyond the step already counted: M/G/1."""
    chunk = num.minimum(law.lengths.prompt, law.room(guess.batch))
    excess = num.maximum(law.lengths.prompt_square * (1.0 - chunk / law.lengths.prompt), 0.0)
    return guess.finite * guess.rate * per_token**2 * excess / (2.0 * (1.0 - load))


def softened(law: StepLaw, last: Number, found: Number) -> Number:
    """A step length to go on with: where groups wait for one another half-way, since the next answers it inversely.

    Parameters
    ----------
    law : StepLaw
        The bound step law.
    last : ndarray
        What the last evaluation started from [s].
    found : ndarray
        What it found [s].

    Returns
    -------
    ndarray
        The geometric mean with more than one group, else what was found [s].
    """
    return num.where(law.groups > 1.0, num.sqrt(last * found), found)


def token_cap(law: StepLaw, running: Number) -> tuple[Number, Number]:
    """Largest decode batch and rate that the work of a request allows when no step has room left.

    Parameters
    ----------
    law : StepLaw
        The bound step law.
    running : ndarray
        Sequences the group can hold [1].

    Returns
    -------
    tuple of ndarray
        Batch [1] and rate [1/s]. Where prompts run alone only the rate is capped: a request takes its prompt's time in
        the fullest step and its share of decode steps of all that run.
    """
    if not law.mixed:
        t_decode, _, base = law.decode(running)
        prompt = law.lengths.prompt * law.per_token(law.room(running), running, base)
        return 0.0 * running + inf, 1.0 / (prompt + law.decode_steps * t_decode / running)
    per_request = law.query_tokens * law.decode_steps + law.lengths.prompt
    batch = law.budget * law.decode_steps / per_request
    t_decode, _, base = law.decode(num.minimum(batch, running))
    room = num.maximum(law.budget - law.query_tokens * num.minimum(batch, running), 1.0)
    t_full = t_decode + law.per_token(room, num.minimum(batch, running), base) * room
    return batch, law.budget / per_request / t_full


def open_loop(law: StepLaw, rate: Number, running: Number, fullest: Flow) -> Flow:
    """Steady state of a group with arrivals of a given rate, below saturation.

    Parameters
    ----------
    law : StepLaw
        The bound step law.
    rate : ndarray
        Arrivals of the group [1/s].
    running : ndarray
        Sequences the group can hold [1].
    fullest : Flow
        The group with all of them in flight, where groups that wait for one another start from, the less the emptier.

    Returns
    -------
    Flow
        Newton steps on B = λ D t̄(B); piecewise linear in B.
    """
    rate, running = num.together(rate, running, law.per_sequence, law.decode_steps, law.budget,
                                 law.table.per_request)[:2]
    one = 0.0 * rate + 1.0
    t_decode, _, _ = law.decode(one)
    in_step = num.where(law.groups > 1.0, 1.0, 0.0)
    share = num.minimum(rate / fullest.rate, 1.0) * in_step
    start = t_decode * num.exp(share * num.log(fullest.step / t_decode))
    guess = Guess(batch=num.minimum(1.0 + rate * law.decode_steps * start, running), rate=rate, others=one,
                   busy=at_least_one(rate * law.decode_steps * start), step=start, biased_step=start,
                   own=t_decode, finite=one, users=num.where(in_step > 0.0, num.maximum(running, 1.0), inf))
    flow = relax(law, guess)
    moved = 0.0 * rate
    for _ in range(ITERATIONS):
        gain = rate * law.decode_steps * flow.step / flow.t_decode
        at_zero = flow.t_decode - flow.slope * guess.batch
        mean = gain * (at_zero + flow.slope) / num.maximum(1.0 - gain * flow.slope, 0.02)
        mean = num.clip(mean, 0.0, running)
        before = guess.batch - 1.0
        turned = (in_step * moved * (mean - before) < 0.0) & (abs(mean - before) > SWUNG * (1.0 + before))
        mean = num.where(turned, (mean + before) / 2.0, mean)
        moved = mean - before
        guess = Guess(batch=num.minimum(1.0 + mean, num.maximum(running, 1.0)), rate=guess.rate, others=guess.others,
                       busy=at_least_one(mean + rate * flow.own), step=softened(law, guess.step, flow.step),
                       biased_step=softened(law, guess.biased_step, flow.biased_step), own=flow.own,
                       finite=guess.finite, users=guess.users)
        flow = relax(law, guess)
    return flow
