"""Digests of values and of arrays."""

import numpy as np

from harness.system.digest import digest, digest_of_array


def test_the_order_of_keys_is_no_part_of_a_value() -> None:
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    assert digest({"a": 1}) != digest({"a": 2})


def test_where_an_array_lies_is_no_part_of_its_values() -> None:
    array = np.arange(6.0).reshape(2, 3)
    assert digest_of_array(array) == digest_of_array(np.asfortranarray(array))
    assert digest_of_array(array) != digest_of_array(array + 1)
