/** A run on an architecture or an adapter of another kind: resumed, it is the same to the bit. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem, Layer, References, Stream } from "effect"
import { FetchHttpClient } from "effect/http"
import * as Sample from "../../../core/test/Sample.ts"
import { Executor } from "../../src/exec/Executor.ts"
import * as Ort from "../../src/exec/Ort.ts"
import * as Model from "../../src/model/Model.ts"
import * as Peft from "../../src/model/Peft.ts"
import type { TrainableModel } from "../../src/model/TrainableModel.ts"
import * as Architectures from "../model/Architectures.ts"
import * as LongRows from "../run/LongRows.ts"
import * as Toy from "../run/ToyTraining.ts"

/** And how their logits are made where rows are long: capped ones, and those of a trained matrix, in no loop. */
const kinds = {
  gemma2: "chunks",
  "phi4-mini": "loop",
  "qwen3-moe": "loop",
  "gpt-oss": "loop",
  "qwen3-5": "loop",
  "adapter-dora": "chunks",
  "adapter-saved": "chunks"
} as const

const services = Layer.mergeAll(
  Ort.layer({ threads: 1 }),
  NodeServices.layer,
  FetchHttpClient.layer,
  Layer.succeed(References.MinimumLogLevel, "None")
)

/** Trains a folder's model whole and in two parts; answers with the model. */
const resume = Effect.fnUntraced(function* (
  name: string,
  {
    batch,
    graph,
    settings,
    steps
  }: Pick<typeof LongRows, "batch"> & Partial<Pick<typeof LongRows, "graph" | "settings">> & { readonly steps: number }
) {
  const root = yield* (yield* FileSystem.FileSystem).makeTempDirectoryScoped()
  const { model: loaded, parameters } = yield* Architectures.load(Architectures.folder(name))
  const { adapter, layout } = loaded
  const config = { ...loaded.config, maxPositions: Math.max(loaded.config.maxPositions, settings?.seqLen ?? 0) }
  const model: TrainableModel = {
    name,
    policy: Model.policy({ ...loaded, config }),
    vocabSize: config.vocabSize,
    hiddenSize: config.hiddenSize,
    shape: config,
    maxPositions: config.maxPositions,
    initial: parameters,
    writeWeights: (folder, trained) => Peft.write(folder, { layout, adapter, parameters: trained, base: name })
  }
  /** Steps from where the folder's run has come to: the parameters then. */
  const train = Effect.fnUntraced(function* (folder: string, until: number) {
    const own = Toy.settings(`${root}/${folder}`, { trainingSteps: until, ...settings })
    const trainer = yield* Toy.trainer(own, { model, ...(graph && { graph }) })
    const from = yield* trainer.step
    const batches = Array.from({ length: until - from }, (_, i) => batch(from + i))
    yield* Stream.runDrain(trainer.steps(Stream.fromIterable(batches)))
    return { from, parameters: yield* trainer.parameters }
  }, Effect.scoped)
  const whole = yield* train("whole", steps)
  yield* train("parts", steps / 2)
  const resumed = yield* train("parts", steps)
  assert.deepStrictEqual([whole.from, resumed.from], [0, steps / 2])
  assert.deepStrictEqual(resumed.parameters, whole.parameters)
  assert.notDeepEqual(whole.parameters, parameters)
  // What was written is what was trained.
  const written = yield* Peft.read(`${root}/whole/step_${steps}`, { adapter, layout })
  assert.deepStrictEqual(written, whole.parameters)
  return config
}, Effect.scoped)

layer(services, { excludeTestServices: true })("Trainer", (it) => {
  it.effect.each(Object.keys(kinds))("goes on from a checkpoint as if it had not stopped: %s", (name) =>
    resume(name, { batch: Toy.batch, steps: 4 })
  )

  it.effect.each(Sample.every(3, Object.entries(kinds)))(
    "does so on long rows, in blocks, chunks and pieces: %s",
    ([name, head]) =>
      Effect.gen(function* () {
        const { executor, runs } = yield* LongRows.watched
        const { layerTraits } = yield* Effect.provideService(
          resume(name, { ...LongRows, steps: 2 }),
          Executor,
          executor
        )
        LongRows.check(runs, {
          attention: layerTraits.filter(({ isDelta }) => !isDelta).length,
          dense: layerTraits.filter(({ isMixture }) => !isMixture).length,
          head
        })
      })
  )
})
