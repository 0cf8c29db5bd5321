/**
 * Writes adapters and whole models, and the logits they give here, for `check-adapter-with-peft.py` to compare with
 * PEFT's and transformers'.
 *
 *     node --conditions=atropos-src scripts/write-model-samples.ts <folder>
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Array, Console, Effect, FileSystem, Layer } from "effect"
import { FetchHttpClient } from "effect/http"
import { join } from "node:path"
import * as Ort from "../packages/trainer/src/exec/Ort.ts"
import type { Model } from "../packages/trainer/src/model/Model.ts"
import * as PretrainedModel from "../packages/trainer/src/model/PretrainedModel.ts"
import * as TinyModel from "../packages/trainer/src/model/TinyModel.ts"
import { uniform } from "../packages/trainer/src/base/CounterRandom.ts"
import * as Fixtures from "../packages/trainer/test/model/Fixtures.ts"

const [out = "model-samples"] = process.argv.slice(2)

/** First values moved by up to `width`, so that B of an adapter is not zero and norms and biases are not trivial. */
const moved = (model: Model, width: number): Float32Array =>
  model.initial.map((value, at) => value + width * (2 * uniform(11, 0, at) - 1))

/** Saves the model at these parameters, and its logits of each sequence. */
const sample = Effect.fnUntraced(function* (
  kind: "adapter" | "model",
  name: string,
  model: Model,
  width: number,
  base?: string
) {
  const fs = yield* FileSystem.FileSystem
  const folder = join(out, name)
  const parameters = moved(model, width)
  const inputIds = [5, 19, 40].map((length, row) =>
    Array.makeBy(length, (t) => Math.floor(model.config.vocabSize * uniform(7, row, t)))
  )
  const run = yield* Fixtures.logitsOf(model)
  const logits = yield* Effect.forEach(inputIds, (sequence) => run(Fixtures.grid([[sequence]]), parameters))
  yield* model.write(folder, parameters)
  yield* fs.writeFileString(
    join(folder, "sample.json"),
    JSON.stringify({ kind, base, inputIds, logits: logits.map((values) => globalThis.Array.from(values)) })
  )
  yield* Console.log(`${folder}: ${parameters.length} parameters`)
}, Effect.scoped)

const program = Effect.gen(function* () {
  for (const name of Fixtures.names) {
    const folder = Fixtures.folder(name)
    const rslora = name === "qwen2"
    const targetModules = name === "smollm" ? ["q_proj", "v_proj"] : ["all-linear"]
    const adapter = { r: 4, alpha: 12, rslora, targetModules }
    const adapted = yield* PretrainedModel.load(folder, { trains: adapter, seed: 1 })
    yield* sample("adapter", `${name}-adapter`, adapted, 0.2, folder)
    yield* sample("model", `${name}-whole`, yield* PretrainedModel.load(folder, { trains: "all", seed: 1 }), 0.1)
  }
  const tiny = TinyModel.make({ characters: "0123456789+=", seed: 3 })
  yield* sample("model", "tiny", tiny, 0.2)
})

await Effect.runPromise(
  program.pipe(Effect.provide(Layer.mergeAll(Ort.layer({ threads: 1 }), NodeServices.layer, FetchHttpClient.layer)))
)
