/** What the trainer makes of a sampler that disagrees with it, or that says too little: it stops, or it tells. */
import type { Batch } from "@atropos/core"
import { Effect } from "effect"
import * as Mismatch from "../Mismatch.ts"
import type { Objective } from "../loss/Objective.ts"
import { TrainerError } from "../TrainerError.ts"
import type { Trainer } from "../TrainerSettings.ts"

export interface SamplerCheck {
  /** Fails where the first steps disagree, warns where later ones do. */
  readonly judge: (batch: Batch.Batch, compared: Mismatch.Compared) => Effect.Effect<void, TrainerError>
  /** Warns once of trained tokens that no logprob of the sampler's is known of. */
  readonly tellUnknown: (tokens: number) => Effect.Effect<void>
}

export const make = (
  { maxMismatch, temperature }: Trainer,
  { isPolicyGradient, oldPolicy }: Objective
): SamplerCheck => {
  const guard = Mismatch.guard(maxMismatch)
  let isTold = false
  return {
    judge: Effect.fnUntraced(function* (batch, compared) {
      const verdict = guard(compared)
      if (verdict === "agree") return
      const message = Mismatch.explain(compared, maxMismatch, batch.groups, temperature)
      if (verdict === "disagree") return yield* new TrainerError({ reason: "mismatch", message })
      yield* Effect.logWarning("trainer and sampler have drifted apart", { batch: batch.id, message })
    }),
    tellUnknown: (tokens) => {
      if (isTold || tokens === 0 || !isPolicyGradient || oldPolicy !== "engine") return Effect.void
      isTold = true
      return Effect.logWarning("tokens are trained as if sampled by the present policy", {
        tokens,
        because: "the sampler gives no logprobs of them, or raw ones at another temperature than 1",
        so: "no ratio corrects for stale weights: see batch/unknown_logprobs"
      })
    }
  }
}
