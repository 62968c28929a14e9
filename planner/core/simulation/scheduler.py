"""One attention group's scheduler: admission, prompt chunks, cache blocks, preemption, and stretches of decode steps.

All decoding sequences advance together, so their ends are known in steps: a heap of finish steps replaces a loop over
the batch, and block growth of any number of steps follows from a histogram of block phases.
"""

from __future__ import annotations

import heapq
import math
from collections import deque

from planner.core.simulation.job import Job
from planner.core.simulation.queues import PriorityQueue
from planner.core.simulation.recorder import Recorder
from planner.core.simulation.settings import RankSettings
from planner.core.simulation.windows import NEVER, WindowSum


class Rank:
    """Continuous batching of one group; the replica decides how many planned steps are run."""

    __slots__ = ("base", "batch", "chunks", "ends", "free", "k", "limit", "now", "phase", "prefilling", "recorder",
                 "running", "settings", "slope", "stalled", "stamp", "total", "waiting", "windows")

    def __init__(self, settings: RankSettings, recorder: Recorder, queue: deque[Job] | PriorityQueue) -> None:
        self.settings = settings
        self.recorder = recorder
        self.waiting = queue
        self.base = settings.base
        self.prefilling: list[Job] = []
        self.running: dict[int, Job] = {}
        self.chunks: list[Job] = []
        self.ends: list[tuple[int, int, int, Job]] = []
        self.windows = [WindowSum(span, slope, settings.gain) for span, slope in settings.windows]
        self.stalled: list[tuple[int, float]] = []
        self.phase = [0] * settings.block_steps
        self.free = settings.blocks
        self.batch = self.k = self.stamp = 0
        self.total = self.slope = self.now = 0.0
        self.limit = NEVER

    def open(self) -> bool:
        """Whether a new arrival could start at once: with priorities it may overtake those that wait."""
        free_seat = len(self.running) < self.settings.max_seqs
        return free_seat and (not self.waiting or isinstance(self.waiting, PriorityQueue))

    def plan(self) -> float:
        """Time of the next step; sets how many such steps may run together and their slope."""
        grow, preempted = 0, False
        self.chunks = []
        if self.batch and not self.settings.reserve:
            grow = self.phase[-self.k % self.settings.block_steps]
            while grow > self.free:
                self._preempt()
                preempted = True
                grow = self.phase[-self.k % self.settings.block_steps]
        admit = not preempted or not self.running
        if self.prefilling or (self.waiting and admit):
            tokens, pairs = self._fill(self.free - grow, admit=admit)
            if tokens:
                return self._prompt_step(tokens, pairs)
        time = self._decode_steps()
        if preempted:
            self.limit = min(self.limit, 1)
        return time

    def _prompt_step(self, tokens: int, pairs: float) -> float:
        s = self.settings
        self.limit, self.slope = 1, 0.0
        time = s.per_pair * pairs + s.prefill_extra
        if s.mixed and self.batch:
            return time + self._base(int(s.query * self.batch) + tokens) + self._batch_time()
        return time + self._base(tokens)

    def _base(self, tokens: int) -> float:
        base = self.base
        return base[tokens] if tokens < len(base) else self.settings.beyond.base_on_grid(tokens)[0]

    def _batch_time(self) -> float:
        s = self.settings
        time = s.slope_full * self.total + s.per_request * self.batch + s.draft_time
        for window in self.windows:
            time += window.slope * window.total
        return time

    def _decode_steps(self) -> float:
        batch, s = self.batch, self.settings
        if not batch:
            self.limit, self.slope = NEVER, 0.0
            return 0.0
        ends = self.ends
        while ends[0][3].alive != ends[0][2]:
            heapq.heappop(ends)
        limit = ends[0][0] - self.k
        self.slope = s.slope_full * s.gain * batch
        for window in self.windows:
            limit = min(limit, window.next_crossing() - self.k)
            self.slope += window.slope * s.gain * window.growing
        if not s.reserve and batch * (limit // s.block_steps + 1) > self.free:
            limit = min(limit, self._steps_until_full())
        self.limit = limit
        return self._base(int(s.query * batch)) + self._batch_time()

    def _steps_until_full(self) -> int:
        cycle, phase = self.settings.block_steps, self.phase
        full, rest = divmod(self.free, self.batch)
        steps = full * cycle
        while rest >= phase[-(self.k + steps) % cycle]:
            rest -= phase[-(self.k + steps) % cycle]
            steps += 1
        return steps

    def _fill(self, free: int, *, admit: bool) -> tuple[int, float]:
        """Prompt tokens of the next step: chunks under way first, then admissions in order."""
        s = self.settings
        room = s.budget - int(s.query * self.batch) if s.mixed else s.budget
        tokens, pairs = 0, 0.0
        for job in self.prefilling:
            if room <= 0 or (tokens and not s.chunked and job.left > room):
                break
            take = min(job.left, room) if s.chunked else job.left
            pairs += self._take(job, take)
            tokens += take
            room -= take
        waiting = self.waiting
        while admit and waiting and room > 0 and len(self.running) < s.max_seqs:
            job = waiting[0]
            need = s.blocks_for(job.input + job.output if s.reserve else job.target, job.input + job.output)
            spare = 0 if job.left or s.reserve or math.ceil(job.target / s.gain) % s.block_steps else 1
            if need + spare > free or (tokens and not s.chunked and job.left > room):
                break
            waiting.popleft()
            free -= need + spare
            self._admit(job, need)
            if job.left:
                take = min(job.left, room) if s.chunked else job.left
                pairs += self._take(job, take)
                tokens += take
                room -= take
        return tokens, pairs

    def _take(self, job: Job, tokens: int) -> float:
        job.query = tokens
        self.chunks.append(job)
        return tokens * (job.target - job.left + (tokens + 1) / 2.0)

    def _admit(self, job: Job, blocks: int) -> None:
        self.free -= blocks
        job.held = blocks
        self.running[job.serial] = job
        if job.left:
            self.prefilling.append(job)
            return
        if job.last >= 0.0:
            self.stalled.append((1, job.last))
        self._join(job)

    def _join(self, job: Job) -> None:
        s = self.settings
        self.stamp += 1
        job.alive = self.stamp
        job.joined_step = self.k
        job.context = job.target + 1.0
        job.finish_step = self.k + math.ceil((job.output - job.generated) / s.gain)
        job.last = -1.0
        heapq.heappush(self.ends, (job.finish_step, job.serial, self.stamp, job))
        self.batch += 1
        self.total += job.context
        self.phase[(math.ceil(job.target / s.gain) - self.k) % s.block_steps] += 1
        for window in self.windows:
            window.add(job, self.k)

    def _leave(self, job: Job) -> None:
        """Take a decoding sequence out of the batch and give its blocks back."""
        s = self.settings
        steps = self.k - job.joined_step
        for window in self.windows:
            window.remove(job, self.k)
        units = math.ceil(job.target / s.gain)
        self.phase[(units - job.joined_step) % s.block_steps] -= 1
        if not s.reserve:
            cycle = s.block_steps
            job.held += -(-(units + steps) // cycle) - (-(-units // cycle))
        self.batch -= 1
        self.total -= job.context + s.gain * steps
        self._release(job)

    def _release(self, job: Job) -> None:
        job.alive = 0
        self.free += job.held
        job.held = 0
        del self.running[job.serial]

    def _preempt(self) -> None:
        """The youngest request gives up its blocks and is computed again later."""
        job = self.running[next(reversed(self.running))]
        if job.alive:
            job.generated = min(job.generated + int(self.settings.gain * (self.k - job.joined_step)), job.output - 1)
            self._leave(job)
            job.last = self.now  # the youngest joined after any pause, so its latest token ended the latest step
        else:
            self.prefilling.remove(job)
            self._release(job)
        job.target = job.input + job.generated
        job.left = job.target - job.cached
        self.waiting.appendleft(job)
        self.recorder.preemptions += 1

    def commit(self, steps: int, start: float, first: float, end: float) -> None:
        """The planned steps have run from ``start`` to ``end``, the first of them for ``first`` seconds."""
        self.now = end
        if self.batch:
            if self.settings.mixed or not self.chunks:
                self._decoded(steps, start, first, end)
            else:
                normal = self.batch - sum(count for count, _ in self.stalled)
                if normal:
                    self.stalled.append((normal, start))
        if self.chunks:
            self._prefilled(end)

    def _decoded(self, steps: int, start: float, first: float, end: float) -> None:
        batch, recorder = self.batch, self.recorder
        if self.stalled:
            normal = batch
            for count, time in self.stalled:
                recorder.gap(start + first - time, count)
                normal -= count
            self.stalled = []
            recorder.gap(first, normal)
            if steps > 1:
                recorder.gap((end - start - first) / (steps - 1), batch * (steps - 1))
        else:
            recorder.gap((end - start) / steps, batch * steps)
        if not self.settings.reserve:
            self.free -= self._growth(steps)
        self.k += steps
        self.total += self.settings.gain * batch * steps
        for window in self.windows:
            window.advance(steps, self.k)
        ends = self.ends
        while ends and ends[0][0] <= self.k:
            _, _, stamp, job = heapq.heappop(ends)
            if job.alive == stamp:
                self._leave(job)
                recorder.finished(job, end)

    def _growth(self, steps: int) -> int:
        cycle, phase = self.settings.block_steps, self.phase
        whole, rest = divmod(steps, cycle)
        grown = whole * self.batch
        for i in range(rest):
            grown += phase[-(self.k + i) % cycle]
        return grown

    def _prefilled(self, end: float) -> None:
        done = False
        for job in self.chunks:
            job.left -= job.query
            if job.left:
                continue
            done = True
            job.generated += 1
            if job.first < 0.0:
                job.first = end
                self.recorder.first_token(job)
            elif job.last >= 0.0:
                self.recorder.gap(end - job.last, 1)
            if job.generated >= job.output:
                self._release(job)
                self.recorder.finished(job, end)
            else:
                self._join(job)
        self.chunks = []
        if done:
            self.prefilling = [job for job in self.prefilling if job.left]
