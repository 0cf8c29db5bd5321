/**
 * The engine in this process: it takes the parameters as they are, and frees old ones itself when nothing samples with
 * them any more.
 */
import { Effect } from "effect"
import type * as Engine from "../engine/Engine.ts"
import { type Target, TargetError } from "./Target.ts"

/** `policy` is the one name all versions go by. */
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
