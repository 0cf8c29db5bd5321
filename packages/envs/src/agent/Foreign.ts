/**
 * Functions of an author who writes plain JavaScript: called from an Effect, with a signal that is aborted when the
 * Effect is interrupted.
 *
 * What they throw and what their promises reject with comes back as it was thrown; a promise that settles after the
 * interruption is nobody's business any more.
 */
import { DefinitionFault } from "@atropos/core/EnvironmentError"
import * as Reason from "@atropos/core/base/Reason"
import * as StackFrames from "@atropos/core/base/StackFrames"
import { Effect } from "effect"

/** A value, now or later. */
export type Awaitable<A> = A | PromiseLike<A>

/** What the function gives; fails with what it throws. */
export const call = <A>(run: (signal: AbortSignal) => Awaitable<A>): Effect.Effect<A, Thrown> =>
  Effect.tryPromise({ try: (signal) => Promise.resolve(run(signal)), catch: (cause) => new Thrown(cause) })

/** Something that was thrown, of any kind. */
export class Thrown {
  readonly _tag = "Thrown"
  readonly cause: unknown
  constructor(cause: unknown) {
    this.cause = cause
  }
  /** In words, with the place in its author's file. */
  get message(): string {
    const { cause } = this
    if (!(cause instanceof Error)) return `threw ${Reason.of(cause)}`
    const place = StackFrames.place(cause.stack ?? "")
    return `threw ${cause.name}: ${Reason.of(cause)}${place === undefined ? "" : ` (${place})`}`
  }
}

/** A mistake in a part of the definition: trying again would only repeat it. */
export const fault =
  (part: string) =>
  ({ cause, message }: Thrown): DefinitionFault =>
    new DefinitionFault({ part, message: `${part} ${message}`, cause })
