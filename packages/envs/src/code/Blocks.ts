/** Blocks of code in an answer. */
const fence = /^[ \t]*`{3,}[ \t]*([\w+-]*)/

/** Behind code, where no text of Python's can end. */
const ending = /(?<!`)`{3}[ \t\r]*$/

interface Block {
  readonly language: string
  readonly code: string
}

/**
 * The blocks of code, the last of which may be open. A block may begin behind words, and ends at a line that begins or
 * ends with a fence. Linear.
 */
export const blocksOf = (text: string): ReadonlyArray<Block> => {
  const blocks: Array<Block> = []
  let open: { readonly language: string; readonly lines: Array<string> } | undefined
  const close = () => {
    if (open !== undefined) blocks.push({ language: open.language, code: open.lines.join("\n") })
    open = undefined
  }
  for (const line of text.split("\n")) {
    const at = line.indexOf("```")
    if (at === -1) open?.lines.push(line)
    else if (open === undefined) {
      const [begun = "", language = ""] = fence.exec(line.slice(at)) ?? []
      // Code within the line is no block.
      if (!line.includes("```", at + begun.length)) open = { language, lines: [] }
    } else if (fence.test(line)) close()
    else if (ending.test(line)) {
      open.lines.push(line.replace(ending, ""))
      close()
    } else open.lines.push(line)
  }
  if (open !== undefined && open.lines.length > 0) close()
  return blocks
}
