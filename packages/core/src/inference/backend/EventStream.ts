/**
 * Server-sent events of an OpenAI-compatible server, put together again: what a streamed chat completion comes to is
 * the body of the same completion when it is not streamed, so that both are read alike (`Reply`).
 *
 * Ids, logprobs and calls add up over the chunks; of everything else the last word counts. An event that is no JSON, an
 * error in the middle and a stream without an end are failures.
 */
import { Effect, Option, Predicate, Result } from "effect"
import * as Nesting from "../../base/Nesting.ts"
import type { InferenceError, Listener, Piece } from "./Inference.ts"
import { type JsonReply, malformed, statusError, type Transport } from "./Transport.ts"

type Fields = { readonly [key: string]: unknown }

interface Call {
  id: string | undefined
  readonly function: { name: string; arguments: string }
}

/** Why a line cannot be taken, with the HTTP status that the server gives as its reason. */
export interface Flaw {
  readonly message: string
  readonly status?: number
}

export interface Assembly {
  /** Takes a line; what it adds to the words of the answer, or why it cannot be taken. */
  readonly take: (line: string) => Result.Result<Piece | undefined, Flaw>
  /** The whole body; undefined where the answer has not ended. */
  readonly body: () => unknown
}

const decodeJson = (text: string): Option.Option<Fields> =>
  Nesting.isDeep(text)
    ? Option.none()
    : Option.filter(Result.getSuccess(Result.try((): unknown => JSON.parse(text))), Predicate.isReadonlyObject)

const fieldsOf = (value: unknown): Fields => (Predicate.isReadonlyObject(value) ? value : {})
const listOf = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])
const wordsOf = (value: unknown): string => (typeof value === "string" ? value : "")

/** Of one choice. */
export const make = (): Assembly => {
  let head: Fields = {}
  let last: Fields = {}
  let content: string | undefined
  let reasoning = ""
  let reasoningKey = "reasoning_content"
  let finish: unknown
  let usage: unknown
  const calls: Array<Call> = []
  const tokenIds: Array<unknown> = []
  const others: Array<string> = []
  const logprobs: Array<unknown> = []

  const takeCall = (given: unknown): void => {
    const { function: called, id, index = calls.length } = fieldsOf(given)
    if (typeof index !== "number" || !Number.isSafeInteger(index) || index < 0 || index > calls.length) return
    const call = (calls[index] ??= { id: undefined, function: { name: "", arguments: "" } })
    const { arguments: text, name } = fieldsOf(called)
    if (typeof id === "string" && id !== "") call.id = id
    call.function.name += wordsOf(name)
    call.function.arguments += wordsOf(text)
  }

  const takeChunk = (chunk: Fields): Piece | undefined => {
    const { choices, usage: told, ...rest } = chunk
    head = { ...rest, ...head }
    if (Predicate.isReadonlyObject(told)) usage = told
    const choice = fieldsOf(listOf(choices)[0])
    const { delta, finish_reason: reason, logprobs: given, token_ids: ids, ...others } = choice
    last = { ...last, ...others }
    const { content: words, reasoning: thoughts, reasoning_content: thought, tool_calls: called } = fieldsOf(delta)
    if (typeof words === "string") content = (content ?? "") + words
    const thinking = wordsOf(thought) || wordsOf(thoughts)
    if (thinking !== "") {
      reasoning += thinking
      reasoningKey = wordsOf(thought) === "" ? "reasoning" : "reasoning_content"
    }
    listOf(called).forEach(takeCall)
    tokenIds.push(...listOf(ids))
    logprobs.push(...listOf(fieldsOf(given)["content"]))
    finish = reason ?? finish
    return wordsOf(words) === "" && thinking === ""
      ? undefined
      : {
          ...(wordsOf(words) !== "" && { content: wordsOf(words) }),
          ...(thinking !== "" && { reasoning: thinking })
        }
  }

  return {
    take: (line) => {
      if (!line.startsWith("data:")) {
        others.push(line)
        return Result.succeed(undefined)
      }
      const data = line.slice("data:".length).trim()
      if (data === "[DONE]" || data === "") return Result.succeed(undefined)
      const parsed = Option.getOrUndefined(decodeJson(data))
      if (parsed === undefined) return Result.fail({ message: `an event is no JSON object: ${data.slice(0, 200)}` })
      const { error } = parsed
      if (error === undefined || error === null) return Result.succeed(takeChunk(parsed))
      const { code } = fieldsOf(error)
      const message = `it broke off: ${JSON.stringify(error).slice(0, 300)}`
      // vLLM has sent its 200 before it knows.
      return Result.fail(isErrorStatus(code) ? { message, status: code } : { message })
    },
    body: () =>
      finish === undefined || finish === null
        ? // A server that knows no streams says the whole at once.
          Option.getOrUndefined(decodeJson(others.join("\n")))
        : {
            ...head,
            ...(usage !== undefined && { usage }),
            choices: [
              {
                ...last,
                index: 0,
                finish_reason: finish,
                message: {
                  role: "assistant",
                  content: content ?? null,
                  ...(reasoning !== "" && { [reasoningKey]: reasoning }),
                  ...(calls.length > 0 && {
                    tool_calls: calls.map(({ function: called, id }) => ({
                      ...(id !== undefined && { id }),
                      type: "function",
                      function: called
                    }))
                  })
                },
                ...(tokenIds.length > 0 && { token_ids: tokenIds }),
                ...(logprobs.length > 0 && { logprobs: { content: logprobs } })
              }
            ]
          }
  }
}

const isErrorStatus = (code: unknown): code is number =>
  typeof code === "number" && Number.isInteger(code) && code >= 400 && code < 600

export interface Options {
  readonly transport: Transport
  readonly server: string
  /** Empty: none is sent. */
  readonly apiKey: string
}

/** A request whose answer is heard while it comes, and read as one that came whole. */
export const post = Effect.fnUntraced(function* (
  { apiKey, server, transport }: Options,
  path: string,
  body: { readonly [key: string]: unknown },
  hear: Listener<Piece>
): Effect.fn.Return<JsonReply, InferenceError> {
  const assembly = make()
  const url = `${server}${path}`
  const streamed = { ...body, stream: true, stream_options: { include_usage: true } }
  let flaw: Flaw | undefined
  const { headers } = yield* transport
    .lines({ method: "POST", server, url, apiKey, body: streamed }, (line) => {
      const taken = assembly.take(line)
      if (Result.isFailure(taken)) return (flaw = taken.failure).message
      if (taken.success !== undefined) hear(taken.success)
      return undefined
    })
    .pipe(
      Effect.mapError((error) =>
        flaw?.status === undefined
          ? error
          : statusError({ server, url, status: flaw.status, body: flaw.message, now: 0 })
      )
    )
  const whole = assembly.body()
  return whole === undefined
    ? yield* malformed(server, `POST ${url}: the stream ended before the answer did`)
    : { body: whole, headers }
})
