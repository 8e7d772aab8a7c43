"""pass@k and pass^k: the chance that one, or all, of k attempts at a problem are correct."""

import math


def pass_at_k(n: int, c: int, k: int) -> float:
    """The unbiased estimate from ``n`` attempts with ``c`` correct (Chen et al. 2021).

    Raises:
        ValueError: Not 1 <= k <= n, or not 0 <= c <= n.
    """
    _check("pass@k", n, c, k)
    everything = math.comb(n, k)
    return (everything - math.comb(n - c, k)) / everything


def pass_all_k(n: int, c: int, k: int) -> float:
    """pass^k: the chance that all of ``k`` attempts are correct (Yao et al. 2024, tau-bench).

    The unbiased estimate ``C(c, k) / C(n, k)`` from ``n`` attempts with ``c`` correct.

    Raises:
        ValueError: Not 1 <= k <= n, or not 0 <= c <= n.
    """
    _check("pass^k", n, c, k)
    return math.comb(c, k) / math.comb(n, k)


def _check(name: str, n: int, c: int, k: int) -> None:
    if not 1 <= k <= n:
        msg = f"{name} needs 1 <= k <= n, got k={k} and n={n}"
        raise ValueError(msg)
    if not 0 <= c <= n:
        msg = f"{name} needs 0 <= c <= n, got c={c} and n={n}"
        raise ValueError(msg)
