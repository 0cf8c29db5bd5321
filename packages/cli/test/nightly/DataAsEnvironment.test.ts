/** Environments that bring what is to be learnt with them, trained in the closed loop on a model from scratch. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Dataset, type Environment, MemoryTrajectoryClient, ServerManager, type Tokenizer } from "@atropos/core"
import { Distill, SftLoader, Teacher } from "@atropos/envs"
import * as LocalLearner from "@atropos/trainer/local/LocalLearner"
import * as ClosedLoop from "@atropos/trainer/run/ClosedLoop"
import * as Ort from "../../../trainer/src/exec/Ort.ts"
import * as TinyModel from "@atropos/trainer/model/TinyModel"
import * as PolicyServer from "@atropos/trainer/server/PolicyServer"
import * as PolicyLayers from "@atropos/trainer/server/PolicyLayers"
import * as TrainerSettings from "@atropos/trainer/run/TrainerSettings"
import { Effect, FileSystem, Layer, References, Stream } from "effect"
import { HttpServer } from "effect/http"

const letters = "abc"
const modelOf = (seed: number) => TinyModel.make({ characters: `${letters}=`, seed, maxPositions: 8 })

/** Two letters are answered by them the other way round. */
const rows = Array.from(letters).flatMap((one) =>
  Array.from(letters, (other) => ({ question: `${one}${other}=`, answer: `${other}${one}` }))
)

/** The mean of the last five. */
const lastOf = (losses: ReadonlyArray<number>): number => losses.slice(-5).reduce((sum, loss) => sum + loss / 5, 0)

/** Share of the prompts that the policy answers rightly when asked greedily. */
const solved = Effect.gen(function* () {
  const servers = yield* ServerManager.ServerManager
  const answers = yield* Effect.forEach(rows, ({ question }) =>
    servers.complete({ prompt: question, maxTokens: 3, temperature: 0 })
  )
  return answers.filter(([answer], index) => answer!.completion === rows[index]!.answer).length / rows.length
})

/** Trains a model in the closed loop; the losses of its steps, what it then solves, and its weights. */
const train = Effect.fnUntraced(function* <E>(
  environment: Layer.Layer<
    Environment.Environment,
    E,
    ServerManager.ServerManager | Tokenizer.Tokenizer | Dataset.Dataset
  >,
  model: ReturnType<typeof modelOf>,
  preset: "sft" | "distill",
  trainingSteps: number
) {
  const fs = yield* FileSystem.FileSystem
  const settings = TrainerSettings.complete({
    trainer: {
      savePath: yield* fs.makeTempDirectoryScoped(),
      trainingSteps,
      batchSize: 18,
      seqLen: 8,
      lr: 1e-2,
      trains: "all",
      checkpointInterval: 0
    },
    loss: { preset }
  })
  return yield* Effect.gen(function* () {
    const before = yield* solved
    let parameters = model.initial
    const publish = (weights: LocalLearner.Weights) => Effect.sync(() => void (parameters = weights.parameters.slice()))
    const { steps } = yield* ClosedLoop.make({ settings }).pipe(
      Effect.provide(LocalLearner.layerInProcess({ model, publish }))
    )
    const metrics = yield* Stream.runCollect(steps)
    return { losses: metrics.map(({ loss }) => loss), before, after: yield* solved, parameters }
  }).pipe(
    Effect.scoped,
    Effect.provide(
      Layer.mergeAll(environment, MemoryTrajectoryClient.layer(), Ort.layer({ threads: 1 })).pipe(
        Layer.provideMerge(PolicyLayers.layerInProcess(model, { device: "cpu" }))
      )
    )
  )
})

const quiet = Layer.succeed(References.MinimumLogLevel, "None")

describe("data as environment", () => {
  it.live("rows as solved groups teach a model its task, and a teacher teaches it to another", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const file = `${yield* fs.makeTempDirectoryScoped()}/rows.jsonl`
      yield* fs.writeFileString(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(""))

      const taught = yield* train(SftLoader.layer({ source: file }), modelOf(1), "sft", 40)
      // With four seeds: none of the nine rows before, eight or nine after; losses from 1.6 to below 0.3.
      assert.isBelow(taught.before, 0.3)
      assert.isAtLeast(taught.after, 0.6)
      assert.isAbove(taught.losses[0]!, 1)
      assert.isBelow(lastOf(taught.losses), taught.losses[0]! / 2)

      // The teacher is a server of its own, asked over HTTP.
      const teacher = modelOf(1)
      const served = PolicyLayers.layerEngine(teacher, { device: "cpu", parameters: taught.parameters })
      const teacherServer = yield* Layer.build(
        PolicyServer.layer({ ...PolicyLayers.served(teacher), host: "127.0.0.1", port: 0 }).pipe(
          Layer.provideMerge(served),
          Layer.fresh
        )
      )
      const { address } = yield* Effect.provideContext(HttpServer.HttpServer, teacherServer)
      const servers = ServerManager.layer({
        servers: { serverType: "vllm", baseUrl: `${HttpServer.formatAddress(address)}/v1`, modelName: teacher.name }
      })
      const asTeacher = Teacher.layerNoDeps.pipe(
        Layer.provide(Layer.fresh(servers)),
        Layer.provide(Layer.succeedContext(teacherServer))
      )
      const distilled = yield* train(
        Distill.layer({
          source: file,
          promptStyle: "compact",
          groupSize: 2,
          teacherTopK: 6,
          maxTokenLength: 3,
          ensureScoresAreNotSame: false
        }).pipe(Layer.provide(asTeacher)),
        modelOf(2),
        "distill",
        40
      )
      // With the same seeds: none before, eight after.
      assert.isBelow(distilled.before, 0.3)
      assert.isAtLeast(distilled.after, 0.6)
      assert.isBelow(lastOf(distilled.losses), distilled.losses[0]! / 2)
    }).pipe(Effect.scoped, Effect.provide([Dataset.layer, NodeServices.layer, quiet]))
  )
})
