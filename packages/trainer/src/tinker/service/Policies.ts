/**
 * Keeps weights in the sampler's memory, by name: loaded on first use, and evicted if others need the memory. Weights
 * in use are never evicted.
 *
 * The base model is always loaded: it is an adapter whose product is zero.
 */
import { Effect, Semaphore } from "effect"
import type { EngineFailed, Shape as Engine } from "../../engine/Engine.ts"
import { broken, type OperationFailed } from "./Failures.ts"

export interface Policies {
  /** Runs `use` while the weights of that name are loaded; `read` returns them, in the sampler's layout. */
  readonly use: <A, E, R>(
    name: string,
    read: Effect.Effect<Float32Array, OperationFailed>,
    use: Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E | OperationFailed, R>
  /** Unloads weights that will not be requested again. */
  readonly release: (name: string) => Effect.Effect<void>
}

export const base = "base"

const failed = broken("the weights cannot be sampled from") as (error: EngineFailed) => OperationFailed

export const make = Effect.fnUntraced(function* (engine: Engine, max: number): Effect.fn.Return<Policies> {
  const lock = yield* Semaphore.make(1)
  /** Number of users; most recently used last. */
  const loaded = new Map<string, number>()

  const makeRoom = Effect.suspend(() => {
    const unused = [...loaded].filter(([, users]) => users === 0).map(([name]) => name)
    const surplus = unused.slice(0, Math.max(0, loaded.size - max))
    for (const name of surplus) loaded.delete(name)
    return Effect.forEach(surplus, engine.unload, { discard: true })
  })

  /** Adds a user of the weights, once they are loaded. */
  const enter = (name: string, read: Effect.Effect<Float32Array, OperationFailed>) =>
    lock.withPermits(1)(
      Effect.gen(function* () {
        const users = loaded.get(name)
        if (users === undefined) yield* Effect.mapError(engine.load(name, 0, yield* read), failed)
        loaded.delete(name)
        loaded.set(name, (users ?? 0) + 1)
        yield* makeRoom
      })
    )
  const leave = (name: string) =>
    Effect.suspend(() => {
      const users = loaded.get(name)
      if (users !== undefined) loaded.set(name, users - 1)
      return makeRoom
    })

  return {
    use: (name, read, use) =>
      name === base
        ? use
        : Effect.acquireUseRelease(
            enter(name, read),
            () => use,
            () => leave(name)
          ),
    release: (name) =>
      Effect.suspend(() => {
        if ((loaded.get(name) ?? 1) > 0) return Effect.void
        loaded.delete(name)
        return engine.unload(name)
      })
  }
})
