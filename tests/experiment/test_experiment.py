"""Experiments: what a file may hold, which cases it means, and what is said of mistakes."""

from pathlib import Path

import pytest

from harness.experiment.experiment import Experiment, load_experiment
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.system.errors import InputError

pytestmark = pytest.mark.usefixtures("examples")

HEAD = """
name = "trial"
question = "Does it work?"
variants = ["unfused", "flash"]
"""
PROBLEM = """
[problem]
heads = 4
head_dim = 64
seq = 128
"""


def load(file: Path, text: str) -> Experiment:
    file.write_text(text, encoding="utf-8")
    return load_experiment(file)


def problems_of(file: Path, table: str) -> list[AttentionProblem]:
    cases = load(file, f"{HEAD}[problem]\n{table}").cases()
    return [case.problem for case in cases if case.variant == "flash"]


class TestAxes:
    def test_every_list_is_an_axis_and_lengths_vary_fastest(self, file: Path) -> None:
        problems = problems_of(
            file, "heads = 2\nseq = [64, 128]\nhead_dim = [32, 64]\ncausal = [false, true]"
        )
        assert [(p.causal, p.head_dim, p.seq_q) for p in problems] == [
            (causal, dim, seq) for causal in (False, True) for dim in (32, 64) for seq in (64, 128)
        ]

    def test_tokens_fix_the_batch(self, file: Path) -> None:
        problems = problems_of(file, "heads = 2\nhead_dim = 64\ntokens = 1024\nseq = [128, 256]")
        assert [p.batch for p in problems] == [8, 4]

    def test_hidden_fixes_the_heads(self, file: Path) -> None:
        problems = problems_of(file, "hidden = 2048\nhead_dim = [64, 128]\nseq = 64")
        assert [p.heads for p in problems] == [32, 16]

    def test_window_is_one_pair_or_an_axis_of_pairs(self, file: Path) -> None:
        table = "heads = 2\nhead_dim = 64\nseq = 64\n"
        assert [p.window for p in problems_of(file, table + "window = [16, 0]")] == [(16, 0)]
        several = problems_of(file, table + 'window = ["none", [16, 0], [8, -1]]')
        assert [p.window for p in several] == [None, (16, 0), (8, None)]

    def test_lengths_of_a_padded_batch_are_one_list_or_an_axis_of_lists(self, file: Path) -> None:
        table = "batch = 2\nheads = 2\nhead_dim = 64\nseq = 64\n"
        assert [p.kv_lengths for p in problems_of(file, table + "kv_lengths = [64, 3]")] == [(64, 3)]
        several = problems_of(file, table + "kv_lengths = [[64, 3], [1, 1]]")
        assert [p.kv_lengths for p in several] == [(64, 3), (1, 1)]

    def test_none_leaves_a_field_unset(self, file: Path) -> None:
        problems = problems_of(
            file, 'heads = 2\nhead_dim = 64\nseq = 64\nsoftcap = ["none", 30]\nscale = "none"'
        )
        assert [(p.softcap, p.scale) for p in problems] == [(None, 0.125), (30.0, 0.125)]

    def test_several_problem_tables_are_independent_products(self, file: Path) -> None:
        tables = """
        [[problems]]
        heads = 2
        head_dim = 32
        seq = 64
        [[problems]]
        heads = 1
        head_dim = 64
        seq = [1, 2]
        """
        cases = load(file, HEAD + PROBLEM + tables).cases(["variant=flash"])
        sizes = [(case.problem.heads, case.problem.head_dim, case.problem.seq_q) for case in cases]
        assert sizes == [(4, 64, 128), (2, 32, 64), (1, 64, 1), (1, 64, 2)]

    def test_a_case_that_two_tables_mean_exists_once(self, file: Path) -> None:
        again = PROBLEM.replace("[problem]", "[[problems]]")
        assert len(load(file, HEAD + PROBLEM + again).cases()) == 2


class TestCases:
    def test_candidates_of_one_problem_stand_side_by_side_in_the_listed_order(self, file: Path) -> None:
        cases = load(file, f"{HEAD}[problem]\nheads = 2\nhead_dim = 64\nseq = [64, 128]").cases()
        assert [(case.problem.seq_q, case.variant) for case in cases] == [
            (64, "unfused"),
            (64, "flash"),
            (128, "unfused"),
            (128, "flash"),
        ]

    def test_parameters_are_axes(self, file: Path) -> None:
        cases = load(file, f"{HEAD}{PROBLEM}[variant.flash]\ntile_kv = [32, 64]\nunroll = true").cases()
        assert [case.params for case in cases] == [
            {},
            {"tile_kv": 32, "order": "q-first", "unroll": True},
            {"tile_kv": 64, "order": "q-first", "unroll": True},
        ]

    @pytest.mark.parametrize("default", ["[target.cpu]\nthreads = 1", "[variant.flash]\ntile_kv = 64"])
    def test_a_default_that_is_set_makes_the_same_case(self, file: Path, default: str) -> None:
        left_out = load(file, HEAD + PROBLEM).cases()
        written = load(file, HEAD + PROBLEM + default).cases()
        assert [case.id for case in left_out] == [case.id for case in written]
        assert {case.target_options["threads"] for case in left_out} == {1}

    def test_where_limits_a_variant_to_some_problems(self, file: Path) -> None:
        text = f"{HEAD}[problem]\nheads = 2\nhead_dim = [32, 64]\nseq_q = 1\nseq_kv = [64, 128]\n"
        cases = load(file, f'{text}[variant.flash]\nwhere = "seq_kv <= 64 and head_dim == 32"').cases()
        flash = [(c.problem.head_dim, c.problem.seq_kv) for c in cases if c.variant == "flash"]
        assert flash == [(32, 64)]
        assert sum(case.variant == "unfused" for case in cases) == 4
        with pytest.raises(
            InputError, match=r"flash\.where: .*where lengths differ, ask for seq_q or seq_kv"
        ):
            load(file, f'{text}[variant.flash]\nwhere = "seq <= 64"').cases()

    def test_target_options_are_axes(self, file: Path) -> None:
        cases = load(file, f"{HEAD}{PROBLEM}[target.cpu]\nthreads = [1, 2]").cases()
        assert [(case.target_options["threads"], case.variant) for case in cases] == [
            (1, "unfused"),
            (1, "flash"),
            (2, "unfused"),
            (2, "flash"),
        ]

    def test_targets_with_chips_share_the_targets_options(self, file: Path) -> None:
        text = HEAD + 'targets = ["cpu", "cpu:avx2"]\n' + PROBLEM + "[target.cpu]\nthreads = 2"
        cases = load(file, text).cases(["variant=flash"])
        assert [(case.target, case.target_options["threads"]) for case in cases] == [
            ("cpu", 2),
            ("cpu:avx2", 2),
        ]

    def test_groups_hold_what_is_timed_against_each_other(self, file: Path) -> None:
        text = f"{HEAD}[problem]\nheads = 2\nhead_dim = 64\nseq = [64, 128]\n[target.cpu]\nthreads = [1, 2]"
        cases = load(file, text).cases()
        groups = Experiment.groups(cases)
        assert [len(group) for group in groups] == [2, 2, 2, 2]
        assert [case for group in groups for case in group] == cases

    def test_a_case_has_the_same_id_whichever_way_it_is_written(self, file: Path) -> None:
        short = load(file, HEAD + PROBLEM).cases()
        long = load(file, HEAD + PROBLEM.replace("seq = 128", 'seq_q = [128]\ndtype = "float32"')).cases()
        assert [case.id for case in short] == [case.id for case in long]


class TestOnly:
    @pytest.fixture
    def experiment(self, file: Path) -> Experiment:
        return load(
            file,
            """
            name = "trial"
            question = "Does it work?"
            variants = ["unfused", "flash", "naive"]
            targets = ["cpu", "cpu:avx2"]
            [problem]
            heads = 2
            head_dim = 64
            causal = [false, true]
            dtype = ["f32", "f16"]
            seq = [64, 128]
            [variant.naive]
            tile_kv = [32, 64]
            """,
        )

    def values(self, cases: list[Case], key: str) -> set[object]:
        return {getattr(case, key, None) or getattr(case.problem, key, None) for case in cases}

    def test_different_keys_must_all_hold(self, experiment: Experiment) -> None:
        cases = experiment.cases(
            ["variant=flash", "seq=64", "dtype=float16", "causal=true", "target=cpu:avx2"]
        )
        assert [(case.variant, case.problem.describe(), case.target) for case in cases] == [
            ("flash", "b1 h2 s64 d64 f16 causal", "cpu:avx2")
        ]

    def test_several_keys_in_one_text(self, experiment: Experiment) -> None:
        apart = experiment.cases(["variant=flash,naive", "seq=64,128"])
        assert experiment.cases(["variant=flash,naive,seq=64,128"]) == apart
        with pytest.raises(InputError, match=r"^--harness-only verion=x: unknown key 'verion'"):
            experiment.cases(["seq=64,verion=x"], "--harness-only")

    def test_seq_is_of_queries_and_keys_of_one_length(self, file: Path) -> None:
        sizes = "heads = 2\nhead_dim = 64\n"
        decode, square = f"[problem]\n{sizes}seq_q = 1\nseq_kv = 64\n", f"[[problems]]\n{sizes}seq = 64\n"
        both, alone = load(file, HEAD + decode + square), load(file, HEAD + decode)
        assert {case.problem.seq_q for case in both.cases(["seq=64"])} == {64}
        assert {case.problem.seq_q for case in both.cases(["seq=none"])} == {1}
        with pytest.raises(InputError, match="queries and keys differ in length, choose by seq_q or seq_kv"):
            alone.cases(["seq=64"])

    def test_a_parameter(self, experiment: Experiment) -> None:
        cases = experiment.cases(["tile_kv=32"])
        assert {(case.variant, case.params["tile_kv"]) for case in cases} == {("naive", 32)}

    @pytest.mark.parametrize(
        ("only", "expected"),
        [
            (
                ["varant=flash"],
                "--only varant=flash: unknown key 'varant' (did you mean variant?); expected one of ",
            ),
            (["variant=flsh"], "--only variant=flsh: no case has it; found flash, naive, unfused"),
            (["seq=63"], "--only seq=63: no case has it; found 64, 128"),
            (
                ["tile_q=64"],
                "--only tile_q=64: no case sets tile_q; set it in the",
            ),
            (
                ["tilekv=64"],
                "--only tilekv=64: unknown key 'tilekv' (did you mean tile_kv?); ",
            ),
            (["flash"], "--only 'flash': expected KEY=VALUE"),
            (["variant="], "--only 'variant=': expected KEY=VALUE"),
            (
                ["tile_kv=32", "variant=flash"],
                "--only tile_kv=32 variant=flash: no case fulfils all of these",
            ),
        ],
    )
    def test_a_filter_that_selects_nothing_is_an_error(
        self, experiment: Experiment, only: list[str], expected: str
    ) -> None:
        with pytest.raises(InputError) as caught:
            experiment.cases(only)
        assert str(caught.value).startswith(expected)

    @pytest.mark.parametrize(
        ("only", "expected"),
        [
            (["seq=63", "variant=flsh"], ["--only seq=63: no case", "--only variant=flsh: no case"]),
            (["flash", "varant=flash"], ["--only 'flash': expected", "--only varant=flash: unknown key"]),
        ],
    )
    def test_all_wrong_filters_are_told_at_once(
        self, experiment: Experiment, only: list[str], expected: list[str]
    ) -> None:
        with pytest.raises(InputError) as caught:
            experiment.cases(only)
        assert len(caught.value.lines) == len(expected)
        assert all(map(str.startswith, caught.value.lines, expected))
