/** Describes the outcome of re-scoring a stored rollout, and the new values of its lines. */
import { RewardComponents, type Environment, type SavedGroup } from "@atropos/core"
import { Option } from "effect"
import type { Stored } from "./Stored.ts"

interface Source {
  /** The first line, from 1. */
  readonly line: number
  /** All lines: a group's own, or those of an item's samples. */
  readonly lines: ReadonlyArray<number>
  readonly item: string | undefined
}

export type Outcome =
  | (Source & { readonly _tag: "Same"; readonly scores: ReadonlyArray<number> })
  | (Source & {
      readonly _tag: "Changed"
      readonly label: string
      readonly before: ReadonlyArray<number>
      readonly after: ReadonlyArray<number>
      /** Values of the changed components. */
      readonly components: {
        readonly [name: string]: readonly [before: ReadonlyArray<number | null>, after: ReadonlyArray<number | null>]
      }
    })
  | (Source & { readonly _tag: "Unscored"; readonly reason: string })

/** Rounding differences do not count. */
const isSame = (a: number | null, b: number | null): boolean =>
  a === b || (a !== null && b !== null && Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(a), Math.abs(b)))

const areSame = (a: ReadonlyArray<number | null>, b: ReadonlyArray<number | null>): boolean =>
  a.length === b.length && a.every((one, index) => isSame(one, b[index]!))

const column = (rewards: ReadonlyArray<RewardComponents.Rewards | undefined>, name: string) =>
  rewards.map((one) => (one !== undefined && Object.hasOwn(one, name) ? one[name]! : null))

/** Components known both before and after that differ. If only the new ones are known, nothing has changed. */
const componentsOf = ({ rewards: before }: Stored, judged: ReadonlyArray<Environment.Judged>) => {
  if (before === undefined) return {}
  const after = judged.map(({ rewards }) => rewards)
  const names = new Set([...before, ...after].flatMap((one) => Object.keys(one ?? {})))
  return Object.fromEntries(
    [...names].flatMap((name) => {
      const pair = [column(before, name), column(after, name)] as const
      return areSame(...pair) ? [] : [[name, pair]]
    })
  )
}

export const linesOf = ({ entries }: Stored): Pick<Source, "line" | "lines"> => ({
  line: entries[0]!.line,
  lines: entries.map(({ line }) => line)
})

export const of = (
  stored: Stored,
  { id, label }: { readonly id: string; readonly label: string },
  judged: ReadonlyArray<Environment.Judged>
): Outcome => {
  const place = { ...linesOf(stored), item: id }
  const after = judged.map(({ score }) => score)
  const odd = after.find((score) => !Number.isFinite(score))
  if (odd !== undefined) return { _tag: "Unscored", ...place, reason: `the new score is ${odd}` }
  const components = componentsOf(stored, judged)
  return areSame(stored.scores, after) && Object.keys(components).length === 0
    ? { _tag: "Same", ...place, scores: after }
    : { _tag: "Changed", ...place, label, before: stored.scores, after, components }
}

type Values = { readonly [key: string]: unknown }

const ofSample = (
  { rewards, sample, score }: Environment.Judged,
  solved: Environment.EnvironmentShape["solved"]
): Values => ({
  ...sample,
  score,
  ...(rewards && { rewards }),
  ...(Option.isSome(solved) && { correct: solved.value.isCorrect(score, rewards) })
})

const ofGroup = ({ group }: SavedGroup.Saved, judged: ReadonlyArray<Environment.Judged>): Values => {
  const switches = judged.map(({ overrides }, index) => ({ ...group.overrides?.[index], ...overrides }))
  const rewards = judged.some(({ rewards }) => rewards !== undefined)
    ? judged.map(({ rewards = {} }) => rewards)
    : undefined
  const overrides = RewardComponents.toOverrides(switches, rewards) ?? switches
  const hasOverrides = group.overrides !== undefined || overrides.some((one) => Object.keys(one).length > 0)
  const hasAdvantages = judged.some(({ advantages }) => advantages !== undefined)
  return {
    scores: judged.map(({ score }) => score),
    ...((hasOverrides || group.rewards !== undefined) && { overrides }),
    ...((hasAdvantages || group.advantages !== undefined) && {
      advantages: hasAdvantages
        ? judged.map(({ advantages, score }, index) =>
            advantages === undefined
              ? Array.from(group.tokens[index]!, () => score)
              : Array.from({ length: advantages.length }, (_, at) => advantages[at]!)
          )
        : null
    })
  }
}

/** The new values of the changed lines, per line. */
export const values = (
  { entries }: Stored,
  judged: ReadonlyArray<Environment.Judged>,
  solved: Environment.EnvironmentShape["solved"]
): ReadonlyArray<Values> => {
  let at = 0
  return entries.map((entry) => {
    const own = judged.slice(at, (at += entry.group.scores.length))
    return entry.isEvaluation ? ofSample(own[0]!, solved) : ofGroup(entry, own)
  })
}
