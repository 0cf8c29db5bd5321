/**
 * Computes IFEval's four scores: all instructions of a prompt followed, and the share of them, strictly and loosely.
 *
 * Loose: an instruction counts as followed if any variant of the answer follows it: without its first line, its last,
 * or both, each also without asterisks. Rows have `instruction_id_list` and `kwargs`, a list with the arguments of each
 * (null: not given).
 */
import { ExactJson } from "@atropos/core"
import { Result } from "effect"
import * as Checks from "./Checks.ts"

export type Instructions = ReadonlyArray<readonly [id: string, check: Checks.Check]>

/** The variants of the answer for loose scores. */
const variants = (text: string): ReadonlyArray<string> => {
  const lines = text.split("\n")
  const cut = [
    text,
    lines.slice(1).join("\n").trim(),
    lines.slice(0, -1).join("\n").trim(),
    lines.slice(1, -1).join("\n").trim()
  ]
  return [...cut, ...cut.map((one) => one.replaceAll("*", ""))]
}

const isMet = (check: Checks.Check, text: string): boolean => text.trim() !== "" && check(text)

const isArguments = (value: unknown): value is Checks.Arguments => typeof value === "object" && value !== null

/** The instructions of a row, or the reason if none. */
export const instructionsOf = (
  { instruction_id_list: ids, kwargs }: { readonly [column: string]: unknown },
  detect: Checks.Detect
): Result.Result<Instructions, string> => {
  if (!Array.isArray(ids) || ids.length === 0) return Result.fail("instruction_id_list must be a list of ids")
  const all =
    typeof kwargs === "string"
      ? Result.getOrUndefined(Result.try(() => ExactJson.parse(kwargs)))
      : ExactJson.plain(kwargs)
  if (!Array.isArray(all) || all.length !== ids.length) {
    return Result.fail(`kwargs must be a list of ${ids.length} maps of arguments, one for each instruction`)
  }
  return Result.all(
    ids.map((id, at) => {
      const args: unknown = all[at]
      const present = Object.fromEntries(
        Object.entries(isArguments(args) ? args : {}).filter(([, value]) => value !== null)
      )
      return Result.map(Checks.make(String(id), present, detect), (check) => [String(id), check] as const)
    })
  )
}

const share = (all: ReadonlyArray<boolean>): number => all.filter(Boolean).length / all.length

/** The scores of an answer, and which instructions it follows strictly. */
export const scores = (text: string, instructions: Instructions) => {
  const strict = instructions.map(([, check]) => isMet(check, text))
  const texts = variants(text)
  const loose = instructions.map(([, check]) => texts.some((one) => isMet(check, one)))
  return {
    values: {
      prompt_strict: strict.every(Boolean) ? 1 : 0,
      instruction_strict: share(strict),
      prompt_loose: loose.every(Boolean) ? 1 : 0,
      instruction_loose: share(loose)
    },
    followed: Object.fromEntries(instructions.map(([id], at) => [`${at + 1} ${id}`, strict[at] === true]))
  }
}
