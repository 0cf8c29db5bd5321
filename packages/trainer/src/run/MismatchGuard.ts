/** Handles disagreement between sampler and trainer, and missing sampler data: fails or warns. */
import type { Batch } from "@atropos/core"
import { Effect } from "effect"
import * as TokenizerIdentity from "@atropos/core/inference/tokenizer/TokenizerIdentity"
import type { LearnerEngineShape } from "../learn/LearnerEngine.ts"
import * as Mismatch from "../learn/Mismatch.ts"
import type { Objective } from "../loss/Objective.ts"
import { TrainerError } from "../learn/TrainerError.ts"
import * as TrainerSettings from "./TrainerSettings.ts"

export interface MismatchGuard {
  /** Fails at the first group tokenized by another tokenizer. */
  readonly checkTokenizer: (batch: Batch.Batch) => Effect.Effect<void, TrainerError>
  /** Fails if the first steps disagree, warns if later ones do. Returns the largest bound in force, nats. */
  readonly judge: (batch: Batch.Batch, compared: Mismatch.ByEnvironment) => Effect.Effect<number, TrainerError>
  /** Warns once about trained tokens without a sampler logprob. */
  readonly warnUnknown: (tokens: number) => Effect.Effect<void>
}

export const make = (
  { maxMismatch, quantize, temperature }: TrainerSettings.TrainerFields,
  { isPolicyGradient, oldPolicy }: Objective,
  model: LearnerEngineShape["model"]
): MismatchGuard => {
  // In int8 the sampler rounds activations and the trainer does not, so the default bound is measured; an explicit
  // bound is kept.
  const isMeasured = quantize === "int8" && maxMismatch === TrainerSettings.trainer.complete({}).maxMismatch
  const guards = new Map<number | undefined, ReturnType<typeof Mismatch.measuringGuard>>()
  const guardOf = (environment: number | undefined) => {
    const guard =
      guards.get(environment) ??
      (isMeasured
        ? Mismatch.measuringGuard(maxMismatch)
        : { bound: () => maxMismatch, judge: Mismatch.guard(maxMismatch) })
    guards.set(environment, guard)
    return guard
  }
  let hasWarned = false
  return {
    checkTokenizer: ({ groups }) => {
      const mine = model.tokenizer
      const theirs = groups
        .map(({ groupOverrides }) => TokenizerIdentity.read(groupOverrides?.["tokenizer"]))
        .find((one) => one !== undefined && mine !== undefined && one.digest !== mine.digest)
      return theirs === undefined || mine === undefined
        ? Effect.void
        : Effect.fail(
            new TrainerError({
              reason: "mismatch",
              message:
                `the environment encodes with the tokenizer ${theirs.name}, but the model ${model.name} uses ${mine.name}: ` +
                `the token ids of its groups are wrong for the model. Start the environment with --env.tokenizer_name ${mine.name}`
            })
          )
    },
    judge: Effect.fnUntraced(function* (batch, compared) {
      for (const [environment, part] of compared) {
        const guard = guardOf(environment)
        const verdict = guard.judge(part)
        if (verdict === "agree") continue
        if (verdict === "measured") {
          yield* Effect.logWarning("the sampler rounds activations to 8 bits", {
            environment,
            difference: Number(Mismatch.mean(part)?.toFixed(4)),
            bound: Number(guard.bound().toFixed(4)),
            because: `quantize is ${quantize}: its logprobs differ from the trainer's, on average and in nats, by the value measured on the first ${part.tokens} tokens; twice that is allowed (max_mismatch sets another bound)`
          })
          continue
        }
        const groups = batch.groups.filter(({ envId }) => envId === environment)
        const message = Mismatch.explain(part, guard.bound(), groups, temperature, quantize)
        if (verdict === "disagree") return yield* new TrainerError({ reason: "mismatch", message })
        yield* Effect.logWarning("trainer and sampler have drifted apart", { batch: batch.id, environment, message })
      }
      return Math.max(maxMismatch, ...Array.from(guards.values(), ({ bound }) => bound()))
    }),
    warnUnknown: (tokens) => {
      if (hasWarned || tokens === 0 || !isPolicyGradient || oldPolicy !== "engine") return Effect.void
      hasWarned = true
      return Effect.logWarning("training tokens as if sampled by the current policy", {
        tokens,
        because: "the sampler reports no logprobs for them, or raw ones at a temperature other than 1",
        so: "no ratio corrects for stale weights: see batch/unknown_logprobs"
      })
    }
  }
}
