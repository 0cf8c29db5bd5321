import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Binary from "../../src/tinker/protocol/Binary.ts"
import * as Checkpoint from "../../src/tinker/protocol/Checkpoint.ts"
import * as ForwardBackward from "../../src/tinker/protocol/ForwardBackward.ts"
import * as ForwardBackwardResult from "../../src/tinker/protocol/ForwardBackwardResult.ts"
import * as Future from "../../src/tinker/protocol/Future.ts"
import { ForwardBackwardRequestSchema } from "../../src/tinker/protocol/gen/tinker_pb.ts"
import * as Model from "../../src/tinker/protocol/Model.ts"
import * as OptimStep from "../../src/tinker/protocol/OptimStep.ts"
import * as Paths from "../../src/tinker/protocol/Paths.ts"
import * as SampleAnswer from "../../src/tinker/protocol/SampleAnswer.ts"
import * as Sampling from "../../src/tinker/protocol/Sampling.ts"
import * as Session from "../../src/tinker/protocol/Session.ts"
import { bytesOf, type Exchange, exchanges } from "./Exchanges.ts"

type Codec = Schema.Codec<unknown, unknown>

const requests: { readonly [path: string]: Codec } = {
  [Paths.post.clientConfig]: Session.ClientConfigRequest,
  [Paths.post.dynamicConfig]: Session.ClientConfigRequest,
  [Paths.post.createSession]: Session.CreateSession,
  [Paths.post.heartbeat]: Session.Heartbeat,
  [Paths.post.telemetry]: Session.Telemetry,
  [Paths.post.createModel]: Model.CreateModel,
  [Paths.post.getInfo]: Model.GetInfo,
  [Paths.post.optimStep]: OptimStep.OptimStep,
  [Paths.post.saveWeights]: Checkpoint.SaveWeights,
  [Paths.post.loadWeights]: Checkpoint.LoadWeights,
  [Paths.post.saveWeightsForSampler]: Checkpoint.SaveWeightsForSampler,
  [Paths.post.createSamplingSession]: Sampling.CreateSamplingSession,
  [Paths.post.sample]: Sampling.Sample,
  [Paths.post.retrieveFuture]: Future.RetrieveFuture
}

const answers: { readonly [path: string]: Codec } = {
  [Paths.post.clientConfig]: Session.ClientConfig,
  [Paths.get.capabilities]: Session.Capabilities,
  [Paths.post.createSession]: Session.SessionCreated,
  [Paths.post.heartbeat]: Session.HeartbeatSeen,
  [Paths.post.telemetry]: Session.TelemetrySeen,
  [Paths.post.getInfo]: Model.Info,
  [Paths.post.createSamplingSession]: Sampling.SamplingSessionCreated,
  [Paths.get.trainingRuns]: Checkpoint.TrainingRuns
}

/** What the future of an operation comes to, where that is JSON. */
const results: { readonly [operation: string]: Codec } = {
  CreateModel: Model.ModelCreated,
  OptimStep: OptimStep.OptimStepped,
  SaveWeights: Checkpoint.WeightsSaved,
  SaveWeightsForSampler: Checkpoint.WeightsSavedForSampler
}

const pathOf = ({ path }: Exchange): string => path.split("?")[0]!

const answerOf = (exchange: Exchange): Codec => {
  const { request, response } = exchange
  if (response.status !== 200) return Future.Detail
  return request.operation === undefined ? (answers[pathOf(exchange)] ?? Future.Pending) : results[request.operation]!
}

/** Read and written again: what one side says is what the other hears. */
const again = (codec: Codec, body: unknown): unknown =>
  Schema.encodeUnknownSync(codec)(Schema.decodeUnknownSync(codec, { onExcessProperty: "error" })(body))

const nameOf = ({ method, path, sdk }: Exchange, index: number) => `${index} ${sdk} ${method} ${path}`

const withJson = (side: "request" | "response") =>
  exchanges.map((exchange, index) => [exchange, index] as const).filter(([exchange]) => "json" in exchange[side])

const binaryOf = (side: "request" | "response", operation: (exchange: Exchange) => boolean) =>
  exchanges.filter((exchange) => exchange[side].base64 !== undefined && operation(exchange))

const isForward = ({ request }: Exchange) => request.operation === "Forward" || request.operation === "ForwardBackward"

describe("recorded exchanges", () => {
  it("are all of two clients' conversations", () => {
    assert.strictEqual(exchanges.length, 107)
    assert.deepStrictEqual([...new Set(exchanges.map(({ sdk }) => sdk))], ["0.25.0", "0.38.0"])
  })

  it("have JSON requests that the server's side reads and the client's side writes unchanged", () => {
    for (const [exchange, index] of withJson("request")) {
      const { json } = exchange.request
      assert.deepStrictEqual(again(requests[pathOf(exchange)]!, json), json, nameOf(exchange, index))
    }
  })

  it("have JSON answers that the client's side reads and the server's side writes unchanged", () => {
    for (const [exchange, index] of withJson("response")) {
      const { json } = exchange.response
      assert.deepStrictEqual(again(answerOf(exchange), json), json, nameOf(exchange, index))
    }
  })

  it.effect("have requests of forward_backward that come out byte for byte", () =>
    Effect.gen(function* () {
      const recorded = binaryOf("request", ({ path }) => path === Paths.post.forwardBackward)
      assert.strictEqual(recorded.length, 21)
      for (const { request, sdk } of recorded) {
        const bytes = bytesOf(request)
        const message = yield* Binary.decode(ForwardBackwardRequestSchema, bytes, "request")
        assert.deepStrictEqual(Binary.encode(ForwardBackwardRequestSchema, message), bytes)
        const read = yield* ForwardBackward.decode(bytes)
        const written = ForwardBackward.toMessage(read)
        // The older client does not know the second map of settings.
        const sent = sdk === "0.25.0" ? { ...written, lossFnConfigV2: {} } : written
        assert.deepStrictEqual(Binary.encode(ForwardBackwardRequestSchema, sent), bytes)
      }
    })
  )

  it.effect("have results of forward_backward that come out byte for byte", () =>
    Effect.gen(function* () {
      const recorded = binaryOf("response", isForward)
      assert.strictEqual(recorded.length, 18)
      for (const { response } of recorded) {
        const bytes = bytesOf(response)
        assert.deepStrictEqual(ForwardBackwardResult.encode(yield* ForwardBackwardResult.decode(bytes)), bytes)
      }
    })
  )

  it.effect("have samples that come out byte for byte", () =>
    Effect.gen(function* () {
      const recorded = binaryOf("response", ({ request }) => request.operation === "Sample")
      assert.strictEqual(recorded.length, 5)
      for (const { response } of recorded) {
        const bytes = bytesOf(response)
        assert.deepStrictEqual(SampleAnswer.encode(yield* SampleAnswer.decode(bytes)), bytes)
      }
    })
  )

  it.effect("say what they said: targets follow tokens, and the loss is -weight · log π", () =>
    Effect.gen(function* () {
      const request = yield* ForwardBackward.decode(bytesOf(exchanges[9]!.request))
      const { outputs } = yield* ForwardBackwardResult.decode(bytesOf(exchanges[10]!.response))
      assert.deepStrictEqual([request.lossFn, request.seqId, request.forwardOnly], ["cross_entropy", 1, false])
      for (const [index, { inputs, tokens }] of request.data.entries()) {
        assert.deepStrictEqual(inputs.get("target_tokens")!.values.slice(0, -1), tokens.slice(1))
        const losses = outputs[index]!.get("elementwise_loss")!.values
        const expected = inputs.get("weights")!.values.map((w, t) => -w * outputs[index]!.get("logprobs")!.values[t]!)
        assert.deepStrictEqual([...losses].map(Math.abs), [...expected].map(Math.abs))
      }
    })
  )
})
