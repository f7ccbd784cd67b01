"""`harness ir --set KEY=VALUE`: parameters of the variant, and options of the target."""

from typing import Any

import pytest

from harness.ir_view import request
from harness.ir_view.request import settings_of
from harness.system.errors import InputError
from harness.targets.base import TargetOptions


class Tiled(TargetOptions):
    tile_q: int = 8
    threads: int = 1


@pytest.fixture
def tiled_target(monkeypatch: pytest.MonkeyPatch) -> None:
    """The target `cpu` has an option that is called like a parameter of `flash`."""
    settings_model = request.settings_model
    monkeypatch.setattr(
        request,
        "settings_model",
        lambda kind, name: Tiled if kind == "target" else settings_model(kind, name),
    )


@pytest.mark.parametrize(
    ("given", "params", "options"),
    [
        (["tile_q=16"], {"tile_q": 16}, {}),
        (["target.tile_q=4"], {}, {"tile_q": 4}),
        (["tile_q=16", "target.tile_q=4", "threads=2"], {"tile_q": 16}, {"tile_q": 4, "threads": 2}),
        (["target.threads=2"], {}, {"threads": 2}),
    ],
)
@pytest.mark.usefixtures("tiled_target")
def test_a_name_that_both_have_is_the_variant_s_and_the_other_says_so(
    given: list[str], params: dict[str, Any], options: dict[str, Any]
) -> None:
    assert settings_of(given, "flash", "cpu") == (params, options)


def test_a_key_that_nobody_has_is_refused() -> None:
    with pytest.raises(InputError, match=r"^--set target\.tile_q=4: unknown"):
        settings_of(["target.tile_q=4"], "flash", "cpu")
