"""Medians, bounds and rows: the one place where measured rounds become claims."""
import dataclasses
import math
import statistics


def bound_index(count):
    """How many of `count` sorted values may be left out below a bound that the median keeps with 95 %.

    The order statistic of the sign test: no assumption about how the values are spread.
    """
    index, cumulated = 0, 0.0
    for k in range(count):
        cumulated += math.comb(count, k) / 2 ** count
        if cumulated > 0.05:
            break
        index = k + 1
    return max(0, index - 1)


def lower_bound(values):
    return sorted(values)[bound_index(len(values))] if values else math.nan


def upper_bound(values):
    return sorted(values, reverse=True)[bound_index(len(values))] if values else math.nan


@dataclasses.dataclass
class Row:
    """One claim. `ours` and `peer` are rounds in the order in which they ran, so that they pair up."""
    row: str
    claim: str
    unit: str
    ours: list
    peer_name: str = ""
    peer: list = dataclasses.field(default_factory=list)
    floor: float | None = None
    target: float | None = None
    judged: str = "ours"            # what floor and target speak of: "ours" or "ratio"
    smaller_is_better: bool = False
    cpu_us: float | None = None     # CPU of the server (in process: of the program) per event
    peer_cpu_us: float | None = None
    note: str = ""

    @property
    def ratios(self):
        return [a / b for a, b in zip(self.ours, self.peer) if b]

    def judged_values(self):
        return self.ratios if self.judged == "ratio" else self.ours

    @property
    def median(self):
        return statistics.median(self.judged_values())

    @property
    def bound(self):
        """The pessimistic 95 % bound: lower, or upper where smaller is better."""
        values = self.judged_values()
        return upper_bound(values) if self.smaller_is_better else lower_bound(values)

    def met(self, limit):
        """By the median; `bound` beside it says how sure that is."""
        if limit is None:
            return None
        return self.median <= limit if self.smaller_is_better else self.median >= limit


def number(value):
    if value is None or value != value:
        return ""
    if abs(value) >= 1e6:
        return f"{value / 1e6:.2f} M"
    if abs(value) >= 1e4:
        return f"{value / 1e3:.1f} k"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def word(row, limit):
    met = row.met(limit)
    if met is None:
        return ""
    sign = "≤" if row.smaller_is_better else "≥"
    return f"{'yes' if met else 'NO'} ({sign} {number(limit)}{'×' if row.judged == 'ratio' else ''})"


HEADER = ["row", "claim", "ours", "peer", "ratio", "95 % bound", "floor met?", "target met?",
          "CPU µs/event", "rounds"]


def cells(row):
    ratio = statistics.median(row.ratios) if row.ratios else None
    peer = f"{row.peer_name} {number(statistics.median(row.peer))}" if row.peer else row.peer_name
    cpu = number(row.cpu_us) + (f" vs {number(row.peer_cpu_us)}" if row.peer_cpu_us is not None else "")
    bound = number(row.bound) + ("×" if row.judged == "ratio" else "") if len(row.judged_values()) > 1 else ""
    return [row.row, row.claim, f"{number(statistics.median(row.ours))} {row.unit}", peer,
            f"{ratio:.2f}×" if ratio is not None else "", bound, word(row, row.floor), word(row, row.target), cpu,
            str(len(row.ours))]


def text_table(rows):
    lines = [HEADER] + [cells(row) for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEADER))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines)


def markdown_table(rows):
    lines = ["| " + " | ".join(HEADER) + " |", "|" + "---|" * len(HEADER)]
    lines += ["| " + " | ".join(cells(row)) + " |" for row in rows]
    notes = [f"- {row.row}, {row.claim}: {row.note}" for row in rows if row.note]
    return "\n".join(lines) + ("\n\n" + "\n".join(notes) if notes else "")
