"""Operations that mean the same on the CPU as on a device, or nothing there (fences, hints).

Everything else needs a model or is an error.
"""


def _named(prefix: str, names: str) -> frozenset[str]:
    return frozenset(f"{prefix}.{name}" for name in names.split())


ARITHMETIC = _named(
    "llvm",
    """
    add sub mul udiv sdiv urem srem and or xor shl lshr ashr icmp select
    fadd fsub fmul fdiv frem fneg fcmp
    trunc zext sext fptrunc fpext fptosi fptoui sitofp uitofp bitcast ptrtoint inttoptr freeze
    extractelement insertelement shufflevector extractvalue insertvalue
    getelementptr mlir.constant mlir.poison mlir.undef mlir.zero
    """,
)

CONTROL_FLOW = frozenset({"llvm.br", "llvm.cond_br", "llvm.switch", "llvm.return", "llvm.unreachable"})

INTRINSICS = _named(
    "llvm.intr",
    """
    fma fmuladd fabs sqrt floor ceil trunc rint round roundeven nearbyint copysign ldexp
    exp exp2 log log2 pow powi sin cos tanh
    maximum minimum maxnum minnum maximumnum minimumnum
    smax smin umax umin abs ctpop ctlz cttz bitreverse bswap fshl fshr expect
    sadd.sat uadd.sat ssub.sat usub.sat fptosi.sat fptoui.sat
    sadd.with.overflow uadd.with.overflow ssub.with.overflow usub.with.overflow
    smul.with.overflow umul.with.overflow
    vector.reduce.add vector.reduce.mul vector.reduce.and vector.reduce.or vector.reduce.xor
    vector.reduce.smax vector.reduce.smin vector.reduce.umax vector.reduce.umin
    vector.reduce.fadd vector.reduce.fmul vector.reduce.fmax vector.reduce.fmin
    vector.reduce.fmaximum vector.reduce.fminimum
    vector.insert vector.extract stepvector
    """,
)

PLAIN = ARITHMETIC | CONTROL_FLOW | INTRINSICS
"""Operations that are kept as they are."""

WITHOUT_EFFECT = frozenset(
    {
        "llvm.intr.assume",
        "llvm.intr.lifetime.start",
        "llvm.intr.lifetime.end",
        "llvm.intr.experimental.noalias.scope.decl",
        "llvm.intr.prefetch",
        "llvm.fence",
    }
)
"""Operations that are dropped: promises to an optimizer, hints, and the order of memory, which is program
order here."""

GENERIC_INTRINSICS = ("llvm.maximumnum.", "llvm.minimumnum.", "llvm.canonicalize.", "llvm.fptrunc.round.")
"""How the names of intrinsics begin that the dialect has no operation for and every back end knows."""
