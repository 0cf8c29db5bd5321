/**
 * One session: its requests and answers, and the rewards reported for it.
 *
 * Requests of one session may be concurrent. An interrupted request stops its sampling and leaves no trace; a failed
 * one only increments its count. When the session closes, requests in progress fail with `closed`; the recording
 * remains readable.
 */
import { Clock, Context, Deferred, Duration, Effect } from "effect"
import { Failure, type Memory } from "../dialect/Dialect.ts"
import type {
  ChatRequest,
  Choice,
  InferenceError,
  DeltaHandler,
  Delta,
  TrackedSession
} from "../../inference/wire/Inference.ts"
import * as AnswerMemory from "./AnswerMemory.ts"
import * as Failures from "./Failures.ts"
import type { Limits } from "./Limits.ts"
import type { Message } from "../../trajectory/Message.ts"
import type { ReportedReward, Session, SessionCounts, SessionOptions } from "./Session.ts"
import { SequenceLimit } from "../../inference/sequences/SequenceLimit.ts"
import * as PromptLimit from "./PromptLimit.ts"
import * as PromptTokens from "./PromptTokens.ts"
import * as ReportedRewards from "./ReportedRewards.ts"
import * as RequestCounts from "./RequestCounts.ts"
import * as ResolvedRequest from "./ResolvedRequest.ts"
import * as SharedChats from "./SharedChats.ts"
import * as ShownChat from "./ShownChat.ts"
import type { TokenizerShape } from "../../inference/tokenizer/Tokenizer.ts"

/** Handles requests of a dialect's endpoint: a session, or a dispatcher that finds the chat's session. */
export interface ChatHandler {
  readonly modelName: string
  readonly memory: Memory
  /** Samples the answer to a request; `ignored` are the parameters that its dialect ignored, `model` what it names. */
  readonly ask: (
    request: ChatRequest,
    ignored: ReadonlyArray<string>,
    model: string,
    handler?: StreamHandler
  ) => Effect.Effect<Asked, Failure>
  readonly refused: (failure: Failure) => void
  /** Tokens of a request's prompt. */
  readonly countTokens: (request: ChatRequest) => Effect.Effect<number, Failure>
}

/** Receives an answer during sampling. */
export interface StreamHandler {
  readonly onStart: (requested: Pick<Asked, "id" | "createdAtMillis">) => void
  readonly onDelta: DeltaHandler<Delta>
}

export interface OpenSession extends ChatHandler {
  readonly id: string
  readonly tracked: TrackedSession
  readonly contextLength: number | undefined
  /** The ids of the answers so far, by their numbers; choices of one request share one id. */
  readonly answers: () => ReadonlyArray<string>
  /** `answer`: its id, if the reward is that of its conversation alone. */
  readonly report: (reward: ReportedReward, answer?: string) => Effect.Effect<void, Failure>
  readonly conversations: Session["conversations"]
  readonly rewards: Effect.Effect<ReadonlyArray<ReportedReward>>
  readonly counts: Effect.Effect<SessionCounts>
  readonly messages: Effect.Effect<ReadonlyArray<Message>>
  /** Failures of the servers, oldest first; only the first few hundred are kept. */
  readonly failures: Effect.Effect<ReadonlyArray<InferenceError>>
  /** The response to the last request that was rejected or failed. */
  readonly lastFailure: Effect.Effect<string | undefined>
  /** Time of the last request, in milliseconds since the epoch; Infinity while one is in progress. */
  readonly lastUsed: () => number
  readonly close: (why: string) => Effect.Effect<void>
  readonly ended: Effect.Effect<Failure>
}

export interface Asked {
  readonly id: string
  readonly createdAtMillis: number
  readonly choices: ReadonlyArray<Choice>
  /** The request's messages, as stored. */
  readonly chat: ReadonlyArray<Message>
}

export interface Options {
  readonly id: string
  readonly modelName: string
  readonly tracked: TrackedSession
  readonly tokenizer: TokenizerShape | undefined
  readonly options: SessionOptions
  readonly limits: Limits
  readonly openedAtMillis: number
  /** Context of where the session was opened: max sequence length, parent span. */
  readonly context: Context.Context<never>
  readonly newId: () => string
  /** Runs after each answer, before it is returned, and after each reported reward. */
  readonly onChange: Effect.Effect<void, Failure>
}

export const make = (input: Options): OpenSession => {
  const { context, limits, options, tracked } = input
  const bounds = { tokenizer: input.tokenizer, limits, sequenceLimit: Context.get(context, SequenceLimit) }
  const showing = { tokenizer: input.tokenizer, takesPictures: tracked.takesPictures === true }
  const closed = Deferred.makeUnsafe<never, Failure>()
  const memory = AnswerMemory.make(limits.answersKept)
  const chats = SharedChats.make()
  const ids: Array<string> = []
  const reported = ReportedRewards.make()
  const counted = RequestCounts.make()
  const failures: Array<InferenceError> = []
  let requests = 0
  let modelWithTools: string | undefined
  let inFlight = 0
  let lastUsed = input.openedAtMillis
  let longest: ReadonlyArray<Message> = []

  const keep = (error: InferenceError): void => {
    if (Failures.isOfServer(error) && failures.length < maxFailures) failures.push(error)
  }

  const sample = (request: ChatRequest): Effect.Effect<ReadonlyArray<Choice>, Failure> =>
    tracked.chat(request).pipe(
      Effect.provideContext(context),
      Effect.tapError((error) => Effect.sync(() => keep(error))),
      Effect.mapError(Failures.ofInference),
      Effect.catchDefect((defect) =>
        Failures.isRefusedByTemplate(defect) ? Effect.fail(Failures.ofTemplate(defect)) : Effect.die(defect)
      )
    )

  const left = (now: number) => {
    inFlight -= 1
    lastUsed = now
  }

  const ask = Effect.fn("GatewaySession.ask")(
    function* (requested: ChatRequest, passedOver: ReadonlyArray<string>, model: string, handler?: StreamHandler) {
      if (inFlight >= limits.requestsPerSession) return yield* overloaded(inFlight)
      yield* PromptLimit.check({ ...bounds, contextLength: tracked.contextLength }, requested)
      const chat = chats.share(requested.messages)
      const chatShown = yield* ShownChat.of(showing, { ...requested, messages: chat })
      if ((requested.tools ?? []).length > 0) modelWithTools ??= model
      const isForOtherModel = modelWithTools !== undefined && model !== modelWithTools
      const isTrained = options.trained?.({ ...requested, isForOtherModel }) ?? true
      const sampled: ChatRequest = { ...requested, messages: chatShown.messages, ...(!isTrained && { isTrained }) }
      const resolved = ResolvedRequest.of(sampled, options, requests++)
      counted.adapt(chatShown.changes)
      counted.ignore(passedOver)
      if (tracked.passesConstraintsOn !== true) counted.ignore(requested.constraints?.names ?? [])
      counted.override(resolved.overridden)
      const begun = { id: input.newId(), createdAtMillis: yield* Clock.currentTimeMillis }
      handler?.onStart(begun)
      const request = handler === undefined ? resolved.request : { ...resolved.request, onDelta: handler.onDelta }
      const choices = yield* Effect.acquireUseRelease(
        Effect.sync(() => (inFlight += 1)),
        () => Effect.raceFirst(sample(request), Deferred.await(closed)),
        () => Effect.map(Clock.currentTimeMillis, left)
      ).pipe(Effect.onInterrupt(() => Effect.sync(counted.cancel)))
      const { id } = begun
      if (!isTrained) counted.mask()
      if (isCut(resolved.request.maxTokens, choices, tracked.contextLength)) counted.adapt(["max_tokens_cut"])
      for (const [index, { turn = ids.length + index }] of choices.entries()) {
        // An answer that its request did not wait for has a number but no id.
        while (ids.length < turn) ids.push("")
        ids[turn] = id
      }
      const [first] = choices
      if (first !== undefined) {
        const whole = [...chat, first.message]
        chats.keep(whole)
        if (whole.length > longest.length) longest = whole
      }
      yield* input.onChange
      return { ...begun, choices, chat } satisfies Asked
    },
    Effect.tapError((failure) => Effect.sync(() => counted.fail(failure)))
  )

  return {
    id: input.id,
    modelName: input.modelName,
    memory,
    tracked,
    contextLength: lengthOf(tracked.contextLength, bounds.sequenceLimit),
    ask,
    refused: counted.fail,
    lastFailure: Effect.sync(counted.lastFailure),
    countTokens: (request) =>
      Effect.andThen(PromptLimit.check(bounds, request), PromptTokens.count(input.tokenizer, request)),
    answers: () => ids,
    conversations: reported.conversations(tracked),
    report: (reward, answer) =>
      Effect.suspend(() => {
        const { length } = reported.all()
        if (length >= limits.rewardsPerSession) {
          const message = `this session has reported ${length} rewards, the maximum`
          return Effect.fail(new Failure({ reason: "tooLarge", message }))
        }
        // Choices of one request share an id.
        reported.add(reward, answer === undefined ? [] : [...ids.keys()].filter((turn) => ids[turn] === answer))
        return Effect.andThen(
          Effect.map(Clock.currentTimeMillis, (now) => void (lastUsed = now)),
          input.onChange
        )
      }),
    rewards: Effect.sync(reported.all),
    counts: Effect.map(tracked.counts, (relations) => ({ ...relations, ...counted.all() })),
    messages: Effect.sync(() => longest),
    failures: Effect.sync(() => failures.slice()),
    lastUsed: () => (inFlight > 0 ? Number.POSITIVE_INFINITY : lastUsed),
    close: (why) => Effect.asVoid(Deferred.fail(closed, over(why))),
    ended: Effect.flip(Deferred.await(closed))
  }
}

const lengthOf = (contextLength = Number.POSITIVE_INFINITY, sequenceLimit: number): number | undefined => {
  const length = Math.min(contextLength, sequenceLimit)
  return length === Number.POSITIVE_INFINITY ? undefined : length
}

/** True if a request asked for more tokens than the server's context had left. */
const isCut = (requested = 0, [first]: ReadonlyArray<Choice>, contextLength = Number.POSITIVE_INFINITY): boolean =>
  (first?.usage?.promptTokens ?? 0) + requested > contextLength

const maxFailures = 256

const overloaded = (requests: number): Failure =>
  new Failure({
    reason: "overloaded",
    message: `this session has ${requests} requests in progress, the per-session limit; wait for a response`,
    retryAfterMillis: 1000
  })

export const over = (why: string): Failure =>
  new Failure({
    reason: "closed",
    message: `this session has ended (${why}): use the URL of an open session as base URL; each URL serves one session`
  })

export const idleFor = (idle: Duration.Input): string =>
  `no request for ${Duration.format(Duration.fromInputUnsafe(idle))}`
