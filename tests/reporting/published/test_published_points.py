from collections import Counter

import pytest

from harness.reporting.published.points import PublishedPoint, check_words, published_points


def test_the_table_holds_every_point_once_with_its_source() -> None:
    points = published_points()
    assert len(points) == 262
    assert max(Counter(points).values()) == 1
    assert all(point.source and point.device and point.implementation for point in points)


def test_points_are_of_problems_that_can_be() -> None:
    for point in published_points():
        problem = point.problem
        assert problem.heads % problem.kv_heads == 0
        assert problem.dtype in ("f16", "bf16")
        assert point.tflops is None or 0 < point.tflops < 5000


def test_memory_that_ran_out_is_no_number() -> None:
    (device,) = {point.device for point in published_points() if point.tflops is None}
    assert device == "NVIDIA H100 SXM5"


def test_points_are_chosen_by_parts_of_names() -> None:
    points = published_points(["h200", "GB300"], ["cudnn"])
    assert {point.device for point in points} == {"NVIDIA H200", "NVIDIA GB300"}
    assert {point.implementation for point in points} == {"cuDNN"}


def test_a_word_of_no_name_is_refused_with_the_names() -> None:
    check_words("device", ["mi300"])
    with pytest.raises(ValueError, match=r'found "h2000", expected a part of one of these: AMD MI300X; '):
        check_words("device", ["h2000"])


def test_points_with_sinks_are_of_other_problems() -> None:
    with_sinks = [point for point in published_points() if point.problem.has_sinks]
    assert {point.device for point in with_sinks} == {"NVIDIA H800"}
    assert not any("sinks" in point.implementation for point in with_sinks)


def test_a_series_names_hardware_implementation_and_version() -> None:
    (point,) = [p for p in published_points(["H200"]) if p.problem.seq == 2048 and p.problem.is_causal]
    assert point.series == "NVIDIA H200, cuDNN (9.19.1)"
    assert isinstance(point, PublishedPoint)
    assert point.problem.describe() == "b1 h64/8 s2048 d128 bf16 causal"
