"""Continuous batching one step at a time, every sequence and every block counted: slow, plain and independent.

It shares no code with core/simulation. Step times come from a function of (tokens, contexts, pairs, batch, prefill?).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Seq:
    number: int
    arrival: float
    prompt: int
    answer: int
    cached: int = 0
    priority: int = 0
    stored: int = 0
    """Tokens whose KV is in the cache."""
    goal: int = 0
    """Tokens to store before the next token is sampled."""
    made: int = 0
    blocks: int = 0
    times: list[float] = field(default_factory=list)
    """Moments of all tokens."""


@dataclass
class Rules:
    step_time: Callable[[int, list[int], float, int, bool], float]
    budget: int
    seats: int
    blocks: int
    block: int
    mixed: bool
    chunked: bool
    reserve: bool
    poll: int = 1
    groups: int = 1
    latency: float = 0.0
    by_priority: bool = False


@dataclass
class Lane:
    rules: Rules
    free: int
    waiting: list[Seq] = field(default_factory=list)
    running: list[Seq] = field(default_factory=list)
    preempted: int = 0

    def decoding(self) -> list[Seq]:
        return [s for s in self.running if s.stored >= s.goal]

    def make_room(self) -> bool:
        """Preempt the youngest until every decoding sequence can store one more token."""
        hit = False
        while not self.rules.reserve:
            wanted = sum(1 for s in self.decoding() if s.stored + 1 > s.blocks * self.rules.block)
            if wanted <= self.free:
                return hit
            victim = self.running.pop()
            self.free += victim.blocks
            victim.blocks = 0
            victim.stored = victim.cached
            victim.goal = victim.prompt + victim.made
            self.waiting.insert(0, victim)
            if self.rules.by_priority:
                self.waiting.sort(key=lambda s: (s.priority, s.arrival, s.number))
            self.preempted += 1
            hit = True
        return hit

    def prompts(self, *, admit: bool) -> list[tuple[Seq, int]]:
        rules, decoders = self.rules, self.decoding()
        room = rules.budget - len(decoders) if rules.mixed else rules.budget
        reserved = 0 if rules.reserve else sum(1 for s in decoders if s.stored + 1 > s.blocks * rules.block)
        parts: list[tuple[Seq, int]] = []
        for s in self.running:
            if s.stored >= s.goal:
                continue
            left = s.goal - s.stored
            if room <= 0 or (parts and not rules.chunked and left > room):
                break
            take = min(left, room) if rules.chunked else left
            parts.append((s, take))
            room -= take
        while admit and self.waiting and room > 0 and len(self.running) < rules.seats:
            s = self.waiting[0]
            target = s.prompt + s.answer if rules.reserve else s.goal
            need = math.ceil(target / rules.block)
            left = s.goal - s.cached
            if need > self.free - reserved or (parts and not rules.chunked and left > room):
                break
            self.waiting.pop(0)
            self.free -= need
            s.blocks, s.stored = need, s.cached
            self.running.append(s)
            take = min(left, room) if rules.chunked else left
            parts.append((s, take))
            room -= take
        return parts

    def plan(self) -> tuple[float, list[tuple[Seq, int]], list[Seq]]:
        hit = self.make_room()
        parts = self.prompts(admit=not hit or not self.running)
        decoders = [s for s in self.decoding() if all(s is not p for p, _ in parts)]
        if parts and not self.rules.mixed:
            decoders = []
        if not parts and not decoders:
            return 0.0, [], []
        pairs = sum(take * s.stored + take * (take + 1) / 2 for s, take in parts)
        tokens = len(decoders) + sum(take for _, take in parts)
        contexts = [s.stored + 1 for s in decoders]
        return self.rules.step_time(tokens, contexts, pairs, len(decoders), bool(parts)), parts, decoders

    def finish(self, s: Seq) -> None:
        self.free += s.blocks
        self.running.remove(s)

    def apply(self, parts: list[tuple[Seq, int]], decoders: list[Seq], end: float) -> None:
        for s in decoders:
            s.stored += 1
            if not self.rules.reserve and s.stored > s.blocks * self.rules.block:
                s.blocks += 1
                self.free -= 1
            s.made += 1
            s.goal = s.stored
            s.times.append(end)
            if s.made == s.answer:
                self.finish(s)
        for s, take in parts:
            s.stored += take
            if s.stored == s.goal:
                s.made += 1
                s.times.append(end)
                if s.made == s.answer:
                    self.finish(s)


def run(rules: Rules, jobs: list[Seq]) -> tuple[list[Seq], int]:
    """All requests to their ends; returns them with the moments of their tokens, and the number of preemptions."""
    lanes = [Lane(rules, rules.blocks) for _ in range(rules.groups)]
    queue = sorted(jobs, key=lambda s: (s.arrival, s.number))
    for s in queue:
        s.goal = s.prompt
    clock, passes = 0.0, 0
    while True:
        idle = not any(lane.running or lane.waiting for lane in lanes)
        if passes % rules.poll == 0 or idle:
            while queue and queue[0].arrival + rules.latency <= clock:
                s = queue.pop(0)
                lane = min(lanes, key=lambda lane: len(lane.running) + len(lane.waiting))
                lane.waiting.append(s)
                if rules.by_priority:
                    lane.waiting.sort(key=lambda s: (s.priority, s.arrival, s.number))
        plans = [lane.plan() for lane in lanes]
        longest = max(time for time, _, _ in plans)
        if longest == 0.0:
            if not queue:
                return jobs, sum(lane.preempted for lane in lanes)
            clock = max(clock, queue[0].arrival + rules.latency)
            continue
        clock += longest
        passes += 1
        for lane, (_, parts, decoders) in zip(lanes, plans, strict=True):
            lane.apply(parts, decoders, clock)
