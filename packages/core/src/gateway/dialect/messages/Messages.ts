/**
 * Anthropic's Messages API: `POST /v1/messages` and `/v1/messages/count_tokens`.
 *
 * What a client sends back of an answer reads as the message that was recorded: `MessagesHistory`. What is read, passed
 * over or refused of a request: `MessagesRequest`.
 */
import type { Answered, Dialect, Turn } from "../Dialect.ts"
import * as MessagesAnswer from "./Answer.ts"
import * as MessagesErrors from "./Errors.ts"
import * as MessagesEvents from "./Events.ts"
import * as MessagesRequest from "./Request.ts"

export type Body = MessagesRequest.Body

/** What an answer is made of; the first of several choices counts, as one is all that can be asked for. */
const parts = ({ body }: Turn<Body>, { choices, id, usage }: Answered) => {
  const [choice] = choices
  return {
    blocks: choice === undefined ? [] : MessagesAnswer.blocks(choice, id),
    ended:
      choice === undefined
        ? { stop_reason: "end_turn", stop_sequence: null }
        : MessagesAnswer.ended(choice, body.stops),
    usage: MessagesAnswer.usage(usage.promptTokens, usage.completionTokens)
  }
}

export const dialect: Dialect<Body> = {
  name: "messages",
  decode: (body) => MessagesRequest.read(body),
  answer: (turn, answered) => {
    const { blocks, ended, usage } = parts(turn, answered)
    return {
      ...MessagesAnswer.envelope(answered),
      content: blocks.map(({ block }) => block),
      ...ended,
      usage
    }
  },
  events: (turn, answered) => {
    const { blocks, ended, usage } = parts(turn, answered)
    return MessagesEvents.write({
      start: {
        ...MessagesAnswer.envelope(answered),
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: MessagesAnswer.usage(answered.usage.promptTokens, 0)
      },
      blocks,
      ended,
      usage
    })
  },
  failure: (failure) => MessagesErrors.write(failure),
  counting: {
    decode: (body) => MessagesRequest.count(body),
    answer: (promptTokens) => ({ input_tokens: promptTokens })
  }
}
