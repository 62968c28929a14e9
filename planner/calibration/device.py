"""The device to calibrate: found, named and described, without changing any of its settings."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from types import ModuleType

from planner.calibration import processor
from planner.core.errors import AdapterError, InvalidQuantity

_QUERY = "name,driver_version,clocks.sm,clocks.mem,clocks.max.sm,power.draw,power.limit,temperature.gpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """What was measured on."""

    spec: str
    """cpu, cuda:0 or mps."""
    name: str
    driver: str | None
    torch: str
    memory_bytes: float
    free_bytes: float
    cache_bytes: float
    """Last-level cache [byte]."""
    clock_hz: float | None
    memory_clock_hz: float | None = None
    power_w: float | None = None
    """Power drawn when read [W]."""
    power_limit_w: float | None = None
    temperature_c: float | None = None
    capability: tuple[int, int] | None = None
    count: int = 1
    """Devices of this kind in the machine."""
    threads: int | None = None
    other_processes: int = 0
    """Other processes computing on the same device."""

    @property
    def kind(self) -> str:
        """cpu, cuda or mps."""
        return self.spec.partition(":")[0]


def require_torch() -> ModuleType:
    """The torch module, or one sentence that says how to get it."""
    try:
        import torch  # noqa: PLC0415 - optional and slow to import
    except ImportError as error:
        raise AdapterError("PyTorch is not installed here, so there is nothing to measure kernels with.",
                           hint="Install the extra: pip install 'llm-capacity-planner[calibrate]'.") from error
    return torch


def open_device(spec: str = "auto") -> Device:
    """The device a spec names; ``auto`` prefers CUDA, then MPS, then the processor."""
    torch = require_torch()
    if spec == "auto":
        spec = "cuda:0" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    kind, _, number = spec.partition(":")
    if kind == "cpu" and not number:
        return _processor(torch)
    if kind == "mps" and not number:
        return _mps(torch)
    if kind == "cuda" and (not number or number.isdigit()):
        return _cuda(torch, int(number or 0))
    raise InvalidQuantity(f"Device {spec!r} is not one of auto, cpu, mps, cuda or cuda:<number>.", pointer="device")


def _processor(torch: ModuleType) -> Device:
    total, free = processor.memory_bytes()
    return Device(spec="cpu", name=processor.processor_name(), driver=None, torch=torch.__version__,
                  memory_bytes=total, free_bytes=free, cache_bytes=processor.cache_bytes(),
                  clock_hz=processor.clock_hz(), threads=torch.get_num_threads())


def _mps(torch: ModuleType) -> Device:
    if not torch.backends.mps.is_available():
        raise AdapterError("This machine has no Metal device that PyTorch can use.", hint="Use --device cpu.")
    total, free = processor.memory_bytes()
    return Device(spec="mps", name=f"Apple GPU ({processor.processor_name()})", driver=None, torch=torch.__version__,
                  memory_bytes=total, free_bytes=free, cache_bytes=float(32 * 2**20), clock_hz=None)


def _cuda(torch: ModuleType, number: int) -> Device:
    if not torch.cuda.is_available():
        raise AdapterError("No CUDA device is visible to PyTorch on this machine.",
                           hint="Use --device cpu, or check the driver with nvidia-smi.")
    if number >= torch.cuda.device_count():
        raise AdapterError(f"There is no cuda:{number}; this machine shows {torch.cuda.device_count()} CUDA devices.",
                           hint=f"Use --device cuda:0 … cuda:{torch.cuda.device_count() - 1}.")
    traits = torch.cuda.get_device_properties(number)
    free, total = torch.cuda.mem_get_info(number)
    sheet = smi_reading(str(getattr(traits, "uuid", number)))
    return Device(spec=f"cuda:{number}", name=traits.name, driver=sheet.get("driver_version"), torch=torch.__version__,
                  memory_bytes=float(total), free_bytes=float(free), cache_bytes=float(traits.L2_cache_size),
                  clock_hz=_scaled(sheet.get("clocks.sm"), 1e6), memory_clock_hz=_scaled(sheet.get("clocks.mem"), 1e6),
                  power_w=_scaled(sheet.get("power.draw"), 1.0), power_limit_w=_scaled(sheet.get("power.limit"), 1.0),
                  temperature_c=_scaled(sheet.get("temperature.gpu"), 1.0),
                  capability=(traits.major, traits.minor), count=torch.cuda.device_count(),
                  other_processes=_other_processes())


def _scaled(text: str | None, factor: float) -> float | None:
    try:
        return None if text is None else float(text) * factor
    except ValueError:  # "[N/A]" on virtual GPUs
        return None


def _smi(*arguments: str) -> str:
    program = shutil.which("nvidia-smi")
    if program is None:
        return ""
    try:
        done = subprocess.run([program, *arguments, "--format=csv,noheader,nounits"],  # noqa: S603 - fixed arguments
                              capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""


def smi_reading(gpu: str) -> dict[str, str]:
    """Clocks, power and driver as the vendor's tool reads them; empty where it is missing."""
    wanted = gpu if gpu.isdigit() or gpu.startswith("GPU-") else f"GPU-{gpu}"
    line = _smi("-i", wanted, f"--query-gpu={_QUERY}").strip()
    values = [v.strip() for v in line.split(",")]
    names = _QUERY.split(",")
    return dict(zip(names, values, strict=True)) if len(values) == len(names) else {}


def _other_processes() -> int:
    """Processes computing on the device beside this one, whose own number differs inside a container."""
    pids = {p.strip() for p in _smi("--query-compute-apps=pid").splitlines() if p.strip()}
    return max(0, len(pids) - 1)
