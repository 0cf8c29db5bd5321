/**
 * Steps an environment's episodes from outside, for example by the trainer of another program. The policy is
 * `OutsidePolicy.layer`, and groups have one rollout each.
 *
 * Every reset begins an item: the next one, or one by number. Requeued items come first. Episodes are independent, so
 * any number may be open simultaneously. `check` rejects, with the reason, an environment that cannot be stepped: one
 * that requests nothing, several answers simultaneously, or tokens, or whose rollouts have several scores.
 */
import { Cause, Effect, Option, Queue, type Scope, Semaphore, Stream } from "effect"
import * as Reason from "@atropos/core/base/Reason"
import type { EnvironmentShape, Work } from "@atropos/core/Environment"
import type { EnvironmentError } from "@atropos/core/definition/EnvironmentError"
import * as DrivenEpisode from "./DrivenEpisode.ts"

export { type Asked, type DrivenEpisode, DrivenError, type Over, type Turn } from "./DrivenEpisode.ts"
export { layer as layerPolicy, type Said } from "./OutsidePolicy.ts"

export interface DrivenEnvironment {
  readonly name: string
  /**
   * Begins an episode, which is abandoned when the scope closes. `item` counts from 0, and wraps around after the last
   * one: the same number is the same item.
   */
  readonly reset: (options?: {
    readonly item?: number
  }) => Effect.Effect<DrivenEpisode.DrivenEpisode, DrivenEpisode.DrivenError, Scope.Scope>
  /**
   * Begins its first item and abandons it: returns its first question. Fails if it cannot be stepped, or has no items.
   */
  readonly check: Effect.Effect<DrivenEpisode.Asked, DrivenEpisode.DrivenError>
}

const wrong = (message: string, isRefused = false) => new DrivenEpisode.DrivenError({ isRefused, message })

/** The items in order, repeated endlessly. */
const itemsOf = Effect.fnUntraced(function* ({ name, work }: EnvironmentShape) {
  const queue = yield* Queue.bounded<Work, EnvironmentError | Cause.Done>(1)
  let count = 0
  const once = Stream.tap(work(0), () => Effect.sync(() => count++))
  const endless = Effect.gen(function* () {
    for (;;) {
      const before = count
      yield* Stream.runForEach(Stream.rechunk(once, 1), (item) => Queue.offer(queue, item))
      if (count === before) return yield* Queue.end(queue)
      yield* Effect.logInfo("items exhausted; starting over", { environment: name, items: count - before })
    }
  })
  yield* endless.pipe(
    Effect.catchCause((cause) => Queue.failCause(queue, cause)),
    Effect.forkScoped
  )
  return Queue.take(queue).pipe(
    Effect.mapError((error) => wrong(Cause.isDone(error) ? "it has no items" : Reason.of(error)))
  )
})

/** Items are made on demand, until the scope closes. */
export const make = Effect.fn("DrivenEnvironment.make")(function* (
  environment: EnvironmentShape
): Effect.fn.Return<DrivenEnvironment, never, Scope.Scope> {
  const next = yield* itemsOf(environment)
  const one = yield* Semaphore.make(1)
  const requeued: Array<Work> = []

  const named = ({ isRefused, message }: DrivenEpisode.DrivenError) =>
    wrong(isRefused ? `${environment.name} cannot be stepped from outside: ${message}` : message, isRefused)
  const at = (item: number) =>
    Stream.runHead(environment.work(item)).pipe(Effect.mapError((error) => wrong(Reason.of(error))))
  // For finite items.
  const count = yield* Effect.cached(
    Effect.mapError(Stream.runCount(environment.work(0)), (error) => wrong(Reason.of(error)))
  )
  const numbered = Effect.fnUntraced(function* (item: number) {
    const found = yield* at(item)
    if (Option.isSome(found)) return found.value
    const all = yield* count
    if (all === 0) return yield* wrong("it has no items")
    return yield* Effect.flatMap(at(item % all), Effect.fromOption).pipe(
      Effect.catchTag("NoSuchElementError", () => Effect.fail(wrong(`item ${item % all} no longer exists`)))
    )
  })
  // A caller interrupted while waiting for an item takes none.
  const following = one.withPermits(1)(
    Effect.suspend(() => {
      const first = requeued.shift()
      return first === undefined ? next : Effect.succeed(first)
    })
  )
  const reset: DrivenEnvironment["reset"] = Effect.fn("DrivenEnvironment.reset")(function* ({ item } = {}) {
    const work = yield* item === undefined ? following : numbered(item)
    const { first, step } = yield* Effect.mapError(
      DrivenEpisode.start(work, (rolledOut) => Effect.sync(() => requeued.push(...rolledOut.requeued))),
      named
    )
    return { first, step: (answer) => Effect.mapError(step(answer), named) }
  })
  const check = Effect.gen(function* () {
    const { scoresPerEpisode: which } = environment
    if (which !== undefined) {
      return yield* named(
        wrong(`its episodes have no single reward, their sequences are scored separately: ${which}`, true)
      )
    }
    const { first } = yield* reset({ item: 0 })
    if (!first.isOver) return first
    return yield* named(wrong("it makes no requests to the policy: its rollouts already exist", true))
  }).pipe(Effect.scoped)
  return { name: environment.name, reset, check }
})
