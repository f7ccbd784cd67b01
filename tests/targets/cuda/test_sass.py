"""Machine code with its control codes, read from a disassembly."""

from sass_text import Line, disassembly

from harness.targets.cuda.sass import Control, parse

PRINTED = """
	.headerflags	@"EF_CUDA_SM80"
.text.attention:
        /*0000*/                   MOV R1, c[0x0][0x28] ;                          /* 0x00000a0000017a02 */
                                                                                   /* 0x000fe40000000f00 */
.L_x_0:
        /*0010*/              @!P0 LDGSTS.E.BYPASS.128 [R3], [R6.64] ;             /* 0x0000000006037fae */
                                                                                   /* 0x0003e8000b901c44 */
        /*0020*/                   HMMA.16816.F32 R4, R8, R12, R4 ;                /* 0x0000000c0804723c */
                                                                                   /* 0x004fee0000001804 */
        /*0030*/               @P1 BRA `(.L_x_0) ;                                 /* 0xffffffd000001947 */
                                                                                   /* 0x000fea000383ffff */
"""


def test_instructions_have_predicate_opcode_and_operands() -> None:
    function = parse(PRINTED)["attention"]
    move, copy, product, jump = function.instructions
    assert (move.predicate, move.name, move.operands) == ("", "MOV", "R1, c[0x0][0x28]")
    assert (copy.predicate, copy.name, copy.modifiers) == ("@!P0", "LDGSTS", ("E", "BYPASS", "128"))
    assert product.opcode == "HMMA.16816.F32"
    assert (jump.target, jump.is_conditional) == (".L_x_0", True)
    assert function.labels == {".L_x_0": 1}


def test_control_codes_of_real_instructions() -> None:
    """A move stalls 2 cycles; a copy raises a barrier for its operands; a product waits for barrier 2."""
    move, copy, product, jump = parse(PRINTED)["attention"].instructions
    assert move.control == Control(stall=2, write_flag=None, read_flag=None, waits=())
    assert (copy.control.stall, copy.control.read_flag, copy.control.write_flag) == (4, 1, None)
    assert (product.control.stall, product.control.waits) == (7, (2,))
    assert jump.control.stall == 5


def test_every_control_code_is_read() -> None:
    line = Line("LDSM.16.M88.4 R8, [R3]", stall=11, write=2, read=5, waits=(0, 3))
    (instruction,) = parse(disassembly("scores", [line]))["scores"].instructions
    assert instruction.control == Control(stall=11, write_flag=2, read_flag=5, waits=(0, 3))


def test_a_jump_may_have_its_predicate_among_the_operands() -> None:
    text = disassembly("attention", ["BRA.U !UP0, `(.L_x_1)", "BRA `(.L_x_1)", "@!PT LDS RZ, [RZ]"])
    first, second, never = parse(text)["attention"].instructions
    assert [first.is_conditional, second.is_conditional] == [True, False]
    assert never.never_executes
    assert not first.never_executes
