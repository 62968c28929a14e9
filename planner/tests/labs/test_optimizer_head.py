import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.core.errors import InvalidQuantity
from planner.core.labs.head import head_report
from planner.core.labs.inputs import element_type
from planner.core.labs.optimizer import optimizer_report
from planner.tests.labs.chips import BARE, H100

BF16 = element_type("bf16")


@pytest.mark.parametrize(("optimizer", "gradient", "bytes_"), [
    ("adam", 4.0, 30), ("sgd", 4.0, 14), ("momentum", 4.0, 22), ("adafactor", 4.0, 14), ("adafactor_momentum", 4.0, 22),
    ("8-bit Adam", 4.0, 18), ("adam_8bit", 2.0, 16)])
def test_bytes_per_parameter(optimizer, gradient, bytes_):
    assert optimizer_report(H100, 1e6, optimizer, gradient_bytes=gradient).bytes_per_parameter == bytes_


def test_seven_billion_under_adam():
    # 210 GB, 62.7 ms at 3.35 TB/s; 12 FLOP over 30 bytes; its state does not fit one card
    report = optimizer_report(H100, 7e9, "adam")
    assert report.traffic == pytest.approx(210e9)
    assert report.time == pytest.approx(62.7e-3, rel=1e-3)
    assert report.intensity == pytest.approx(0.40)
    assert report.bound == "memory"
    assert report.intensity * 3.35e12 / 989e12 == pytest.approx(0.0014, abs=5e-5)
    assert not report.state_fits
    assert (report.network, report.network_time) == (0.0, None)


def test_muon_is_compute_bound():
    report = optimizer_report(H100, 4096**2, "muon", matrix_size=4096)
    assert report.intensity == pytest.approx(7.5 * 4096)
    assert report.work == pytest.approx(30 * 4096**3)
    assert report.bound == "compute"


@given(shards=st.integers(1, 8))
def test_sharding_divides_memory_traffic_and_moves_it_to_the_network(shards):
    one, many = optimizer_report(H100, 7e9, "adam"), optimizer_report(H100, 7e9, "adam", shards=shards)
    assert many.traffic * shards == pytest.approx(one.traffic)
    assert many.network == pytest.approx((shards - 1) / shards * 7e9 * 6)
    assert (many.network_time is None) == (shards == 1)
    assert many.state_bytes <= one.state_bytes


def test_an_unpublished_fp32_peak_is_no_obstacle():
    assert optimizer_report(BARE, 1e6, "sgd").time > 0


@pytest.mark.parametrize(("change", "pointer"), [
    ({"params": -1}, "/params"), ({"optimizer": "lion"}, "/optimizer"), ({"shards": 0}, "/shards"),
    ({"gradient_bytes": 3.0}, "/gradient_bytes"), ({"matrix_size": 0.5}, "/matrix_size")])
def test_optimizer_nonsense_is_refused_by_name(change, pointer):
    with pytest.raises(InvalidQuantity) as error:
        optimizer_report(H100, **({"params": 1e9, "optimizer": "adam"} | change))
    assert error.value.pointer == pointer


def test_the_head_is_fine_and_its_loss_is_not():
    # N_t 8192, d 4096, V 100k: 6.7 TFLOP, 2.5 GB, 2658 with bf16 logits; 4.16 GB and 1612 with fp32 logits
    half = head_report(H100, BF16, 8192, 4096, 100_000)
    assert half.work == pytest.approx(6.7e12, rel=2e-3)
    assert half.traffic == pytest.approx(2.52e9, rel=2e-3)
    assert half.intensity == pytest.approx(2658, abs=1)
    full = head_report(H100, BF16, 8192, 4096, 100_000, logit_bytes=4.0)
    assert full.traffic == pytest.approx(4.16e9, rel=1e-3)
    assert full.intensity == pytest.approx(1612, abs=1)
    assert full.logits_bytes == pytest.approx(3.28e9, rel=1e-3)
    assert full.loss_traffic == pytest.approx(13.1e9, rel=1e-3)
    assert full.loss_intensity == pytest.approx(0.375)


def test_a_chunked_loss_writes_no_logits():
    chunked = head_report(H100, BF16, 8192, 4096, 100_000, chunk=1024)
    assert chunked.loss_traffic == 0
    assert chunked.loss_intensity is None
    assert chunked.loss_logits_bytes == 4.0 * 1024 * 100_000
    assert chunked.traffic == 2.0 * (8192 * 4096 + 4096 * 100_000)
    assert head_report(BARE, BF16, 10, 10, 10, chunk=99).loss_logits_bytes == 4.0 * 100
    with pytest.raises(InvalidQuantity, match="vocabulary"):
        head_report(H100, BF16, 1, 1, 0)
