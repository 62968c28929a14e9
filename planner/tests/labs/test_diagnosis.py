import pytest

from planner.core.errors import InvalidQuantity
from planner.core.labs.diagnosis import diagnose
from planner.core.labs.inputs import element_type
from planner.core.labs.questions import Measured
from planner.tests.labs.chips import BARE, H100

BETA, PI = 3.35e12, 989e12
BF16, FP8, FP32 = element_type("bf16"), element_type("fp8"), element_type("fp32")
CUBE = 2.0 * 8192**3

# Ten constructed kernels: what is wrong with each is known, and must be named first.
KERNELS = {
    "good GEMV": (BF16, Measured(work=2 * 8192**2, traffic=2 * 8192**2, time=2 * 8192**2 / BETA / 0.83, kernels=1,
                                 algorithmic=2 * 8192**2, blocks=1056), "slope", "slope"),
    "launch-bound chain": (BF16, Measured(work=20e6, traffic=20 * 3e-6 * BETA * 0.8, time=20 * 8e-6, kernels=20),
                           "below", "launch"),
    "uncoalesced": (FP32, Measured(work=1e8, traffic=8 * 1.2e9, time=8 * 1.2e9 / BETA / 0.75, kernels=1,
                                   algorithmic=1.2e9), "slope", "over_fetch"),
    "wave-quantised": (BF16, Measured(work=1.4e12, traffic=3e9, time=1.4e12 / PI / 0.53 / 0.9, kernels=1, blocks=140,
                                      algorithmic=3e9), "below", "waves"),
    "re-reading": (BF16, Measured(work=2 * 4096**3, traffic=1.5e9, time=1.5e9 / BETA / 0.78, kernels=1, blocks=1320,
                                  algorithmic=1e8), "slope", "re_reads"),
    "wrong pipe": (FP8, Measured(work=CUBE, traffic=4e8, time=CUBE / PI / 0.75, kernels=1, blocks=3960), "below",
                   "wrong_pipe"),
    "latency-bound": (BF16, Measured(work=1e8, traffic=1e9, time=1e9 / (0.06e12 * 0.95), in_flight=36e3, blocks=4,
                                     kernels=1, algorithmic=1e9), "below", "in_flight"),
    "good GEMM": (BF16, Measured(work=CUBE, traffic=5e8, time=CUBE / PI / 0.72, kernels=1, blocks=2112,
                                 algorithmic=4e8), "roof", "roof"),
    "fp32 fallback": (BF16, Measured(work=2 * 4096**3, traffic=2e8, time=2 * 4096**3 / 67e12 / 0.85, kernels=1,
                                     blocks=1024), "below", "wrong_pipe"),
    "mixed": (BF16, Measured(work=1e9, traffic=2e8, time=2e8 / BETA + 30 * 5.5e-6, kernels=30, algorithmic=1e8),
              "below", "launch"),
}


@pytest.mark.parametrize("name", KERNELS)
def test_the_right_cause_comes_first(name):
    dtype, seen, position, cause = KERNELS[name]
    found = diagnose(H100, dtype, seen)
    assert (found.position, found.causes[0].name) == (position, cause)
    assert len(found.questions) == 6
    assert all(q.evidence and q.verdict in {"yes", "no", "unknown"} for q in found.questions)
    assert found.intensity == pytest.approx(seen.work / seen.traffic)
    assert 0 < found.roof_fraction <= 1
    helping = [lever for lever in found.levers if lever.helps]
    assert helping
    assert helping == list(found.levers[:len(helping)])
    assert all(lever.why for lever in found.levers)


def test_the_mixed_kernel_names_both_causes_by_cost():
    found = diagnose(H100, BF16, KERNELS["mixed"][1])
    assert [cause.name for cause in found.causes] == ["launch", "re_reads"]
    assert found.causes[0].factor > found.causes[1].factor
    assert {lever.change.split(":")[0] for lever in found.levers if lever.helps} == {
        "launch fewer kernels", "restore reuse", "move fewer bytes"}


def test_levers_of_the_wrong_row_are_called_useless():
    slope = {lever.change.split(":")[0]: lever for lever in diagnose(H100, BF16, KERNELS["good GEMV"][1]).levers}
    roof = {lever.change.split(":")[0]: lever for lever in diagnose(H100, BF16, KERNELS["good GEMM"][1]).levers}
    assert slope["move fewer bytes"].helps
    assert not slope["cheaper arithmetic"].helps
    assert roof["cheaper arithmetic"].helps
    assert not roof["move fewer bytes"].helps


def test_memory_is_judged_against_a_measured_copy():
    # 40 % of the sheet is 90 % of what this machine's copy reaches
    seen = {"work": 1e8, "traffic": 1e9, "time": 1e9 / (0.4 * BETA)}
    assert diagnose(H100, BF16, Measured(**seen)).position == "below"
    measured = diagnose(H100, BF16, Measured(**seen, stream=0.44 * BETA))
    assert (measured.position, measured.questions[1].verdict) == ("slope", "yes")
    assert "measured STREAM" in measured.questions[1].evidence


def test_unexplained_gaps_say_where_to_look():
    memory = diagnose(H100, BF16, Measured(work=1e8, traffic=1.2e9, time=1.2e9 / BETA / 0.3, kernels=1, blocks=5280,
                                           in_flight=4e6, algorithmic=1.2e9))
    assert memory.causes[0].name == "access_pattern"
    compute = diagnose(H100, BF16, Measured(work=CUBE, traffic=5e8, time=CUBE / PI / 0.3, kernels=1, blocks=2112))
    assert compute.causes[0].name == "unexplained"


def test_a_fallback_that_the_time_contradicts_is_not_named():
    # at 80 % of the fp32 peak the fallback explains the time; where traffic takes nearly as long, it explains nothing
    found = diagnose(H100, BF16, Measured(work=53.6e12 * 1e-3, traffic=0.5 * BETA * 1e-3, time=1e-3, kernels=1))
    assert found.causes[0].name == "wrong_pipe"
    starved = diagnose(H100, BF16, Measured(work=44e12 * 1e-3, traffic=0.62 * BETA * 1e-3, time=1e-3, kernels=1))
    assert starved.questions[0].verdict == "unknown"


def test_a_grid_smaller_than_the_chip_leaves_it_idle():
    small = diagnose(H100, BF16, Measured(work=1e12, traffic=1e8, time=1e12 / PI * 3.2, blocks=44, kernels=1))
    assert small.causes[0].name == "in_flight"
    assert "88 of 132" in small.causes[0].sentence


def test_overlapped_launches_are_not_blamed():
    # fifty launches would cost 250 µs; the chain ran within 60 µs, so they were hidden
    found = diagnose(H100, BF16, Measured(work=1e6, traffic=50e-6 * BETA, time=60e-6, kernels=50))
    assert "launch" not in {cause.name for cause in found.causes}


def test_a_short_kernel_without_a_count_is_left_open():
    found = diagnose(BARE, BF16, Measured(work=1e6, traffic=1e6, time=15e-6, blocks=10))
    assert found.questions[3].verdict == "unknown"
    assert found.questions[5].verdict == "unknown"
    long = diagnose(BARE, BF16, Measured(work=1e6, traffic=1e8, time=5e-4, in_flight=1e9))
    assert (long.questions[2].verdict, long.questions[3].verdict) == ("yes", "no")


def test_a_long_kernel_is_not_launch_bound():
    found = diagnose(H100, BF16, Measured(work=1e6, traffic=BETA * 20e-6, time=25e-6, kernels=1))
    assert found.questions[3].verdict == "no"


@pytest.mark.parametrize(("call", "pointer"), [
    (lambda: Measured(work=-1, traffic=1, time=1), "/flop"), (lambda: Measured(work=1, traffic=0, time=1), "/bytes"),
    (lambda: Measured(work=1, traffic=1, time=float("nan")), "/time_s"),
    (lambda: Measured(work=1, traffic=1, time=1, kernels=0), "/kernels"),
    (lambda: Measured(work=1, traffic=1, time=1, blocks=1.5), "/grid_blocks"),
    (lambda: diagnose(H100, BF16, Measured(work=1, traffic=1e12, time=0.1)), "/time_s"),
    (lambda: diagnose(H100, BF16, Measured(work=1e15, traffic=1, time=0.1)), "/time_s"),
    (lambda: diagnose(H100, BF16, Measured(work=1, traffic=1e6, time=1, algorithmic=2e6)), "/bytes_algorithmic")])
def test_impossible_measurements_are_refused(call, pointer):
    with pytest.raises(InvalidQuantity) as error:
        call()
    assert error.value.pointer == pointer
