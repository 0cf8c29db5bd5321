/**
 * The executor of one thread of the CPU, one for all tests of a worker process: a graph that was loaded before is not
 * loaded again, which takes longer than the few steps of a small model. For tests that are not about loading, memory or
 * how an executor ends.
 */
import { Effect, Layer, Scope } from "effect"
import { createHash } from "node:crypto"
import { Executor, type Program } from "../../src/exec/Executor.ts"
import * as Ort from "../../src/exec/Ort.ts"

/** It ends with the process. */
const scope = Scope.makeUnsafe()
const opened = Effect.runSync(Effect.cached(Scope.provide(Ort.make({ device: "cpu", threads: 1 }), scope)))
const programs = new Map<string, Program>()

export const layer = Layer.effect(
  Executor,
  Effect.map(opened, (executor) =>
    Executor.of({
      ...executor,
      load: (model, options) => {
        // What lies in files may change under the same names.
        if (model.external.folder !== undefined) return executor.load(model, options)
        const key = `${createHash("sha256").update(model.onnx).digest("hex")} ${JSON.stringify(options)}`
        return Effect.suspend(() => {
          const before = programs.get(key)
          if (before !== undefined) return Effect.succeed(before)
          const loaded = Scope.provide(executor.load(model, options), scope)
          return Effect.tap(loaded, (program) => Effect.sync(() => programs.set(key, program)))
        })
      }
    })
  )
)
