"""A line chart as SVG: one series over a logarithmic axis, in the colours of a page that is light or dark."""
import html
import math

WIDTH, HEIGHT = 420, 260
LEFT, RIGHT, TOP, BOTTOM = 62, 14, 34, 44
STYLE = """<style>
text { font: 12px sans-serif; fill: #333 } .title { font-weight: bold } .grid { stroke: #ddd } .axis { stroke: #888 }
.line { fill: none; stroke: #2563eb; stroke-width: 2 } .dot { fill: #2563eb }
.range { stroke: #2563eb; stroke-opacity: .4; stroke-width: 3 }
@media (prefers-color-scheme: dark) { text { fill: #ccc } .grid { stroke: #444 } }
</style>"""


def short(value):
    """1500 → 1.5 k"""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.3g}"


def ceiling(value):
    """The next of 1, 2, 5 × 10ⁿ."""
    if value <= 0:
        return 1.0
    power = 10 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 5, 10) if value <= step * power * 1.0001)


def panel(title, x_label, points, left):
    """`points`: (x, label of x, lowest, median, highest). x 0 stands one step before the first."""
    positive = [x for x, *_ in points if x > 0]
    first, last = math.log10(min(positive)), math.log10(max(positive))
    zero = any(x == 0 for x, *_ in points)
    start = first - 1 if zero else first
    top = ceiling(max(high for *_, high in points))

    def across(x):
        place = start if x == 0 else math.log10(x)
        return left + LEFT + (place - start) / max(last - start, 1e-9) * (WIDTH - LEFT - RIGHT)

    def up(y):
        return HEIGHT - BOTTOM - y / top * (HEIGHT - TOP - BOTTOM)

    out = [f'<text class="title" x="{left + LEFT}" y="18">{html.escape(title)}</text>']
    for i in range(5):
        y = top * i / 4
        out.append(f'<line class="grid" x1="{left + LEFT}" x2="{left + WIDTH - RIGHT}" y1="{up(y):.1f}" y2="{up(y):.1f}"/>'
                   f'<text x="{left + LEFT - 6}" y="{up(y) + 4:.1f}" text-anchor="end">{short(y)}</text>')
    base = HEIGHT - BOTTOM
    out.append(f'<line class="axis" x1="{left + LEFT}" x2="{left + WIDTH - RIGHT}" y1="{base}" y2="{base}"/>')
    for x, label, low, middle, high in points:
        at = across(x)
        out.append(f'<text x="{at:.1f}" y="{base + 16}" text-anchor="middle">{html.escape(label)}</text>'
                   f'<line class="range" x1="{at:.1f}" x2="{at:.1f}" y1="{up(low):.1f}" y2="{up(high):.1f}"/>'
                   f'<circle class="dot" cx="{at:.1f}" cy="{up(middle):.1f}" r="3.5"/>')
    line = " ".join(f"{across(x):.1f},{up(middle):.1f}" for x, _, _, middle, _ in points)
    out.append(f'<polyline class="line" points="{line}"/>')
    out.append(f'<text x="{left + (LEFT + WIDTH - RIGHT) / 2:.0f}" y="{HEIGHT - 8}" text-anchor="middle">'
               f'{html.escape(x_label)}</text>')
    return "\n".join(out)


def chart(panels):
    """`panels`: (title, label of x, points), side by side."""
    width = WIDTH * len(panels)
    body = "\n".join(panel(*one, left=i * WIDTH) for i, one in enumerate(panels))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" width="{width}" height="{HEIGHT}" '
            f'role="img">\n{STYLE}\n{body}\n</svg>\n')
