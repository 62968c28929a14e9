import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.core.errors import InvalidQuantity
from planner.core.labs.attention import AttentionShape, Latent, attention_report, decode_cost, flash_cost, naive_cost
from planner.core.labs.inputs import element_type
from planner.tests.labs.chips import H100

BF16 = element_type("bf16")


def shape(seq=8192, heads=1, kv_heads=1, head_dim=128, **more):
    return AttentionShape(seq=seq, heads=heads, kv_heads=kv_heads, head_dim=head_dim, **more)


def test_naive_attention_moves_seventeen_gigabytes_of_scores():
    cost = naive_cost(shape(heads=32, kv_heads=32), 2.0)
    assert cost.score_traffic == pytest.approx(17.2e9, rel=2e-3)


def test_naive_attention_plateaus_at_a_fifth_of_the_peak():
    report = attention_report(H100, BF16, shape(seq=2**20), "naive")
    assert report.intensity == pytest.approx(64, rel=1e-3)
    assert report.fraction_of_peak == pytest.approx(0.217, abs=1e-3)
    short = attention_report(H100, BF16, shape(seq=512), "naive")
    assert short.intensity < report.intensity
    four_k = naive_cost(shape(seq=4096), 2.0)
    assert four_k.score_traffic / 4 == pytest.approx(33.6e6, rel=2e-3)
    assert four_k.compulsory / 4 == pytest.approx(1.05e6, rel=2e-3)


def test_flash_compulsory_and_tiled():
    compulsory = attention_report(H100, BF16, shape(seq=2048), "flash")
    assert compulsory.intensity == pytest.approx(1024)  # N/s
    assert compulsory.bound == "compute"
    tiled = attention_report(H100, BF16, shape(seq=2**20), "flash", block_rows=128)
    assert tiled.intensity == pytest.approx(128, rel=1e-3)  # 2·B_r/s
    causal = attention_report(H100, BF16, shape(seq=2**20, causal=True), "flash", block_rows=128)
    assert causal.intensity == pytest.approx(128, rel=2e-3)


def test_causal_masking():
    full, causal = (attention_report(H100, BF16, shape(seq=4096, causal=c), "flash") for c in (False, True))
    assert causal.cost.work == full.cost.work / 2
    assert causal.cost.traffic == full.cost.traffic
    assert causal.intensity == pytest.approx(4096 / 2 / 2)  # N/2s
    kept, skipped = (naive_cost(shape(causal=True), 2.0, skip_masked=s) for s in (False, True))
    assert kept.score_traffic == naive_cost(shape(), 2.0).score_traffic
    assert skipped.score_traffic == kept.score_traffic / 2
    assert full.backward_work == 2.5 * full.cost.work


@pytest.mark.parametrize(("heads", "kv_heads", "intensity"), [(8, 8, 1.0), (64, 8, 8.0), (64, 1, 64.0)])
def test_decode_intensity_is_the_group_over_half_the_element(heads, kv_heads, intensity):
    # 2g/s: 1 for multi-head, 8 for Llama-3-70B, h for multi-query
    for seq, batch in ((100, 1), (100_000, 64)):
        report = attention_report(H100, BF16, shape(seq=seq, heads=heads, kv_heads=kv_heads, batch=batch), "decode")
        assert report.intensity == pytest.approx(intensity, rel=1e-12)
        assert report.backward_work is None


def test_a_latent_cache_buys_intensity_with_work():
    # DeepSeek-V3: 128 heads, rank 512, rotary 64: 2h(2r+d_r)/((r+d_r)s) = 242
    cost = decode_cost(shape(heads=128, kv_heads=128, latent=Latent(rank=512, rope=64)), 2.0)
    assert cost.work / cost.traffic == pytest.approx(241.8, abs=0.1)


@given(seq=st.integers(1, 10**6), rows=st.integers(1, 4096), causal=st.booleans(), g=st.sampled_from([1, 2, 8]))
def test_tiled_traffic_is_never_below_the_compulsory(seq, rows, causal, g):
    cost = flash_cost(shape(seq=seq, heads=8, kv_heads=8 // g, causal=causal), 2.0, block_rows=rows)
    assert cost.traffic >= cost.compulsory > 0


@pytest.mark.parametrize(("call", "pointer"), [
    (lambda: shape(seq=0), "/seq"), (lambda: shape(heads=6, kv_heads=4), "/kv_heads"),
    (lambda: shape(latent=Latent(rank=0, rope=64)), "/kv_lora_rank"),
    (lambda: attention_report(H100, BF16, shape(), "magic"), "/mode"),
    (lambda: attention_report(H100, BF16, shape(latent=Latent(rank=8, rope=8)), "flash"), "/mode"),
    (lambda: flash_cost(shape(), 2.0, block_rows=0), "/block_rows")])
def test_nonsense_is_refused_by_name(call, pointer):
    with pytest.raises(InvalidQuantity) as error:
        call()
    assert error.value.pointer == pointer
