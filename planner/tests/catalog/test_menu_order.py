"""Menus of GPUs start with the parts of servers that can be rented, the newest first."""

from __future__ import annotations

from dataclasses import replace

from planner.catalog.prices import built_in_prices
from planner.catalog.vocabulary import built_in_vocabulary
from planner.services.parse.vocabulary import SkuEntry, Vocabulary

VOCABULARY = built_in_vocabulary()
USUAL = VOCABULARY.usual_skus()


def test_every_sku_is_there_once():
    assert sorted(s.id for s in USUAL) == sorted(s.id for s in VOCABULARY.skus)


def test_servers_that_can_be_rented_come_first():
    kinds = [(not s.box, not s.listed) for s in USUAL]
    assert kinds == sorted(kinds)
    rented = {price.sku for price in built_in_prices()}
    assert {s.id for s in USUAL if s.listed} == rented
    assert not any(s.listed and s.box for s in USUAL[sum(s.listed and s.box > 0 for s in USUAL):])


def test_the_newest_of_a_kind_come_first_and_what_is_only_announced_last():
    for kind in {(s.box > 0, s.listed) for s in USUAL}:
        launched = [s.launched for s in USUAL if (s.box > 0, s.listed) == kind]
        assert launched == sorted(launched, reverse=True)
    assert not any("announced" in s.launched for s in USUAL)
    assert any(not s.launched for s in USUAL)


def test_the_order_does_not_depend_on_the_catalogues():
    part = SkuEntry(id="b", name="B", box=8, launched="2024-01", memory_bytes=80e9)
    larger, other, desk = (replace(part, id="z", memory_bytes=96e9), replace(part, id="a"),
                           replace(part, id="c", box=0, launched="2026-01"))
    skus = (desk, part, larger, other)
    for order in (skus, skus[::-1]):
        assert [s.id for s in Vocabulary(models=(), skus=order).usual_skus()] == ["z", "a", "b", "c"]
