/**
 * Assembles the server-sent events of a streamed chat completion into the equivalent non-streamed body, so that both
 * are read by the same code (`Reply`).
 *
 * Accumulates as OpenAI's own client does: text, logprobs, ids and the arguments of calls are appended, other fields
 * take their last value, and an empty `finish_reason` is ignored. An unreadable event, an error event, and a stream
 * that ends before a `finish_reason` are failures.
 */
import { Effect, Predicate, Result } from "effect"
import type { InferenceError, DeltaHandler, Delta } from "./Inference.ts"
import * as ServerEvents from "./ServerEvents.ts"
import * as StreamedCalls from "./StreamedCalls.ts"
import * as StreamedText from "./StreamedText.ts"
import { type JsonReply, malformed, statusError, type Transport } from "./Transport.ts"

type Fields = ServerEvents.Fields

/** Why an event is rejected, with the HTTP status that the server reports. */
export interface Flaw {
  readonly message: string
  readonly status?: number
}

export interface Assembly<D> {
  /** Takes a line; returns what it adds, or why it cannot be read. An empty line ends a stream. */
  readonly take: (line: string) => Result.Result<ReadonlyArray<D>, Flaw>
  /** Returns the whole body, or why the answer is incomplete. */
  readonly end: () => Result.Result<unknown, string>
}

export const fieldsOf = (value: unknown): Fields => (Predicate.isReadonlyObject(value) ? value : {})
export const listOf = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])
const known = (fields: Fields) => Object.entries(fields).filter(([, value]) => value !== undefined && value !== null)

/** The error that a server reports within a stream. */
export const errorOf = ({ data, name }: ServerEvents.ServerEvent): Flaw | undefined => {
  const { error } = data
  if (!error && name !== "error" && data["object"] !== "error") return undefined
  const message = `the stream was interrupted: ${JSON.stringify(error || data).slice(0, 300)}`
  // vLLM has already sent its 200 by then.
  const { code } = fieldsOf(error || data)
  return isErrorStatus(code) ? { message, status: code } : { message }
}

export const ofOtherChoice = (data: Fields): Flaw => ({
  message: `one choice was requested, but an event is of another: ${JSON.stringify(data).slice(0, 200)}`
})

/** An assembly of one choice of a chat completion. */
export const make = (): Assembly<Delta> => {
  const events = ServerEvents.make()
  const head = new Map<string, unknown>()
  const last = new Map<string, unknown>()
  let calls = StreamedCalls.make()
  let text = StreamedText.make()
  let finish: unknown
  let usage: unknown
  const tokenIds: Array<unknown> = []
  const logprobs: Array<unknown> = []

  const takeChunk = (event: ServerEvents.ServerEvent): Result.Result<Delta | undefined, Flaw> => {
    const { data, name } = event
    const { choices, error: _, usage: counted, ...rest } = data
    const error = errorOf(event)
    if (error !== undefined) return Result.fail(error)
    if (Predicate.isReadonlyObject(counted)) usage = counted
    else if (!Array.isArray(choices)) {
      return name === ""
        ? Result.fail({ message: `an event is not a chunk: ${JSON.stringify(data).slice(0, 200)}` })
        : nothing
    }
    // Fields of the whole answer, such as the policy version, keep their first value.
    for (const [key, value] of known(rest)) if (!head.has(key)) head.set(key, value)
    const [first, second] = listOf(choices)
    if (first === undefined) return nothing
    const { delta, finish_reason: reason, index, logprobs: given, message, token_ids: ids, ...others } = fieldsOf(first)
    if (second !== undefined || (index ?? 0) !== 0) return Result.fail(ofOtherChoice(data))
    for (const [key, value] of known(others)) last.set(key, value)
    for (const id of listOf(ids)) tokenIds.push(id)
    for (const entry of listOf(fieldsOf(given)["content"])) logprobs.push(entry)
    if (typeof reason !== "string" || reason !== "") finish = reason ?? finish
    const isWhole = Predicate.isReadonlyObject(message) && !Predicate.isReadonlyObject(delta)
    return Result.mapError(isWhole ? takeWhole(message) : takeDelta(fieldsOf(delta)), flawOf)
  }

  const takeDelta = ({ function_call: old, tool_calls: called, ...words }: Fields) =>
    calls.take(called).pipe(
      Result.andThen(() => calls.take(old === undefined || old === null ? [] : [{ index: 0, function: old }])),
      Result.andThen(() => text.take(words))
    )

  /** Takes a complete message: it replaces the deltas, and adds what they lacked. */
  const takeWhole = (message: Fields): Result.Result<Delta | undefined, string> => {
    const { content, thinking } = text.words()
    calls = StreamedCalls.make()
    text = StreamedText.make()
    return Result.flatMap(takeDelta(message), () => {
      const whole = text.words()
      return whole.content.startsWith(content) && whole.thinking.startsWith(thinking)
        ? Result.succeed(
            StreamedText.deltaOf({
              content: whole.content.slice(content.length),
              thinking: whole.thinking.slice(thinking.length)
            })
          )
        : Result.fail("the final message differs from the streamed one")
    })
  }

  const body = (message: Fields, called: ReadonlyArray<StreamedCalls.Call>): Fields => ({
    ...Object.fromEntries(head),
    ...(usage !== undefined && { usage }),
    choices: [
      {
        ...Object.fromEntries(last),
        index: 0,
        finish_reason: finish,
        message: { ...message, ...(called.length > 0 && { tool_calls: called }) },
        ...(tokenIds.length > 0 && { token_ids: tokenIds }),
        ...(logprobs.length > 0 && { logprobs: { content: logprobs } })
      }
    ]
  })

  return {
    take: (line) =>
      Result.gen(function* () {
        const deltas: Array<Delta> = []
        for (const event of yield* Result.mapError(events.take(line), flawOf)) {
          const delta = yield* takeChunk(event)
          if (delta !== undefined) deltas.push(delta)
        }
        return deltas
      }),
    end: () =>
      finish === undefined
        ? // A server that does not stream sends a JSON body.
          Result.fromOption(
            ServerEvents.decodeObject(events.others()),
            () => "the stream ended before the answer was complete"
          )
        : Result.map(calls.calls(), (called) => body(text.message(), called))
  }
}

const nothing: Result.Result<Delta | undefined, Flaw> = Result.succeed(undefined)

const flawOf = (message: string): Flaw => ({ message })

const isErrorStatus = (code: unknown): code is number =>
  typeof code === "number" && Number.isInteger(code) && code >= 400 && code < 600

export interface Options {
  readonly transport: Transport
  readonly server: string
  readonly apiKey: string
}

/** Makes a request, streams its answer on, and returns it as a non-streamed body. */
export const post = Effect.fnUntraced(function* <D>(
  { apiKey, server, transport }: Options,
  path: string,
  body: { readonly [key: string]: unknown },
  onDelta: DeltaHandler<D>,
  assembly: Assembly<D>
): Effect.fn.Return<JsonReply, InferenceError> {
  const url = `${server}${path}`
  const streamed = { ...body, stream: true, stream_options: { include_usage: true } }
  /** Reading stops at the first. */
  const flaws: Array<Flaw> = []
  const take = (line: string): string | undefined => {
    const taken = assembly.take(line)
    if (Result.isFailure(taken)) {
      flaws.push(taken.failure)
      return taken.failure.message
    }
    taken.success.forEach(onDelta)
    return undefined
  }
  const broken = ({ message, status }: Flaw): InferenceError =>
    status === undefined
      ? malformed(server, `POST ${url}: ${message}`)
      : statusError({ server, url, status, body: message, now: 0 })
  const { headers } = yield* transport
    .lines({ method: "POST", server, url, apiKey, body: streamed }, take)
    .pipe(Effect.mapError((error) => (flaws[0] === undefined ? error : broken(flaws[0]))))
  take("")
  if (flaws[0] !== undefined) return yield* broken(flaws[0])
  const whole = assembly.end()
  return Result.isFailure(whole)
    ? yield* malformed(server, `POST ${url}: ${whole.failure}`)
    : { body: whole.success, headers }
})
