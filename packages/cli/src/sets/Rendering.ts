/**
 * Renders a chat as text through a chat template, in turns: the text each message adds. A trained message's text ends
 * with the end-of-sequence token; anything the template adds after that is not part of the model's turn.
 */
import type { Message, Tokenizer } from "@atropos/core"
import { Result } from "effect"
import * as Chat from "./Chat.ts"
import type { Extents } from "./Turns.ts"

/** A span of text; `label` is true if the model wrote it. */
export interface Segment {
  readonly label: boolean
  readonly text: string
}

export interface Turned {
  readonly prompt: string
  readonly whole: string
  /** Absent if the template renders earlier turns differently when more messages follow. */
  readonly segments: ReadonlyArray<Segment> | undefined
}

export interface Rendering {
  /** The extents of the messages in tokens; undefined if the template rejects the chat. */
  readonly extents: () => Extents | undefined
  /**
   * Renders the first `length` messages, of which those at `trained` (ascending) were written by the model; undefined
   * if the prompt is not a prefix of the whole. `isCut`: the last one has no end-of-sequence token.
   */
  readonly turns: (trained: ReadonlyArray<number>, length: number, isCut: boolean) => Turned | undefined
  /** True if the template writes all of the first `length` messages, except reasoning before the last of them. */
  readonly isComplete: (length: number) => boolean
}

const changed = "\u{1F50E}changed"

/** Copies of a message, each with one thing changed that its text must show. */
const variants = (message: Message.Message, isLast: boolean): ReadonlyArray<Message.Message> => {
  const { content, reasoning_content, tool_calls: calls = [] } = message
  const reasoning = reasoning_content ?? ""
  return [
    ...(Array.isArray(content) || typeof content !== "string" || content.trim() === ""
      ? []
      : [Object.assign({}, message, { content: changed })]),
    ...(isLast && reasoning.trim() !== "" ? [Object.assign({}, message, { reasoning_content: changed })] : []),
    ...calls.map((call, at) => {
      const renamed = Object.assign({}, call, { function: { ...call.function, name: "changed" } })
      return Object.assign({}, message, { tool_calls: calls.with(at, renamed) })
    })
  ]
}

/** What is known of templates, by the shape of a chat: which parts there are decides, not their text. */
const known = new WeakMap<Tokenizer.TokenizerShape, Map<string, boolean>>()

const shapeOf = (messages: ReadonlyArray<Message.Message>): string =>
  messages
    .map(({ content, reasoning_content: reasoning, role, tool_calls: calls = [] }) =>
      [role, typeof content === "string" && content.trim() !== "", (reasoning ?? "").trim() !== "", calls.length].join()
    )
    .join(";")

export const make = (tokenizer: Tokenizer.TokenizerShape, chat: ReadonlyArray<Message.Message>): Rendering => {
  const plain = chat.map(Chat.plain)
  const render = (count: number, addGenerationPrompt: boolean): string | undefined =>
    Result.getOrUndefined(Result.try(() => tokenizer.applyChatTemplate(plain.slice(0, count), { addGenerationPrompt })))
  const end = tokenizer.eosTokenId === undefined ? "" : tokenizer.decode([tokenizer.eosTokenId])

  /** The end of the model's own text. */
  const written = (text: string, isCut: boolean): number => {
    const at = end === "" ? -1 : text.lastIndexOf(end)
    if (at === -1 || text.slice(at + end.length).trim() !== "") return text.length
    return isCut ? at : at + end.length
  }

  const extents = (): Extents | undefined => {
    const lengths: Array<number> = []
    for (const [index, message] of chat.entries()) {
      const text = render(index, Chat.isAssistant(message))
      if (text === undefined) return undefined
      lengths.push(tokenizer.encode(text, { addSpecialTokens: false }).length)
    }
    const text = render(chat.length, false)
    if (text === undefined) return undefined
    const total = tokenizer.encode(text, { addSpecialTokens: false }).length
    return {
      total,
      inTokens: true,
      messages: lengths.map((start, index) => ({ start, end: lengths[index + 1] ?? total }))
    }
  }

  const segmentsOf = (
    trained: ReadonlyArray<number>,
    whole: string,
    isCut: boolean
  ): ReadonlyArray<Segment> | undefined => {
    const segments: Array<Segment> = []
    let from = 0
    const add = (label: boolean, to: number): void => {
      if (to > from) segments.push({ label, text: whole.slice(from, to) })
      from = Math.max(from, to)
    }
    for (const index of trained) {
      const before = render(index, true)
      const isLast = index === trained.at(-1)
      const after = isLast ? whole : render(index + 1, false)
      if (before === undefined || after === undefined) return undefined
      if (!whole.startsWith(before) || !whole.startsWith(after) || before.length < from) return undefined
      add(false, before.length)
      add(true, before.length + written(after.slice(before.length), isCut && isLast))
    }
    add(false, whole.length)
    return segments
  }

  const isComplete = (length: number): boolean => {
    const shown = plain.slice(0, length)
    const shapes = known.get(tokenizer) ?? new Map<string, boolean>()
    known.set(tokenizer, shapes)
    const shape = shapeOf(shown)
    const own = shapes.get(shape) ?? isWritten(shown)
    shapes.set(shape, own)
    return own
  }

  const isWritten = (shown: ReadonlyArray<Message.Message>): boolean => {
    const text = render(shown.length, false)
    return shown.every((message, at) =>
      variants(message, at === shown.length - 1).every((variant) => {
        const other = Result.try(() =>
          tokenizer.applyChatTemplate(shown.with(at, variant), { addGenerationPrompt: false })
        )
        return Result.isFailure(other) || other.success !== text
      })
    )
  }

  return {
    extents,
    isComplete,
    turns: (trained, length, isCut) => {
      const prompt = render(trained[0]!, true)
      const full = render(length, false)
      if (prompt === undefined || full === undefined || !full.startsWith(prompt)) return undefined
      const cut = isCut ? prompt.length + written(full.slice(prompt.length), true) : full.length
      const whole = full.slice(0, cut)
      return { prompt, whole, segments: segmentsOf(trained, whole, false) }
    }
  }
}
