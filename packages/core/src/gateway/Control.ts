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
import { Effect } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import * as Body from "./Body.ts"
import { Failure } from "./dialect/Dialect.ts"
import * as Failures from "./session/Failures.ts"
import * as Labels from "../trajectory/Labels.ts"
import * as Opening from "./session/Opening.ts"
import type { Session } from "./session/Session.ts"
import type { Sessions } from "./session/Sessions.ts"
import type { Trajectory } from "../trajectory/Trajectory.ts"

const urlsOf = (session: Session) => ({
  id: session.id,
  base_url: session.baseURL,
  anthropic_base_url: session.anthropicBaseURL,
  reward_url: session.rewardURL,
  api_key: session.apiKey,
  model: session.modelName
})

/** As in saved groups: the mask has the token id where trained, -100 elsewhere; 1 is no logprob. */
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
        const options = yield* Opening.decode(yield* Body.read(sessions.limits.bodyBytes))
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
