/**
 * A chat as the policy reads it, and its answers read: in the model's own format of calls and thinking, for the HTTP
 * endpoint and the back end in process alike.
 *
 * Thinking stays a part of the content as the model wrote it, but for formats whose text is no content of the chat
 * template (gpt-oss, Mistral): there it is kept apart.
 *
 * Where a call is forced, what stands before it is a part of the prompt, and the policy writes the call alone.
 */
import { type Message, ToolCalls } from "@atropos/core"
import { Effect } from "effect"
import type * as ServedPolicy from "./ServedPolicy.ts"

export interface ChatPrompt {
  readonly ids: ReadonlyArray<number>
  /** Whether an answer has to be whole before it can be read. */
  readonly isReadWhole: boolean
  /** Whether the text of an answer has to hold special tokens: marks of a call may be such. */
  readonly keepsSpecialTokens: boolean
  readonly read: (text: string, finishReason: string) => Effect.Effect<ToolCalls.ParsedAnswer>
}

export interface Options {
  readonly messages: ReadonlyArray<Message.Message>
  readonly tools: ReadonlyArray<unknown>
  /** False: the tools are shown, and not to be called. */
  readonly areCalled: boolean
  readonly addGenerationPrompt: boolean
  /** What stands around a call that has to be made; where absent, none has. */
  readonly forced?: { readonly before: string; readonly behind: string } | undefined
}

export const make = Effect.fn("ChatPrompt.make")(function* (
  { encode, format, render }: ServedPolicy.ServedPolicy,
  { addGenerationPrompt, areCalled, forced, messages, tools }: Options
) {
  const translator = ToolCalls.makeTranslator({ format })
  const hasTools = tools.length > 0
  const prompt = yield* render(hasTools || !format.isContent ? translator.toText(messages) : messages, {
    addGenerationPrompt,
    ...(hasTools && { tools })
  })
  const isReadWhole = areCalled || !format.isContent
  return {
    ids: yield* encode(forced === undefined ? prompt : prompt + forced.before),
    isReadWhole,
    keepsSpecialTokens: areCalled || format.hasSpecialMarks,
    read: (said, finishReason) => {
      // A call that was cut off is not closed.
      const end = finishReason === "length" ? "" : (forced?.behind ?? "")
      const text = forced === undefined ? said : forced.before + said + end
      return isReadWhole
        ? translator.parse(text, finishReason, { tools, areCalled, prompt })
        : Effect.succeed({ content: text, toolCalls: [], finishReason })
    }
  } satisfies ChatPrompt
})
