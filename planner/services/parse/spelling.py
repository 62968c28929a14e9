"""Typing mistakes: a word one slip away from a word of the trade becomes that word."""

from __future__ import annotations

import re
from collections.abc import Iterable

from planner.services.parse.wordlists import words

_TRADE = words("""
    context window concurrent concurrency requests request tokens token prompt prompts answer answers output
    input clients parallel simultaneous batch crossover utilization utilisation memory budget million second
    seconds minute hour month latency throughput compare versus against bottleneck prefix cache users customers
    employees examples cheaper cheapest flight vllm sglang hopper blackwell percentile kontext contexte contexto
    gleichzeitig anfragen
""")
# Everyday words near a word of the trade, which are meant as they stand.
_EVERYDAY = frozenset(
    words("""
    about again against air all answered answering antarctic arctic ball barge base based batched batches bath
    billion billions bit bits bright broken buddy budgets cached caches caching call calls case cash catch
    central charge chart charts chat chats cheap cheaper client clients' code coder coders codes command
    commands comment comments compared compares comparing comparison contact content contest contesto contextos
    contexts cover crash cross crossed crossing demand demands drama eight example examples fair falcons fight
    fights fit fits fix fixes flash flights four freight gadget gains gamma gem gemm gemma gems gems' general
    get gets glum got gpt granites hair hall hat height heure heures hora horas hour's hours house image images
    inputs instance instances instant its kit kontexte lambda large larger latch lemma life light like line
    linear link lite made make mall match max maxi medium memories memory's might miles mill millions mils mind
    mine mini minimal minimum minis minstrel mint minuted minuten minutes minuto minutos mistakes mistral mix
    mixtral modal mode model models months mouth name named names nano need needs neutral night node nodes note
    notes nova older opt opts order orders other others out outputs over pair parallels patch per perf phi phil
    place please plus pour prefix's prefixes premium pro prod prompted promptly pros pulse quant quants quiet
    quit quite requested requesting requêtes right sample samples scout secondary seconde secondo seed seeds
    seen segundo segundos sekunde sekunden several shout sight six slash slight small smaller smell smile south
    stunde stunden suffix super supper tage taken tall that tight token's tokyo tour trillion tune turbo upper
    usage usages use used user user's uses vase wall weight weights what while widow window's windows your
""")
)
_SHORT = re.compile(r"(?<![a-zà-ÿ\d])[a-z]{3}(?=\d)")
_WORD = re.compile(r"(?<![a-zà-ÿ])[a-zà-ÿ]{4,}(?![a-zà-ÿ])")


_SHORTEST = 3
"""Letters of a word inside a name that is mended only behind its neighbour."""
_VERSION = re.compile(r"[\s-]?[vkrm]?\d")


class Speller:
    """Corrects words towards the trade's and the catalogue's own words."""

    def __init__(self, names: Iterable[str], pairs: Iterable[str] = ()) -> None:
        self._names = frozenset(n for n in names if len(n) >= 4)
        self._trade = frozenset(w for w in _TRADE if len(w) >= 5)
        self._memory: dict[str, str] = {}
        self._seconds: dict[str, list[str]] = {}
        """Short words of names by the word they follow: gpt → oss."""
        for first, _, second in (pair.partition(" ") for pair in pairs):
            if len(second) == _SHORTEST:
                self._seconds.setdefault(first, []).append(second)
        self._pair = re.compile(
            rf"(?<![a-z])({'|'.join(map(re.escape, self._seconds)) or '(?!)'})([\s-]?)([a-z]{{2,4}})(?=[\s-]?\d)"
        )

    def correct(self, text: str) -> str:
        """The text with single slips in known words mended; a short name only where a version follows it."""
        text = self._pair.sub(lambda m: m[1] + m[2] + self._second(m[1], m[3]), text)
        text = _SHORT.sub(lambda m: self._short(m.group()), text)
        return _WORD.sub(lambda m: self._mend(m.group(), versioned=bool(_VERSION.match(text, m.end()))), text)

    def _second(self, first: str, word: str) -> str:
        near = [n for n in self._seconds[first] if one_slip(word, n)]
        return near[0] if len(near) == 1 and word not in self._seconds[first] else word

    def _short(self, word: str) -> str:
        near = [n for n in self._names if len(n) == 4 and n[0] == word[0] and one_slip(word, n)]
        return near[0] if len(near) == 1 else word

    def _mend(self, word: str, *, versioned: bool) -> str:
        if (
            word in self._names
            or word in self._trade
            or word in _EVERYDAY
            or word.endswith("ly")
            or word.rstrip("s") in self._trade
        ):
            return word
        found = self._memory.get(word)
        if found is None:
            found = self._nearest(word)
            if len(self._memory) < 4096:
                self._memory[word] = found
        return found if versioned or len(found) > 4 or found not in self._names else word

    def _nearest(self, word: str) -> str:
        near = [
            known
            for known in (*self._names, *self._trade)
            if abs(len(known) - len(word)) <= 1
            and (known[0] == word[0] or len(word) >= 6)
            and (len(known) >= 5 or known[:1] == word[:1])
            and one_slip(word, known)
        ]
        if not near and len(word) >= 9:
            near = [k for k in self._trade if abs(len(k) - len(word)) <= 1 and k[0] == word[0] and two_slips(word, k)]
        if not near and len(word) >= 5:
            near = [
                k
                for k in self._names
                if len(k) == len(word) and k[0] == word[0] and k[-1] == word[-1] and two_slips(word, k)
            ]
        near = [k for k in near if not (len(k) == 4 and len(word) == 4)] or [
            k for k in near if k in self._names and len(word) >= 4
        ]
        return min(near, key=lambda k: (k not in self._names, abs(len(k) - len(word)), k)) if near else word


def two_slips(a: str, b: str) -> bool:
    """Whether leaving out one letter of each makes them one slip apart at most."""
    return any(one_slip(a[:i] + a[i + 1 :], b) for i in range(len(a))) or any(
        one_slip(a, b[:i] + b[i + 1 :]) for i in range(len(b))
    )


def one_slip(a: str, b: str) -> bool:
    """Whether one insertion, deletion, replacement or swap of neighbours turns one word into the other."""
    if len(a) > len(b):
        a, b = b, a
    i = next((k for k, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), len(a))
    if len(a) == len(b):
        return a[i + 1 :] == b[i + 1 :] or (a[i + 2 :] == b[i + 2 :] and a[i : i + 2] == b[i : i + 2][::-1])
    return a[i:] == b[i + 1 :]
