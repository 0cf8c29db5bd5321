/** Checks that a batch has the expert routing needed for router replay. */
import { Effect } from "effect"
import { TrainerError } from "../learn/TrainerError.ts"
import type { WeightedBatch } from "../learn/WeightedBatch.ts"
import * as RoutedExperts from "../model/part/RoutedExperts.ts"

const refused = (message: string) => Effect.fail(new TrainerError({ reason: "settings", message }))

/**
 * Fails if sampled sequences lack expert routing, or have another model's. Unsampled sequences (examples) have none:
 * the router chooses for them.
 */
export const check = (
  routing: RoutedExperts.Routing,
  { items, sequences }: WeightedBatch
): Effect.Effect<void, TrainerError> => {
  const read = items.map(({ sequence }) => sequences[sequence]!)
  const without = read.filter(
    ({ engineLogprobs, policyVersion, routedExperts }) =>
      routedExperts === undefined && (engineLogprobs !== undefined || policyVersion !== null)
  )
  if (without.length > 0) {
    return refused(
      `router_replay needs the experts of every sampled token, and ${without.length} of ${read.length} ` +
        "sequences of a batch lack them: sample with the engine of this process (atropos up, ClosedLoop), which " +
        "records them, and keep the sampled tokens unchanged; or remove router_replay"
    )
  }
  const isOther = read.some(
    ({ routedExperts, tokens }) =>
      routedExperts !== undefined && !RoutedExperts.fits(routing, routedExperts, tokens.length - 1)
  )
  return isOther
    ? refused(
        "router_replay: the experts of a sequence are not those of this model: it was sampled from another one, or " +
          "its tokens were changed afterwards"
      )
    : Effect.void
}
