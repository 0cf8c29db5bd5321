/**
 * The cost of a training step over the Tinker protocol: requests, and bytes on the wire per trained position, for
 * objectives with and without a reference. The server is ours, in this process, on a tiny model: only its messages are
 * meaningful, not its times.
 *
 *     node --conditions=atropos-src bench/tinker/Cost.ts [sequences] [tokens]
 *
 * Default: 64 sequences of 256 tokens. Samples and checkpoints are not counted; publishing is reported separately.
 */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { OrtWorker, Preset, TinyModel } from "@atropos/trainer"
import { Context, Effect, FileSystem, Layer, Result } from "effect"
import { HttpServer } from "effect/http"
import * as WeightedBatch from "../../packages/trainer/src/learn/WeightedBatch.ts"
import * as TinkerEngine from "../../packages/trainer/src/tinker/TinkerEngine.ts"
import * as TinkerServer from "../../packages/trainer/src/tinker/server/TinkerServer.ts"
import * as ServerSettings from "../../packages/trainer/src/tinker/service/ServerSettings.ts"

const [sequences = 64, tokens = 256] = process.argv.slice(2).map(Number)
const characters = "abcdefghijklmnop"
const steps = 3

const whole = TinyModel.make({ characters, seed: 3, hiddenSize: 32, layers: 1, maxPositions: tokens + 8 })
const lora = { r: 1, alpha: 1, targetModules: ["all-linear"], rslora: false }
const base = TinyModel.withAdapter(whole, whole.initial, lora, 0)
const { vocabSize } = base.config

const all = Array.from({ length: sequences }, (_, i) => ({
  tokens: Int32Array.from({ length: tokens }, (_, t) => (t * 31 + i * 7) % vocabSize),
  mask: new Uint8Array(tokens).fill(1),
  advantages: new Float32Array(tokens).fill(i % 2 === 0 ? 1 : -1),
  engineLogprobs: Float32Array.from({ length: tokens }, (_, t) => -2 - (t % 7) / 10),
  temperature: 1,
  score: i % 2,
  policyVersion: 0,
  group: Math.floor(i / 8)
}))

const serve = Effect.gen(function* () {
  const folder = yield* (yield* FileSystem.FileSystem).makeTempDirectoryScoped()
  const layer = TinkerServer.layer({
    base,
    names: ["tiny"],
    tokenizerId: base.name,
    folder,
    device: "cpu",
    settings: ServerSettings.settings.complete({ maxRank: 8 }),
    host: "127.0.0.1",
    port: 0,
    keys: []
  }).pipe(Layer.provide(OrtWorker.layer({ threads: 1 })))
  return HttpServer.formatAddress(Context.get(yield* Layer.build(layer), HttpServer.HttpServer).address)
})

/** Two objectives that the server has, one that it does not, and one with a reference. */
const cases = [{ preset: "grpo" }, { preset: "sft" }, { preset: "sapo" }, { preset: "grpo", klCoef: 0.1 }] as const

const program = Effect.gen(function* () {
  const url = yield* serve
  const { learner: engine, session } = yield* TinkerEngine.make({
    address: { url, apiKey: undefined },
    baseModel: "tiny",
    vocabSize,
    maxPositions: tokens + 8,
    rank: 4,
    seed: 5
  })
  const { traffic } = session.transport
  const optimizer = { beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0, maxNorm: 1 }
  console.log(
    `${sequences} sequences of ${tokens} tokens, ${steps} steps; a request and its answer are one message each`
  )
  for (const settings of cases) {
    const objective = Result.getOrThrow(Preset.resolve(settings))
    yield* Effect.scoped(
      Effect.gen(function* () {
        const learner = yield* engine.load({ objective, optimizer, maxLength: tokens })
        const { batch } = WeightedBatch.choose(all, objective, { maxLength: tokens, vocabSize })
        const positions = batch.items.reduce((sum, { length }) => sum + length, 0)
        const measured = Effect.fnUntraced(function* (work: Effect.Effect<unknown, unknown>) {
          const before = { ...traffic }
          yield* work
          return {
            requests: (traffic.requests - before.requests) / steps,
            sent: (traffic.bytesSent - before.bytesSent) / steps / positions,
            received: (traffic.bytesReceived - before.bytesReceived) / steps / positions
          }
        })
        const times = (work: Effect.Effect<unknown, unknown>) =>
          Effect.forEach(Array.from({ length: steps }), () => work)
        const step = yield* measured(times(Effect.andThen(learner.forwardBackward(batch), learner.optimizerStep(1e-4))))
        let version = 0
        const publish = yield* measured(times(Effect.suspend(() => learner.publish(version++))))
        const name = `${settings.preset}${"klCoef" in settings ? " with KL" : ""}`
        console.log(
          `${name.padEnd(14)} ${step.requests.toFixed(1)} requests a step, ${step.sent.toFixed(1)} bytes sent and ` +
            `${step.received.toFixed(1)} received a position; publishing: ${publish.requests.toFixed(1)} requests`
        )
      })
    )
  }
})

await Effect.runPromise(
  program.pipe(
    Effect.scoped,
    Effect.provide(
      Layer.mergeAll(NodeServices.layer, NodeHttpClient.layerUndici, OrtWorker.layer({ threads: 1, device: "cpu" }))
    )
  )
)
