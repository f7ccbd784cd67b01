"""Walking over a kernel's IR, from operation to operation, to its cost tree."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from mlir import ir

from harness.codegen.costs.costs import NotCountable
from harness.codegen.costs.expressions import Constant, Expression, Unknown
from harness.codegen.costs.memory import DYNAMIC, Buffer, Level, Memory, static_shape
from harness.codegen.costs.trees import NOTHING, CostTree, sequence

Handler = Callable[["Walk", ir.OpView], CostTree]
"""Returns what an operation executes, and defines those of its results that others may ask for."""

Meaning = Expression | Memory
"""What is known of a value: integers are expressions, tensors and memrefs memory; others have none."""


class Walk:
    """What is known of the values met so far, in one kernel."""

    def __init__(self, handlers: Mapping[str, Handler]) -> None:
        self.handlers = handlers
        self._known: dict[ir.Value, Meaning] = {}
        self.loops: list[Sequence[Expression]] = []
        """Loop variables of the structured operations around the current place, outermost first."""
        self.returned: list[Memory] = []
        """What the kernel returns."""

    def block(self, block: ir.Block) -> CostTree:
        """Return what one pass through a block executes."""
        return sequence([self.operation(operation) for operation in block.operations])

    def operation(self, operation: ir.OpView) -> CostTree:
        """Return what an operation executes; raises `NotCountable` for one that is not known."""
        name = name_of(operation)
        handler = self.handlers.get(name)
        if handler is None:
            raise NotCountable(f"{name}: {_why_not_known(name)}")
        return handler(self, operation)

    def define(self, value: ir.Value, meaning: Meaning | None) -> None:
        """Note what is known of a value; None is nothing."""
        if meaning is not None:
            self._known[value] = meaning

    def integer(self, value: ir.Value) -> Expression:
        """Return an integer value; it is unknown where nothing defined it."""
        meaning = self._known.get(value)
        if isinstance(meaning, Expression):
            return meaning
        return Unknown(f"{_origin(value)}: its integer result is needed to tell what is executed")

    def memory(self, value: ir.Value) -> Memory:
        """Return the memory of a tensor or memref."""
        meaning = self._known.get(value)
        if isinstance(meaning, Memory):
            return meaning
        raise NotCountable(f"{_origin(value)}: which memory its result {value.type} is in is not known")

    def mixed(self, operation: ir.OpView, name: str, values: Iterable[ir.Value]) -> list[Expression]:
        """Return a list of numbers of which some are attributes and the others operands.

        Args:
            operation: whose attribute it is.
            name: of the attribute with the numbers known from the start.
            values: operands for those that are not.
        """
        remaining = iter(values)
        return [
            self.integer(next(remaining)) if number == DYNAMIC else Constant(number)
            for number in ir.DenseI64ArrayAttr(operation.attributes[name])
        ]

    def fresh(self, value: ir.Value, shape: Sequence[Expression] | None = None) -> Memory:
        """Define a tensor or memref as new scratch memory; the shape is needed where its type is dynamic."""
        known_shape = static_shape(value.type) or shape
        if known_shape is None:
            raise NotCountable(f"{_origin(value)}: the size of {value.type} is not known")
        memory = Memory(Buffer(Level.SCRATCH), tuple(known_shape), value.type.element_type)
        self.define(value, memory)
        return memory


def nothing(walk: Walk, operation: ir.OpView) -> CostTree:
    """Count an operation that executes nothing and whose results nobody asks for."""
    return NOTHING


def named(dialect: str, names: str) -> list[str]:
    """Return the full names of a dialect's operations."""
    return [f"{dialect}.{name}" for name in names.split()]


def name_of(operation: ir.OpView | ir.Operation) -> str:
    """Return an operation's name; the attribute `name` of some is that of a symbol."""
    return operation.operation.name


def operand_groups(operation: ir.OpView) -> list[list[ir.Value]]:
    """Return an operation's operands in the groups of its definition."""
    remaining = iter(operation.operands)
    sizes = ir.DenseI32ArrayAttr(operation.attributes["operandSegmentSizes"])
    return [[next(remaining) for _ in range(size)] for size in sizes]


def body_of(operation: ir.OpView, region: int = 0) -> ir.Block:
    """Return the only block of a region."""
    blocks = list(operation.regions[region].blocks)
    if len(blocks) != 1:
        raise NotCountable(f"{name_of(operation)}: its body is a graph of {len(blocks)} blocks")
    return blocks[0]


def is_integer(kind: ir.Type) -> bool:
    """Whether a type is a scalar integer or index."""
    return isinstance(kind, ir.IndexType | ir.IntegerType)


def _origin(value: ir.Value) -> str:
    if isinstance(value, ir.OpResult):
        return name_of(value.owner)
    return f"argument {value.arg_number} of a block of {name_of(value.owner.owner)}"


def _why_not_known(name: str) -> str:
    dialect = name.partition(".")[0]
    if dialect in ("llvm", "cf"):
        return f"the {dialect} dialect has jumps instead of loops, so that trip counts are gone"
    if dialect == "attn":
        return "what it executes depends on how it is decomposed; decompose it first"
    return "what it executes is not known to the counter"
