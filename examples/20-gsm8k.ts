/**
 * The loop for a published model on published rows: GSM8K, and an adapter on 135 million parameters.
 *
 * Rows come from the hub or a file, answers from an engine in this process, gradients from ONNX Runtime on the CPU. A
 * small model seldom solves these problems, so an answer in the right format earns a little: the format is learned
 * first. Groups of equal scores teach nothing, and are kept so that a step never waits for better ones. Run it:
 *
 *     npx node --conditions=atropos-src examples/20-gsm8k.ts [--model FOLDER] [--rows train.jsonl] [--steps 50]
 *     npx node --conditions=atropos-src examples/20-gsm8k.ts --engine tinker+http://localhost:9005
 *
 * `--engine` trains and samples the same loop on a Tinker server (`npx @atropos/cli tinker --model FOLDER`).
 */
import { NodeHttpClient, NodeServices } from "@effect/platform-node"
import {
  Dataset,
  Environment,
  MemoryTrajectoryClient,
  Message,
  ServerManager,
  Tokenizer,
  type Trajectory
} from "@atropos/core"
import {
  ClosedLoop,
  type Executor,
  type LearnerEngine,
  LocalLearner,
  OrtWorker,
  PolicyLayers,
  PretrainedModel,
  TrainerSettings
} from "@atropos/trainer"
import * as TinkerEngine from "@atropos/trainer/tinker/TinkerEngine"
import * as Address from "@atropos/trainer/tinker/client/Address"
import { Console, Effect, FileSystem, Layer, type Path, References, Schema, Stream } from "effect"
import type { HttpClient } from "effect/http"
import { parseArgs } from "node:util"

class Row extends Schema.Class<Row>("Row")({ question: Schema.NonEmptyString, answer: Schema.NonEmptyString }) {}

const numberOf = (text: string): string | undefined =>
  /####\s*(-?\d[\d,]*(?:\.\d+)?)\.?\s*$/.exec(text)?.[1]?.replaceAll(",", "")

/** 1 for the right number, 0.1 for another in its place. */
export const scoreOf = (completion: string, { answer }: Row): number => {
  const given = numberOf(completion)
  return given === undefined ? 0 : given === numberOf(answer) ? 1 : 0.1
}

const instructions = "Solve the problem in a few short steps. End with a line that has only #### and the number."

const worked = [
  Message.user("Tom has 3 apples and buys 2 bags of 4. How many has he now?"),
  Message.assistant("2 * 4 = 8\n3 + 8 = 11\n#### 11")
]

const environment = (rows: string) =>
  Environment.layer("gsm8k", Environment.settings({}), ({ groupSize, maxTokenLength }) =>
    Effect.gen(function* () {
      const servers = yield* ServerManager.ServerManager
      return {
        items: yield* Dataset.shuffled(rows, Row, { seed: 1 }),
        collectTrajectories: ({ question }: Row) =>
          servers.chat({
            messages: [Message.system(instructions), ...worked, Message.user(question)],
            n: groupSize,
            maxTokens: maxTokenLength
          }),
        score: (row: Row, group: ReadonlyArray<Trajectory.Trajectory>) =>
          Effect.succeed(group.map(({ completion }) => scoreOf(completion, row)))
      }
    })
  )({ groupSize: 8, maxTokenLength: 160, ensureScoresAreNotSame: false })

export interface Options {
  /** A hub id or a folder. */
  readonly model: string
  /** A data set of the hub, or a file with `question` and `answer`. */
  readonly rows: string
  readonly steps: number
  readonly engine: string
}

const linear = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
const adapter = { r: 16, alpha: 32, targetModules: linear, rslora: false }
const seqLen = 512

type Engine = Layer.Layer<
  LearnerEngine.LearnerEngine | ServerManager.ServerManager,
  unknown,
  Executor.Executor | FileSystem.FileSystem | Path.Path | HttpClient.HttpClient
>

const here = ({ model: name }: Options): Engine =>
  Layer.unwrap(
    Effect.map(PretrainedModel.load(name, { trains: adapter, seed: 1, maxPositions: seqLen }), (model) =>
      LocalLearner.layerInProcess({ model }).pipe(
        Layer.provideMerge(PolicyLayers.layerInProcess(model, { device: "cpu" }))
      )
    )
  )

/** On a Tinker server: weights stay there, the tokenizer is read here. */
const there = ({ engine, model: name }: Options): Engine =>
  Layer.unwrap(
    Effect.gen(function* () {
      const model = yield* PretrainedModel.describe(name, seqLen)
      const { maxPositions, vocabSize } = model.config
      const address = yield* Address.read(engine)
      const server = TinkerEngine.layer({ address, baseModel: name, vocabSize, maxPositions, rank: adapter.r, seed: 1 })
      return PolicyLayers.layerManager(model).pipe(
        Layer.provideMerge(Layer.merge(server, Layer.succeed(Tokenizer.Tokenizer, model.tokenizer)))
      )
    })
  )

export const program = (options: Options) =>
  Effect.gen(function* () {
    const savePath = yield* (yield* FileSystem.FileSystem).makeTempDirectoryScoped()
    const settings = TrainerSettings.complete({
      trainer: { savePath, trainingSteps: options.steps, batchSize: 32, seqLen, lr: 5e-4, checkpointInterval: 0 },
      loss: { preset: "dr-grpo" }
    })
    const { steps } = yield* ClosedLoop.make({ settings })
    yield* Stream.runForEach(steps, ({ rewardMean, step, trainedTokens }) =>
      Console.log(`step ${step}: score ${rewardMean.toFixed(3)}, ${trainedTokens} tokens`)
    )
  }).pipe(
    Effect.scoped,
    Effect.provide(
      Layer.mergeAll(environment(options.rows), MemoryTrajectoryClient.layer()).pipe(
        Layer.provideMerge(options.engine === "local" ? here(options) : there(options)),
        Layer.provideMerge(Layer.mergeAll(OrtWorker.layer(), Dataset.layer)),
        Layer.provideMerge(Layer.mergeAll(NodeServices.layer, NodeHttpClient.layerUndici))
      )
    ),
    Effect.provideService(References.MinimumLogLevel, "Warn")
  )

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      model: { type: "string", default: "HuggingFaceTB/SmolLM2-135M-Instruct" },
      rows: { type: "string", default: "openai/gsm8k/main/train" },
      steps: { type: "string", default: "20" },
      engine: { type: "string", default: "local" }
    }
  })
  await Effect.runPromise(program({ ...values, steps: Number(values.steps) }))
}
