/**
 * OpenAI's Chat Completions, as used by the packages `openai`, `@ai-sdk/openai-compatible` and `@langchain/openai`.
 * Rejected and ignored parameters: `ChatCompletionsParameters`.
 */
import { Effect } from "effect"
import * as Answer from "./Answer.ts"
import * as Messages from "./Messages.ts"
import * as Parameters from "./Parameters.ts"
import * as Tools from "./Tools.ts"
import type { Dialect } from "../Dialect.ts"
import * as OpenAiFailure from "../OpenAiFailure.ts"
import * as OutputConstraints from "../OutputConstraints.ts"

/** Request options that the answer depends on in addition to the choices. */
interface Read {
  readonly isUsageAsked: boolean
}

export const dialect: Dialect<Read> = {
  name: "chat",
  decode: Effect.fnUntraced(function* (input) {
    const body = yield* Parameters.withoutNulls(input)
    const { ignored, isStreamed, isUsageAsked, sampling, constraints } = yield* Parameters.read(body)
    const { forced, ignored: ofTools, toolChoice, tools } = yield* Tools.read(body)
    const messages = yield* Messages.messagesOf(body["messages"])
    return {
      request: {
        ...sampling,
        messages,
        ...(tools.length > 0 && { tools, toolChoice }),
        ...OutputConstraints.of([...constraints, forced])
      },
      isStreamed,
      ignored: [...ignored, ...ofTools],
      body: { isUsageAsked }
    }
  }),
  answer: (_, answered) => Answer.answer(answered),
  stream: ({ body }, head) => Answer.stream(head, body.isUsageAsked),
  failure: OpenAiFailure.write
}
