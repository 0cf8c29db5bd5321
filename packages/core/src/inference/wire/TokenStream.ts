/**
 * Assembles the server-sent events of a streamed text completion with token ids (vLLM's `return_token_ids`) into the
 * equivalent non-streamed body. Its deltas are the ids, as they arrive; text, ids and logprobs are appended, other
 * fields take their last value. A stream that ends before a `finish_reason` is a failure.
 */
import { Result } from "effect"
import * as EventStream from "./EventStream.ts"
import * as ServerEvents from "./ServerEvents.ts"

type Ids = ReadonlyArray<number>

/** An assembly of one choice. */
export const make = (): EventStream.Assembly<Ids> => {
  const events = ServerEvents.make()
  let whole: ServerEvents.Fields = {}
  let last: ServerEvents.Fields = {}
  let text = ""
  const ids: Array<unknown> = []
  const names: Array<unknown> = []
  const logprobs: Array<unknown> = []

  const takeChunk = (event: ServerEvents.ServerEvent): Result.Result<Ids, EventStream.Flaw> => {
    const error = EventStream.errorOf(event)
    if (error !== undefined) return Result.fail(error)
    const { choices, ...rest } = event.data
    // The first value of a field, except for `usage`: vLLM sends it again and again.
    whole = {
      ...rest,
      ...whole,
      ...(rest["usage"] !== null && rest["usage"] !== undefined && { usage: rest["usage"] })
    }
    const [first, second] = EventStream.listOf(choices)
    if (first === undefined) return Result.succeed([])
    const {
      finish_reason: reason,
      index,
      logprobs: given,
      text: added,
      token_ids: more,
      ...others
    } = EventStream.fieldsOf(first)
    if (second !== undefined || (index ?? 0) !== 0) return Result.fail(EventStream.ofOtherChoice(event.data))
    const values = EventStream.fieldsOf(given)
    const known = Object.entries({ ...others, ...(reason !== "" && { finish_reason: reason }) })
    last = { ...last, ...Object.fromEntries(known.filter(([, value]) => value !== undefined && value !== null)) }
    if (typeof added === "string") text += added
    names.push(...EventStream.listOf(values["tokens"]))
    logprobs.push(...EventStream.listOf(values["token_logprobs"]))
    ids.push(...EventStream.listOf(more))
    return Result.succeed(EventStream.listOf(more).filter((id) => typeof id === "number"))
  }

  return {
    take: (line) =>
      Result.gen(function* () {
        const taken: Array<Ids> = []
        for (const event of yield* Result.mapError(events.take(line), (message) => ({ message }))) {
          taken.push(yield* takeChunk(event))
        }
        return taken.filter((one) => one.length > 0)
      }),
    end: () =>
      last["finish_reason"] === undefined
        ? // A server that does not stream sends a JSON body.
          Result.fromOption(
            ServerEvents.decodeObject(events.others()),
            () => "the stream ended before the answer was complete"
          )
        : Result.succeed({
            ...whole,
            choices: [
              { ...last, index: 0, text, token_ids: ids, logprobs: { tokens: names, token_logprobs: logprobs } }
            ]
          })
  }
}
