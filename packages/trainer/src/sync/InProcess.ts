/**
 * Loads weights into the engine of this process, which takes the parameters directly and frees old ones when no request
 * uses them.
 */
import { Effect } from "effect"
import type * as Engine from "../engine/Engine.ts"
import { type Target, TargetError } from "./Target.ts"

/** `policy` is the name shared by all versions. */
export const inProcess = (engine: Engine.Shape, policy: string): Target => {
  const name = "engine in this process"
  return {
    name,
    load: Effect.fn("InProcess.load")(function* ({ parameters, version }) {
      yield* Effect.mapError(
        engine.load(policy, version, yield* parameters),
        (cause) => new TargetError({ target: name, message: cause.message, isPermanent: false, cause })
      )
    }),
    unload: () => Effect.void
  }
}
