/** PyTorch on two machines, as two groups of processes on the loopback address: one process's numbers, and its end. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { spawn } from "node:child_process"
import { Effect, Layer } from "effect"
import * as Ports from "../../../core/test/base/Ports.ts"
import * as TorchCommand from "../../src/torch/TorchCommand.ts"
import * as TorchEngine from "../../src/torch/TorchEngine.ts"
import * as TorchProcess from "../../src/torch/TorchProcess.ts"
import * as SharedOrt from "../exec/SharedOrt.ts"
import { course, near, objectives } from "../tinker/RemoteEngine.ts"
import * as SameBatch from "../tinker/SameBatch.ts"
import * as Torch from "../torch/Torch.ts"

const shape = { vocabSize: 80, maxLength: 40, shortest: 8, count: 7 }
const grpo = objectives().find(({ name }) => name === "grpo")!

/** Starts the processes of machine 1, as `atropos torch join` does; resolves to their exit code. */
const joined = (options: TorchProcess.Options) => {
  const [program = "", ...words] = TorchCommand.words(options, 1)
  const child = spawn(program, words, {
    stdio: "ignore",
    env: { ...process.env, ...TorchCommand.environment(options) }
  })
  return new Promise<number | null>((resolve) => void child.once("exit", resolve))
}

const losses = Effect.fnUntraced(function* (child: TorchProcess.TorchProcess, parallel: "ddp" | "fsdp") {
  const options = Torch.optionsOf(Torch.processOf(), "qwen3", { parallel })
  const engine = yield* TorchEngine.make(options, Effect.succeed(child))
  const learner = yield* engine.load({ objective: grpo, maxLength: shape.maxLength, tokenBudget: 64 })
  return (yield* course(learner, SameBatch.batchOf(grpo, shape), 3)).losses
}, Effect.scoped)

describe.skipIf(!Torch.isPresent)(`PyTorch on two machines${Torch.absence}`, () => {
  it.live("has one process's numbers, and ends where its trainer ends or its processes are killed", () =>
    Effect.gen(function* () {
      const alone = yield* losses(yield* TorchProcess.make(Torch.processOf()), "ddp")
      for (const way of ["ends", "is killed"] as const) {
        const rendezvous = `127.0.0.1:${yield* Ports.held}`
        const options = Torch.processOf({ machines: { count: 2, rendezvous } })
        const other = joined(options)
        yield* Effect.gen(function* () {
          const child = yield* TorchProcess.make(options)
          // Of this machine alone: another's ids would belong to other programs here.
          assert.deepStrictEqual([child.about.ranks, child.about.pids.length], [2, 1])
          if (way === "is killed") return yield* child.kill
          for (const parallel of ["ddp", "fsdp"] as const) {
            near(yield* losses(child, parallel), alone, 1e-6, `loss of step (${parallel})`)
          }
        }).pipe(Effect.scoped)
        const code = yield* Effect.promise(() => other)
        if (way === "ends") assert.strictEqual(code, 0)
        else assert.notStrictEqual(code, 0)
      }
    }).pipe(Effect.scoped, Effect.provide(Layer.merge(NodeServices.layer, SharedOrt.layer)))
  )
})
