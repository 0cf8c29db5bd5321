/**
 * A trainer of its own process, for tests that kill it: trains the toy model from a service, says `step <n> <batch
 * step>` for each, and dies at a point of its steps.
 *
 *     node trainerProcess.ts <url> <run> <folder> <steps> <checkpoint interval> <batch size> [<kill point>]
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Layer, Stream } from "effect"
import * as Say from "../../../core/test/base/Say.ts"
import { flushCompileCache } from "node:module"
import * as KillPoint from "../../../core/test/base/KillPoint.ts"
import * as Ort from "../../src/exec/Ort.ts"
import * as ServiceTraining from "../../src/run/ServiceTraining.ts"
import * as TrainerPoints from "./TrainerPoints.ts"
import * as Toy from "./ToyTraining.ts"

// Usually written at a process's end, which this one may not live to see.
flushCompileCache()

const [, , url = "", run = "", folder = "", steps = "", interval = "", batchSize = "", killPoint = ""] = process.argv

const settings = Toy.settings(folder, {
  run,
  trainingSteps: Number(steps),
  checkpointInterval: Number(interval),
  batchSize: Number(batchSize),
  // Renewed every ten seconds: no machine is so busy that it runs out.
  leaseSeconds: 30
})

const say = (line: string) => Say.line(line)

const points = KillPoint.make(killPoint)

const train = Effect.gen(function* () {
  const trainer = yield* Toy.trainer(settings, {
    around: TrainerPoints.engine(points),
    advantages: ({ scores }) => {
      points.reach("in prepare")
      const mean = scores.reduce((sum, score) => sum + score, 0) / scores.length
      return scores.map((score) => score - mean)
    }
  })
  yield* Stream.runForEach(ServiceTraining.steps(trainer, { settings, owner: `process-${process.pid}` }), (metrics) =>
    Effect.sync(() => say(`step ${metrics.step} ${metrics.batchId}`))
  )
}).pipe(
  Effect.scoped,
  Effect.provide(
    Layer.mergeAll(
      Ort.layer({ threads: 1 }),
      TrainerPoints.layerClient(points, { url, run }),
      TrainerPoints.layerFiles(points)
    ).pipe(Layer.provideMerge(NodeServices.layer))
  )
)

await Effect.runPromise(train)
