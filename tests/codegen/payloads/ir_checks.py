"""FileCheck from Python: does IR text match a list of CHECK lines?"""

import io

from filecheck.finput import FInput
from filecheck.matcher import Matcher
from filecheck.options import Options
from filecheck.parser import Parser, pattern_for_opts


def check_ir(found: object, checks: str) -> None:
    """Assert that the text of `found` matches the CHECK lines of `checks`; a mismatch is printed."""
    options = Options(match_filename="checks")
    parser = Parser(options, io.StringIO(checks), *pattern_for_opts(options))
    assert Matcher(options, FInput("found", str(found)), parser).run() == 0, f"FileCheck failed on\n{found}"
