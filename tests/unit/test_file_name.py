"""Names of downloads: from anything, a plain one."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.config import ROOT
from core.domain.file_name import LONGEST, download_name


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("server-1.log", "server-1.log"),
        ("Läufe vom 3. Mai.json", "Läufe vom 3. Mai.json"),
        ("../../etc/passwd", "passwd"),
        ("..\\..\\x.exe", "x.exe"),
        ("C:\\logs\\run.log", "run.log"),
        (".bashrc", "bashrc"),
        ("a\u202egpj.exe", "a-gpj.exe"),
        ('x";filename="y.html', "x--filename--y.html"),
        ("line\r\nbreak\0.txt", "line--break-.txt"),
        ("", "download"),
        ("../..", "download"),
        ("a" * 500 + ".log", "a" * (LONGEST - 4) + ".log"),
    ],
)
def test_a_plain_name_comes_out(name: str, plain: str) -> None:
    assert download_name(name) == plain


@given(st.text(max_size=300))
def test_no_name_climbs_hides_or_breaks_a_header(name: str) -> None:
    found = download_name(name)
    assert 0 < len(found) <= LONGEST and found[0] != "." and found == download_name(found)
    assert not set(found) & set("/\\\0\r\n\"'<>:;|?*") and found.isprintable()


def test_every_download_on_a_page_has_a_fixed_or_a_cleaned_name() -> None:
    seen = 0
    for path in [*(ROOT / "core" / "ui").rglob("*.py"), *(ROOT / "pages").rglob("*.py")]:
        for call in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(call, ast.Call) and getattr(call.func, "attr", "") == "download_button":
                given_name = next(word.value for word in call.keywords if word.arg == "file_name")
                is_cleaned = isinstance(given_name, ast.Call) and getattr(given_name.func, "id", "") == "download_name"
                assert isinstance(given_name, ast.Constant) or is_cleaned, f"{path.name}: {ast.unparse(given_name)}"
                seen += 1
    assert seen >= 10
