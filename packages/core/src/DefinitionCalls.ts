/**
 * The functions of an environment's definition, called so that a mistake in them is told as one: what they throw names
 * the function, its file and line, and what they return is looked at, since a file that is run without its types being
 * checked may return anything.
 */
import { Effect, Predicate, Stream } from "effect"
import { DefinitionFault } from "./EnvironmentError.ts"
import * as ContentId from "./base/ContentId.ts"
import * as Reason from "./base/Reason.ts"
import * as StackFrames from "./base/StackFrames.ts"

/** What a value is, as people say it: `an array`, `a Promise`, `nothing (undefined)`. */
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

/** Something that a part of the definition must not be or give. */
export const wrong = (part: string, what: string): DefinitionFault =>
  new DefinitionFault({ part, message: `${part} ${what}` })

/** What was thrown in a part of the definition. */
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

/** Logs what was thrown with its stack, each mistake once: it is worth reading once, and not for every rollout. */
export const faultLogger = (environment: string): ((error: unknown) => Effect.Effect<void>) => {
  const logged = new Set<string>()
  return (error) =>
    Effect.suspend(() => {
      if (!(error instanceof DefinitionFault) || error.cause === undefined || logged.has(error.message))
        return Effect.void
      logged.add(error.message)
      return Effect.logError(
        `${error.part} of the environment ${environment} threw; its stack is shown once`,
        error.cause
      )
    })
}

/** An effect of a part, with what it throws as a fault of that part. */
export const guarded = <A, E, R>(
  part: string,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E | DefinitionFault, R> => Effect.catchDefect(effect, (defect) => Effect.fail(thrown(part, defect)))

/** What a function of the definition returns, which must be an Effect; `instead` says how a plain value becomes one. */
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
      // Nobody else waits for it, and its failure would end the process.
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

/** The same for a function that gives items, and for what is made of each. */
export const streamed = <A, B, E, R>(
  part: string,
  call: () => Stream.Stream<A, E, R>,
  each: (item: A) => B
): Stream.Stream<B, E | DefinitionFault, R> =>
  Stream.suspend((): Stream.Stream<B, E | DefinitionFault, R> => {
    const returned: unknown = call()
    return Stream.isStream(returned)
      ? Stream.map(returned as Stream.Stream<A, E, R>, each)
      : Stream.fail(wrong(part, `is ${kindOf(returned)} where a Stream is wanted, e.g. Stream.fromIterable(…)`))
  }).pipe(Stream.catchDefect((defect) => Stream.fail(thrown(part, defect))))

/** The lasting id of an item. */
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

/** How an item is sampled is no part of it. */
const withoutSeed = (item: unknown): unknown => {
  if (!Predicate.isReadonlyObject(item)) return item
  const { samplingSeed: _, ...rest } = item
  return rest
}
