"""Charts of a procurement report as inline SVG: lines, stacked steps, and a tornado; ink only where there is data."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import ceil, floor, log10

WIDTH, HEIGHT = 460, 220
LEFT, RIGHT, TOP, BOTTOM = 64, 12, 10, 30
LONGEST = 34
"""Characters of a bar's name that fit left of it [1]."""
INKS = ("#1f5fd0", "#c25700", "#0b8457", "#7a4fc0", "#596273", "#b3261e", "#00838f", "#8d6e00")
"""Distinct in print and for colour-blind readers at these lightnesses."""


def ticks(low: float, high: float, count: int = 4) -> list[float]:
    """Return round values that span a range."""
    if high <= low:
        return [low]
    raw = (high - low) / count
    power = 10.0 ** floor(log10(raw))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= raw)
    first = ceil(low / step)
    return [n * step for n in range(first, floor(high / step) + 1)]


def short(value: float) -> str:
    """Return a number in a few characters."""
    for size, mark in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{mark}"
    return f"{value:.3g}"


class Frame:
    """A plotting area: data to pixels, axes and labels."""

    def __init__(self, across: tuple[float, float], up: tuple[float, float]) -> None:
        self.across, self.up = across, (up[0], up[1] if up[1] > up[0] else up[0] + 1.0)

    def x(self, value: float) -> float:
        """Return the pixel of a horizontal value."""
        low, high = self.across
        return LEFT + (value - low) / ((high - low) or 1.0) * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        """Return the pixel of a vertical value."""
        low, high = self.up
        return HEIGHT - BOTTOM - (value - low) / (high - low) * (HEIGHT - TOP - BOTTOM)

    def axes(self, label: str, marks: Sequence[float] = ()) -> str:
        """Return grid lines, tick labels and the horizontal label; marks are where the horizontal ticks stand."""
        parts = []
        for value in ticks(*self.up):
            y = self.y(value)
            parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>'
                         f'<text x="{LEFT - 6}" y="{y + 4:.1f}" class="end">{short(value)}</text>')
        parts += [f'<text x="{self.x(value):.1f}" y="{HEIGHT - BOTTOM + 14}" class="mid">{short(value)}</text>'
                  for value in marks or ticks(*self.across, 6)]
        parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 3}" class="mid">{escape(label)}</text>')
        return "".join(parts)


def _svg(title: str, body: str, height: int = HEIGHT) -> str:
    return (f'<figure><figcaption>{escape(title)}</figcaption><svg viewBox="0 0 {WIDTH} {height}" role="img" '
            f'aria-label="{escape(title)}">{body}</svg></figure>')


def lines(title: str, label: str, series: Sequence[tuple[str, Sequence[tuple[float, float]]]], *,
          marks: Sequence[float] = (), top: float = 0.0) -> str:
    """Return a chart of several lines, named in a legend below, up to ``top`` at least."""
    points = [point for _, line in series for point in line]
    if not points:
        return ""
    frame = Frame((min(p[0] for p in points), max(p[0] for p in points)), (0.0, max(top, *(p[1] for p in points))))
    body = frame.axes(label, marks)
    for ink, (_, line) in zip(INKS, series, strict=False):
        path = " ".join(f"{frame.x(x):.1f},{frame.y(y):.1f}" for x, y in line)
        body += f'<polyline points="{path}" fill="none" stroke="{ink}" stroke-width="2"/>'
    return _svg(title, body) + legend([name for name, _ in series])


def stacked(title: str, label: str, series: Sequence[tuple[str, Sequence[float]]]) -> str:
    """Return stacked bars, one per period."""
    if not series:
        return ""
    count = len(series[0][1])
    totals = [sum(values[i] for _, values in series) for i in range(count)]
    frame = Frame((0.5, count + 0.5), (0.0, max(totals)))
    marks = [tick for tick in ticks(1, count, 6) if tick == int(tick)]
    body, base = frame.axes(label, marks), [0.0] * count
    width = max((WIDTH - LEFT - RIGHT) / count - 1, 1)
    for ink, (_, values) in zip(INKS, series, strict=False):
        for i, value in enumerate(values):
            if value:
                top = frame.y(base[i] + value)
                body += (f'<rect x="{frame.x(i + 0.5):.1f}" y="{top:.1f}" width="{width:.1f}" '
                         f'height="{frame.y(base[i]) - top:.1f}" fill="{ink}"/>')
                base[i] += value
    return _svg(title, body) + legend([name for name, _ in series])


def _cut(name: str) -> str:
    """Return a name that fits beside its bar."""
    return name if len(name) <= LONGEST else name[:LONGEST - 1].rstrip() + "…"


def tornado(title: str, base: float, bars: Sequence[tuple[str, float, float, str, str]]) -> str:
    """Return horizontal bars from low to high around a base: name, at low, at high, and both ends in words."""
    bars = [bar for bar in bars if bar[1] != bar[2]]
    if not bars:
        return ""
    low, high = min(min(b[1], b[2]) for b in bars), max(max(b[1], b[2]) for b in bars)
    left, row = 250, 20
    height = row * len(bars) + 34

    def x(value: float) -> float:
        return left + (value - low) / ((high - low) or 1.0) * (WIDTH - left - 40)

    body = ""
    for i, (name, at_low, at_high, low_text, high_text) in enumerate(bars):
        y = 6 + i * row
        first, last = sorted((at_low, at_high))
        words = (low_text, high_text) if at_low <= at_high else (high_text, low_text)
        body += (f'<text x="{left - 36}" y="{y + 11}" class="end">{escape(_cut(name))}</text>'
                 f'<rect x="{x(first):.1f}" y="{y}" width="{max(x(last) - x(first), 1):.1f}" height="13" '
                 f'fill="{INKS[0]}"/>'
                 f'<text x="{x(first) - 3:.1f}" y="{y + 11}" class="end small">{escape(words[0])}</text>'
                 f'<text x="{x(last) + 3:.1f}" y="{y + 11}" class="small">{escape(words[1])}</text>')
    body += f'<line x1="{x(base):.1f}" x2="{x(base):.1f}" y1="2" y2="{height - 26}" stroke="#111" stroke-width="1.5"/>'
    for value in ticks(low, high):
        body += f'<text x="{x(value):.1f}" y="{height - 8}" class="mid">{short(value)}</text>'
    return _svg(title, body, height)


def legend(names: Sequence[str]) -> str:
    """Return the names of the series beside their inks."""
    keys = "".join(f'<span><i style="background:{ink}"></i>{escape(name)}</span>'
                   for ink, name in zip(INKS, names, strict=False))
    return f'<p class="legend">{keys}</p>'
