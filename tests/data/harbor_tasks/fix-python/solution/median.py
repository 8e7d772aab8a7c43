"""The middle of some numbers."""


def median(numbers):
    ordered = sorted(numbers)
    if not ordered:
        raise ValueError("there are no numbers")
    half = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[half]
    return (ordered[half - 1] + ordered[half]) / 2
