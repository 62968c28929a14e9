"""Chips of the labs' tests, with π and β as the texts write them."""

from planner.core.hardware.chip import Chip, Link

H100 = Chip(id="h100", name="H100 SXM", vendor="NVIDIA", architecture="hopper", memory_bytes=80e9, bandwidth=3.35e12,
            peaks={"fp8": 1979e12, "bf16": 989e12, "fp16": 989e12, "tf32": 495e12, "fp32": 67e12, "fp32_no_fma": 33e12,
                   "special_function": 3.9e12},
            scale_up=Link(kind="nvlink", bytes_per_s=450e9, domain=8, switched=True),
            host=Link(kind="pcie", bytes_per_s=64e9, domain=8),
            network=Link(kind="network", bytes_per_s=50e9, domain=64),
            multiprocessors=132, shared_memory_bytes=228 * 1024,
            boundaries={"registers": 300e12, "shared_memory": 30e12, "l2": 9e12})
H100_SHEET = Chip(id="h100s", name="H100 SXM", vendor="NVIDIA", architecture="hopper", memory_bytes=80e9,
                  bandwidth=3.35e12, peaks={"bf16": 989.4e12, "fp32": 67e12}, multiprocessors=132,
                  scale_up=H100.scale_up, host=H100.host, network=H100.network, boundaries=H100.boundaries)
BARE = Chip(id="bare", name="Bare", vendor="x", architecture="x", memory_bytes=1e9, bandwidth=1e12,
            peaks={"bf16": 1e14})
