/**
 * A process of its own that saves one checkpoint after the other into a folder, until it dies at a point of its files:
 * weights (they get their name), name (the checkpoint gets its), old (one that is too old loses its). Prints each step
 * when it is durable.
 *
 *     node saveForever.ts <folder> <first step> <kill point>
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Layer } from "effect"
import * as Say from "../../../core/test/base/Say.ts"
import * as KillPoint from "../../../core/test/base/KillPoint.ts"
import * as Checkpoints from "../../src/checkpoint/Checkpoints.ts"
import * as Samples from "../checkpoint/Samples.ts"

const [, , folder = "", from = "1", killPoint = ""] = process.argv

const layerFiles = KillPoint.layerRenames(KillPoint.make(killPoint), [
  ["weights", /\.safetensors$/],
  ["name", /\/step_\d+$/],
  ["old", /\.old\.partial$/]
])

const saveForever = Effect.gen(function* () {
  for (let step = Number(from); ; step++) {
    yield* Checkpoints.save(Samples.options(folder, Samples.snapshotOf(step)), Samples.stateOf(step))
    Say.line(`${step}`)
  }
})

await Effect.runPromise(saveForever.pipe(Effect.provide(layerFiles.pipe(Layer.provideMerge(NodeServices.layer)))))
