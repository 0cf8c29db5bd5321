import { assert, describe, it } from "@effect/vitest"
import * as TorchExit from "../../src/torch/TorchExit.ts"

const exit = { program: "python3", output: "", code: 1, signal: null, wasReady: false }

/** What torchrun prints when rank 1 was killed, and it told rank 0 to end. */
const summary = `
[rank0]: RuntimeError: Connection closed by peer
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
Root Cause (first observed failure):
[0]:
  rank      : 0 (local_rank: 0)
  exitcode  : -15 (pid: 41)
[1]:
  rank      : 1 (local_rank: 1)
  exitcode  : -9 (pid: 42)
`

describe("how PyTorch's process ended", () => {
  it("names a module that is missing, and what installs it", () => {
    const output = "Traceback\\nModuleNotFoundError: No module named 'peft'"
    const { message, reason } = TorchExit.explain({ ...exit, output })
    assert.strictEqual(reason, "settings")
    assert.include(
      message,
      "python3 has no module peft: it needs torch, transformers, peft and safetensors. Run npx @atropos/cli torch install"
    )
  })

  it("is lost weights if it had answered, with the error that it printed", () => {
    const output = "loading\nValueError: rope_type is unknown\nsome warning"
    const { message, reason } = TorchExit.explain({ ...exit, output, wasReady: true })
    assert.strictEqual(reason, "engineLost")
    assert.include(message, "python3 ended with code 1: ValueError: rope_type is unknown")
    assert.include(TorchExit.explain({ ...exit, code: null, signal: "SIGKILL" }).message, "was ended by SIGKILL")
  })

  it("names the rank that ended first", () => {
    const { message } = TorchExit.explain({ ...exit, output: summary, wasReady: true })
    assert.include(message, "rank 1 (process 42) was killed (SIGKILL)")
  })
})
