/**
 * Splits a text at the tags models write: reasoning, tool calls and tool results.
 *
 *     "<think>9 + 9</think>It is 18."  ->  [reasoning "9 + 9", text "It is 18."]
 *
 * An opening tag without an end extends to the end of the text (`isOpen`: the answer was truncated); a `</think>`
 * without a start closes one opened by a chat template. Only tags and the white space around them are dropped. Tags are
 * case-insensitive.
 */

export type Segment =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "reasoning"; readonly text: string; readonly isOpen: boolean }
  | { readonly kind: "tool_call"; readonly text: string; readonly isOpen: boolean }
  | { readonly kind: "tool_response"; readonly text: string; readonly isOpen: boolean }

type Mark = Exclude<Segment["kind"], "text">

const marks: ReadonlyArray<{ readonly kind: Mark; readonly open: string; readonly close: string }> = [
  { kind: "reasoning", open: "<think>", close: "</think>" },
  { kind: "reasoning", open: "<thinking>", close: "</thinking>" },
  { kind: "reasoning", open: "<|start_of_scratchpad|>", close: "<|end_of_scratchpad|>" },
  { kind: "tool_call", open: "<tool_call>", close: "</tool_call>" },
  { kind: "tool_response", open: "<tool_response>", close: "</tool_response>" }
]

export const split = (
  text: string,
  kinds: ReadonlyArray<Mark> = ["reasoning", "tool_call", "tool_response"]
): ReadonlyArray<Segment> => {
  const selected = marks.filter(({ kind }) => kinds.includes(kind))
  const lower = text.toLowerCase()
  const segments: Array<Segment> = []
  let at = 0
  const [orphan] = selected
    .filter(({ kind }) => kind === "reasoning")
    .map((mark) => ({ ...mark, end: lower.indexOf(mark.close) }))
    .filter(({ end, open }) => end !== -1 && !lower.slice(0, end).includes(open))
  if (orphan !== undefined) {
    push(segments, { kind: orphan.kind, text: text.slice(0, orphan.end), isOpen: false })
    at = orphan.end + orphan.close.length
  }
  // Each tag is searched from its last position, so that the text is scanned once rather than per segment.
  const ahead = selected.map((mark) => ({ ...mark, start: lower.indexOf(mark.open) }))
  for (;;) {
    for (const mark of ahead) if (mark.start !== -1 && mark.start < at) mark.start = lower.indexOf(mark.open, at)
    const [next] = ahead.filter(({ start }) => start !== -1).sort((a, b) => a.start - b.start)
    if (next === undefined) break
    push(segments, { kind: "text", text: text.slice(at, next.start) })
    const inside = next.start + next.open.length
    const end = lower.indexOf(next.close, inside)
    push(segments, { kind: next.kind, text: text.slice(inside, end === -1 ? undefined : end), isOpen: end === -1 })
    at = end === -1 ? text.length : end + next.close.length
  }
  push(segments, { kind: "text", text: text.slice(at) })
  return segments
}

/** White space between tags is dropped. */
const push = (segments: Array<Segment>, segment: Segment): void => {
  const text = segment.text.replace(/^\s*\n/, "").trimEnd()
  if (text.trim() !== "") segments.push({ ...segment, text })
}
