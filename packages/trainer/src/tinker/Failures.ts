/** Maps server failures to trainer errors: permanently lost, possibly temporary, or invalid requests. */
import { Effect } from "effect"
import type { TinkerError } from "./client/TinkerError.ts"
import { TrainerError, type TrainerFailure } from "../learn/TrainerError.ts"

const reasonOf = ({ reason }: TinkerError): typeof TrainerFailure.Type => {
  switch (reason) {
    case "gone":
    case "expired":
    case "broken":
      return "engineLost"
    case "address":
    case "stranger":
    case "unauthorized":
      return "settings"
    default:
      return "engine"
  }
}

export const toTrainerError = (cause: TinkerError): TrainerError =>
  new TrainerError({ reason: reasonOf(cause), message: cause.message, cause })

export const lost = <A, R>(effect: Effect.Effect<A, TinkerError, R>): Effect.Effect<A, TrainerError, R> =>
  Effect.mapError(effect, toTrainerError)
