/**
 * Tracks the inference servers: their health (`Health`), free capacity, and waiting requests (`Slots`).
 *
 * Guarantees: never more requests in flight than a lane's limit; waiters are served in order of arrival as soon as a
 * slot is released, a server recovers or a weight changes (without polling); a wait ends in `noServer` once no server
 * has been healthy for `serverWait`; a slot is always released, however its holder ends.
 */
import { Clock, type Duration, Effect, type Scope } from "effect"
import type { InferenceError, ServerMetrics, Split } from "./backend/Inference.ts"
import * as Health from "./Health.ts"
import * as Member from "./Member.ts"
import * as Slots from "./Slots.ts"

/** Result of an attempt: an answer with its number of tokens, or a failure. */
export type Outcome =
  | { readonly tokens: number; readonly error?: never }
  | { readonly tokens: 0; readonly error: InferenceError }

export interface Fleet extends Pick<Slots.Slots, "take" | "release"> {
  readonly members: ReadonlyArray<Member.Member>
  /** Max time a request waits if no server can answer it. */
  readonly serverWait: Duration.Duration
  /** Records the result of an attempt, and updates the server's health. */
  readonly learn: (
    member: Member.Member,
    split: Split,
    attempt: { readonly startedAt: number; readonly isRetry: boolean } & Outcome
  ) => Effect.Effect<void>
  /** True if a request could go to a server it should not avoid, now or once a slot is free. */
  readonly hasAlternative: (want: Slots.Want) => boolean
  /** The healthy server with the most capacity, even without a free slot; undefined if none is healthy. */
  readonly roomiest: (isEligible: (member: Member.Member) => boolean) => Member.Member | undefined
  readonly setWeight: (weight: number) => Effect.Effect<void>
  readonly metrics: Effect.Effect<ReadonlyArray<ServerMetrics>>
}

export const make = Effect.fn("Fleet.make")(function* (
  settings: ReadonlyArray<Member.MemberSettings>,
  options: Slots.Options
): Effect.fn.Return<Fleet, never, Scope.Scope> {
  const members = settings.map(Member.make)
  const slots = Slots.make(members, options)
  const health = yield* Health.make(members, slots)

  return {
    members,
    serverWait: options.serverWait,
    take: (want, restore) => Effect.andThen(health.wanted, slots.take(want, restore)),
    release: slots.release,
    learn: Effect.fnUntraced(function* (member, split, { error, isRetry, startedAt, tokens }) {
      const endedAt = yield* Clock.currentTimeMillis
      yield* member.lanes[split].record({ startedAt, endedAt, isRetry, tokens, succeeded: error === undefined })
      yield* error === undefined ? health.succeeded(member) : health.failed(member, error)
    }),
    hasAlternative: (want) => slots.candidates(want).some((member) => !want.avoid.has(member)),
    roomiest: (isEligible) =>
      Member.mostRoom(
        members.filter((member) => member.isUp && isEligible(member)),
        "train"
      ),
    setWeight: (weight) =>
      Effect.suspend(() => {
        for (const { lanes } of members) lanes.train.setWeight(weight)
        return slots.serve
      }),
    metrics: Effect.sync(() =>
      members.flatMap(({ backend, isUp, lanes }) =>
        [lanes.train, lanes.eval].map((lane) => ({ server: backend.server, healthy: isUp, ...lane.figures() }))
      )
    )
  }
})
