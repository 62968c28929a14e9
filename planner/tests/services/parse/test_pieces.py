from __future__ import annotations

import pytest

from planner.catalog import vocabulary
from planner.core.errors import AdapterError
from planner.services.parse import Grammar, ModelEntry, SkuEntry, Vocabulary
from planner.services.parse.canvas import BLANK, Canvas
from planner.services.parse.cleaning import clean
from planner.services.parse.quantities import count, decimal, scale
from planner.services.parse.spelling import Speller, one_slip, two_slips


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        ("10,000", 10000),
        ("10.000", 10000),
        ("10'000", 10000),
        ("1.000.000", 1e6),
        ("2.5", 2.5),
        ("2,5", 2.5),
        ("0.125", 0.125),
        ("1,000.5", 1000.5),
        ("1.000,5", 1000.5),
        ("1234", 1234),
        ("12.50", 12.5),
    ],
)
def test_counts_group_thousands(literal, value):
    assert count(literal) == value


@pytest.mark.parametrize(
    ("literal", "value"),
    [("2,50", 2.5), ("0,85", 0.85), ("2.500", 2.5), ("1,250", 1.25), ("1,250.75", 1250.75), ("1.234.567", 1234567)],
)
def test_decimals_read_a_lone_comma_as_the_sign(literal, value):
    assert decimal(literal) == value


def test_suffixes():
    assert [scale(s) for s in (None, "k", "m", "mio", "bn", "billion", "thousand")] == [1, 1e3, 1e6, 1e6, 1e9, 1e9, 1e3]
    assert scale("k", kilo=1024) == 1024
    assert scale("m", kilo=1024) == 1024**2


@pytest.mark.parametrize(
    ("raw", "plain"),
    [
        ("ttft &lt; 1s &amp; 5 rps", "ttft < 1s & 5 rps"),
        ("<@U0> hi <!channel> <#C1|general>", "hi"),
        ("<https://evil.example|click>", ""),
        ("see <https://huggingface.co/Qwen/Qwen3-32B>", "see qwen/qwen3-32b"),
        ("8× H100", "8x h100"),
        ("10\u202f000 docs", "10'000 docs"),
        ("eight thousand docs", "8000 docs"),
        ("two dozen users", "24 users"),
        ("a million tokens", "1000000 tokens"),
        ("the million", "the million"),
        ("forty-two users", "42 users"),
        ("half a million", "500000"),
        (":pray: ok", "ok"),
        ("*bold* 8*h100", "bold 8*h100"),
        ("5 million tokens", "5 million tokens"),
        ("3 dozen", "36"),
        ("a hundred", "100"),
        ("cien usuarios", "100 usuarios"),
    ],
)
def test_cleaning(raw, plain):
    assert clean(raw) == plain


def test_slips():
    assert one_slip("lama", "llama")
    assert one_slip("contex", "context")
    assert one_slip("pormpt", "prompt")
    assert not one_slip("llama", "gemma")
    assert two_slips("conccurent", "concurrent")
    speller = Speller(["llama", "mistral", "mixtral"])
    assert speller.correct("lama mistal contex windows weights") == "llama mistral context windows weights"


def test_canvas_claims_once():
    canvas = Canvas("ab cd")
    canvas.claim(0, 2)
    assert canvas.open == f"{BLANK}{BLANK} cd"
    assert canvas.rest() == "cd"


TINY = Vocabulary(
    models=(
        ModelEntry(id="acme/zorg-7b", name="Acme/Zorg-7B"),
        ModelEntry(id="acme/zorg-70b-fp8", name="Acme/Zorg-70B-FP8"),
        ModelEntry(id="acme/zorg-70b", name="Acme/Zorg-70B"),
    ),
    skus=(
        SkuEntry(id="q9-sxm-40gb", name="Q9", architecture="quark", pipes=frozenset({"bf16"})),
        SkuEntry(id="q9-pcie-20gb", name="Q9 PCIe", architecture="quark", pipes=frozenset({"bf16"}), box=4),
    ),
    sku_nicknames={"quacky": ("q9-pcie-20gb",)},
    words={"zg": "zorg"},
)


@pytest.mark.parametrize(
    ("text", "parse"),
    [
        ("zorg 7b on 2 q9", {"model": "acme/zorg-7b", "skus": ["q9-sxm-40gb"], "gpus": [2]}),
        ("Zorg-70B on q9 pcie box", {"model": "acme/zorg-70b", "skus": ["q9-pcie-20gb"], "gpus": [4]}),
        ("zg 70b 8 bit on quacky", {"model": "acme/zorg-70b", "weights": "w8a16", "skus": ["q9-pcie-20gb"]}),
        ("zorg 7b q9 20gb", {"model": "acme/zorg-7b", "skus": ["q9-pcie-20gb"]}),
    ],
)
def test_any_catalogue_is_read_the_same_way(text, parse):
    """Names come from the catalogue alone: made-up ones are read like real ones."""
    parsed = Grammar(TINY).read(text)
    assert parsed.parse == parse
    assert parsed.ask == ()


def test_family_of_a_made_up_architecture():
    parsed = Grammar(TINY).read("zorg 7b on quark")
    assert parsed.ask == ("skus",)
    assert set(parsed.choices["skus"]) == {"q9-sxm-40gb", "q9-pcie-20gb"}


def test_nickname_file_must_name_catalogued_entries(monkeypatch):
    real = vocabulary.read_toml
    monkeypatch.setattr(vocabulary, "read_toml", lambda path: {**real(path), "skus": {"nosuch": ["nosuch-1gb"]}})
    vocabulary.built_in_vocabulary.cache_clear()
    with pytest.raises(AdapterError, match="nosuch-1gb"):
        vocabulary.built_in_vocabulary()
    vocabulary.built_in_vocabulary.cache_clear()
