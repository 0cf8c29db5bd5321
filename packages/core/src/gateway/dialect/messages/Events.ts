/**
 * Writes an answer as server-sent events, in the order in which clients assemble a message: `message_start`, then for
 * each block `content_block_start`, its deltas and `content_block_stop`, then `message_delta` with the stop reason and
 * `message_stop`. A `ping` is sent where Anthropic's servers send one.
 */
import * as Frames from "../Frames.ts"
import type { ContentBlock, Ended, Written } from "./Answer.ts"

interface Event {
  readonly type: string
  readonly [key: string]: unknown
}

const frame = (event: Event): string => Frames.frame(event, event.type)

/** A block before any delta. */
const emptied = (block: ContentBlock): unknown => {
  switch (block.type) {
    case "text":
      return { ...block, text: "" }
    case "thinking":
      return { ...block, thinking: "", signature: "" }
    case "tool_use":
      return { ...block, input: {} }
  }
}

const deltas = ({ block, json = "{}" }: Written): ReadonlyArray<Event> => {
  switch (block.type) {
    case "text":
      return Frames.pieces(block.text).map((text) => ({ type: "text_delta", text }))
    case "thinking":
      return [
        ...Frames.pieces(block.thinking).map((thinking) => ({ type: "thinking_delta", thinking })),
        { type: "signature_delta", signature: block.signature }
      ]
    case "tool_use":
      return Frames.pieces(json).map((partial) => ({ type: "input_json_delta", partial_json: partial }))
  }
}

export const ping = frame({ type: "ping" })

/** The first events of a message. */
export const begin = (start: object): ReadonlyArray<string> => [frame({ type: "message_start", message: start }), ping]

/** The first event of a block. */
export const open = (index: number, block: ContentBlock): string =>
  frame({ type: "content_block_start", index, content_block: emptied(block) })

export const grow = (index: number, written: Written): ReadonlyArray<string> =>
  deltas(written).map((delta) => frame({ type: "content_block_delta", index, delta }))

/** Deltas of a block. */
export const growing = (index: number, kind: "text" | "thinking", text: string): ReadonlyArray<string> =>
  Frames.pieces(text).map((piece) =>
    frame({
      type: "content_block_delta",
      index,
      delta: kind === "text" ? { type: "text_delta", text: piece } : { type: "thinking_delta", thinking: piece }
    })
  )

export const close = (index: number): string => frame({ type: "content_block_stop", index })

/** All events of a block. */
export const whole = (index: number, written: Written): ReadonlyArray<string> => [
  open(index, written.block),
  ...grow(index, written),
  close(index)
]

/** The last events of a message. */
export const end = (ended: Ended, usage: object): ReadonlyArray<string> => [
  frame({ type: "message_delta", delta: { ...ended, container: null, stop_details: null }, usage }),
  frame({ type: "message_stop" })
]

/** The event of a failure. */
export const broken = (body: unknown): ReadonlyArray<string> => [Frames.frame(body, "error")]
