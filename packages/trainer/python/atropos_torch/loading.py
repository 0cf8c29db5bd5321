"""Loads the model to train: the base with an adapter, or all weights."""

from importlib.util import find_spec
from typing import Any

import torch

from . import adapter
from .link import Failure

VARLEN = "flash_attention_2"


def _disable_dropout(model: Any) -> None:
    """Layers that compute activations again must be in training mode; what drops out or jitters is set to 0."""
    from transformers.modeling_layers import GradientCheckpointingLayer

    for module in model.modules():
        if not isinstance(module, GradientCheckpointingLayer):
            continue
        module.training = True
        for name, value in vars(module).items():
            if isinstance(value, float) and ("drop" in name or "jitter" in name):
                setattr(module, name, 0.0)


def _quantized(bits: str, dtype: torch.dtype, device: torch.device) -> dict[str, Any]:
    """Arguments that load the frozen weights of linear layers in 8 or 4 bits."""
    if bits == "none":
        return {}
    from transformers import BitsAndBytesConfig

    try:
        import bitsandbytes  # noqa: F401
    except ImportError as error:
        message = f"--quantize {bits} needs bitsandbytes, which cannot be imported ({error}): install it with pip"
        raise Failure("settings", message) from error
    config = (
        BitsAndBytesConfig(load_in_8bit=True)
        if bits == "int8"
        else BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=dtype)
    )
    return {"quantization_config": config, "device_map": {"": device}}


def load(options: dict[str, Any], device: torch.device) -> tuple[Any, Any]:
    """The model, and PEFT's wrapper around it; the wrapper is None if all weights are trained. On the device `meta` it
    has no values, and no weights are read."""
    from transformers import AutoConfig, AutoModelForCausalLM

    is_half, has_adapter = options["dtype"] == "bfloat16", options["trains"] != "all"
    # Trained weights stay in float32; autocast computes in bfloat16.
    dtype = torch.bfloat16 if is_half and has_adapter else torch.float32
    quantized = _quantized(options["quantize"], dtype, device)

    def read(attention: str) -> Any:
        how: dict[str, Any] = {"dtype": dtype, "attn_implementation": attention}
        if device.type == "meta":
            config = AutoConfig.from_pretrained(options["model"], local_files_only=True)
            with device:
                return AutoModelForCausalLM.from_config(config, **how)
        return AutoModelForCausalLM.from_pretrained(options["model"], local_files_only=True, **how, **quantized)

    # Some architectures refuse an implementation. The first keeps packed sequences apart without a mask.
    has_flash = is_half and torch.cuda.is_available() and find_spec("flash_attn") is not None
    model: Any = None
    for attention in [*([VARLEN] if has_flash else []), "sdpa", "eager"]:
        try:
            model = read(attention)
            break
        except (ImportError, OSError, ValueError, KeyError) as error:
            failure = Failure("settings", f"{options['model']} cannot be loaded by transformers: {error}")
    if model is None:
        raise failure
    model.config.use_cache = False
    wrapper = None
    if has_adapter:
        wrapper = adapter.add(model, options["trains"], options["seed"], device)
        model = wrapper.get_base_model()
    else:
        model.requires_grad_(True)
    # Training mode would drop out in some architectures, whatever their settings.
    model.eval() if quantized else model.to(device).eval()
    if options["remat"]:
        model.gradient_checkpointing_enable({"use_reentrant": False})
        if has_adapter:
            model.enable_input_require_grads()
        _disable_dropout(model)
    return model, wrapper
