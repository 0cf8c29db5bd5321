/** Counts a request's prompt tokens locally, without a server. */
import { Effect } from "effect"
import type { ChatRequest } from "../../inference/wire/Inference.ts"
import { Failure } from "../dialect/Dialect.ts"
import * as Failures from "./Failures.ts"
import * as PromptEncoder from "../../inference/tokenizer/PromptEncoder.ts"
import type { TokenizerShape } from "../../inference/tokenizer/Tokenizer.ts"
import * as ShownChat from "./ShownChat.ts"
import * as ToolCalls from "../../inference/sequences/ToolCalls.ts"

const noTokenizer = new Failure({
  reason: "unsupported",
  message: "the gateway has no tokenizer, so tokens cannot be counted: set tokenizer_name in the settings of the server"
})

export const count = (
  tokenizer: TokenizerShape | undefined,
  { messages, tools = [] }: ChatRequest
): Effect.Effect<number, Failure> =>
  Effect.suspend(() => {
    if (tokenizer === undefined) return Effect.fail(noTokenizer)
    return Effect.map(ShownChat.of({ tokenizer, takesPictures: false }, { messages, tools }), (visible) => {
      const text = tokenizer.applyChatTemplate(ToolCalls.makeTranslator().toText(visible.messages), {
        addGenerationPrompt: true,
        ...(tools.length > 0 && { tools })
      })
      return PromptEncoder.make(tokenizer).whole(text).length
    })
  }).pipe(
    Effect.catchDefect((defect) =>
      Failures.isRefusedByTemplate(defect) ? Effect.fail(Failures.ofTemplate(defect)) : Effect.die(defect)
    )
  )
