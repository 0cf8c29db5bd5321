/**
 * A trainer of its own process, for tests that kill it: trains the toy model from a service and says `step <n> <batch
 * step>` for each.
 *
 *     node trainerProcess.ts <url> <run> <folder> <steps> <checkpoint interval> <batch size>
 */
import { NodeServices } from "@effect/platform-node"
import { TrajectoryClientHttp } from "@atropos/core"
import { Effect, Layer, Stream } from "effect"
import { writeSync } from "node:fs"
import * as Ort from "../../src/exec/Ort.ts"
import * as ServiceTraining from "../../src/run/ServiceTraining.ts"
import * as Toy from "./ToyTraining.ts"

const [, , url = "", run = "", folder = "", steps = "", interval = "", batchSize = ""] = process.argv

const settings = Toy.settings(folder, {
  run,
  trainingSteps: Number(steps),
  checkpointInterval: Number(interval),
  batchSize: Number(batchSize),
  leaseSeconds: 2
})

// Straight to the pipe: what was said before the process is killed has arrived.
const say = (line: string) => writeSync(1, `${line}\n`)

const train = Effect.gen(function* () {
  const trainer = yield* Toy.trainer(settings)
  say("started")
  yield* Stream.runForEach(ServiceTraining.steps(trainer, { settings, owner: `process-${process.pid}` }), (metrics) =>
    Effect.sync(() => say(`step ${metrics.step} ${metrics.batchId}`))
  )
}).pipe(
  Effect.scoped,
  Effect.provide(
    Layer.mergeAll(Ort.layer({ threads: 1 }), NodeServices.layer, TrajectoryClientHttp.layer({ url, run }))
  )
)

await Effect.runPromise(train)
