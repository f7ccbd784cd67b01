"""The main loop of a kernel for Intel's GPUs as SPIR-V's assembly, which is what drivers compile.

Nothing here turns SPIR-V into machine instructions, so operations of SPIR-V are what is counted.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import takewhile

from harness.targets.xegpu.instruction_classes import instruction_classes

FUNCTION = re.compile(r"\s*%\w+ = OpFunction ")
LABEL = re.compile(r"\s*(%\w+) = OpLabel")
BRANCH = re.compile(r"\s*OpBranch(?:Conditional)? (.*)")
NAMED_PART = re.compile(r"\s*%\w+ = Op(?:Label|Variable|Bitcast)")
"""What a loop's operations need of blocks before it: which names are arrays of a lane's own."""
ID = re.compile(r"%\w+")
ONLY_NAMES = "none"
"""The class of what names registers and their parts: no instruction comes of it, as a rule."""


def counted(assembly: str) -> dict[str, int]:
    """Return the operations by class of the loop that works on whole tiles, `none` left out.

    It is the innermost loop with the most products and, of several, the one with the fewest operations, which
    masks nothing.
    """
    lines = assembly.splitlines()
    declarations = list(takewhile(lambda line: not FUNCTION.match(line), lines))
    blocks = _blocks(lines[len(declarations) :])
    declarations += filter(NAMED_PART.match, lines)
    bodies = _loops({name: _followers(block, blocks) for name, block in blocks.items()})
    innermost = [body for body in bodies if not any(other < body for other in bodies)]
    counts = [
        instruction_classes("\n".join([*declarations, *(line for name in body for line in blocks[name])]))
        for body in innermost
    ]
    steady = max(counts, key=lambda count: (count.get("matrix", 0), -sum(count.values())))
    return {name: count for name, count in steady.items() if name != ONLY_NAMES}


def _blocks(lines: list[str]) -> dict[str, list[str]]:
    """Return the lines of each block by its label."""
    blocks: dict[str, list[str]] = {}
    block: list[str] = []
    for line in lines:
        if label := LABEL.match(line):
            block = blocks.setdefault(label[1], [])
        block.append(line)
    return blocks


def _followers(block: list[str], blocks: Mapping[str, object]) -> list[str]:
    branches = filter(None, map(BRANCH.match, block))
    return [name for branch in branches for name in ID.findall(branch[1]) if name in blocks]


def _loops(followers: Mapping[str, list[str]]) -> list[set[str]]:
    """Return the blocks of each loop: its first one, and what leads back there without passing it."""
    leaders: dict[str, list[str]] = {name: [] for name in followers}
    for name, targets in followers.items():
        for target in targets:
            leaders[target].append(name)
    bodies: dict[str, set[str]] = {}
    for last, first in _jumps_back(followers):
        body, waiting = bodies.setdefault(first, {first}), [last]
        while waiting:
            name = waiting.pop()
            if name not in body:
                body.add(name)
                waiting += leaders[name]
    return list(bodies.values())


def _jumps_back(followers: Mapping[str, list[str]]) -> Iterator[tuple[str, str]]:
    """Yield the jumps that lead to a block on the way to them, from one and to the other."""
    seen: set[str] = set()
    for start in followers:
        way = [(start, iter(followers[start]))] if start not in seen else []
        seen.add(start)
        while way:
            name, targets = way[-1]
            target = next(targets, None)
            if target is None:
                way.pop()
            elif target in [passed for passed, _ in way]:
                yield name, target
            elif target not in seen:
                seen.add(target)
                way.append((target, iter(followers[target])))
