/**
 * Loads a custom loss: a file whose default export is an objective (`Objective.make` of `@atropos/trainer`), named by
 * `--loss ./my-loss.ts` or `loss: { file: ./my-loss.ts }`.
 */
import type { LossSettings } from "@atropos/trainer/loss/LossSettings"
import * as Objective from "@atropos/trainer/loss/Objective"
import { Settings } from "@atropos/core"
import { Effect } from "effect"
import { UsageError } from "../base/Failure.ts"
import * as UserFile from "./UserFile.ts"

export const read = Effect.fn("LossFile.read")(function* (word: string) {
  const exported = yield* UserFile.load("--loss", word)
  if (!("default" in exported)) {
    const found = Object.keys(exported).join(", ") || "nothing"
    return yield* new UsageError({
      message: `--loss ${word}: the file must export an objective as its default, export default Objective.make({ … }); it exports ${found}`
    })
  }
  const objective = exported["default"]
  const problem = Objective.problem(objective)
  if (problem !== undefined) {
    return yield* new UsageError({ message: `--loss ${word}: the default export is not an objective: ${problem}` })
  }
  // It has all properties of an objective.
  return objective as Objective.Objective
})

/** The objective of the configured file; undefined if a preset is configured. */
export const ofSettings = Effect.fn("LossFile.ofSettings")(function* (settings: LossSettings) {
  const { file } = settings
  if (file === null) return undefined
  const override = Object.entries(settings).find(
    ([name, value]) => name !== "file" && name !== "preset" && value !== null
  )
  if (override !== undefined) {
    return yield* new UsageError({
      message: `--loss.${Settings.wireName(override[0])} has no effect on a custom loss: set ${override[0]} in ${file}`
    })
  }
  return yield* read(file)
})

const isOfLoss = (flag: string): boolean => flag === "--loss" || flag === "--loss.preset"

/** Rewrites `--loss PATH` to `--loss.file PATH`; presets are unchanged. */
export const normalizeArgs = (words: ReadonlyArray<string>): ReadonlyArray<string> =>
  words.map((word, i) => {
    const [flag = "", ...values] = word.split("=")
    const value = values.length > 0 ? values.join("=") : words[i + 1]
    if (!isOfLoss(flag) || value === undefined || !UserFile.isPath(value)) return word
    return values.length > 0 ? `--loss.file=${value}` : "--loss.file"
  })
