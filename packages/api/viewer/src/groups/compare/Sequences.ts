/**
 * Converts the rollouts of a group to comparable sequences: their tokens, or without tokens the words of their chats.
 * Pure.
 */
import type { Pieces } from "../../source/Wire.ts"
import type { Group, Rollout } from "../model/Group.ts"
import { label } from "../tokens/TokenModel.ts"
import type { Units } from "./Beginnings.ts"

export interface Sequences {
  readonly unit: "token" | "word"
  /** In the group's order. */
  readonly units: ReadonlyArray<Units>
  /** Text of [from, to) of a sequence. */
  readonly text: (sequence: number, from: number, to: number) => string
}

const wordsOf = ({ messages }: Rollout): ReadonlyArray<string> =>
  (messages ?? []).flatMap(({ raw, role }) => {
    const content = typeof raw === "object" && raw !== null && "content" in raw ? raw.content : raw
    const text = typeof content === "string" ? content : (JSON.stringify(content) ?? "")
    return [`${role}:\n`, ...text.split(/(?<=\s)/), "\n\n"]
  })

const hasTokens = ({ tokens }: Rollout): boolean => tokens.length > 0

export const of = ({ rollouts }: Group, pieces: Pieces): Sequences => {
  if (rollouts.some(hasTokens)) {
    return {
      unit: "token",
      units: rollouts.map(({ tokens }) => tokens),
      text: (sequence, from, to) =>
        rollouts[sequence]!.tokens.slice(from, to)
          .map((id) => pieces[id] ?? `${label({ id, text: null })} `)
          .join("")
    }
  }
  const words = rollouts.map(wordsOf)
  return { unit: "word", units: words, text: (sequence, from, to) => words[sequence]!.slice(from, to).join("") }
}

/** The sequences of each session, in session order; a single unnamed entry without sessions. */
export const sessionsOf = ({
  rollouts
}: Group): ReadonlyArray<{ readonly name: string | null; readonly members: ReadonlyArray<number> }> => {
  const named = rollouts.map(({ overrides }) => {
    const { session } = overrides
    return typeof session === "number" || typeof session === "string" ? String(session) : null
  })
  if (named.every((name) => name === null)) return [{ name: null, members: rollouts.map(({ index }) => index) }]
  return [...Map.groupBy(rollouts, ({ index }) => named[index]!)].map(([name, members]) => ({
    name: name ?? "none",
    members: members.map(({ index }) => index)
  }))
}
