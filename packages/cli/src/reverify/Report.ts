/** Reports re-scored rollouts: the changed ones individually, the rest as counts. */
import { Console, Effect } from "effect"
import type { Outcome } from "./Outcome.ts"
import type { Reverified } from "./Reverify.ts"

export interface Report {
  readonly take: (outcome: Outcome) => Effect.Effect<void>
  readonly counts: () => { readonly same: number; readonly changed: number; readonly unscored: number }
  readonly figures: () => { readonly [name: string]: unknown }
  readonly pairs: (result: Reverified) => ReadonlyArray<readonly [name: string, value: string]>
}

const count = (value: number): string => value.toLocaleString("en-US")

const number = (value: number | null): string => (value === null ? "none" : String(Number(value.toPrecision(6))))

const numbers = (values: ReadonlyArray<number | null>): string => values.map(number).join(" ")

const short = (text: string): string => {
  const line = text.replaceAll(/\s+/g, " ").trim()
  return line.length > 60 ? `${line.slice(0, 60)}…` : line
}

/** `line 3, item 5f…: 0 1 → 1 1` */
const formatChange = (outcome: Extract<Outcome, { readonly _tag: "Changed" }>): string => {
  const { after, before, components, item, label, line } = outcome
  const parts = Object.entries(components).map(([name, [old, now]]) => `\n  ${name}: ${numbers(old)} → ${numbers(now)}`)
  return `line ${line}, item ${item}, ${short(label)}\n  score: ${numbers(before)} → ${numbers(after)}${parts.join("")}`
}

export const make = ({ json, show }: { readonly json: boolean; readonly show: number }): Report => {
  let [same, changed, up, down, sequences] = [0, 0, 0, 0, 0]
  let [before, after] = [0, 0]
  const reasons = new Map<string, { count: number; readonly line: number }>()

  const add = (outcome: Outcome): void => {
    if (outcome._tag === "Unscored") {
      const known = reasons.get(outcome.reason)
      if (known === undefined) reasons.set(outcome.reason, { count: 1, line: outcome.line })
      else known.count++
      return
    }
    const [old, now] = outcome._tag === "Same" ? [outcome.scores, outcome.scores] : [outcome.before, outcome.after]
    if (outcome._tag === "Same") same++
    else changed++
    for (const [index, score] of now.entries()) {
      sequences++
      before += old[index]!
      after += score
      if (score > old[index]!) up++
      if (score < old[index]!) down++
    }
  }
  const unscored = (): number => Array.from(reasons.values()).reduce((sum, one) => sum + one.count, 0)

  return {
    take: (outcome) =>
      Effect.suspend(() => {
        add(outcome)
        if (outcome._tag === "Same") return Effect.void
        if (json) return Console.log(JSON.stringify(outcome))
        if (outcome._tag === "Unscored" || changed > show) return Effect.void
        return Console.log(formatChange(outcome))
      }),
    counts: () => ({ same, changed, unscored: unscored() }),
    figures: () => ({
      same,
      changed,
      unscored: Object.fromEntries([...reasons].map(([reason, one]) => [reason, one.count])),
      sequences,
      higher: up,
      lower: down,
      mean_before: sequences === 0 ? null : before / sequences,
      mean_after: sequences === 0 ? null : after / sequences
    }),
    pairs: ({ byQuestion, faults, items }) => [
      ["same", count(same)],
      ["changed", `${count(changed)}${changed > show ? ` (${count(show)} of them above)` : ""}`],
      ["not scored", count(unscored())],
      ...[...reasons].map(([reason, one]) => [`  ${count(one.count)}`, `${reason} (first: line ${one.line})`] as const),
      ["rollouts", `${count(sequences)}: ${count(up)} score higher, ${count(down)} lower`],
      ...(sequences === 0
        ? []
        : [["mean score", `${(before / sequences).toFixed(4)} → ${(after / sequences).toFixed(4)}`] as const]),
      ["items", `${count(items)} looked through`],
      ...(byQuestion > 0
        ? [["by prompt", `${count(byQuestion)} have no item_id and were matched by their prompt`] as const]
        : []),
      ...(faults > 0 ? [["no groups", `${count(faults)} lines`] as const] : [])
    ]
  }
}
