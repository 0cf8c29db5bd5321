/** Checks what `--engine torch` needs: Python with PyTorch, GPUs, attention kernels, and a vLLM to sample with. */
import * as Executable from "@atropos/core/base/system/Executable"
import * as TorchInstall from "@atropos/trainer/torch/TorchInstall"
import * as TorchReport from "@atropos/trainer/torch/TorchReport"
import { Effect, Option } from "effect"
import * as CommandLine from "../base/CommandLine.ts"
import { type Finding, note, ok } from "./Finding.ts"

const check = "PyTorch"

/** PyTorch is optional: what is missing is a note. */
export const findingsOf = (
  python: string,
  found: Option.Option<TorchReport.TorchReport>,
  install: string
): ReadonlyArray<Finding> => {
  const only = "only needed for --engine torch: "
  if (Option.isNone(found)) return [note(check, `${python} cannot be started`, `${only}run ${install}`)]
  const { attention = [], bfloat16 = false, cuda, gpus, packages, python: version } = found.value
  const missing = TorchReport.needed.filter((name) => (packages[name] ?? null) === null)
  if (missing.length > 0) {
    return [
      note(
        check,
        `${python} (Python ${version}) has no ${missing.join(", ")}`,
        `${only}run ${install}, or name a Python that has them with --python`
      )
    ]
  }
  const versions = TorchReport.needed.map((name) => `${name} ${packages[name]}`).join(", ")
  const bits = packages["bitsandbytes"]
  return [
    ok(check, `${versions}, Python ${version} (${python})`),
    gpus.length > 0
      ? ok(
          `${check} GPUs`,
          gpus.map(({ bytes, name }) => `${name}, ${(bytes / 1e9).toFixed(0)} GB`).join("; ") +
            `; CUDA ${cuda}, attention: ${attention.join(", ") || "math only"}${bfloat16 ? "" : "; no bfloat16: use --dtype float32"}`
        )
      : note(
          `${check} GPUs`,
          cuda === null ? "none: a CPU build" : `none found (built for CUDA ${cuda})`,
          cuda === null
            ? `it trains on the CPU; with an NVIDIA GPU run ${install} --cuda`
            : "it trains on the CPU; with a GPU install NVIDIA's driver"
        ),
    ...(bits === null || bits === undefined
      ? []
      : [ok(`${check} quantization`, `bitsandbytes ${bits}: --quantize int8, int4`)])
  ]
}

/** vLLM is in a separate environment, since its pins differ. */
const vllm = (): Finding => {
  const file = Executable.find("vllm")
  return file === undefined
    ? note(
        "vLLM",
        "no vllm on the path",
        "only needed to sample with it on this machine: python3 -m venv vllm && vllm/bin/pip install vllm"
      )
    : ok("vLLM", file)
}

export const torch = Effect.gen(function* () {
  const python = yield* Effect.orElseSucceed(TorchInstall.interpreter(null), () => "python3")
  const found = yield* TorchReport.read(python)
  return [...findingsOf(python, found, CommandLine.of("torch install")), vllm()]
})
