/**
 * Streams a message as events: a block of reasoning grows, then one of text, and the rest follows at the end.
 *
 * The prompt's length is known only at the end, and reported there; clients use the last value.
 */
import type { Answered, Head, Streamed } from "../Dialect.ts"
import * as MessagesAnswer from "./Answer.ts"
import * as MessagesErrors from "./Errors.ts"
import * as MessagesEvents from "./Events.ts"

/** The final form of an answer. */
export interface Parts {
  readonly blocks: ReadonlyArray<MessagesAnswer.Written>
  readonly ended: MessagesAnswer.Ended
  readonly usage: object
}

const textOf = ({ block }: MessagesAnswer.Written): string =>
  block.type === "text" ? block.text : block.type === "thinking" ? block.thinking : ""

/** The part of a block that was not streamed yet. */
const rest = (written: MessagesAnswer.Written, streamed: number): MessagesAnswer.Written => {
  const { block } = written
  if (block.type === "text") return { block: { ...block, text: block.text.slice(streamed) } }
  return block.type === "thinking" ? { block: { ...block, thinking: block.thinking.slice(streamed) } } : written
}

const blockOf = (kind: "text" | "thinking", text: string, id: string): MessagesAnswer.ContentBlock =>
  kind === "text" ? MessagesAnswer.textBlock(text) : MessagesAnswer.thinkingBlock(text, id)

export const make = (head: Head, partsOf: (answered: Answered) => Parts): Streamed => {
  let hasBegun = false
  /** Blocks begun, with the number of characters streamed; all except the last are closed. */
  const streamed: Array<{ readonly kind: "text" | "thinking"; length: number }> = []

  const start = (promptTokens: number): ReadonlyArray<string> => {
    if (hasBegun) return []
    hasBegun = true
    return MessagesEvents.begin({
      ...MessagesAnswer.envelope(head),
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: MessagesAnswer.usage(promptTokens, 0)
    })
  }

  /** Reasoning ends with its signature. */
  const closeLast = (): ReadonlyArray<string> => {
    const index = streamed.length - 1
    const last = streamed[index]
    if (last === undefined) return []
    const signed =
      last.kind === "thinking" ? MessagesEvents.grow(index, { block: blockOf("thinking", "", head.id) }) : []
    return [...signed, MessagesEvents.close(index)]
  }

  const write = (kind: "text" | "thinking", text: string): ReadonlyArray<string> => {
    if (text === "") return []
    const frames: Array<string> = []
    if (streamed.at(-1)?.kind !== kind) {
      frames.push(...closeLast())
      streamed.push({ kind, length: 0 })
      frames.push(MessagesEvents.open(streamed.length - 1, blockOf(kind, text, head.id)))
    }
    const index = streamed.length - 1
    streamed[index]!.length += text.length
    return [...frames, ...MessagesEvents.growing(index, kind, text)]
  }

  return {
    begin: () => start(0),
    alive: MessagesEvents.ping,
    delta: ({ content = "", reasoning = "" }) => [
      ...start(0),
      ...write("thinking", reasoning),
      ...write("text", content)
    ],
    end: (answered) => {
      const { blocks, ended, usage } = partsOf(answered)
      const begun = streamed.length
      return [
        ...start(answered.usage.promptTokens),
        ...blocks.flatMap((written, index) => {
          const known = streamed[index]
          if (known === undefined || index >= begun) return MessagesEvents.whole(index, written)
          // Earlier ones were closed when the next one began.
          if (index < begun - 1 && textOf(written).length === known.length) return []
          return [...MessagesEvents.grow(index, rest(written, known.length)), MessagesEvents.close(index)]
        }),
        ...MessagesEvents.end(ended, usage)
      ]
    },
    broken: (failure) => MessagesEvents.broken(MessagesErrors.write(failure, head.id).body)
  }
}
