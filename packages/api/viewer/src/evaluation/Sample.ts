/** Parses a sample for its page. Lines may come from third parties: unknown fields are shown as they are. */
import * as Predicate from "effect/Predicate"
import { type Message, read as readMessage } from "../groups/message/Message.ts"

export interface Sample {
  readonly gold: ReadonlyArray<string>
  /** Undefined if answers are not parsed, null if this one could not be. */
  readonly parsed: string | null | undefined
  readonly score: number | null
  /** Undefined if the environment does not define correct. */
  readonly correct: boolean | undefined
  readonly rewards: ReadonlyArray<readonly [name: string, value: number]>
  readonly messages: ReadonlyArray<Message>
  /** The explanation of its score by the environment, the suite or a judge. */
  readonly explanation: ReadonlyArray<readonly [name: string, value: unknown]>
  readonly isCut: boolean
  readonly tokens: number | null
}

const told = new Set([
  "item",
  "label",
  "id",
  "row",
  "category",
  "gold",
  "parsed",
  "score",
  "rewards",
  "correct",
  "completion",
  "finish_reason",
  "tokens",
  "messages"
])

const chatOf = (line: { readonly [key: string]: unknown }): ReadonlyArray<Message> => {
  const { completion, messages } = line
  if (Array.isArray(messages) && messages.length > 0) return messages.map(readMessage)
  return typeof completion === "string" ? [readMessage({ role: "assistant", content: completion })] : []
}

export const read = (value: unknown): Sample => {
  const line = Predicate.isReadonlyObject(value) ? value : {}
  const { correct, finish_reason: reason, gold, parsed, rewards, score, tokens } = line
  return {
    gold: (Array.isArray(gold) ? gold : []).filter((one) => typeof one === "string"),
    parsed: typeof parsed === "string" || parsed === null ? parsed : undefined,
    score: typeof score === "number" ? score : null,
    correct: typeof correct === "boolean" ? correct : undefined,
    rewards: Predicate.isReadonlyObject(rewards)
      ? Object.entries(rewards).filter((entry): entry is [string, number] => typeof entry[1] === "number")
      : [],
    messages: chatOf(line),
    explanation: Object.entries(line).filter(([key, value]) => !told.has(key) && value !== null),
    isCut: reason === "length",
    tokens: typeof tokens === "number" ? tokens : null
  }
}
