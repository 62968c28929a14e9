import pytest

from planner.catalog.prices import built_in_prices, load_prices
from planner.core.errors import AdapterError


def test_built_in_prices_are_dated_and_sourced():
    prices = built_in_prices()
    assert len({p.id for p in prices}) == len(prices) >= 20
    assert all(p.source and p.date.startswith("2026") and p.usd_per_gpu_hour > 0 for p in prices)
    aws = {p.sku: p.usd_per_gpu_hour for p in prices if p.provider == "AWS" and p.region == "us-east-1"}
    assert aws["h100-sxm-80gb"] == pytest.approx(55.04 / 8)
    assert aws["h200-sxm-141gb"] == pytest.approx(63.296 / 8)


def test_every_problem_is_reported_at_once(tmp_path):
    folder = tmp_path / "prices"
    folder.mkdir()
    (folder / "a.toml").write_text('source="s"\nprovider="p"\ndate="yesterday"\ncurrency="EUR"\n'
                                   '[[price]]\nsku="ghost"\n'
                                   '[[price]]\nsku="h100"\nkind="gift"\n[[price]]\nsku="h100"\nkind="spot"\n'
                                   'usd_per_gpu_hour=-1.0\n')
    (folder / "b.toml").write_text('currency="USD"\n')
    with pytest.raises(AdapterError) as error:
        load_prices(tmp_path, frozenset({"h100"}))
    for part in ("a.toml", "currency must be USD", "date must be", "'ghost'", "kind must be", "above zero", "b.toml",
                 "source is required"):
        assert part in str(error.value)
