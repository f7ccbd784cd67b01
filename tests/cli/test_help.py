"""The program as a shell has it: help and completion."""

import os
import subprocess
import sys

import pytest

from harness.__main__ import main

pytestmark = pytest.mark.usefixtures("calls")


@pytest.mark.parametrize("arguments", [[], ["--help"]])
def test_the_commands_are_listed(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    assert main(arguments) == 0
    listed = {line.split()[0] for line in capsys.readouterr().out.splitlines() if line.strip()}
    commands = "run build check tune report explain archive compare ir layout list support doctor"
    assert set(commands.split()) <= listed


def test_help_imports_nothing_heavy() -> None:
    program = (
        "import sys; from harness.__main__ import main; main(['--help'])\n"
        "heavy = {'mlir', 'iree', 'torch', 'pandas', 'numpy', 'matplotlib', 'pydantic', 'rich'}\n"
        "print('imported:', sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "imported: []"


def test_a_shell_can_complete_commands() -> None:
    asked = {"_HARNESS_COMPLETE": "complete_bash", "COMP_WORDS": "harness ch", "COMP_CWORD": "1"}
    completed = subprocess.run(
        [sys.executable, "-c", "import sys; from harness.__main__ import main; sys.exit(main())"],
        env={**os.environ, **asked},
        capture_output=True,
        text=True,
        check=False,
    )
    assert completed.stdout.split() == ["check"]
