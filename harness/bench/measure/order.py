"""The order of turns: each candidate follows each other one equally often."""

import itertools


def balanced_orders(count: int) -> list[tuple[int, ...]]:
    """Return orders of candidates: each stands in each place, and after each other one, equally often.

    What runs before a candidate leaves caches, clocks and the heat of the chip behind, and so must be the
    same mixture for all.  The design is Williams' (*Experimental designs balanced for the estimation of
    residual effects of treatments*, 1949): a cyclic Latin square whose neighbours differ by each amount once.
    An odd number of candidates needs the square and its mirror image, 2 · `count` orders.
    """
    steps = itertools.chain.from_iterable(zip(range(count), range(count - 1, -1, -1), strict=True))
    first = list(itertools.islice(steps, count))
    square = [tuple((place + shift) % count for place in first) for shift in range(count)]
    return square + [order[::-1] for order in square] if count % 2 and count > 1 else square
