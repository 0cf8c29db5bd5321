/**
 * Renders a chat to a prompt and parses the answers, in the model's own format of tool calls and thinking.
 *
 * Thinking remains part of the content, except for formats whose chat template does not take it as content (gpt-oss,
 * Mistral). If a call is forced, the text before it is part of the prompt, and the policy writes only the call.
 */
import { type Message, ToolCalls } from "@atropos/core"
import { Effect } from "effect"
import type * as ServedPolicy from "./ServedPolicy.ts"

export interface ChatPrompt {
  readonly ids: ReadonlyArray<number>
  /** True if an answer can only be parsed when complete. */
  readonly isReadWhole: boolean
  /** True if the answer's text must keep special tokens, which may mark calls. */
  readonly keepsSpecialTokens: boolean
  readonly read: (text: string, finishReason: string) => Effect.Effect<ToolCalls.ParsedAnswer>
}

export interface Options {
  readonly messages: ReadonlyArray<Message.Message>
  readonly tools: ReadonlyArray<unknown>
  /** False: tools are listed but may not be called. */
  readonly areCalled: boolean
  readonly addGenerationPrompt: boolean
  /** Text around a forced call; absent if none is forced. */
  readonly forced?: { readonly before: string; readonly behind: string } | undefined
}

/** The prompt's text. Earlier calls are written in the model's format, even if no more tools are offered. */
export const text = (
  { format, render }: ServedPolicy.ServedPolicy,
  { addGenerationPrompt, messages, tools }: Pick<Options, "addGenerationPrompt" | "messages" | "tools">
) =>
  render(ToolCalls.makeTranslator({ format }).toText(messages), {
    addGenerationPrompt,
    ...(tools.length > 0 && { tools })
  })

export const make = Effect.fn("ChatPrompt.make")(function* (
  served: ServedPolicy.ServedPolicy,
  { addGenerationPrompt, areCalled, forced, messages, tools }: Options
) {
  const { encode, format } = served
  const translator = ToolCalls.makeTranslator({ format })
  const prompt = yield* text(served, { addGenerationPrompt, messages, tools })
  const isReadWhole = areCalled || !format.isContent
  return {
    ids: yield* encode(forced === undefined ? prompt : prompt + forced.before),
    isReadWhole,
    keepsSpecialTokens: areCalled || format.hasSpecialMarks,
    read: (output, finishReason) => {
      // A truncated call is not closed.
      const end = finishReason === "length" ? "" : (forced?.behind ?? "")
      const text = forced === undefined ? output : forced.before + output + end
      return isReadWhole
        ? translator.parse(text, finishReason, { tools, areCalled, prompt })
        : Effect.succeed({ content: text, toolCalls: [], finishReason })
    }
  } satisfies ChatPrompt
})
