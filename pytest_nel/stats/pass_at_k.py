"""pass@k: the chance that one of k attempts at a problem is correct."""

import math


def pass_at_k(n: int, c: int, k: int) -> float:
    """The unbiased estimate from ``n`` attempts with ``c`` correct (Chen et al. 2021).

    Raises:
        ValueError: Not 1 <= k <= n, or not 0 <= c <= n.
    """
    if not 1 <= k <= n:
        msg = f"pass@k needs 1 <= k <= n, got k={k} and n={n}"
        raise ValueError(msg)
    if not 0 <= c <= n:
        msg = f"pass@k needs 0 <= c <= n, got c={c} and n={n}"
        raise ValueError(msg)
    everything = math.comb(n, k)
    return (everything - math.comb(n - c, k)) / everything
