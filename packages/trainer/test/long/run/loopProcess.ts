/**
 * A closed loop in a process of its own, for a test that kills it: an engine that takes new weights in the middle of
 * answers and guesses tokens ahead, sampling a step ahead of training. Says `step <n> <version>` for each.
 *
 *     node loopProcess.ts <url> <run> <folder> <steps>
 */
import { NodeServices } from "@effect/platform-node"
import { Environment, ServerManager, TrajectoryClientHttp } from "@atropos/core"
import { Effect, Layer, References, Stream } from "effect"
import { writeSync } from "node:fs"
import * as Ort from "../../../src/exec/Ort.ts"
import * as LocalLearner from "../../../src/local/LocalLearner.ts"
import * as ClosedLoop from "../../../src/run/ClosedLoop.ts"
import * as TrainerSettings from "../../../src/run/TrainerSettings.ts"
import * as PolicyLayers from "../../../src/server/PolicyLayers.ts"
import { letters, model } from "./loopModel.ts"

const [, , url = "", run = "", savePath = "", steps = ""] = process.argv
const groupSize = 4

const environment = Environment.layer("letters", Environment.settings({}), () =>
  Effect.map(ServerManager.ServerManager, (servers) => ({
    items: (cursor: number) => Stream.iterate(cursor, (index) => index + 1),
    collectTrajectories: (index: number) =>
      servers.complete({ prompt: letters.repeat(4), n: groupSize, maxTokens: 40, seed: index }),
    score: (index: number, group: ReadonlyArray<{ readonly completion: string }>) =>
      Effect.succeed(group.map(({ completion }) => completion.split(letters[index % 4]!).length - 1))
  }))
)({ groupSize, ensureScoresAreNotSame: false, maxNumWorkers: 8 })

const settings = TrainerSettings.complete({
  trainer: {
    run,
    savePath,
    trainingSteps: Number(steps),
    batchSize: 2 * groupSize,
    seqLen: 64,
    lr: 1e-2,
    checkpointInterval: 2,
    leaseSeconds: 2
  },
  loss: { preset: "dr-grpo" }
})

// Straight to the pipe: what was said before the process is killed has arrived.
const say = (line: string) => Effect.sync(() => void writeSync(1, `${line}\n`))

const loop = Effect.gen(function* () {
  const { steps } = yield* ClosedLoop.make({ settings, stepsAhead: 1, owner: `process-${process.pid}` })
  yield* say("started")
  yield* Stream.runForEach(steps, ({ policyVersion, step }) => say(`step ${step} ${policyVersion}`))
})

const engine = { weightUpdates: "in_flight", speculativeTokens: 3 } as const
const parts = Layer.mergeAll(environment, LocalLearner.layerInProcess({ model })).pipe(
  Layer.provideMerge(PolicyLayers.layerInProcess(model, { device: "cpu", settings: engine })),
  Layer.provideMerge(Layer.mergeAll(Ort.layer({ threads: 1 }), NodeServices.layer)),
  Layer.provideMerge(TrajectoryClientHttp.layer({ url, run })),
  Layer.provideMerge(Layer.succeed(References.MinimumLogLevel, "None"))
)

await Effect.runPromise(loop.pipe(Effect.scoped, Effect.provide(parts)))
