/** Routes of the handshake: client configuration, available models, sessions, telemetry. */
import { Effect, Schema } from "effect"
import { HttpRouter } from "effect/http"
import * as Paths from "../protocol/Paths.ts"
import * as Protocol from "../protocol/Session.ts"
import * as Http from "./Http.ts"
import type { Service } from "../service/Service.ts"

const config = Http.body(Protocol.ClientConfigRequest)
const newSession = Http.body(Protocol.CreateSession)
const heartbeat = Http.body(Protocol.Heartbeat)
const telemetry = Http.body(Schema.Unknown, 16 * 2 ** 20)

const trainsNoHead =
  "adapters here are on the attention and MLP layers: train_unembed is accepted, but the output matrix is not trained"

export const routes = ({ base, names, sessions, samplers, limits }: Service) => {
  const model = {
    model_name: names[0],
    max_context_length: limits.maxSequenceTokens,
    trainable: true,
    sampleable: true
  }
  return [
    ["GET", Paths.get.health, Effect.succeed(Http.json({ status: "ok" }))],
    [
      "POST",
      Paths.post.clientConfig,
      Effect.as(
        config,
        Http.json({
          pjwt_auth_enabled: false,
          proto_compress_fwdbwd: false,
          parallel_fwdbwd_chunks: true,
          sample_use_retrieve_futures: false,
          sample_join_sampling_session: false,
          custom_loss_server_side: false,
          sample_max_concurrent_requests: 2000
        })
      )
    ],
    ["POST", Paths.post.dynamicConfig, Effect.as(config, Http.json({ sample_cancel_enabled: true }))],
    ["GET", Paths.get.capabilities, Effect.succeed(Http.json({ supported_models: [model] }))],
    [
      "POST",
      Paths.post.createSession,
      Effect.gen(function* () {
        const { value } = yield* newSession
        const { id } = yield* sessions.open(value.userMetadata ?? undefined)
        yield* Effect.logInfo("session opened", { session: id, sdk: value.sdkVersion })
        return Http.json({
          type: "create_session",
          info_message: `${base.name} on Atropos: ${trainsNoHead}`,
          warning_message: null,
          error_message: null,
          session_id: id
        })
      })
    ],
    [
      "POST",
      Paths.post.heartbeat,
      Effect.gen(function* () {
        const { value } = yield* heartbeat
        yield* sessions.sessionOf(value.sessionId)
        return Http.json({ type: "session_heartbeat" })
      })
    ],
    ["POST", Paths.post.telemetry, Effect.as(telemetry, Http.json({ status: "accepted" }))],
    [
      "POST",
      `${Paths.root}/sessions/:session/finish`,
      Effect.gen(function* () {
        const { session = "" } = yield* HttpRouter.params
        yield* sessions.end(yield* sessions.sessionOf(session))
        return Http.json(null)
      })
    ],
    ["GET", `${Paths.root}/sessions`, Effect.sync(() => Http.json({ sessions: sessions.all().map(({ id }) => id) }))],
    [
      "GET",
      `${Paths.root}/sessions/:session`,
      Effect.gen(function* () {
        const { session = "" } = yield* HttpRouter.params
        const { id, metadata, models } = yield* sessions.sessionOf(session)
        return Http.json({
          training_run_ids: [...models.values()].map((model) => model.id),
          sampler_ids: samplers.ofSession(id).map((sampler) => sampler.id),
          user_metadata: metadata ?? null
        })
      })
    ]
  ] as const
}
