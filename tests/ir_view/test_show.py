"""Stages of a build as tables, text and differences, without building anything."""

from io import StringIO

import pytest
from pygments.token import Error, Text
from rich.console import Console

from harness.api import BuiltArtifact
from harness.artifact.artifact import Artifact
from harness.bench.building.returned_artifact import with_choices
from harness.codegen.costs.costs import Costs, Traffic
from harness.ir_view.highlight import MlirLexer
from harness.ir_view.show import show
from harness.ir_view.stage_output import Language, StageOutput
from harness.ir_view.subject import Subject, build_subject
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.system.errors import InputError
from harness.variants.flash import Flash

MLIR = """module {
  func.func @f(%arg0: tensor<4x?xf32> {harness.buffer = "query"}, %arg1: index) -> f32 {
    %cst = arith.constant -1.000000e+30 : f32
    %0:2 = scf.if %c -> (f32, i1) {
    ^bb0:
      scf.yield %cst, %true : f32, i1  // a comment
    }
    %1 = "attn.mask"(%0#1) <{map = #map, kind = #vector.kind<add>}> : (!llvm.ptr) -> memref<?xbf16>
    return %0#0 : f32
  }
}
"""
COUNTED = """
func.func @f(%x: f32) -> f32 {
  %a = arith.addf %x, %x : f32
  %b = arith.addf %a, %x : f32
  return %b : f32
}
"""
LLVM = """
define void @f(ptr %0) #0 {
  %2 = load float, ptr %0, align 4
  %3 = tail call float @g(float %2)
  ret void
}
attributes #0 = { nounwind }
"""
SPIRV = """
\t%5 = OpLabel
\t%6 = OpFAdd %2 %3 %4
\tOpReturn
"""
PTX = """
.target sm_80
.maxntid 128, 1, 1
{
	.reg .b32 %r<9>;
$L1:
	add.s32 %r1, %r2, 1;
	@%p1 bra $L1;
	ret;
}
"""
ASSEMBLY = "\t.text\nf:\n.LBB0_1:\n\tvmovups\t(%rdi), %ymm0\n\tvmovups\t(%rsi), %ymm1\n\tretq\n"


def output(name: str, text: str | None, language: Language = Language.MLIR) -> StageOutput:
    return StageOutput(name, language, text, 0.0125)


@pytest.fixture
def built(tmp_path) -> BuiltArtifact:
    """A build with three stages, the last one binary."""
    (tmp_path / "a.mlir").write_text(COUNTED)
    (tmp_path / "b.mlir").write_text(COUNTED.replace("arith.addf %a", "arith.mulf %a"))
    (tmp_path / "c.bin").write_bytes(b"\xff\xfe\xff")
    case = Case(problem=AttentionProblem(heads=1, seq_q=4, head_dim=4), variant="flash", target="cpu")
    files = {"payload": "a.mlir", "tiled": "b.mlir", "binary": "c.bin"}
    artifact = Artifact(
        case=case, key="k", executor="none", loader="", stage_files=files, stage_seconds={"payload": 0.5}
    )
    return BuiltArtifact(artifact, tmp_path)


def shown(built: BuiltArtifact, *, terminal: bool = False, **options) -> str:
    stream = StringIO()
    console = Console(file=stream, width=150, force_terminal=terminal, color_system="standard")
    show(build_subject(built), console=console, **options)
    return stream.getvalue()


class TestStageOutputs:
    @pytest.mark.parametrize(
        ("text", "language", "expected"),
        [
            (COUNTED, Language.MLIR, {"func.func": 1, "arith.addf": 2, "func.return": 1}),
            (
                "// not parsed\nfunc.func @f() {\n  %0:2 = vendor.op : !vendor.type\n",
                Language.MLIR,
                {"func.func": 1, "vendor.op": 1},
            ),
            (LLVM, Language.LLVM_IR, {"load": 1, "call": 1, "ret": 1}),
            (ASSEMBLY, Language.ASSEMBLY, {"vmovups": 2, "retq": 1}),
            (PTX, Language.PTX, {"add.s32": 1, "bra": 1, "ret": 1}),
            (SPIRV, Language.SPIRV, {"OpLabel": 1, "OpFAdd": 1, "OpReturn": 1}),
            (None, Language.OTHER, {}),
        ],
    )
    def test_count_their_operations(self, text, language, expected):
        assert output("a", text, language).operations == expected

    def test_leave_out_bodies_that_are_not_in_the_text(self):
        text = """
        func.func @f(%a: tensor<2x2xf32>) {
          %r = linalg.exp ins(%a : tensor<2x2xf32>) outs(%a : tensor<2x2xf32>) -> tensor<2x2xf32>
          return
        }
        """
        assert output("a", text).operations == {"func.func": 1, "linalg.exp": 1, "func.return": 1}


class TestShow:
    def test_a_stage_is_coloured_on_a_terminal(self, built):
        text = shown(built, stage="payload", terminal=True)
        assert "\x1b[" in text
        assert "arith.addf" in text

    def test_the_table_says_what_is_not_known(self, built):
        rows = [line.split("│")[1:-1] for line in shown(built).splitlines() if "│" in line]
        assert [[cell.strip() for cell in row] for row in rows] == [
            ["1", "payload", "500.0", "6", "arith.addf 2, func.func 1, func.return 1", "–"],
            [
                "2",
                "tiled",
                "–",
                "6",
                "func.func 1, arith.addf 1, arith.mulf 1, func.return 1",
                "-1 arith.addf, +1 arith.mulf",
            ],
            ["3", "binary", "–", "–", "3 bytes", "another language"],
        ]

    def test_a_build_without_stages(self, built):
        empty = BuiltArtifact(built.artifact.model_copy(update={"stage_files": {}}), built.folder)
        with pytest.raises(InputError, match="its build keeps no stages"):
            shown(empty)


@pytest.mark.parametrize(("width", "terminal"), [(30, True), (200, False)])
def test_numbers_of_counts_are_never_cut(width, terminal):
    amount = 123_456_789_012
    traffic = Traffic(read=amount, written=amount)
    costs = Costs(
        matmul=amount, exp=amount, other=amount, fma=amount, arguments={"query": traffic}, scratch=traffic
    )
    stream = StringIO()
    subject = Subject("flash", [output("tiled", COUNTED)], lambda _: costs)
    console = Console(file=stream, width=width, force_terminal=terminal, color_system=None)
    show(subject, counts=True, console=console)
    assert stream.getvalue().count("123,456,789,012") == 8


def test_the_title_says_which_tile_sizes_the_target_chose(built):
    def title(**params: int) -> str:
        case = built.case.model_copy(update={"params": params})
        artifact = built.artifact.model_copy(update={"case": case})
        return build_subject(BuiltArtifact(with_choices(artifact, Flash()), built.folder)).title

    assert title().endswith(" · chosen: tile_q=4 tile_kv=4")
    assert title(tile_q=2).endswith("tile_q=2 · chosen: tile_kv=4")


class TestLexer:
    def test_every_character_is_kept_and_known(self):
        found = list(MlirLexer().get_tokens(MLIR))
        assert "".join(text for _, text in found) == MLIR
        assert not [text for kind, text in found if kind is Error]
        assert not [text for kind, text in found if kind is Text and text.strip()]
