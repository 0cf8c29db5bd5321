/**
 * OpenAI's Responses API (`POST /v1/responses`): items in, items out.
 *
 * A response is stored for `previous_response_id`, for references to its items and for retrieval by id, unless the
 * request has `store: false`.
 */
import { Effect } from "effect"
import { type Answered, type Dialect, Failure, type Memory, type Turn } from "../Dialect.ts"
import * as OpenAiFailure from "../OpenAiFailure.ts"
import * as ResponsesAnswer from "./Answer.ts"
import * as ResponsesEvents from "./Events.ts"
import * as ResponsesItems from "./Items.ts"
import * as ResponsesRequest from "./Request.ts"

const respond = (
  { body }: Turn<ResponsesRequest.Asked>,
  answered: Answered,
  memory: Memory
): ResponsesAnswer.Response => {
  const response = ResponsesAnswer.make(body, answered)
  const [choice] = answered.choices
  if (body.parameters.store !== false && choice !== undefined) {
    const message = ResponsesItems.withCallIds(answered.id, choice.message)
    // Without the instructions, which a later request does not continue.
    const chat = answered.chat.slice(answered.chat.length - body.chat.length)
    const { instructions, text, tools } = response
    // Values that every request repeats are stored once.
    const repeated = { instructions: memory.same(instructions), text: memory.same(text), tools: memory.same(tools) }
    memory.remember(response.id, [...chat, message], { ...response, ...repeated })
  }
  return response
}

const unknown = (id: string): Failure =>
  new Failure({ reason: "unknownPath", message: `Response with id '${id}' not found.`, code: "response_not_found" })

export const dialect: Dialect<ResponsesRequest.Asked> = {
  name: "responses",
  decode: ResponsesRequest.decode,
  answer: respond,
  stream: (turn, head, memory) =>
    ResponsesEvents.stream(turn.body, head, (answered) => respond(turn, answered, memory)),
  failure: OpenAiFailure.write,
  stored: {
    retrieve: (id, memory) => {
      const response = memory.stored(id)
      return response === undefined ? Effect.fail(unknown(id)) : Effect.succeed(response)
    },
    remove: (id, memory) =>
      memory.forget(id) ? Effect.succeed({ id, object: "response", deleted: true }) : Effect.fail(unknown(id))
  }
}
