/**
 * Anthropic's Messages API: `POST /v1/messages` and `/v1/messages/count_tokens`.
 *
 * An answer that a client sends back is read as the recorded message: `MessagesHistory`. Read, ignored and rejected
 * parameters: `MessagesRequest`.
 */
import type { Answered, Dialect, Turn } from "../Dialect.ts"
import * as MessagesAnswer from "./Answer.ts"
import * as MessagesErrors from "./Errors.ts"
import * as MessagesRequest from "./Request.ts"
import * as MessagesStreamed from "./Streamed.ts"

export type Body = MessagesRequest.Body

/** The parts of an answer; only the first choice, because no more can be requested. */
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
  stream: (turn, head) => MessagesStreamed.make(head, (answered) => parts(turn, answered)),
  failure: (failure) => MessagesErrors.write(failure),
  counting: {
    decode: (body) => MessagesRequest.count(body),
    answer: (promptTokens) => ({ input_tokens: promptTokens })
  }
}
