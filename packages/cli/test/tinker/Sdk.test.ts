/**
 * The official SDK of Tinker, unmodified, against `atropos tinker`: `npm run test:interop` runs this with 0.25.0 and
 * with 0.38.0.
 */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Stream } from "effect"
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { having, interpreter } from "../../../core/test/Python.ts"
import * as OrtWorker from "../../../trainer/src/exec/OrtWorker.ts"
import * as LocalLearner from "../../../trainer/src/local/LocalLearner.ts"
import * as Preset from "../../../trainer/src/loss/Preset.ts"
import * as Model from "../../../trainer/src/model/Model.ts"
import * as PretrainedModel from "../../../trainer/src/model/PretrainedModel.ts"
import * as Bin from "../Bin.ts"
import * as ModelFolders from "../ModelFolders.ts"

const program = fileURLToPath(new URL("sdk.py", import.meta.url))
const { absence, isPresent } = having("tinker", "numpy")

/** What the program prints last. */
// oxlint-disable-next-line typescript/no-explicit-any -- whatever it says
const python = (words: ReadonlyArray<string>): Effect.Effect<any> =>
  Effect.promise(
    (signal) =>
      new Promise((resolve, reject) => {
        execFile(interpreter, [program, ...words], { signal }, (error, output, complaint) => {
          if (error === null) resolve(JSON.parse(output.trim().split("\n").at(-1) ?? ""))
          else reject(new Error(`${output}\n${complaint}`))
        })
      })
  )

const text = [5, 6, 7, 8, 9, 5, 6, 7]
const sequence = (tokens: ReadonlyArray<number>) => ({
  tokens: Int32Array.from(tokens),
  mask: Uint8Array.from(tokens, (_, at) => (at === 0 ? 0 : 1)),
  advantages: new Float32Array(tokens.length),
  temperature: 1,
  score: 0,
  policyVersion: 0,
  group: 0
})
const batch = {
  sequences: [sequence(text), sequence(text.slice(0, 4))],
  items: [7, 3].map((length, at) => ({ sequence: at, length, trained: length, weight: 1 }))
}

/** The same 20 steps in this process. */
const locally = (folder: string) =>
  Effect.gen(function* () {
    const model = yield* PretrainedModel.load(folder, {
      trains: { r: 4, alpha: 32, targetModules: ["all-linear"], rslora: false },
      seed: 7
    })
    const engine = yield* LocalLearner.make({ model: Model.trainable(model) })
    const optimizer = { beta1: 0.9, beta2: 0.95, epsilon: 1e-12, weightDecay: 0, maxNorm: null }
    const objective = Result.getOrThrow(Preset.resolve({ preset: "sft" }))
    const learner = yield* engine.load({ objective, optimizer })
    const losses: Array<number> = []
    const logprobs: Array<Array<ReadonlyArray<number>>> = []
    for (let step = 0; step < 20; step++) {
      const ofStep: Array<ReadonlyArray<number>> = []
      const { loss } = yield* learner.forwardBackward(batch, (item, values) => (ofStep[item] = Array.from(values)))
      yield* learner.optimizerStep(0.003)
      losses.push(loss)
      logprobs.push(ofStep)
    }
    return { losses, logprobs }
  }).pipe(Effect.provide(OrtWorker.layer({ threads: 1 })), Effect.scoped)

describe.skipIf(!isPresent)(`the official SDK of Tinker${absence}`, () => {
  it.live("trains, samples and saves on our engine as it is", () =>
    Effect.gen(function* () {
      const cwd = yield* Bin.folder
      const model = yield* ModelFolders.write(`${cwd}/model`, "qwen3", { positions: 64 })
      const server = yield* Bin.start(["tinker", "--model", model, "--port", "0", "--threads", "1"], { cwd })
      const url = yield* server.stdout.pipe(
        Stream.decodeText,
        Stream.splitLines,
        Stream.filterMap((line) => {
          const found = /TINKER_BASE_URL=(\S+)/.exec(line)?.[1]
          return found === undefined ? Result.fail(undefined) : Result.succeed(found)
        }),
        Stream.runHead,
        Effect.flatMap(Effect.fromOption)
      )
      const said = yield* python([url, model])

      const own = yield* locally(model)
      for (const [step, loss] of own.losses.entries()) {
        assert.closeTo(said.losses[step], loss, 1e-3)
        for (const [item, values] of own.logprobs[step]!.entries()) {
          for (const [at, logprob] of values.entries()) {
            assert.closeTo(said.logprobs[step][item][at], logprob, 1e-4)
          }
        }
      }
      assert.strictEqual(said.samples.length, 3)
      assert.isNull(said.scored[0])
      for (const [at, logprob] of said.forward.entries()) assert.closeTo(said.scored[at + 1], logprob, 1e-4)
      assert.deepStrictEqual(Object.keys(said.builtin), ["importance_sampling", "ppo", "cispo", "dro"])
      assert.isAbove(said.norm, 0)
      if (said.custom !== null) {
        assert.closeTo(said.custom["loss:sum"], said.custom["squares"], 1e-3)
        assert.isNumber(said.custom["surrogate_loss:sum"])
      }
      assert.match(said.saved, /^tinker:\/\/[^/]+\/weights\/end$/)
      assert.strictEqual(said.again, said.last)
      assert.include(said.refused, "not Qwen/Qwen3-8B")
    }).pipe(Effect.scoped, Effect.provide([NodeServices.layer, NodeHttpClient.layerUndici]))
  )
})
