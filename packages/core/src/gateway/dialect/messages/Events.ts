/**
 * An answer as server-sent events, in the order in which clients put a message together: `message_start`, then for each
 * block `content_block_start`, its deltas and `content_block_stop`, then `message_delta` with the reason it ended and
 * `message_stop`. A `ping` stands where Anthropic's servers send one.
 */
import * as Frames from "../Frames.ts"
import type { ContentBlock, Ended, Written } from "./Answer.ts"

interface Event {
  readonly type: string
  readonly [key: string]: unknown
}

const frame = (event: Event): string => Frames.frame(event, event.type)

/** A block before anything of it was streamed. */
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

/** The events of a message that is put together of these parts. */
export const write = (options: {
  /** The message without content. */
  readonly start: object
  readonly blocks: ReadonlyArray<Written>
  readonly ended: Ended
  readonly usage: object
}): ReadonlyArray<string> => {
  const { blocks, ended, start, usage } = options
  return [
    frame({ type: "message_start", message: start }),
    frame({ type: "ping" }),
    ...blocks.flatMap((written, index) => [
      frame({ type: "content_block_start", index, content_block: emptied(written.block) }),
      ...deltas(written).map((delta) => frame({ type: "content_block_delta", index, delta })),
      frame({ type: "content_block_stop", index })
    ]),
    frame({ type: "message_delta", delta: { ...ended, container: null, stop_details: null }, usage }),
    frame({ type: "message_stop" })
  ]
}
