/** Converts the tree of shared prefixes to a table for saving: one row per span, after its parent. Pure. */
import type * as Save from "../../save/Save.ts"
import type { Group } from "../model/Group.ts"
import type * as Beginnings from "./Beginnings.ts"
import type * as Sequences from "./Sequences.ts"

interface Session {
  readonly name: string | null
  readonly trees: ReadonlyArray<Beginnings.Beginning>
}

/** Mean over the rollouts with scores; null if none has one. */
export const meanScore = ({ rollouts }: Group, members: ReadonlyArray<number>): number | null => {
  const scores = members.flatMap((member) => rollouts[member]?.score ?? [])
  return scores.length === 0 ? null : scores.reduce((sum, score) => sum + score, 0) / scores.length
}

const numbersOf = (members: ReadonlyArray<number>): string => members.map((member) => member + 1).join(" ")

export const of = (sessions: ReadonlyArray<Session>, group: Group, { text, unit }: Sequences.Sequences): Save.Table => {
  /** Paths of branches from the root: `1.2` is the second continuation of the first branch. */
  const rowsOf = (
    branches: ReadonlyArray<Beginnings.Beginning>,
    session: string | null,
    above: string
  ): ReadonlyArray<ReadonlyArray<Save.Value>> =>
    branches.flatMap(({ ending, from, members, next, to }, at) => {
      const place = `${above}${at + 1}`
      const own = [place, session, from + 1, to, meanScore(group, members), numbersOf(members), numbersOf(ending)]
      return [[...own, text(members[0]!, from, to)], ...rowsOf(next, session, `${place}.`)]
    })
  return {
    columns: ["branch", "session", `from_${unit}`, `to_${unit}`, "mean_score", "rollouts", "ending", "text"],
    rows: sessions.flatMap(({ name, trees }) => rowsOf(trees, name, ""))
  }
}
