"""Typing mistakes: a word one slip away from a word of the trade becomes that word."""

from __future__ import annotations

import re
from collections.abc import Iterable

_TRADE = ("context window concurrent concurrency requests request tokens token prompt prompts answer answers output input clients "
          "parallel simultaneous batch crossover utilization utilisation memory budget million second seconds minute hour month "
          "latency throughput compare versus against bottleneck prefix cache users customers employees examples cheaper cheapest "
          "flight vllm sglang hopper blackwell percentile kontext contexte contexto gleichzeitig anfragen").split()
# Everyday words near a word of the trade, which are meant as they stand.
_EVERYDAY = frozenset(
    "content contest contact contexts batches requested requesting windows widow window's hours house four pour your tour hour's "
    "months mouth south secondo secondary minutes minuted answered answering inputs outputs catch cash caches cached caching match "
    "latch patch bath batched user used uses use client clients' prompted promptly compared compares comparing comparison token's "
    "millions billion billions trillion cheap cheaper flights fight light slight bright right night might weight weights eight "
    "height freight sight tight fights parallels usage usages user's others other over cover cross crossed crossing lemma drama "
    "large larger barge charge phil phi opts opt seeds seed seen need needs falcons granites mistakes minstrel commands command "
    "comment comments demand demands model modal models nodes node code mode made make image images examples example sample samples "
    "budgets buddy gadget prefixes suffix prefix's fixes memories memory's against again gains chat chats that hat what chart charts "
    "base case vase based gpt got get gets tune turbo max maxi mix fix six fit fits its bit bits kit quit quite quiet quant quants "
    "lite life like line link nano name names named note notes air fair pair hair arctic antarctic nova seconde sekunde sekunden "
    "segundo segundos minuten minutos stunde stunden tage kontexte contextos contesto requêtes minuto heure heures hora horas "
    "pro prod pros per perf super supper upper flash slash crash coder codes coders order orders older medium premium linear "
    "instant instance instances small smaller smell mall all tall call calls hall wall ball scout shout about out south mini mine "
    "mint mind minis plus place please pulse place glum gem gems gems' gemm gemma mill mils miles smile while tokyo taken broken "
    "minimal minimum gamma lambda mistral mixtral central neutral general several".split())
_WORD = re.compile(r"(?<![a-zà-ÿ])[a-zà-ÿ]{4,}(?![a-zà-ÿ])")


class Speller:
    """Corrects words towards the trade's and the catalogue's own words."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(n for n in names if len(n) >= 4)
        self._trade = frozenset(w for w in _TRADE if len(w) >= 5)
        self._memory: dict[str, str] = {}

    def correct(self, text: str) -> str:
        """The text with single slips in known words mended."""
        return _WORD.sub(lambda m: self._mend(m.group()), text)

    def _mend(self, word: str) -> str:
        if word in self._names or word in self._trade or word in _EVERYDAY or word.rstrip("s") in self._trade:
            return word
        found = self._memory.get(word)
        if found is None:
            found = self._nearest(word)
            if len(self._memory) < 4096:
                self._memory[word] = found
        return found

    def _nearest(self, word: str) -> str:
        near = [known for known in (*self._names, *self._trade)
                if abs(len(known) - len(word)) <= 1 and (known[0] == word[0] or len(word) >= 6)
                and (len(known) >= 5 or known[:1] == word[:1]) and one_slip(word, known)]
        if not near and len(word) >= 9:
            near = [k for k in self._trade if abs(len(k) - len(word)) <= 1 and k[0] == word[0] and two_slips(word, k)]
        if not near and len(word) >= 5:
            near = [k for k in self._names if len(k) == len(word) and k[0] == word[0] and k[-1] == word[-1] and two_slips(word, k)]
        near = [k for k in near if not (len(k) == 4 and len(word) == 4)] or [k for k in near if k in self._names and len(word) >= 4]
        return min(near, key=lambda k: (k not in self._names, abs(len(k) - len(word)), k)) if near else word


def two_slips(a: str, b: str) -> bool:
    """Whether leaving out one letter of each makes them one slip apart at most."""
    return any(one_slip(a[:i] + a[i + 1:], b) for i in range(len(a))) or any(one_slip(a, b[:i] + b[i + 1:]) for i in range(len(b)))


def one_slip(a: str, b: str) -> bool:
    """Whether one insertion, deletion, replacement or swap of neighbours turns one word into the other."""
    if len(a) > len(b):
        a, b = b, a
    i = next((k for k, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), len(a))
    if len(a) == len(b):
        return a[i + 1:] == b[i + 1:] or (a[i + 2:] == b[i + 2:] and a[i:i + 2] == b[i:i + 2][::-1])
    return a[i:] == b[i + 1:]
