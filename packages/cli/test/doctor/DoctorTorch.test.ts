/** What `atropos doctor` reports about PyTorch. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import * as TorchReport from "@atropos/trainer/torch/TorchReport"
import { Effect, Option } from "effect"
import * as Python from "../../../core/test/Python.ts"
import * as Torch from "../../src/doctor/Torch.ts"

const packages = { torch: "2.13.0", transformers: "5.23.0", peft: "0.21.2", safetensors: "0.8.0", bitsandbytes: null }
const report: TorchReport.TorchReport = { python: "3.12.1", packages, cuda: null, gpus: [] }

const of = (found: TorchReport.TorchReport | undefined) =>
  Torch.findingsOf("python3", Option.fromUndefinedOr(found), "atropos torch install")

describe("doctor, for PyTorch", () => {
  it("names what is missing, and the command that installs it; nothing of it is required", () => {
    const [lacking] = of({ ...report, packages: { ...packages, peft: null } })
    assert.strictEqual(lacking!.status, "note")
    assert.strictEqual(lacking!.found, "python3 (Python 3.12.1) has no peft")
    assert.include(lacking!.advice, "run atropos torch install")
    assert.include(of(undefined)[0]!.found, "python3 cannot be started")
  })

  it("names GPUs with their memory and attention kernels, or why there are none", () => {
    const gpu = { name: "NVIDIA H100", bytes: 85e9 }
    const [, found] = of({ ...report, cuda: "13.0", gpus: [gpu, gpu], attention: ["flash"], bfloat16: true })
    assert.strictEqual(found!.found, "NVIDIA H100, 85 GB; NVIDIA H100, 85 GB; CUDA 13.0, attention: flash")
    assert.include(of(report)[1]!.advice, "run atropos torch install --cuda")
    assert.include(of({ ...report, cuda: "13.0" })[1]!.advice, "install NVIDIA's driver")
    assert.include(
      of({ ...report, packages: { ...packages, bitsandbytes: "0.49.0" } }).at(-1)!.found,
      "bitsandbytes 0.49.0"
    )
  })

  it.live("reads what an interpreter has", () =>
    Effect.gen(function* () {
      const found = Option.getOrThrow(yield* TorchReport.read(Python.interpreter))
      assert.match(found.python, /^3\.\d+/)
      assert.sameMembers(TorchReport.needed, Object.keys(found.packages).slice(0, TorchReport.needed.length))
      assert.isTrue(Option.isNone(yield* TorchReport.read("/no/python")))
    }).pipe(Effect.provide(NodeServices.layer))
  )
})
