/**
 * Classifies how a request relates to its session's recording.
 *
 *     extended    continues the last answer of a sequence
 *     branched    continues an answer that another request has already continued
 *     retried     repeats a prompt, answered or not
 *     rewritten   has a history other than the recorded one: edited answers, omitted turns, a summary, other tools,
 *                 or a chat template that rewrites earlier turns
 *     started     anything else: a new chat, a sub-agent with its own system prompt
 *
 * A rewritten history begins a new sequence; if it continues an inner answer, that answer's tokens are shared. A
 * summary is distinguished from a new chat by what it shares with the old one: its first messages after the system
 * prompt, an answer among its messages, or, under the same system prompt, the text of an answer in another message.
 */
import { type Message, text as textOf } from "../../trajectory/Message.ts"
import * as SameMessage from "./SameMessage.ts"
import type { Match, SessionTree } from "./SessionTree.ts"

export type Relation = "extended" | "branched" | "retried" | "rewritten" | "started"

export type Relations = { readonly [R in Relation]: number }

export const none: Relations = { extended: 0, branched: 0, retried: 0, rewritten: 0, started: 0 }

/** The relation of a chat to a tree, before it is sent. */
export const of = <P, A>(tree: SessionTree<P, A>, place: Match<P, A>, messages: ReadonlyArray<Message>): Relation => {
  const { answer, hasLeft, prompt, repeated } = place
  if (prompt !== undefined) return "retried"
  if (answer === undefined) return hasLeft || hasHistory(tree, messages) ? "rewritten" : "started"
  if (answer.prompts.length === 0 && tree.tips[answer.sequence] === answer) return "extended"
  // The last message may be a prefill of the answer.
  return messages.slice(repeated, -1).some(isAnswer) ? "rewritten" : "branched"
}

const isAnswer = ({ role }: Message): boolean => role === "assistant"
const isSystem = ({ role }: Message): boolean => role === "system" || role === "developer"

/** Shorter answers may be repeated by chance. */
const minQuotedLength = 32

/** True if a chat that continues nothing contains parts of a recorded one. */
const hasHistory = <P, A>(tree: SessionTree<P, A>, messages: ReadonlyArray<Message>): boolean => {
  const given = tree.answers.filter(({ message }) => textOf(message) !== "" || message.tool_calls !== undefined)
  if (messages.some((message) => isAnswer(message) && given.some((one) => SameMessage.isAnswer(message, one)))) {
    return true
  }
  const [first, ...others] = messages
  if (first === undefined || !isSystem(first)) return false
  if (!tree.roots.some(({ asked }) => asked[0] !== undefined && SameMessage.isSame(asked[0], first))) return false
  const quotable = given.map(({ message }) => textOf(message).trim()).filter(({ length }) => length >= minQuotedLength)
  return others.some((message) => {
    const words = textOf(message)
    return quotable.some((quote) => words.includes(quote))
  })
}
