/**
 * A closed loop in a process of its own, for a test that kills it: an engine that takes new weights in the middle of
 * answers and guesses tokens ahead, sampling a step ahead of training; of a mixture with the experts that were passed
 * at sampling. Says `step <n> <version>` for each, and dies at a point of its work.
 *
 *     node loopProcess.ts <url> dense|mixture <folder> <steps> [<kill point>]
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Environment, ServerManager } from "@atropos/core"
import { Effect, Layer, References, Stream } from "effect"
import { FetchHttpClient } from "effect/http"
import * as Say from "../../../core/test/base/Say.ts"
import { flushCompileCache } from "node:module"
import * as KillPoint from "../../../core/test/base/KillPoint.ts"
import * as Ort from "../../src/exec/Ort.ts"
import { LearnerEngine } from "../../src/learn/LearnerEngine.ts"
import * as LocalLearner from "../../src/local/LocalLearner.ts"
import * as ClosedLoop from "../../src/run/ClosedLoop.ts"
import * as TrainerSettings from "../../src/run/TrainerSettings.ts"
import * as PolicyLayers from "../../src/server/PolicyLayers.ts"
import * as TrainerPoints from "../run/TrainerPoints.ts"
import * as LoopModel from "./loopModel.ts"

// Usually written at a process's end, which this one may not live to see.
flushCompileCache()

const [, , url = "", run = "", savePath = "", steps = "", killPoint = ""] = process.argv
const points = KillPoint.make(killPoint)
const groupSize = 4
const { letters } = LoopModel
const kind = LoopModel.kinds.find((name) => name === run) ?? "dense"

const environment = Environment.layer("letters", Environment.settings({}), () =>
  Effect.map(ServerManager.ServerManager, (servers) => ({
    items: (cursor: number) => Stream.iterate(cursor, (index) => index + 1),
    collectTrajectories: (index: number) =>
      points.around(
        "rollout",
        servers.complete({ prompt: letters.repeat(4), n: groupSize, maxTokens: 40, seed: index })
      ),
    // No two alike, or a batch might have nothing to learn.
    score: (_: number, group: ReadonlyArray<{ readonly completion: string }>) =>
      Effect.succeed(group.map(({ completion }) => Buffer.from(completion).reduce((sum, byte) => sum + byte, 0)))
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
    leaseSeconds: 30,
    routerReplay: kind === "mixture"
  },
  loss: { preset: "dr-grpo" }
})

const say = (line: string) => Effect.sync(() => Say.line(line))

const loop = Effect.gen(function* () {
  const { steps } = yield* ClosedLoop.make({ settings, stepsAhead: 1, owner: `process-${process.pid}` })
  yield* Stream.runForEach(steps, ({ policyVersion, step }) => say(`step ${step} ${policyVersion}`))
})

const settingsOfEngine = { weightUpdates: "in_flight", speculativeTokens: 3 } as const
const parts = Effect.map(LoopModel.load(kind, `${savePath}/model`), (model) =>
  Layer.mergeAll(
    environment,
    Layer.effect(LearnerEngine, Effect.map(LearnerEngine, TrainerPoints.engine(points))).pipe(
      Layer.provide(LocalLearner.layerInProcess({ model }))
    ),
    TrainerPoints.layerFiles(points)
  ).pipe(
    Layer.provideMerge(
      PolicyLayers.layerInProcess(model, {
        device: "cpu",
        settings: settingsOfEngine,
        recordsExperts: kind === "mixture"
      })
    ),
    Layer.provideMerge(Ort.layer({ threads: 1 })),
    Layer.provideMerge(TrainerPoints.layerClient(points, { url, run }))
  )
)
const ground = Layer.mergeAll(
  NodeServices.layer,
  FetchHttpClient.layer,
  Layer.succeed(References.MinimumLogLevel, "None")
)

await Effect.runPromise(loop.pipe(Effect.scoped, Effect.provide(Layer.unwrap(parts).pipe(Layer.provideMerge(ground)))))
