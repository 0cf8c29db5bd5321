/**
 * Holds the open sessions of a gateway, by their secrets.
 *
 * A secret has 128 random bits; it appears only in the session's URLs, and is stored as its digest. A session closes
 * with the scope it was opened in, or after some time without a request; the reason is remembered for the last closed
 * ones. At the limit, the session idle longest is closed, among those that no scope of this process holds and without a
 * request in progress.
 */
import { Clock, Duration, Effect, Exit, Schedule, Scope } from "effect"
import { createHash, randomBytes } from "node:crypto"
import { Failure } from "../dialect/Dialect.ts"
import type { InferenceError, TrackedSession } from "../../inference/wire/Inference.ts"
import * as Limits from "./Limits.ts"
import * as OpenSession from "./OpenSession.ts"
import * as TokenizerIdentity from "../../inference/tokenizer/TokenizerIdentity.ts"
import type { ServerManagerShape } from "../../inference/ServerManager.ts"
import { GatewayError, type Session, type SessionOptions } from "./Session.ts"

export interface Sessions {
  /** A session under `url` (`http://127.0.0.1:PORT`), open until the scope closes. */
  readonly open: (url: string, options?: SessionOptions) => Effect.Effect<Opened, Refusal, Scope.Scope>
  /** Like `open`, until it is ended, has been idle for too long, or the gateway ends. */
  readonly hold: (url: string, options?: SessionOptions) => Effect.Effect<Opened, Refusal>
  /** The open session of a secret; fails if it is closed or unknown. */
  readonly find: (secret: string) => Effect.Effect<OpenSession.OpenSession, Failure>
  /** The open session of an id, for callers authorized to see all. */
  readonly named: (id: string) => Opened | undefined
  readonly end: (id: string, why: string) => Effect.Effect<void>
  readonly modelName: string
  readonly limits: Limits.Limits
}

export type Refusal = GatewayError | InferenceError

export interface Opened {
  readonly session: Session
  readonly open: OpenSession.OpenSession
}

export interface Options extends Partial<Limits.Limits> {
  /** Called when a session ends, before its last requests are dropped. */
  readonly onEnd?: (session: Session, why: string) => Effect.Effect<void>
  /**
   * Called with each answer and reported reward before the response is sent; a failure becomes an error response,
   * because unsaved data must not be acknowledged.
   */
  readonly onChange?: (session: Session) => Effect.Effect<void, { readonly message: string }>
}

/** Max closed sessions that are remembered. */
const maxRemembered = 4096

const secretBytes = 16

const digestOf = (secret: string): string => createHash("sha256").update(secret).digest("base64")

/** The session that has been idle longest; undefined if all have a request in progress. */
const longestIdle = (held: ReadonlySet<string>, open: ReadonlyMap<string, Opened>): string | undefined => {
  let oldest: string | undefined
  let min = Number.POSITIVE_INFINITY
  for (const digest of held) {
    const used = open.get(digest)?.open.lastUsed() ?? min
    if (used < min) [oldest, min] = [digest, used]
  }
  return oldest
}

const full = (sessions: number) =>
  new GatewayError({
    message:
      `the gateway has ${sessions} open sessions, the maximum, and none is idle: close some, or raise ` +
      `the limit of sessions`
  })

const unknown = new Failure({
  reason: "unknownPath",
  message:
    "no session has this URL: use the exact base URL of an open session (http://HOST:PORT/s/<secret>/v1 for " +
    "OpenAI's SDKs, http://HOST:PORT/s/<secret> for Anthropic's)"
})

export const make = Effect.fn("Sessions.make")(function* (servers: ServerManagerShape, input: Options) {
  const { onChange, onEnd, ...rest } = input
  const limits: Limits.Limits = { ...Limits.defaults, ...rest }
  const open = new Map<string, Opened>()
  const digests = new Map<string, string>()
  // The reasons only: a failure would keep the fiber that created it, and all its answers, in memory.
  const closed = new Map<string, string>()
  /** Sessions that no scope of this process holds. */
  const held = new Set<string>()
  const scope = yield* Effect.scope

  const close = (digest: string, why: string) =>
    Effect.suspend(() => {
      const opened = open.get(digest)
      if (opened === undefined) return Effect.void
      open.delete(digest)
      held.delete(digest)
      digests.delete(opened.open.id)
      closed.set(digest, why)
      for (const oldest of closed.keys()) {
        if (closed.size <= maxRemembered) break
        closed.delete(oldest)
      }
      return Effect.andThen(opened.open.close(why), onEnd?.(opened.session, why) ?? Effect.void)
    })

  const idle = Duration.toMillis(Duration.fromInputUnsafe(limits.idle))
  const sweep = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    for (const [digest, { open: session }] of open) {
      if (now - session.lastUsed() <= idle) continue
      yield* Effect.logInfo("idle session closed", { session: session.id })
      yield* close(digest, OpenSession.idleFor(limits.idle))
    }
  })
  if (Number.isFinite(idle)) {
    yield* Effect.forkScoped(Effect.repeat(sweep, Schedule.spaced(Duration.millis(Math.max(1, idle / 8)))))
  }

  const identity = servers.tokenizer && TokenizerIdentity.of(servers.tokenizer)

  const makeRoom = Effect.gen(function* () {
    if (open.size < limits.sessions) return
    const oldest = longestIdle(held, open)
    if (oldest === undefined) return yield* full(open.size)
    yield* Effect.logWarning("idle session closed: the maximum number of sessions is open", {
      session: open.get(oldest)?.open.id,
      sessions: limits.sessions
    })
    yield* close(oldest, "it was idle for the longest time when the maximum of sessions was reached")
  })

  const admit = Effect.fnUntraced(function* (
    url: string,
    options: SessionOptions,
    tracked: TrackedSession,
    isHeld: boolean
  ) {
    yield* makeRoom
    const secret = randomBytes(secretBytes).toString("base64url")
    const digest = digestOf(secret)
    const session: OpenSession.OpenSession = OpenSession.make({
      id: randomBytes(8).toString("hex"),
      modelName: servers.modelName,
      tracked,
      tokenizer: servers.tokenizer,
      options,
      limits,
      openedAtMillis: yield* Clock.currentTimeMillis,
      context: yield* Effect.context(),
      newId: () => randomBytes(12).toString("hex"),
      onChange: Effect.suspend(() => onChange?.(opened.session) ?? Effect.void).pipe(
        Effect.mapError(({ message }) => new Failure({ reason: "failed", message }))
      )
    })
    const opened: Opened = { open: session, session: handle(`${url}/s/${secret}`, session, identity) }
    open.set(digest, opened)
    if (isHeld) held.add(digest)
    digests.set(session.id, digest)
    return { digest, opened }
  })

  const opening = Effect.fn("Sessions.open")(function* (url: string, options: SessionOptions = {}, isHeld = false) {
    // Waits for a server, so it must be interruptible, unlike acquisition.
    const tracked = yield* servers.tracked({ reasoning: "apart", refusesPictures: true })
    const { opened } = yield* Effect.acquireRelease(admit(url, options, tracked, isHeld), ({ digest }) =>
      close(digest, "closed by its owner")
    )
    return opened
  })

  const hold = Effect.fnUntraced(function* (url: string, options?: SessionOptions) {
    const own = yield* Scope.fork(scope)
    const opened = yield* opening(url, options, true).pipe(
      Scope.provide(own),
      Effect.onError(() => Scope.close(own, Exit.void))
    )
    yield* Effect.forkIn(Effect.andThen(opened.open.ended, Effect.forkDetach(Scope.close(own, Exit.void))), own)
    return opened
  })

  return {
    limits,
    modelName: servers.modelName,
    find: (secret) =>
      Effect.suspend((): Effect.Effect<OpenSession.OpenSession, Failure> => {
        const digest = digestOf(secret)
        const opened = open.get(digest)
        if (opened !== undefined) return Effect.succeed(opened.open)
        const why = closed.get(digest)
        return Effect.fail(why === undefined ? unknown : OpenSession.over(why))
      }),
    named: (id) => open.get(digests.get(id) ?? ""),
    end: (id, why) => close(digests.get(id) ?? "", why),
    open: (url, options) => opening(url, options),
    hold
  } satisfies Sessions
})

const handle = (
  url: string,
  open: OpenSession.OpenSession,
  tokenizer: TokenizerIdentity.TokenizerIdentity | undefined
): Session => ({
  id: open.id,
  baseURL: `${url}/v1`,
  anthropicBaseURL: url,
  rewardURL: `${url}/reward`,
  apiKey: "any",
  modelName: open.modelName,
  ...(open.contextLength !== undefined && { contextLength: open.contextLength }),
  ...(tokenizer && { tokenizer }),
  trajectories: open.tracked.trajectories,
  recording: open.tracked.recording,
  conversations: open.conversations,
  messages: open.messages,
  rewards: open.rewards,
  counts: open.counts,
  failures: open.failures,
  lastFailure: open.lastFailure
})
