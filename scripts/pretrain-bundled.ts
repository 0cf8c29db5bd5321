/**
 * Pretrains the model of `--model bundled` (docs/models.md), with our own trainer: tokenizer, model and training from
 * the seed alone. The same number of threads gives the same files. Each stage continues from the output of the previous
 * one; with `3` the first two, which precede tools, are skipped.
 *
 *     node --conditions=atropos-src scripts/pretrain-bundled.ts <folder> [first stage]
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Tokenizer } from "@atropos/core"
import { Console, Effect, Exit, FileSystem, Layer, Result } from "effect"
import { join } from "node:path"
import * as Ort from "../packages/trainer/src/exec/OrtWorker.ts"
import * as Schedule from "../packages/trainer/src/learn/Schedule.ts"
import type { TrainingSequence } from "../packages/trainer/src/learn/TrainingSequence.ts"
import * as WeightedBatch from "../packages/trainer/src/learn/WeightedBatch.ts"
import * as LocalLearner from "../packages/trainer/src/local/LocalLearner.ts"
import * as Preset from "../packages/trainer/src/loss/Preset.ts"
import * as Model from "../packages/trainer/src/model/Model.ts"
import * as ModelFolder from "../packages/trainer/src/model/ModelFolder.ts"
import * as Parameters from "../packages/trainer/src/model/Parameters.ts"
import * as Safetensors from "../packages/trainer/src/model/file/Safetensors.ts"
import * as BytePairs from "./internal/bundled/BytePairs.ts"
import * as Documents from "./internal/bundled/Documents.ts"
import * as Fresh from "./internal/bundled/Fresh.ts"

const [out = "bundled", first = "1"] = process.argv.slice(2)
const maxPositions = 512
const special = { end: "<|endoftext|>", turnStart: "<|im_start|>", turnEnd: "<|im_end|>" }

const documentsPerStep = 16

/**
 * Number of documents in 100 that are lists of sums and dialogues with a tool, and of hasty students in 100, up to a
 * share of the steps.
 */
interface Phase {
  readonly until: number
  readonly sums: number
  readonly tools: number
  readonly hasty: number
}

interface Stage {
  readonly steps: number
  /** Steps of the learning rate's decay, if the stage ends earlier. */
  readonly over?: number
  readonly peak: number
  readonly warmupSteps: number
  readonly phases: ReadonlyArray<Phase>
}

/**
 * First sums, then stories solved step by step, finally with the usual students; the second stage with a lower learning
 * rate, the third and fourth with tools.
 */
const stages: ReadonlyArray<Stage> = [
  {
    steps: 1600,
    peak: 2e-3,
    warmupSteps: 100,
    phases: [
      { until: 0.3, sums: 88, tools: 0, hasty: 20 },
      { until: 0.75, sums: 30, tools: 0, hasty: 20 },
      { until: 1, sums: 20, tools: 0, hasty: 60 }
    ]
  },
  {
    steps: 600,
    peak: 1.5e-3,
    warmupSteps: 30,
    phases: [
      { until: 0.8, sums: 13, tools: 0, hasty: 10 },
      { until: 1, sums: 13, tools: 0, hasty: 55 }
    ]
  },
  {
    steps: 480,
    peak: 1.2e-3,
    warmupSteps: 30,
    phases: [{ until: 1, sums: 13, tools: 45, hasty: 12 }]
  },
  {
    steps: 110,
    peak: 7e-4,
    warmupSteps: 5,
    phases: [
      { until: 0.45, sums: 13, tools: 40, hasty: 12 },
      { until: 1, sums: 13, tools: 40, hasty: 60 }
    ]
  }
]

/** Index offset of each stage's documents, so that none is seen twice. */
const documentsOfStage = 1_000_000

const trainTokenizer = Effect.fnUntraced(function* () {
  const texts = Array.from({ length: 4000 }, (_, index) =>
    Documents.textOf(index % 4 === 0 ? Documents.sums(index) : Documents.story(index, 50))
  )
  const calls = Array.from({ length: 1000 }, (_, index) => Documents.textOf(Documents.toolStory(index, 50)))
  yield* ModelFolder.writeJson(out, BytePairs.files([texts, calls], special, 512, maxPositions))
  return yield* Effect.provide(Tokenizer.Tokenizer, Tokenizer.layerHuggingFace(out))
})

/** The text between a call and the model's next turn. */
const heard = (tokenizer: Tokenizer.TokenizerShape, text: string) => ({
  text: `\n${tokenizer.applyChatTemplate([{ role: "tool", content: text }], { addGenerationPrompt: true })}`,
  isLearned: false
})

const sequenceOf = (
  tokenizer: Tokenizer.TokenizerShape,
  document: Documents.Document,
  group: number
): TrainingSequence => {
  const { answer, messages, tools = [] } = document
  const pieces = [
    {
      text: tokenizer.applyChatTemplate(messages, { addGenerationPrompt: true, ...(tools.length > 0 && { tools }) }),
      isLearned: false
    },
    ...answer.flatMap((piece) =>
      piece.from === undefined ? [piece] : [{ text: special.turnEnd, isLearned: true }, heard(tokenizer, piece.text)]
    ),
    { text: special.turnEnd, isLearned: true }
  ].map(({ isLearned, text }) => ({ isLearned, tokens: tokenizer.encode(text) }))
  const tokens = Int32Array.from(pieces.flatMap(({ tokens }) => tokens))
  return {
    tokens,
    mask: Uint8Array.from(pieces.flatMap(({ isLearned, tokens }) => tokens.map(() => (isLearned ? 1 : 0)))),
    advantages: new Float32Array(tokens.length),
    temperature: 1,
    score: 0,
    policyVersion: null,
    group
  }
}

const write = Effect.fnUntraced(function* (model: Model.Model, parameters: Float32Array) {
  const tensors = model.layout.slots.map((slot) => ({
    name: slot.name,
    shape: slot.shape,
    values: Parameters.view(parameters, slot)
  }))
  yield* Safetensors.write(join(out, ModelFolder.singleFile), tensors, "BF16")
})

/** The previously written parameters. */
const read = Effect.fnUntraced(function* ({ initial, layout }: Model.Model) {
  const { tensors } = yield* Safetensors.head(join(out, ModelFolder.singleFile))
  const parameters = new Float32Array(initial.length)
  for (const slot of layout.slots) {
    Parameters.view(parameters, slot).set(yield* Safetensors.floats(tensors.get(slot.name)!))
  }
  return parameters
})

const train = Effect.fnUntraced(function* (model: Model.Model, stage: number) {
  const { peak, phases, steps, warmupSteps, over = steps } = stages[stage]!
  const { tokenizer } = model
  const objective = Result.getOrThrow(Preset.resolve({ preset: "sft" }))
  const engine = yield* LocalLearner.make({ model: Model.trainable(model), graph: { remat: false, entropy: false } })
  const learner = yield* engine.load({ objective, maxLength: 256, tokenBudget: 4096 })
  const schedule = { kind: "cosine", peak, warmupSteps, steps: over, floor: 0.02 } as const
  const began = process.hrtime.bigint()
  const begin = stage * documentsOfStage
  const next = { story: begin, sums: begin, tools: begin }
  let computed = 0
  let recent = 0
  for (let step = 0; step < steps; step++) {
    const phase = phases.find(({ until }) => step < until * steps)!
    const lists = Math.round((documentsPerStep * phase.sums) / 100)
    const dialogues = lists + Math.round((documentsPerStep * phase.tools) / 100)
    const documentAt = (at: number) =>
      at < lists
        ? Documents.sums(next.sums++)
        : at < dialogues
          ? Documents.toolStory(next.tools++, phase.hasty)
          : Documents.story(next.story++, phase.hasty)
    const sequences = Array.from({ length: documentsPerStep }, (_, at) => sequenceOf(tokenizer, documentAt(at), at))
    const { batch } = WeightedBatch.choose(sequences, objective, { maxLength: 256, vocabSize: model.config.vocabSize })
    const { loss } = yield* learner.forwardBackward(batch)
    yield* learner.optimizerStep(Schedule.learningRate(schedule, step))
    computed += sequences.reduce((sum, { tokens }) => sum + tokens.length, 0)
    recent = step === 0 ? loss : 0.98 * recent + 0.02 * loss
    if ((step + 1) % 20 !== 0 && step + 1 < steps) continue
    const seconds = Number(process.hrtime.bigint() - began) / 1e9
    const { system, user } = process.cpuUsage()
    yield* Console.log(
      `stage ${stage + 1}, step ${step + 1}: loss ${recent.toFixed(4)}, ${computed} tokens, ${seconds.toFixed(0)} s, ` +
        `processor ${((system + user) / 1e6).toFixed(0)} s, ${(computed / seconds).toFixed(0)} tokens/s`
    )
    if ((step + 1) % 200 === 0 || step + 1 === steps) yield* write(model, yield* learner.parameters)
  }
}, Effect.scoped)

const program = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  yield* fs.makeDirectory(out, { recursive: true })
  const tokenizer = yield* trainTokenizer()
  const fresh = Fresh.make({ tokenizer, maxPositions, seed: 1, end: special.turnEnd })
  yield* ModelFolder.writeJson(out, { [ModelFolder.configFile]: fresh.file })
  yield* Console.log(`${fresh.model.layout.size} parameters, ${tokenizer.vocabularySize} tokens`)
  for (let stage = Number(first) - 1; stage < stages.length; stage++) {
    const initial = stage === 0 ? fresh.model.initial : yield* read(fresh.model)
    yield* train({ ...fresh.model, initial }, stage)
  }
}).pipe(Effect.scoped, Effect.provide(Layer.mergeAll(NodeServices.layer, Ort.layer({ threads: 2 }))))

const exit = await Effect.runPromiseExit(program)
if (Exit.isFailure(exit)) throw exit.cause
