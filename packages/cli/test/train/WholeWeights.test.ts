/** `train --trains all --weight_sync vllm+…`: what can never work is said before anything is trained. */
import { assert, describe, it } from "@effect/vitest"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as PretrainedModel from "@atropos/trainer/model/PretrainedModel"
import { Effect, References } from "effect"
import { FetchHttpClient } from "effect/http"
import { fileURLToPath } from "node:url"
import * as VllmStandIn from "../../../trainer/test/sync/VllmStandIn.ts"
import * as WholePublisher from "./WholePublisher.ts"

const folder = fileURLToPath(new URL("../../../trainer/test/fixtures/models/qwen2", import.meta.url))

const published = Effect.fnUntraced(function* (url: string) {
  const model = yield* PretrainedModel.load(folder, { trains: "all", seed: 1 })
  return { model, made: yield* WholePublisher.make(model, url) }
})

describe("--weight_sync with --trains all", () => {
  it.live("is refused where vLLM was started without the endpoints, with what it has to be started with", () =>
    Effect.gen(function* () {
      const server = yield* VllmStandIn.serve({ isStock: true })
      const error = yield* Effect.flip(published(server.url))
      assert.match(error.message, /^--weight_sync vllm http.*GET \/weight_info answered 404.*VLLM_SERVER_DEV_MODE=1/)
    }).pipe(Effect.provide([NodeServices.layer, FetchHttpClient.layer]))
  )

  it.live("ends the run where the server answers by other weights than it was given", () =>
    Effect.gen(function* () {
      const server = yield* VllmStandIn.serve()
      server.ignoreFolders(true)
      const { made, model } = yield* published(server.url)
      // The stand-in's logprobs are all -1.
      const tokens = made.probe!
      const probe = (logprob: number) => ({ probe: { tokens, logprobs: tokens.slice(1).map(() => logprob) } })
      yield* made.publish({ version: 0, parameters: model.initial, ...probe(-1) })
      assert.match(server.label(), /^policy-\w+-v0$/)
      const error = yield* Effect.flip(made.publish({ version: 1, parameters: model.initial, ...probe(-1.5) }))
      assert.match(error.message, /weights differ from those pushed.*differ by 0\.500 nats/)
    }).pipe(
      Effect.provide([NodeServices.layer, FetchHttpClient.layer]),
      Effect.provideService(References.MinimumLogLevel, "None")
    )
  )
})
