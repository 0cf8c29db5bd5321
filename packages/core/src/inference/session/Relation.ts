/**
 * How a request relates to what its session has recorded.
 *
 *     extended    goes on from the last answer of a sequence
 *     branched    goes on from an answer from which another request went on already
 *     retried     asks a prompt again, whether or not the first time was answered
 *     rewritten   has a history, and it is not the one that was recorded: answers edited, turns left out or put
 *                 together in a summary, other tools, or a chat template that writes earlier turns otherwise
 *     started     anything else: a new chat, a sub-agent with a system prompt of its own
 *
 * A rewritten history begins a new sequence; where it goes on from an inner answer, that answer's tokens are shared. A
 * summary is told from a new chat by what it has of the old one: its first messages beyond the system prompt, an answer
 * among its messages, or, under the same system prompt, the words of an answer in another message.
 */
import { type Message, text as textOf } from "../../Message.ts"
import * as SameMessage from "./SameMessage.ts"
import type { Place, SessionTree } from "./SessionTree.ts"

export type Relation = "extended" | "branched" | "retried" | "rewritten" | "started"

/** Requests by how they related to what was recorded before. */
export type Relations = { readonly [R in Relation]: number }

export const none: Relations = { extended: 0, branched: 0, retried: 0, rewritten: 0, started: 0 }

/** What a chat is to a tree, before it is asked. */
export const of = <P, A>(tree: SessionTree<P, A>, place: Place<P, A>, messages: ReadonlyArray<Message>): Relation => {
  const { answer, hasLeft, prompt, repeated } = place
  if (prompt !== undefined) return "retried"
  if (answer === undefined) return hasLeft || hasHistory(tree, messages) ? "rewritten" : "started"
  if (answer.prompts.length === 0 && tree.tips[answer.sequence] === answer) return "extended"
  // The last message may be the beginning of the answer that is asked for.
  return messages.slice(repeated, -1).some(isAnswer) ? "rewritten" : "branched"
}

const isAnswer = ({ role }: Message): boolean => role === "assistant"
const isSystem = ({ role }: Message): boolean => role === "system" || role === "developer"

/** Shorter answers are said again by chance. */
const leastQuoted = 32

/** Whether a chat that continues nothing has parts of one that was recorded. */
const hasHistory = <P, A>(tree: SessionTree<P, A>, messages: ReadonlyArray<Message>): boolean => {
  const given = tree.answers.filter(({ message }) => textOf(message) !== "" || message.tool_calls !== undefined)
  if (messages.some((message) => isAnswer(message) && given.some((one) => SameMessage.isAnswer(message, one)))) {
    return true
  }
  const [first, ...others] = messages
  if (first === undefined || !isSystem(first)) return false
  if (!tree.roots.some(({ asked }) => asked[0] !== undefined && SameMessage.isSame(asked[0], first))) return false
  const quotable = given.map(({ message }) => textOf(message).trim()).filter(({ length }) => length >= leastQuoted)
  return others.some((message) => {
    const words = textOf(message)
    return quotable.some((quote) => words.includes(quote))
  })
}
