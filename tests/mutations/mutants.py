"""Deliberate breaks of the machinery that numbers are trusted for, and the test that catches each."""

import ast
from dataclasses import dataclass
from pathlib import Path

MEASURE, RESULTS, RUNNING = "harness/bench/measure", "harness/results", "harness/bench/running"
ROWS, ROUNDS = "harness/bench/row_maker.py", f"{MEASURE}/rounds.py"
STATISTICS, TIMING = f"{RESULTS}/statistics.py", f"{RUNNING}/group_timing.py"
PROBLEM, EXPECTED = "harness/problem/attention_problem.py", "harness/oracle/expected.py"
PEAK = "harness/targets/cpu/peak.py"
PREPARED, TRUST = f"{RUNNING}/prepared_case.py", f"{RUNNING}/trust.py"

OF_ROWS = "tests/bench/test_row_maker.py::"
OF_ROUNDS = "tests/bench/measure/test_rounds.py::"
OF_INTERVALS = "tests/results/test_nested_intervals.py::"
OF_PROBLEMS = "tests/problem/test_attention_problem.py::"
OF_PEAKS = "tests/targets/cpu/test_peak.py::"
OF_RESUMING = "tests/bench/running/test_resume.py::"
OF_PANELS = (
    "tests/reporting/figures/test_throughput.py::"
    "test_series_of_different_problems_at_one_place_are_not_in_one_panel"
)
OF_TOLERANCE = "tests/oracle/test_expected.py::test_each_term_of_the_tolerance_weighs_what_is_documented"


@dataclass(frozen=True)
class Mutant:
    """A change of one function, or of a module outside its functions, that makes it wrong."""

    what: str
    """What is wrong then, in words."""
    file: str
    function: str
    """`name` or `Class.name`; empty for the whole module."""
    old: str
    new: str
    test: str
    """The test that must fail."""

    def apply(self, root: Path) -> None:
        """Change the package below a folder; raises `ValueError` unless the old text stands there once."""
        path = root / self.file
        lines = path.read_text().splitlines(keepends=True)
        first, end = _place(ast.parse("".join(lines)), self.function, len(lines))
        text = "".join(lines[first:end])
        if text.count(self.old) != 1:
            raise ValueError(
                f"{self.file}: {self.function}: {self.old!r} stands there {text.count(self.old)} times"
            )
        path.write_text("".join(lines[:first]) + text.replace(self.old, self.new) + "".join(lines[end:]))


def _place(tree: ast.AST, function: str, count: int) -> tuple[int, int]:
    """Return the first line and the line past the end of a function."""
    if not function:
        return 0, count
    node = tree
    for name in function.split("."):
        node = next(
            child
            for child in ast.iter_child_nodes(node)
            if isinstance(child, ast.FunctionDef | ast.ClassDef) and child.name == name
        )
    return node.lineno - 1, node.end_lineno or count


MUTANTS = {
    "speed-up-swapped": Mutant(
        "a speed-up is this time over the baseline's",
        ROWS,
        "speedup_columns",
        "paired_ratio(\n        [taken.seconds[baseline.id] for taken in rounds],\n"
        "        [taken.seconds[case.id]",
        "paired_ratio(\n        [taken.seconds[case.id] for taken in rounds],\n"
        "        [taken.seconds[baseline.id]",
        f"{OF_ROWS}test_a_speed_up_is_the_baseline_s_time_over_this_one_s",
    ),
    "speed-up-interval": Mutant(
        "a speed-up's interval is the value itself",
        ROWS,
        "speedup_columns",
        "speedup.low",
        "speedup.value",
        f"{OF_ROWS}test_a_speed_up_is_the_baseline_s_time_over_this_one_s",
    ),
    "pairs-sorted": Mutant(
        "ratios are of sorted times, not of the times of a round",
        STATISTICS,
        "paired_ratio",
        "baseline / candidate, starts",
        "np.sort(baseline) / np.sort(candidate), starts",
        f"{OF_ROWS}test_times_are_compared_within_their_rounds",
    ),
    "recompute-inverted": Mutant(
        "the recompute factor is inverted",
        ROWS,
        "artifact_columns",
        "metrics.flops_executed / problem.flops()",
        "problem.flops() / metrics.flops_executed",
        f"{OF_ROWS}test_the_recompute_factor_is_what_is_executed_over_what_is_needed",
    ),
    "fraction-doubled": Mutant(
        "a row shows twice its fraction of the peak",
        ROWS,
        "peak_columns",
        "flops / peak for",
        "2 * flops / peak for",
        f"{OF_ROWS}test_a_fraction_of_the_peak_is_throughput_over_peak",
    ),
    "best-verdict": Mutant(
        "the best verdict of all distributions is kept, not the worst",
        ROWS,
        "CaseRecord.note_verdict",
        "verdict.error_ratio > ",
        "verdict.error_ratio < ",
        f"{OF_ROWS}test_the_worst_verdict_of_all_distributions_is_kept",
    ),
    "least-load": Mutant(
        "the load of a row is that of its quietest round",
        ROWS,
        "timing_columns",
        "sum(taken.load for taken in own) / len(own)",
        "min(taken.load for taken in own)",
        f"{OF_ROWS}test_load_is_the_mean_over_the_rounds",
    ),
    "busy-at-twice": Mutant(
        "a row is busy at twice its limit",
        ROWS,
        "timing_columns",
        "load > times.busy_limit",
        "load > 2 * times.busy_limit",
        f"{OF_ROWS}test_a_row_is_busy_above_the_limit",
    ),
    "throughput-of-what-is-executed": Mutant(
        "throughput counts twice the operations",
        ROWS,
        "timing_columns",
        "case.problem.flops() /",
        "2 * case.problem.flops() /",
        f"{OF_ROWS}test_throughput_is_the_problem_s_operations_over_the_time",
    ),
    "one-start": Mutant(
        "all rounds count as one start",
        ROWS,
        "speedup_columns",
        "[taken.start for taken in rounds],",
        "",
        f"{OF_ROWS}test_intervals_know_the_starts",
    ),
    "bytes-of-flops": Mutant(
        "intensity is inverted",
        ROWS,
        "problem_columns",
        "flops / traffic if traffic",
        "traffic / flops if traffic",
        f"{OF_ROWS}test_least_traffic_and_intensity_are_columns",
    ),
    "starts-weigh-alike": Mutant(
        "a start that was disturbed weighs as much as others",
        STATISTICS,
        "nested_interval",
        "_precision(logarithms, medians)",
        "np.full(len(medians), 1 / medians.var())",
        f"{OF_INTERVALS}test_a_start_that_was_disturbed_weighs_less",
    ),
    "quiet-starts-decide": Mutant(
        "a start that is quiet by chance weighs more than others",
        STATISTICS,
        "_precision",
        "np.maximum(within, typical)",
        "within",
        f"{OF_INTERVALS}test_a_start_that_is_quiet_by_chance_weighs_no_more_than_others",
    ),
    "close-medians-decide": Mutant(
        "a few medians that lie close by chance make the interval too narrow",
        STATISTICS,
        "nested_interval",
        "MODEL_FREEDOM * modelled",
        "MODEL_FREEDOM * observed",
        f"{OF_INTERVALS}test_medians_that_lie_close_by_chance_bound_nothing_closely",
    ),
    "normal-quantile": Mutant(
        "of few starts the interval is as narrow as that of many",
        STATISTICS,
        "nested_interval",
        "t_quantile(confidence, len(medians) - 1) * error",
        "1.96 * error",
        f"{OF_INTERVALS}test_interval_holds_the_true_ratio_as_often_as_it_says",
    ),
    "order-statistics-at-90": Mutant(
        "the interval of one start is one of 90 %",
        STATISTICS,
        "_order_statistic_bounds",
        "(1 - confidence) / 2",
        "0.05",
        "tests/results/test_statistics.py::test_interval_holds_the_true_median_as_often_as_it_says",
    ),
    "stop-at-twice": Mutant(
        "sampling stops at twice the interval",
        ROUNDS,
        "RoundTimer._is_enough",
        "width <= self.settings.interval",
        "width <= 2 * self.settings.interval",
        f"{OF_ROUNDS}test_an_interval_s_full_width_is_what_is_asked_for",
    ),
    "stop-when-one-is-narrow": Mutant(
        "sampling stops when one candidate's interval is narrow",
        ROUNDS,
        "RoundTimer._is_enough",
        "return all(width",
        "return any(width",
        f"{OF_ROUNDS}test_every_ratio_must_be_narrow",
    ),
    "stop-before-the-starts": Mutant(
        "a narrow interval of the first start is enough",
        ROUNDS,
        "RoundTimer._is_enough",
        " or self._starts < starts:",
        ":",
        f"{OF_ROUNDS}test_a_narrow_interval_of_few_starts_is_not_enough",
    ),
    "one-life": Mutant(
        "a start leaves candidates as they are",
        TIMING,
        "GroupTiming._start",
        "self._workers[case_id].restart()",
        "self._workers[case_id].restart() if number == 0 else None",
        "tests/bench/running/test_runner.py::test_each_start_has_new_processes",
    ),
    "inputs-kept": Mutant(
        "inputs are the same from one sample to the next",
        PREPARED,
        "StartedCase.refresh",
        "self._changing.refresh(number)",
        "pass",
        "tests/bench/running/test_prepared_case.py::test_each_sample_has_new_inputs",
    ),
    "early-returns-believed": Mutant(
        "a first call on new inputs may take longer than a worker says",
        TRUST,
        "Trial.disagreement",
        "self.passed_s > AGREEMENT * self.claimed_s + SLACK_S",
        "False",
        "tests/bench/running/test_trust.py::test_both_clocks_agree_within_one_tolerance",
    ),
    "claims-too-long": Mutant(
        "a sample may say more than has passed",
        TRUST,
        "Trial.disagreement",
        "self.claimed_s > AGREEMENT * self.passed_s + SLACK_S",
        "False",
        "tests/bench/running/test_trust.py::test_both_clocks_agree_within_one_tolerance",
    ),
    "operands-kept": Mutant(
        "code is not bound again with another mask, bias, sinks or weights",
        "harness/bench/running/checking.py",
        "CaseCheck._check_repeatedly",
        "for turn, file in expected.other_operands.items():",
        "for turn, file in ():",
        "tests/bench/running/test_other_operands.py::test_code_that_keeps_the_first_operands_is_wrong",
    ),
    "outputs-read-later": Mutant(
        "outputs are read some time after the call, when threads that it has left are done",
        "harness/bench/running/check_requests.py",
        "run_call",
        "if reads:",
        "if False:",
        "tests/bench/running/test_worker.py::test_a_check_compares_what_was_there_when_the_call_returned",
    ),
    "no-hidden-runs": Mutant(
        "masks hide single pairs only",
        "harness/problem/random_masks.py",
        "random_mask",
        "        lay_forms_over(problem, mask, _forms_of(problem), turn)",
        "        pass",
        "tests/oracle/test_hidden_keys.py"
        "::test_kernels_that_go_wrong_beside_whole_tiles_are_refused[small-ends its loop]",
    ),
    "patterns-of-one-entry": Mutant(
        "masks hide and show the same tiles in all batch entries and heads",
        "harness/problem/random_masks.py",
        "lay_forms_over",
        "place = step * number + head + head // len(forms) + step_of_turns * turn",
        "place = turn",
        "tests/oracle/test_hidden_keys.py"
        "::test_kernels_that_go_wrong_beside_whole_tiles_are_refused[small-map of tiles of the first head]",
    ),
    "patterns-of-one-turn": Mutant(
        "another mask hides and shows the same tiles",
        "harness/problem/inputs.py",
        "other_operands",
        "random_mask(problem, generator, turn)",
        "random_mask(problem, generator)",
        "tests/oracle/test_hidden_keys.py"
        "::test_kernels_that_go_wrong_beside_whole_tiles_are_refused[small-map of tiles of the first call]",
    ),
    "inputs-of-one-size": Mutant(
        "other inputs of a check are as large as the first ones",
        "harness/problem/changing_inputs.py",
        "ChangingInputs.become",
        "            self._enlarge_values()",
        "            pass",
        "tests/bench/running/test_runner.py::test_each_misbehaviour_becomes_a_row[keeps-scales]",
    ),
    "inputs-of-new-beginnings": Mutant(
        "other inputs of a check begin otherwise than the first ones",
        "harness/problem/changing_inputs.py",
        "_behind_the_first",
        "return rows[1:] if len(rows) > 1 else rows",
        "return rows",
        "tests/bench/running/test_runner.py::test_each_misbehaviour_becomes_a_row[knows-values]",
    ),
    "inputs-beside-anything": Mutant(
        "what lies beyond inputs is what happens to lie there",
        "harness/system/machine/placement.py",
        "Placement.empty",
        "poison(raw[start + size : start + size + guard].view(dtype))",
        "raw[start + size :] = 0",
        "tests/bench/running/test_runner.py::test_each_misbehaviour_becomes_a_row[reads-beyond]",
    ),
    "plugins-code-by-files": Mutant(
        "what a plugin's loader runs is the same where files beside its stages are",
        "harness/artifact/binary.py",
        "binary_digest",
        "else [artifact.key, artifact.chosen]",
        "else None",
        "tests/artifact/test_binary.py::test_with_a_loader_of_a_plugin_another_key_is_another_code",
    ),
    "pages-in-order": Mutant(
        "pages are in their own places",
        "harness/problem/pages.py",
        "_scattered",
        "places = generator.permutation(pool_pages)[:used]",
        "return np.arange(used)",
        "tests/problem/test_pages.py::test_no_page_is_in_its_own_place_or_right_after_the_one_before[2]",
    ),
    "late-keys-score-as-others": Mutant(
        "late keys score as others do under `large-logits`",
        "harness/problem/set_scores.py",
        "let_late_keys_score_most",
        "queries[chosen, 1] = component",
        "queries[chosen, 1] = 0",
        "tests/problem/test_late_maxima.py::test_a_maximum_of_the_first_tile_overflows[4-None-full]",
    ),
    "no-key-weighs-most": Mutant(
        "no key weighs more than all others under `cancelling`",
        "harness/problem/set_scores.py",
        "let_one_key_weigh_most",
        "queries[chosen, HEAVY] = components[chosen]",
        "queries[chosen, HEAVY] = 0",
        "tests/problem/test_heavy_keys.py"
        "::test_the_first_key_weighs_most_and_the_others_together_a_share[None-f32-full]",
    ),
    "hidden-keys-score-as-others": Mutant(
        "keys that are hidden score as others do under `large-logits`",
        "harness/problem/set_scores.py",
        "let_hidden_keys_score_most",
        "sequences = [sequence for sequence in sequences_of(problem, q, k) if sequence.keys.shape[1]]",
        "return",
        "tests/problem/test_hidden_maxima.py"
        "::test_a_maximum_over_hidden_keys_leaves_nothing_of_some_queries[0.25-packed]",
    ),
    "whole-tiles-only": Mutant(
        "masks hide and show whole tiles, and no halves of them",
        "harness/problem/mask_patterns.py",
        "is_in_first_half_of_tile",
        "return mantissa < 0.75",
        "return mantissa < 1",
        "tests/oracle/test_hidden_keys.py"
        "::test_kernels_that_look_at_a_part_of_each_tile_are_refused[small-qk]",
    ),
    "same-life": Mutant(
        "a worker that is to begin anew goes on",
        "harness/bench/workers/process.py",
        "begin_new_life",
        "begin_anew()",
        "return Greeting(pid=os.getpid())",
        "tests/bench/running/test_worker.py::test_a_new_life_has_nothing_of_the_last_one",
    ),
    "fixed-order": Mutant(
        "every round has the same order",
        ROUNDS,
        "RoundTimer._next_order",
        "orders[self._turns[with_peaks] % len(orders)]",
        "orders[0]",
        f"{OF_ROUNDS}test_each_candidate_follows_each_other_one_equally_often",
    ),
    "steal-is-idle": Mutant(
        "time that a hypervisor gave to others counts as idle",
        ROUNDS,
        "machine_seconds",
        'times["idle"]',
        'times["idle"] - times.get("steal", 0.0)',
        f"{OF_ROUNDS}test_stolen_time_is_busy_and_waiting_is_idle",
    ),
    "workers-are-others": Mutant(
        "what workers use counts as others'",
        ROUNDS,
        "MachineLoad.follow",
        "self._processes.append(psutil.Process(pid))",
        "psutil.Process(pid)",
        f"{OF_ROUNDS}test_what_workers_use_is_ours",
    ),
    "plain-error-times-ten": Mutant(
        "the tolerance allows ten times the plain implementation's error",
        EXPECTED,
        "",
        "PLAIN_ERROR_FACTOR = 2.0",
        "PLAIN_ERROR_FACTOR = 20.0",
        OF_TOLERANCE,
    ),
    "last-places-times-ten": Mutant(
        "the tolerance allows forty units in the last place",
        EXPECTED,
        "",
        "OUTPUT_ULPS = 4.0",
        "OUTPUT_ULPS = 40.0",
        OF_TOLERANCE,
    ),
    "summation-times-ten": Mutant(
        "the tolerance allows ten times the error of summation",
        EXPECTED,
        "",
        "SUMMATION_FACTOR = 2.0",
        "SUMMATION_FACTOR = 20.0",
        OF_TOLERANCE,
    ),
    "projections-halved": Mutant(
        "projections count a multiplication without its addition",
        PROBLEM,
        "AttentionProblem.projection_flops",
        "return 2 * self.batch",
        "return self.batch",
        f"{OF_PROBLEMS}test_flops_of_projections_are_counted_for_each_head_that_is_projected",
    ),
    "projections-of-all-heads": Mutant(
        "projections of K and V count every query head",
        PROBLEM,
        "AttentionProblem.weight_columns",
        "self.kv_heads * (",
        "self.heads * (",
        f"{OF_PROBLEMS}test_flops_of_projections_are_counted_for_each_head_that_is_projected",
    ),
    "flops-halved": Mutant(
        "a matrix product counts multiplications alone",
        PROBLEM,
        "AttentionProblem.flops",
        "self.visible_pairs() * 2 *",
        "self.visible_pairs() *",
        f"{OF_PROBLEMS}test_flops_of_grouped_heads_are_those_of_all_query_heads",
    ),
    "flops-of-kv-heads": Mutant(
        "operations of grouped heads are those of the heads of K and V",
        PROBLEM,
        "AttentionProblem.flops",
        "self.heads * self.visible_pairs()",
        "self.kv_heads * self.visible_pairs()",
        f"{OF_PROBLEMS}test_flops_of_grouped_heads_are_those_of_all_query_heads",
    ),
    "peak-halved": Mutant(
        "the peak counts multiplications alone",
        PEAK,
        "fma_f32",
        "flops=2 * length",
        "flops=length",
        f"{OF_PEAKS}test_a_step_counts_a_multiplication_and_an_addition_of_each_lane_and_chain",
    ),
    "worst-burst": Mutant(
        "a bandwidth is the worst of its bursts",
        "harness/targets/cpu/bandwidth.py",
        "best_bursts_per_second",
        "return max(",
        "return min(",
        "tests/targets/cpu/test_bandwidth.py::test_the_best_try_counts",
    ),
    "worst-bandwidth": Mutant(
        "the bandwidth of a run is its worst sample",
        f"{RUNNING}/peak_sampling.py",
        "sample_bandwidths",
        "max(rate",
        "min(rate",
        "tests/bench/running/test_peak_sampling.py::test_levels_take_turns_and_the_best_of_each_counts",
    ),
    "peak-of-another-round": Mutant(
        "a fraction of peak is of peaks that were sampled at other times",
        "harness/bench/row_maker.py",
        "peak_columns",
        "for peak in peaks]",
        "for peak in reversed(peaks)]",
        f"{OF_ROWS}test_a_fraction_of_the_peak_is_taken_within_rounds",
    ),
    "roof-above-the-peak": Mutant(
        "the roof of memory goes on above the peak",
        "harness/reporting/figures/roofs.py",
        "Roof.reach",
        "min(self.tflops, slope)",
        "max(self.tflops, slope)",
        "tests/reporting/figures/test_roofline.py::test_a_slope_is_intensity_times_bandwidth_up_to_the_peak",
    ),
    "another-distribution": Mutant(
        "candidates are timed on another distribution than the first",
        TIMING,
        "GroupTiming._preparation",
        "check.distributions[0]",
        "check.distributions[-1]",
        "tests/bench/running/test_runner.py::test_what_is_timed_has_the_inputs_that_were_checked_first",
    ),
    "rounds-of-another-group": Mutant(
        "a resumed run takes up the rounds of other cases and keys",
        TIMING,
        "GroupTiming._journaled_rounds",
        "taken.group == self._group_id and",
        "",
        "tests/bench/running/test_resume.py::test_rounds_of_other_cases_and_keys_are_not_taken_up",
    ),
    "microseconds-called-milliseconds": Mutant(
        "microseconds are labelled ms",
        "harness/reporting/units.py",
        "",
        'Unit("µs", 1e6)',
        'Unit("ms", 1e6)',
        "tests/reporting/test_units.py::test_a_time_is_shown_with_the_symbol_of_its_unit",
    ),
    "peak-between-runs": Mutant(
        "the worst peak of several runs on a device is drawn",
        "harness/reporting/figures/roofs.py",
        "best_peaks",
        '["peak_tflops"].max()',
        '["peak_tflops"].min()',
        "tests/reporting/figures/test_throughput.py::test_of_several_peaks_of_a_device_the_best_is_drawn",
    ),
    "panel-of-several-problems": Mutant(
        "a panel mixes problems where series differ in them",
        "harness/reporting/figures/layout.py",
        "panel_columns",
        "[*place, *chosen]",
        '["label", *place, *chosen]',
        f"{OF_PANELS}[variants0-values0-headings0]",
    ),
    "another-baseline-kept": Mutant(
        "a resumed run keeps speed-ups over another parameter set of the baseline",
        f"{RUNNING}/group.py",
        "GroupRun._is_compared_as_now",
        "(row.baseline_case, row.baseline_key) == compared",
        "row.baseline == baseline.variant",
        f"{OF_RESUMING}test_rows_of_another_parameter_set_of_the_baseline_are_compared_again",
    ),
    "failed-baseline-timed": Mutant(
        "speed-ups are over a baseline that is wrong for an input that is not timed",
        f"{RUNNING}/group.py",
        "GroupRun._why_not_timed",
        "row.status is not Status.PASSED",
        "False",
        "tests/bench/running/test_runner.py::"
        "test_nothing_is_compared_with_a_baseline_that_has_not_passed_its_check",
    ),
    "another-machine-resumed": Mutant(
        "a run of another machine goes on here",
        f"{RESULTS}/here.py",
        "is_of_this_machine",
        "manifest.device != device_name()",
        "False",
        "tests/bench/running/test_resuming.py::test_runs_of_other_machines_do_not_go_on_here",
    ),
    "older-baseline-kept": Mutant(
        "a resumed run keeps speed-ups over code that its baseline has no longer",
        f"{RUNNING}/group.py",
        "GroupRun._is_compared_as_now",
        "(row.baseline_case, row.baseline_key) == compared",
        "row.baseline_case == compared[0]",
        f"{OF_RESUMING}test_a_speed_up_over_older_code_of_the_baseline_is_measured_again",
    ),
    "speed-ups-outlive-their-baseline": Mutant(
        "speed-ups over a baseline stay when that is timed anew alone",
        f"{RUNNING}/context.py",
        "_is_over",
        "baseline.status is Status.PASSED and is_same",
        "True",
        f"{OF_RESUMING}test_a_baseline_that_is_timed_anew_alone_leaves_the_others_without_speed_up",
    ),
    "other-cores-resumed": Mutant(
        "a run of more or fewer cores goes on here",
        f"{RESULTS}/here.py",
        "is_of_this_machine",
        "manifest.machine.share != machine().share",
        "False",
        "tests/bench/running/test_resuming.py::test_a_run_that_could_use_more_or_fewer_cores_does_not_go_on",
    ),
    "computed-when-read": Mutant(
        "outputs after the timing are read before inputs are others",
        PREPARED,
        "StartedCase.verdict",
        "self._changing.become(TURNED)",
        "pass",
        "tests/bench/running/test_prepared_case.py::test_work_that_is_left_for_later_is_found",
    ),
    "other-inputs-unchecked": Mutant(
        "a check gives a kernel no inputs of other scores",
        f"{RUNNING}/check_pool.py",
        "CheckPool._start",
        "with_others=record.executor != EMULATOR",
        "with_others=False",
        "tests/bench/running/test_runner.py::test_each_misbehaviour_becomes_a_row[takes-only-values]",
    ),
    "calls-not-repeated": Mutant(
        "a check does not repeat short calls",
        f"{RUNNING}/checking.py",
        "CaseCheck._check_repeatedly",
        "repeats=True",
        "repeats=False",
        "tests/bench/running/test_runner.py::test_each_misbehaviour_becomes_a_row[races]",
    ),
    "wrong-when-timed": Mutant(
        "outputs are not compared after the timing",
        TIMING,
        "GroupTiming._require_right",
        "if not verdict.ok:",
        "if False:",
        "tests/bench/running/test_runner.py::test_nothing_is_compared_with_a_baseline_that_was_wrong_in_the_end",
    ),
}
"""By name.  Each lies about one number, silently."""
