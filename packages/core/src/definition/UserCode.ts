/**
 * Calls the functions of a definition and attributes their mistakes: a throw is reported with function, file and line,
 * and return values are validated, because a file that runs without type checks may return anything.
 */
import { Effect, Predicate, Stream } from "effect"
import { DefinitionFault } from "./EnvironmentError.ts"
import * as ContentId from "../base/ContentId.ts"
import * as Reason from "../base/Reason.ts"
import * as StackFrames from "../base/StackFrames.ts"

/** Describes a value's type for messages: `an array`, `a Promise`, `nothing (undefined)`. */
export const kindOf = (value: unknown): string => {
  if (value === undefined || value === null) return `nothing (${String(value)})`
  if (Array.isArray(value)) return "an array"
  if (Effect.isEffect(value)) return "an Effect"
  if (Stream.isStream(value)) return "a Stream"
  if (Predicate.isPromiseLike(value)) return "a Promise"
  if (typeof value === "object") {
    const name = value.constructor?.name ?? "Object"
    return name === "Object" ? `an object with ${Object.keys(value).join(", ") || "no keys"}` : `a ${name}`
  }
  if (typeof value === "string") return `a string (${value.slice(0, 80)})`
  return typeof value === "number" || typeof value === "boolean" ? `a ${typeof value} (${value})` : `a ${typeof value}`
}

/** An invalid value in a part of the definition. */
export const wrong = (part: string, what: string): DefinitionFault =>
  new DefinitionFault({ part, message: `${part} ${what}` })

/** Converts a throw in a part of the definition to a fault. */
export const thrown = (part: string, defect: unknown): DefinitionFault => {
  if (defect instanceof DefinitionFault) return defect
  if (!(defect instanceof Error)) {
    return new DefinitionFault({ part, message: `${part} threw ${Reason.of(defect)}`, cause: defect })
  }
  const stack = defect.stack ?? ""
  const place = StackFrames.place(stack)
  const own = new Error(defect.message)
  own.stack = StackFrames.trimmed(stack)
  return new DefinitionFault({
    part,
    message: `${part} threw ${defect.name}: ${Reason.whole(defect)}${place === undefined ? "" : ` (${place})`}`,
    cause: own
  })
}

/** Logs a throw with its stack, once per distinct mistake instead of once per rollout. */
export const faultLogger = (environment: string): ((error: unknown) => Effect.Effect<void>) => {
  const logged = new Set<string>()
  return (error) =>
    Effect.suspend(() => {
      if (!(error instanceof DefinitionFault) || error.cause === undefined || logged.has(error.message))
        return Effect.void
      logged.add(error.message)
      return Effect.logError(
        `${error.part} of the environment ${environment} threw; its stack is logged once`,
        error.cause
      )
    })
}

/** Runs a part's effect; what it throws becomes a fault of that part. */
export const guarded = <A, E, R>(
  part: string,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E | DefinitionFault, R> => Effect.catchDefect(effect, (defect) => Effect.fail(thrown(part, defect)))

/**
 * Calls a function of the definition, which must return an Effect; `instead` states how to turn a plain value into one.
 */
export const called = <A, E, R>(
  part: string,
  call: () => Effect.Effect<A, E, R>,
  instead: string
): Effect.Effect<A, E | DefinitionFault, R> =>
  guarded(
    part,
    Effect.suspend((): Effect.Effect<A, E | DefinitionFault, R> => {
      const returned: unknown = call()
      if (Effect.isEffect(returned)) return returned as Effect.Effect<A, E, R>
      // Nothing else awaits the promise, and an unhandled rejection would end the process.
      if (Predicate.isPromiseLike(returned)) void returned.then(undefined, () => undefined)
      return Effect.fail(
        wrong(
          part,
          Predicate.isPromiseLike(returned)
            ? "returned a Promise; return an Effect, e.g. Effect.promise(() => …)"
            : `returned ${kindOf(returned)}; return an Effect, e.g. Effect.succeed(${instead})`
        )
      )
    })
  )

/** Like `called`, for functions that return a stream of items, mapped by a second function. */
export const streamed = <A, B, E, R>(
  part: string,
  call: () => Stream.Stream<A, E, R>,
  each: (item: A) => B
): Stream.Stream<B, E | DefinitionFault, R> =>
  Stream.suspend((): Stream.Stream<B, E | DefinitionFault, R> => {
    const returned: unknown = call()
    return Stream.isStream(returned)
      ? Stream.map(returned as Stream.Stream<A, E, R>, each)
      : Stream.fail(wrong(part, `is ${kindOf(returned)}; expected a Stream, e.g. Stream.fromIterable(…)`))
  }).pipe(Stream.catchDefect((defect) => Stream.fail(thrown(part, defect))))

export const identity = <Item>({ id }: { readonly id?: (item: Item) => unknown }): ((item: Item) => string) =>
  id === undefined
    ? (item) => ContentId.of(withoutSeed(item))
    : (item) => {
        try {
          return ContentId.named(id(item))
        } catch (defect) {
          throw thrown("id", defect)
        }
      }

/** The sampling seed is not part of the item's identity. */
const withoutSeed = (item: unknown): unknown => {
  if (!Predicate.isReadonlyObject(item)) return item
  const { samplingSeed: _, ...rest } = item
  return rest
}
