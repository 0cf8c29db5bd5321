/**
 * A process of its own that saves one checkpoint after the other into a folder, until it is killed. Prints each step
 * when it is durable.
 */
import { NodeServices } from "@effect/platform-node"
import { Effect } from "effect"
import { writeSync } from "node:fs"
import * as Checkpoints from "../../src/checkpoint/Checkpoints.ts"
import * as Samples from "./Samples.ts"

const [, , folder = "", from = "1"] = process.argv

const saveForever = Effect.gen(function* () {
  for (let step = Number(from); ; step++) {
    yield* Checkpoints.save(Samples.options(folder, Samples.snapshotOf(step)), Samples.stateOf(step))
    // Straight to the pipe: what was said before the process is killed has arrived.
    writeSync(1, `${step}\n`)
  }
})

await Effect.runPromise(saveForever.pipe(Effect.provide(NodeServices.layer)))
