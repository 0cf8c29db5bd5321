/**
 * Session endpoints for programs in other processes, in any language:
 *
 *     POST   /sessions         opens one; answers with its URLs
 *     GET    /sessions/<id>    what it has recorded so far
 *     DELETE /sessions/<id>    the same, and closes it
 *
 * A session that is not closed ends after some time without a request. Ids appear in logs, so these routes require the
 * control token or, if none, a client on this machine.
 */
import { Effect, Schema, SchemaIssue } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import * as Body from "./Body.ts"
import { Failure } from "./dialect/Dialect.ts"
import * as Failures from "./session/Failures.ts"
import * as Labels from "../trajectory/Labels.ts"
import type { Session, SessionOptions } from "./session/Session.ts"
import type { Sessions } from "./session/Sessions.ts"
import type { Trajectory } from "../trajectory/Trajectory.ts"
import type { SamplingOptions } from "../inference/wire/Inference.ts"
import { SamplingSettings } from "../trajectory/SamplingSettings.ts"
import * as Trained from "./session/Trained.ts"

/**
 * The body of `POST /sessions`: how the session's requests are sampled, with the keys of OpenAI's API.
 *
 *     {}
 *     { "defaults": { "temperature": 1, "max_tokens": 512 }, "enforced": { "top_p": 1 }, "seed": 7 }
 *     { "trained": "tools" }
 */
const OptionsBody = Schema.Struct({
  defaults: Schema.optionalKey(SamplingSettings),
  enforced: Schema.optionalKey(SamplingSettings),
  seed: Schema.optionalKey(Schema.Int),
  trained: Schema.optionalKey(Trained.Trained)
})

// A misspelt key would silently change the sampling.
const decodeOptionsBody = Schema.decodeUnknownEffect(OptionsBody, { onExcessProperty: "error" })
const format = SchemaIssue.makeFormatterStandardSchemaV1()

const decodeOptions = (body: unknown): Effect.Effect<SessionOptions, Failure> =>
  decodeOptionsBody(body).pipe(
    Effect.map(({ defaults, enforced, seed, trained }) => ({
      ...(defaults !== undefined && { defaults: defaults satisfies SamplingOptions }),
      ...(enforced !== undefined && { enforced: enforced satisfies SamplingOptions }),
      ...(seed !== undefined && { seed }),
      ...(trained !== undefined && { trained: Trained.by[trained] })
    })),
    Effect.mapError(({ issue, message }) => {
      const [first] = format(issue).issues
      const path = (first?.path ?? []).map((step) => String(typeof step === "object" ? step.key : step)).join(".")
      const problem = `${path === "" ? "" : `${path}: `}${first?.message ?? message}`
      return new Failure({ reason: "invalid", message: problem, ...(path !== "" && { param: path }) })
    })
  )

const urlsOf = (session: Session) => ({
  id: session.id,
  base_url: session.baseURL,
  anthropic_base_url: session.anthropicBaseURL,
  reward_url: session.rewardURL,
  api_key: session.apiKey,
  model: session.modelName
})

/** The format of saved groups: the mask has the token id where trained, -100 elsewhere; 1 is no logprob. */
const sequenceOf = ({ finishReason, logprobs, mask, messages, policyVersion, tokens }: Trajectory) => ({
  tokens: Array.from(tokens),
  masks: Array.from(Labels.ofMask(tokens, mask)),
  ...(logprobs !== undefined && { inference_logprobs: Array.from(Labels.ofLogprobs(logprobs)) }),
  messages,
  finish_reason: finishReason,
  policy_version: policyVersion ?? null
})

const recorded = Effect.fnUntraced(function* (session: Session) {
  const trajectories = yield* Effect.mapError(session.trajectories, Failures.ofInference)
  return HttpServerResponse.jsonUnsafe({
    id: session.id,
    sequences: trajectories.map(sequenceOf),
    rewards: yield* session.rewards,
    counts: yield* session.counts
  })
})

const sessionOf = (sessions: Sessions) =>
  Effect.flatMap(HttpRouter.params, ({ id = "" }) => {
    const opened = sessions.named(id)
    return opened === undefined
      ? Effect.fail(
          new Failure({
            reason: "unknownPath",
            message:
              "no open session has this id: use the id returned by POST /sessions; the session may have been closed"
          })
        )
      : Effect.succeed(opened.session)
  })

export const routes = (sessions: Sessions, url: () => string) =>
  [
    {
      method: "POST",
      path: "/sessions",
      handle: Effect.gen(function* () {
        const options = yield* decodeOptions(yield* Body.read(sessions.limits.bodyBytes))
        const { session } = yield* sessions.hold(url(), options).pipe(
          Effect.catchTags({
            GatewayError: ({ message }) => Effect.fail(new Failure({ reason: "overloaded", message })),
            InferenceError: (error) => Effect.fail(Failures.ofInference(error))
          })
        )
        return HttpServerResponse.jsonUnsafe(urlsOf(session), { status: 201 })
      })
    },
    { method: "GET", path: "/sessions/:id", handle: Effect.flatMap(sessionOf(sessions), recorded) },
    {
      method: "DELETE",
      path: "/sessions/:id",
      handle: Effect.gen(function* () {
        const session = yield* sessionOf(sessions)
        yield* sessions.end(session.id, "it was deleted")
        return yield* recorded(session)
      })
    }
  ] as const
