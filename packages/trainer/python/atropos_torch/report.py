"""Prints as JSON what this interpreter has for the engine: versions, GPUs, attention kernels."""

import json
import platform
from importlib import metadata
from typing import Any

NEEDED = ("torch", "transformers", "peft", "safetensors")
OPTIONAL = ("bitsandbytes", "flash-attn", "vllm")


def version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def report() -> dict[str, Any]:
    packages = {name: version(name) for name in (*NEEDED, *OPTIONAL)}
    found: dict[str, Any] = {"python": platform.python_version(), "packages": packages, "gpus": [], "cuda": None}
    if packages["torch"] is None:
        return found
    import torch

    has_gpu = torch.cuda.is_available()
    gpus = [torch.cuda.get_device_properties(i) for i in range(torch.cuda.device_count() if has_gpu else 0)]
    kernels = {
        "flash": torch.backends.cuda.flash_sdp_enabled(),
        "memory-efficient": torch.backends.cuda.mem_efficient_sdp_enabled(),
        "cuDNN": torch.backends.cuda.cudnn_sdp_enabled(),
        "flash_attn": packages["flash-attn"] is not None,
    }
    return {
        **found,
        "cuda": torch.version.cuda,
        "gpus": [{"name": one.name, "bytes": one.total_memory} for one in gpus],
        "attention": [name for name, is_there in kernels.items() if is_there] if gpus else [],
        "bfloat16": has_gpu and torch.cuda.is_bf16_supported(),
    }


if __name__ == "__main__":
    print(json.dumps(report()))
