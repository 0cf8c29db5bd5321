/**
 * Scores from a reward model behind HTTP: batched over all concurrently scored groups, with retries and its own limits.
 *
 * Two dialects. `rewards`: POST `{ query, prompts, messages }` to the address itself, lists of one entry per text,
 * answered by `{ "rewards": [number, …] }` (OpenRLHF's remote reward model; `query` is prompt and answer, `messages`
 * the chat). `vllm`: POST `{ model, input }` to vLLM's `/pooling`, answered by `{ "data": [{ "index", "data" }] }`,
 * using the last number of each. An answer with the wrong number of rewards, or with NaN or infinite ones, fails; so
 * does a rejection (4xx). Temporary failures (no connection, 429, 5xx, a timeout) are retried.
 */
import { Cause, Effect, Exit, Redacted, Request, RequestResolver, Schedule, Schema, Semaphore } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import { field } from "@atropos/core/base/Settings"
import * as AnswerBody from "@atropos/core/inference/wire/AnswerBody"
import * as Reason from "@atropos/core/base/Reason"
import type { Message } from "@atropos/core/trajectory/Message"
import * as NotConfigured from "@atropos/core/base/NotConfigured"

export class RewardEndpointError extends Schema.TaggedError<RewardEndpointError>()("RewardEndpointError", {
  url: Schema.String,
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {}

const positive = Schema.Int.check(Schema.isGreaterThan(0))

/** Settings to spread into those of an environment. */
export const fields = {
  rewardUrl: field(Schema.String, "", "URL of the reward model; for vLLM, that of its /pooling endpoint"),
  rewardDialect: field(
    Schema.Literals(["rewards", "vllm"]),
    "rewards",
    'protocol of the address: {query, prompts, messages} answered by {"rewards": [...]}, or vLLM\'s /pooling'
  ),
  rewardModel: field(Schema.String, "default", "model to request, if the dialect names one"),
  rewardApiKey: field(Schema.String, "", "API key of the reward model, sent as a bearer token; if empty, none is sent"),
  rewardBatchSize: field(positive, 32, "texts per request to the reward model"),
  rewardRequestsAtOnce: field(positive, 4, "concurrent requests to the reward model"),
  rewardTimeout: field(
    Schema.Finite.check(Schema.isGreaterThan(0)),
    120,
    "timeout of a request to the reward model, in seconds"
  ),
  rewardAttempts: field(positive, 5, "attempts per request to the reward model, including the first")
} as const

export type Options = { readonly [Name in keyof typeof fields]: (typeof fields)[Name]["Type"] }

/** The scored data: the chat, and the same as text. */
export interface Scored {
  readonly prompt: string
  readonly completion: string
  readonly messages: ReadonlyArray<Message>
}

export interface RewardEndpoint {
  /** The reward of one text; concurrent requests are batched. */
  readonly reward: (scored: Scored) => Effect.Effect<number, RewardEndpointError>
}

interface RewardOf extends Request.Request<number, RewardEndpointError> {
  readonly _tag: "RewardOf"
  readonly scored: Scored
}
const RewardOf = Request.tagged<RewardOf>("RewardOf")

const Rewards = Schema.fromJsonString(Schema.Struct({ rewards: Schema.Array(Schema.Finite) }))
const Pooled = Schema.Union([Schema.Finite, Schema.Array(Schema.Finite), Schema.Array(Schema.Array(Schema.Finite))])
const Pooling = Schema.fromJsonString(
  Schema.Struct({ data: Schema.Array(Schema.Struct({ index: Schema.Natural, data: Pooled })) })
)

/** The request and answer format of a dialect. */
interface Dialect {
  readonly body: (texts: ReadonlyArray<Scored>, model: string) => unknown
  readonly read: (answer: string) => Effect.Effect<ReadonlyArray<number | undefined>, Schema.SchemaError>
}

const wholeText = ({ completion, prompt }: Scored): string => `${prompt}${completion}`

const lastNumber = (pooled: typeof Pooled.Type): number | undefined => {
  const last = typeof pooled === "number" ? pooled : pooled.at(-1)
  return typeof last === "object" ? last.at(-1) : last
}

const decodeRewards = Schema.decodeUnknownEffect(Rewards)
const decodePooling = Schema.decodeUnknownEffect(Pooling)

const dialects: { readonly [name in Options["rewardDialect"]]: Dialect } = {
  rewards: {
    body: (texts) => ({
      query: texts.map(wholeText),
      prompts: texts.map(({ prompt }) => prompt),
      messages: texts.map(({ messages }) => messages)
    }),
    read: (answer) => Effect.map(decodeRewards(answer), ({ rewards }) => rewards)
  },
  vllm: {
    body: (texts, model) => ({ model, input: texts.map(wholeText) }),
    read: (answer) =>
      Effect.map(decodePooling(answer), ({ data }) =>
        data.toSorted((a, b) => a.index - b.index).map(({ data: pooled }) => lastNumber(pooled))
      )
  }
}

const collectFor = "5 millis"

/** Fails without an address. */
export const make = Effect.fn("RewardEndpoint.make")(function* (options: Options) {
  const { rewardDialect, rewardModel, rewardTimeout, rewardUrl: url } = options
  if (url === "") {
    return yield* NotConfigured.make(
      "reward model",
      "--env.reward_url http://host:port/path (see --env.reward_dialect)"
    )
  }
  const { body, read } = dialects[rewardDialect]
  const lock = yield* Semaphore.make(options.rewardRequestsAtOnce)
  const failing = (cause: unknown) =>
    new RewardEndpointError({
      url,
      message: `the reward model at ${url}: ${cause instanceof Error ? Reason.root(cause) : Reason.of(cause)}`,
      cause
    })
  const inTime = Effect.timeoutOrElse({
    duration: rewardTimeout * 1000,
    orElse: () => Effect.fail(new Cause.TimeoutError(`no response within ${rewardTimeout} seconds`))
  })
  const client = (yield* HttpClient.HttpClient).pipe(
    HttpClient.mapRequest((request) =>
      options.rewardApiKey === ""
        ? request
        : HttpClientRequest.bearerToken(request, Redacted.make(options.rewardApiKey))
    ),
    HttpClient.transformResponse(inTime),
    HttpClient.retryTransient({
      times: options.rewardAttempts - 1,
      schedule: Schedule.jittered(Schedule.exponential("250 millis"))
    })
  )

  const ask = Effect.fn("RewardEndpoint.ask")(
    function* (texts: ReadonlyArray<Scored>) {
      const request = yield* HttpClientRequest.bodyJson(HttpClientRequest.post(url), body(texts, rewardModel))
      const response = yield* client.execute(request)
      const answer = new TextDecoder().decode(yield* inTime(AnswerBody.read(response.status, response.stream)))
      const flaw = AnswerBody.flaw(answer)
      if (flaw !== undefined) return yield* Effect.fail(flaw)
      if (response.status >= 300) {
        return yield* Effect.fail({ message: `responded with ${response.status}: ${answer.slice(0, 200)}` })
      }
      const rewards = yield* read(answer)
      if (rewards.length === texts.length) return rewards
      return yield* Effect.fail({ message: `${rewards.length} rewards for ${texts.length} texts` })
    },
    lock.withPermits(1),
    Effect.mapError(failing)
  )
  const resolver = RequestResolver.make<RewardOf>((entries) =>
    Effect.map(ask(entries.map(({ request }) => request.scored)), (rewards) => {
      entries.forEach((entry, index) => {
        const reward = rewards[index]
        entry.completeUnsafe(
          reward === undefined ? Exit.fail(failing({ message: "an empty reward" })) : Exit.succeed(reward)
        )
      })
    })
  ).pipe(RequestResolver.setDelay(collectFor), RequestResolver.batchN(options.rewardBatchSize))
  const endpoint: RewardEndpoint = { reward: (scored) => Effect.request(RewardOf({ scored }), resolver) }
  return endpoint
})
