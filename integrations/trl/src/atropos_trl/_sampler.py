"""New weights for whoever samples."""

from __future__ import annotations

import json
import logging
import shutil
import uuid
from pathlib import Path
from typing import Any

from ._http import AtroposError, Http, Unavailable, patiently

_logger = logging.getLogger("atropos_trl")


class Sampler:
    """A server that samples with the policy: gets the adapter after each optimizer step, under a name of its own.

    `policy+http://…` is `atropos policy`, `vllm+http://…` is vLLM with `--enable-lora` and
    VLLM_ALLOW_RUNTIME_LORA_UPDATING=True. Both read the adapter's folder, so they must see it under the same path.
    """

    def __init__(self, address: str, token: str | None, folder: Path) -> None:
        kind, _, url = address.partition("+")
        if kind not in ("policy", "vllm") or "://" not in url:
            raise AtroposError(
                f"sampler {address!r} is not understood: policy+http://host:9004 or vllm+http://host:8000"
            )
        self._kind, self._http, self._folder = (
            kind,
            Http(url.removesuffix("/v1"), token, "ATROPOS_POLICY_TOKEN"),
            folder,
        )
        self._prefix = f"policy-{uuid.uuid4().hex[:6]}"
        self._loaded: list[str] = []
        self.version: int | None = None

    def push(self, model: Any, version: int, patience: float) -> None:
        """Makes the server sample with the model's adapter as it is now."""
        if version == self.version:
            return
        name = f"{self._prefix}-v{version}"
        path = (self._folder / name).resolve()
        partial = path.with_name(f".{name}.partial")
        adapter = model.active_adapter
        model.save_pretrained(partial, selected_adapters=[adapter], save_embedding_layers=False)
        _flatten(partial, adapter)
        partial.replace(path)
        body: dict[str, object] = {"lora_name": name, "lora_path": str(path)}
        if self._kind == "policy":
            body["policy_version"] = version
        patiently(
            lambda: self._load(body, model.peft_config[adapter]),
            f"the sampler at {self._http.url} (`npx @atropos/cli policy --model …`)",
            patience,
        )
        self.version = version
        self._loaded.append(name)
        while len(self._loaded) > 3:  # requests that still run may name the last ones
            self._drop(self._loaded.pop(0))

    def _load(self, body: dict[str, object], shape: Any) -> None:
        try:
            self._http.call("POST", "/v1/load_lora_adapter", body, timeout=60)
        except AtroposError as error:
            if "already been loaded" in str(error):
                return  # heard before, though its answer was not
            if error.status in (404, 405):
                raise AtroposError(
                    f"{error}. The sampler has to take adapters: `atropos policy`, or vLLM with --enable-lora and "
                    "VLLM_ALLOW_RUNTIME_LORA_UPDATING=True"
                ) from None
            if error.status == 400 and self._kind == "policy":
                modules = json.dumps(sorted(shape.target_modules or []))
                raise AtroposError(
                    f"{error}. Start the sampler with the adapter's shape: atropos policy --lora.r {shape.r} "
                    f"--lora.alpha {shape.lora_alpha} --lora.target_modules '{modules}'"
                ) from None
            raise

    def _drop(self, name: str) -> None:
        try:
            self._http.call("POST", "/v1/unload_lora_adapter", {"lora_name": name})
        except (AtroposError, Unavailable) as error:
            _logger.warning("adapter %s not unloaded: %s", name, error)
        shutil.rmtree(self._folder / name, ignore_errors=True)


def _flatten(folder: Path, adapter: str) -> None:
    """PEFT writes an adapter that is not named `default` into a folder of its name."""
    inner = folder / adapter
    if inner.is_dir():
        for file in inner.iterdir():
            file.replace(folder / file.name)
        inner.rmdir()
