/** From what a session recorded to what it gives. */
import { Effect } from "effect"
import { InferenceError, type LeftOut, type Recording, type TrackedSession } from "./backend/Inference.ts"

/** A session's trajectories: those that can be trained. What is left out is logged, once; alone it is a failure. */
export const trajectories = (
  server: string,
  recording: TrackedSession["recording"]
): TrackedSession["trajectories"] => {
  const told = new Set<string>()
  return Effect.gen(function* () {
    const { leftOut, sequences } = yield* recording
    if (sequences.length === 0 && leftOut.length > 0) return yield* nothingLeft(server, leftOut)
    for (const { message, reason, sequence } of leftOut) {
      const key = `${sequence} ${reason}`
      if (told.has(key)) continue
      told.add(key)
      yield* reason === "abandoned"
        ? Effect.logDebug("a sequence of a session is not trained", { sequence, reason, message })
        : Effect.logWarning("a sequence of a session is not trained", { sequence, reason, message, server })
    }
    return sequences.map(({ trajectory }) => trajectory)
  })
}

const nothingLeft = (server: string, leftOut: Recording["leftOut"]): InferenceError => {
  const [{ message, reason, sequence }] = leftOut as readonly [LeftOut]
  return new InferenceError({
    reason: reason === "unmasked" ? "unsupported" : "malformed",
    server,
    message: `sequence ${sequence}, ${message}`
  })
}
