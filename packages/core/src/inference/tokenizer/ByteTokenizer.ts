/**
 * The byte-level tokenizer: UTF-8 bytes as ids 0-255, then `<|endoftext|>` 256 (BOS), `<|im_start|>` 257, `<|im_end|>`
 * 258 (EOS).
 *
 * Needs no download, and adds no special tokens around a text. Prompts are ChatML: `<|im_start|>user
 * hi<|im_end|>
 * <|im_start|>assistant
 * `.
 */
import type { Message } from "../../trajectory/Message.ts"
import { text as textOf } from "../../trajectory/Message.ts"
import type { ChatTemplateOptions, TokenizerShape } from "./TokenizerShape.ts"

const byteSpecials = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
const byteSpecialPattern = /<\|endoftext\|>|<\|im_start\|>|<\|im_end\|>/g

export const bytes: TokenizerShape = (() => {
  const encoder = new TextEncoder()
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true })
  const encode = (text: string): ReadonlyArray<number> => {
    const ids: Array<number> = []
    const append = (part: string): void => {
      for (const byte of encoder.encode(part)) ids.push(byte)
    }
    let end = 0
    for (const match of text.matchAll(byteSpecialPattern)) {
      append(text.slice(end, match.index))
      ids.push(256 + byteSpecials.indexOf(match[0]))
      end = match.index + match[0].length
    }
    append(text.slice(end))
    return ids
  }
  const decode = (
    ids: ArrayLike<number>,
    { skipSpecialTokens = false }: { readonly skipSpecialTokens?: boolean } = {}
  ): string => {
    const run: Array<number> = []
    let text = ""
    const flush = (): void => {
      text += decoder.decode(Uint8Array.from(run))
      run.length = 0
    }
    for (let index = 0; index < ids.length; index++) {
      const id = ids[index]!
      if (id < 256) run.push(id)
      else if (!skipSpecialTokens) {
        flush()
        text += byteSpecials[id - 256] ?? ""
      }
    }
    flush()
    return text
  }
  const applyChatTemplate = (
    messages: ReadonlyArray<Message>,
    { addGenerationPrompt, tools = [] }: ChatTemplateOptions
  ): string => {
    const toolList = tools.map((tool) => JSON.stringify(tool)).join("\n")
    const heading =
      tools.length === 0 ? "" : turn("system", `Tools, called as <tool_call>JSON</tool_call>:\n${toolList}`)
    const turns = messages.map((message) => turn(message.role, contentWithCalls(message))).join("")
    return heading + turns + (addGenerationPrompt ? "<|im_start|>assistant\n" : "")
  }
  return {
    name: "bytes",
    vocabularySize: 256 + byteSpecials.length,
    bosTokenId: 256,
    eosTokenId: 258,
    encode,
    decode,
    applyChatTemplate
  }
})()

const turn = (role: string, content: string): string => `<|im_start|>${role}\n${content}<|im_end|>\n`

const contentWithCalls = (message: Message): string =>
  [
    ...[textOf(message)].filter((content) => content !== ""),
    ...(message.tool_calls ?? []).map(
      ({ function: { arguments: json, name } }) =>
        `<tool_call>{"name": ${JSON.stringify(name)}, "arguments": ${json}}</tool_call>`
    )
  ].join("\n")
