import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as TorchCommand from "../../src/torch/TorchCommand.ts"

const options = { python: "python3", ranks: 4, threads: 2 }

describe("the command line of PyTorch's processes", () => {
  it("is one process, several, or those of a machine among others", () => {
    const of = (more: Partial<TorchCommand.Options>, machine?: number) =>
      TorchCommand.words({ ...options, ...more }, machine).join(" ")
    assert.strictEqual(of({ ranks: 1 }), "python3 -m atropos_torch")
    assert.strictEqual(of({}), "python3 -m torch.distributed.run --standalone --nproc-per-node 4 -m atropos_torch")
    const machines = { count: 2, rendezvous: "10.0.0.1:29500" }
    assert.strictEqual(
      of({ machines }),
      "python3 -m torch.distributed.run --nnodes 2 --node-rank 0 --master-addr 10.0.0.1 --master-port 29500 --nproc-per-node 4 -m atropos_torch"
    )
    assert.match(of({ machines }, 1), / --node-rank 1 --master-addr 10\.0\.0\.1 /)
  })

  it("takes lists of GPUs, and nothing that would be none or the same one twice", () => {
    const isList = Schema.is(TorchCommand.GpuList)
    for (const list of ["0", "0-3", "0-3,6", "4,2"]) assert.isTrue(isList(list), list)
    for (const list of ["", "all", "3-1", "0,0", "0-2,1", "-1", "0,", "0-9999999"]) assert.isFalse(isList(list), list)
  })

  it("knows addresses", () => {
    assert.deepStrictEqual(TorchCommand.addressOf("gpu-1.local:29500"), { host: "gpu-1.local", port: 29_500 })
    assert.deepStrictEqual(TorchCommand.addressOf("[::1]:80"), { host: "::1", port: 80 })
    for (const wrong of ["gpu-1", "gpu-1:", ":29500", "gpu-1:70000", "a b:1"]) {
      assert.isUndefined(TorchCommand.addressOf(wrong), wrong)
    }
  })

  it("shows a process only the GPUs that it was given", () => {
    assert.strictEqual(TorchCommand.environment({ ...options, gpus: "0,2" })["CUDA_VISIBLE_DEVICES"], "0,2")
    assert.notProperty(TorchCommand.environment(options), "CUDA_VISIBLE_DEVICES")
  })
})
