/**
 * Implements `atropos validate --loss`: checks a loss against the laws of objectives (`ObjectiveLaws` of trainer) on
 * synthetic tokens. Prints the worst value of each law, and the violation if one is broken.
 */
import * as Reason from "@atropos/core/base/Reason"
import * as OrtWorker from "@atropos/trainer/exec/OrtWorker"
import * as ObjectiveLaws from "@atropos/trainer/learn/ObjectiveLaws"
import type { LossSettings } from "@atropos/trainer/loss/LossSettings"
import type { Objective } from "@atropos/trainer/loss/Objective"
import * as Preset from "@atropos/trainer/loss/Preset"
import { Cause, Console, Effect, Result } from "effect"
import { CommandFailed, UsageError } from "../base/Failure.ts"
import * as Table from "../base/Table.ts"
import * as LossFile from "../config/LossFile.ts"

const objectiveOf = Effect.fnUntraced(function* (settings: LossSettings) {
  const own = yield* LossFile.ofSettings(settings)
  if (own !== undefined) return own
  const preset = Preset.resolve(settings)
  return Result.isSuccess(preset) ? preset.success : yield* new UsageError({ message: preset.failure.message })
})

const needs = {
  refLogprobs: "needsReference",
  entropies: "needsEntropies",
  teacherLogprobs: "needsTeacher",
  preference: "needsPairs"
} as const

/** Values the loss may have read without declaring them; they are undefined. */
const undeclared = (cause: Cause.Cause<unknown>, objective: Objective): string => {
  if (!(Cause.squash(cause) instanceof TypeError)) return ""
  const missing = Object.entries(needs).filter(([, field]) => !objective[field])
  return `. A value is undefined unless the objective requests it: ${missing.map(([name, field]) => `${name} by ${field}`).join(", ")}`
}

const formatNumber = (value: number): string =>
  Number.isNaN(value) ? "not finite" : value === 0 ? "0" : value.toExponential(1)

export const run = Effect.fn("Losses.run")(function* (settings: LossSettings) {
  const objective = yield* objectiveOf(settings)
  const verdicts = yield* ObjectiveLaws.check(objective).pipe(
    Effect.scoped,
    Effect.provide(OrtWorker.layer({ threads: 1 })),
    // An exception of the loss's own code while its graph is built is a defect there, but a result here.
    Effect.catchCause((cause) =>
      Cause.hasInterruptsOnly(cause)
        ? Effect.interrupt
        : Effect.fail(
            new CommandFailed({
              message: `loss ${objective.name} cannot be compiled into a graph: ${Reason.ofCause(cause)}${undeclared(cause, objective)}`
            })
          )
    )
  )
  yield* Console.log(
    Table.columns(
      ["", "law", "checks", "worst", "limit"],
      verdicts.map(({ checks, isBroken, law, limit, worst }) => [
        isBroken ? "BROKEN" : "ok",
        law,
        String(checks),
        formatNumber(worst),
        formatNumber(limit)
      ])
    )
  )
  for (const { explanation, law } of verdicts) {
    if (explanation !== undefined) yield* Console.log(`\n${law}:\n  ${explanation}`)
  }
  yield* Console.log(`\nloss ${objective.name}. Not checkable: that it is the loss you intend, for example its sign.`)
  const broken = verdicts.filter(({ isBroken }) => isBroken)
  if (broken.length > 0) {
    return yield* new CommandFailed({ message: `${broken.length} of ${verdicts.length} checks failed` })
  }
})
