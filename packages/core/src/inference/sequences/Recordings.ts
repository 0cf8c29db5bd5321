/** Converts a session's recording to trajectories. */
import { Effect } from "effect"
import {
  InferenceError,
  type LeftOut,
  type RecordedSequence,
  type Recording,
  type TrackedSession
} from "../wire/Inference.ts"
import * as Paths from "../session/Paths.ts"
import type * as SessionTree from "../session/SessionTree.ts"

/** Why a path is excluded. */
export type Fault = Omit<LeftOut, "sequence">

export const untrained: Fault = {
  reason: "untrained",
  message: "none of its requests is to be trained"
}

/** Excluded as intended, not because something is wrong. */
const isIntended = ({ reason }: LeftOut): boolean => reason === "abandoned" || reason === "untrained"

/**
 * Every path as its sequences, in the order of their ends, or why it is excluded. The last sequence is the path's own;
 * those of all paths come first, so that a path keeps its number.
 */
export const ofPaths = <P, A>(
  tips: ReadonlyArray<SessionTree.Answer<P, A>>,
  sequencesOf: (tip: SessionTree.Answer<P, A>) => ReadonlyArray<RecordedSequence> | Fault,
  /** True if the ends were selected: none of them counts as abandoned. */
  areSelected = false
): Recording => {
  const sequences: Array<RecordedSequence> = []
  const others: Array<RecordedSequence> = []
  const leftOut: Array<LeftOut> = []
  for (const tip of tips) {
    const { sequence } = tip
    const isAbandoned = !areSelected && Paths.isAbandoned(tip)
    const made = isAbandoned ? { reason: "abandoned" as const, message: Paths.abandoned } : sequencesOf(tip)
    if ("reason" in made) leftOut.push({ sequence, ...made })
    else {
      sequences.push(...made.slice(-1))
      others.push(...made.slice(0, -1))
    }
  }
  return { sequences: [...sequences, ...others], leftOut }
}

/** A session's trainable trajectories. Exclusions are logged once; if all are excluded, it fails. */
export const trajectories = (
  server: string,
  recording: TrackedSession["recording"]
): TrackedSession["trajectories"] => {
  const told = new Set<string>()
  return Effect.gen(function* () {
    const { leftOut, sequences } = yield* recording
    const unusable = leftOut.filter(({ reason }) => reason !== untrained.reason)
    if (sequences.length === 0 && unusable.length > 0) return yield* nothingLeft(server, unusable)
    for (const { message, reason, sequence } of leftOut) {
      const key = `${sequence} ${reason}`
      if (told.has(key)) continue
      told.add(key)
      yield* isIntended({ message, reason, sequence })
        ? Effect.logDebug("skipped a sequence of a session", { sequence, reason, message })
        : Effect.logWarning("skipped a sequence of a session", { sequence, reason, message, server })
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
