"""Text from elsewhere where it is shown."""

import subprocess

import pytest

from harness.system.printable import (
    markdown_code,
    markdown_text,
    printable,
    shell_line,
    spreadsheet_text,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("1/√d · 2×, ‘Grüße’", "1/√d · 2×, ‘Grüße’"),
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        ("two\nlines\r\t", "two\\nlines\\r\\t"),
        ("\x9b31m\u202egpj", "\\x9b31m\\u202egpj"),
        ("lone \udc80", "lone \\udc80"),
    ],
)
def test_no_character_steers_the_terminal(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_no_markup_begins_in_markdown() -> None:
    assert markdown_text("<script>|a`b` [x](y)&") == "&lt;script&gt;\\|a\\`b\\` [x]\\(y)&amp;"
    assert markdown_code("plain") == "`plain`"
    assert markdown_code("a``b") == "``` a``b ```"


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("@x", "'@x"),
        ("-cmd", "'-cmd"),
        ("-1.5e-3", "-1.5e-3"),
        ("flash", "flash"),
        ("+inf", "+inf"),
    ],
)
def test_no_cell_is_a_formula(text: str, cell: str) -> None:
    assert spreadsheet_text(text) == cell


@pytest.mark.parametrize("word", ["plain.toml", "a b;$(touch x)'\"", "", "Grüße", "~/$HOME"])
def test_a_shell_reads_the_same_words(word: str) -> None:
    line = shell_line(["printf", "%s|", word, "end"])
    assert line.isprintable()
    assert (
        subprocess.run(["bash", "-c", line], capture_output=True, check=True).stdout.decode()
        == f"{word}|end|"
    )
