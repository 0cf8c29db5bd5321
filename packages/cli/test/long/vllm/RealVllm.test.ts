/** All weights of a model to a real vLLM, and what it samples with them. */
import { assert, describe, it } from "@effect/vitest"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { ServerManager, Tokenizer } from "@atropos/core"
import * as OrtWorker from "@atropos/trainer/exec/OrtWorker"
import { LearnerEngine } from "@atropos/trainer/learn/LearnerEngine"
import * as LocalLearner from "@atropos/trainer/local/LocalLearner"
import * as Preset from "@atropos/trainer/loss/Preset"
import * as Model from "@atropos/trainer/model/Model"
import * as PretrainedModel from "@atropos/trainer/model/PretrainedModel"
import * as TrainerSettings from "@atropos/trainer/run/TrainerSettings"
import * as WeightSync from "@atropos/trainer/sync/WeightSync"
import { Effect, Fiber, FileSystem, Layer, Random, References, Result } from "effect"
import { FetchHttpClient } from "effect/http"
import * as Waits from "../../../../core/test/base/Waits.ts"
import * as WholePublisher from "../../train/WholePublisher.ts"
import * as UntiedModel from "./UntiedModel.ts"
import * as Vllm from "./Vllm.ts"

const objective = Result.getOrThrow(Preset.resolve(TrainerSettings.loss.complete({})))

/** Nats: rounding at the least likely of hundreds of tokens. Between the versions lies a hundred times more. */
const largest = 2e-3

/** The weights of a version: the model's, each moved by up to a fifth. */
const moved = (initial: Float32Array, version: number): Float32Array =>
  initial.map((value, at) => value * (1 + (version === 0 ? 0 : 0.2) * Math.sin(at * 0.7 + version)))

const suite = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const folder = yield* fs.makeTempDirectoryScoped()
  yield* Effect.sync(() => UntiedModel.write(folder))
  const url = yield* Vllm.serve(folder)
  const model = yield* PretrainedModel.load(folder, { trains: "all", seed: 1 })
  const published = yield* WholePublisher.make(model, url)

  const learner = Effect.fnUntraced(function* (version: number) {
    const initial = moved(model.initial, version)
    const layer = LocalLearner.layer({ model: { ...Model.trainable(model), initial }, ...published })
    const { load } = yield* Effect.provide(LearnerEngine, yield* Layer.build(layer))
    return yield* load({ objective })
  })
  const learners = yield* Effect.forEach([0, 1], learner)

  const servers = ServerManager.layer({ servers: [{ baseUrl: `${url}/v1`, logprobsMode: "processed" }] }).pipe(
    Layer.provide(Layer.succeed(Tokenizer.Tokenizer, model.tokenizer))
  )
  const { tokens } = yield* Effect.provide(ServerManager.ServerManager, yield* Layer.build(servers))
  const inputIds = model.tokenizer.encode("Tom has 3 apples")
  const sampled = Effect.fnUntraced(function* (maxTokens: number) {
    const [one] = yield* tokens({ inputIds, maxTokens, temperature: 1, extra: { ignore_eos: true } })
    return one!
  })
  return { learners, sampled, inputIds, url }
})

describe.skipIf(Vllm.executable === undefined)(`a real vLLM${Vllm.absence}`, () => {
  it.live("samples with all weights that were pushed, and its answers are of the version that they say", () =>
    Effect.gen(function* () {
      const { inputIds, learners, sampled, url } = yield* suite

      /** The largest difference of an answer's logprobs to those of the weights of its version. */
      const difference = Effect.fnUntraced(function* (one: ServerManager.TokenChoice) {
        const ids = Int32Array.from([...inputIds, ...one.tokens])
        const length = ids.length - 1
        const none = { temperature: 1, score: 0, policyVersion: null, group: 0 }
        const sequence = {
          ...none,
          tokens: ids,
          mask: new Uint8Array(ids.length).fill(1),
          advantages: new Float32Array(ids.length)
        }
        const item = { sequence: 0, length, trained: length, weight: 1 }
        const [logprobs] = yield* learners[one.policyVersion!]!.forward({ sequences: [sequence], items: [item] })
        const answer = logprobs!.subarray(inputIds.length - 1)
        return Math.max(...one.logprobs.map((logprob, at) => Math.abs(logprob - answer[at]!)))
      })

      yield* learners[0]!.publish(0)
      const first = yield* sampled(16)
      assert.strictEqual(first.policyVersion, 0)
      assert.isBelow(yield* difference(first), largest)

      // Some of these have begun before the new weights come, the others wait for them.
      const begun = yield* Effect.forkChild(
        Effect.forEach([1, 2, 3, 4, 5, 6, 7, 8], (part) => sampled(40 * part), { concurrency: "unbounded" })
      )
      yield* Waits.until(
        "requests under way",
        Effect.promise(() => fetch(`${url}/metrics`).then((reply) => reply.text())),
        (text) => /vllm:num_requests_running\{[^}]*\} [1-9]/.test(text)
      )
      yield* learners[1]!.publish(1)
      const last = yield* sampled(16)
      assert.strictEqual(last.policyVersion, 1)
      for (const one of [...(yield* Fiber.join(begun)), last]) assert.isBelow(yield* difference(one), largest)

      // A folder that is not there costs the server its weights, until it is given others.
      const target = yield* WeightSync.vllmWeights({ url })
      const name = `unseen-${yield* Random.nextInt}-v9`
      const weights = { name, version: 9, folder: Effect.succeed("/nowhere"), parameters: Effect.never }
      const error = yield* Effect.flip(target.load(weights, false))
      assert.match(error.message, /could not read \/nowhere, has lost its weights and is paused/)
      const waiting = yield* Effect.forkChild(sampled(16))
      yield* learners[0]!.publish(0)
      const again = yield* Fiber.join(waiting)
      assert.strictEqual(again.policyVersion, 0)
      assert.isBelow(yield* difference(again), largest)
    }).pipe(
      Effect.scoped,
      Effect.provide([OrtWorker.layer({ device: "cpu", threads: 1 }), NodeServices.layer, FetchHttpClient.layer]),
      Effect.provideService(References.MinimumLogLevel, "None")
    )
  )
})
