"""Lines about many measurements."""

import statistics


def show(name: str, taken: list[float]) -> float:
    """Write how many there were, their median, 99th percentile and longest; returns the 99th percentile."""
    ordered = sorted(taken)
    p99 = ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))]
    print(
        f"{name:<42} n {len(ordered):>5}  median {statistics.median(ordered):>8.2f}"
        f"  p99 {p99:>8.2f}  longest {ordered[-1]:>8.2f}"
    )
    return p99
