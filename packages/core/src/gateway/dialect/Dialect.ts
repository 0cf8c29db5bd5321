/**
 * A dialect of model APIs: a pure translation between its requests and answers and ours.
 *
 * The gateway reads bodies, asks the session and sends the answer written by a dialect; a dialect is independent of
 * HTTP, sessions and servers. Anything in a request that cannot be honoured is rejected by name; what does not affect
 * sampling may be ignored, and is then listed in `ignored`, which the gateway counts.
 */
import { type Effect, Schema } from "effect"
import type { ChatRequest, Choice, Delta } from "../../inference/wire/Inference.ts"
import type { Message } from "../../trajectory/Message.ts"

/** Reasons why a request fails; every dialect has an error for each. */
export const FailureReason = Schema.Literals([
  "invalid", // the body is not valid in the dialect
  "unsupported", // it is valid, but requests something unsupported
  "noRoom", // the prompt fills the max sequence length
  "unknownPath", // no such endpoint, or no such session
  "unauthorized", // a required token is missing
  "tooLarge", // more bytes, messages or sessions than allowed
  "closed", // the session is over
  "overloaded", // retry later
  "timeout", // no answer in time
  "failed" // the server behind the gateway failed
])
export type FailureReason = typeof FailureReason.Type

export class Failure extends Schema.TaggedError<Failure>()("Failure", {
  reason: FailureReason,
  message: Schema.String,
  /** The invalid parameter, as spelled by the dialect (`messages[2].content`). */
  param: Schema.optionalKey(Schema.String),
  /** The dialect's own error code (`previous_response_not_found`), if `reason` is not specific enough. */
  code: Schema.optionalKey(Schema.String),
  retryAfterMillis: Schema.optionalKey(Schema.Finite)
}) {}

/** A session's earlier answers, for dialects that refer to them by id (`previous_response_id`). */
export interface Memory {
  /** The chat up to and including an answer. */
  readonly recall: (id: string) => ReadonlyArray<Message> | undefined
  /** `stored`: returned if the answer itself is requested. */
  readonly remember: (id: string, messages: ReadonlyArray<Message>, stored?: unknown) => void
  readonly stored: (id: string) => unknown
  readonly forget: (id: string) => boolean
  /** Interns a value: returns a stored one with the same content if there is one, else stores this one. */
  readonly same: <A>(value: A) => A
}

/** A parsed request. `Body` is the dialect's own data for writing the answer. */
export interface Turn<Body> {
  readonly request: ChatRequest
  readonly isStreamed: boolean
  /** Ignored parameters, by the dialect's names. */
  readonly ignored: ReadonlyArray<string>
  readonly body: Body
}

/** The part of an answer that is known before it is sampled. */
export interface Head {
  /** Unique, alphanumeric; the basis of the dialect's ids. */
  readonly id: string
  /** Seconds since the epoch. */
  readonly createdAt: number
  /** The model's name as in the request. */
  readonly model: string
}

export interface Answered extends Head {
  /** The request's messages, as stored by the session. */
  readonly chat: ReadonlyArray<Message>
  /**
   * As many as requested. In a message, `content` is the visible text (null: none), `reasoning_content` the reasoning
   * before it, `tool_calls` the calls with JSON text as arguments.
   */
  readonly choices: ReadonlyArray<Choice>
  readonly usage: { readonly promptTokens: number; readonly completionTokens: number }
}

/** An answer as server-sent events, each a complete frame with its blank line. */
export interface Streamed {
  /** The first events, before any text; none if they were sent. */
  readonly begin: () => ReadonlyArray<string>
  /** A frame that means nothing: keeps the connection open. */
  readonly alive: string
  /** Events of a text delta; together they are a prefix of the first choice. */
  readonly delta: (delta: Delta) => ReadonlyArray<string>
  /** Events of everything not streamed yet (possibly all), and of the end. */
  readonly end: (answered: Answered) => ReadonlyArray<string>
  /** Events of a failure after the stream has begun. */
  readonly broken: (failure: Failure) => ReadonlyArray<string>
}

/** An error in the form of the dialect's clients. */
export interface WrittenFailure {
  readonly status: number
  readonly body: unknown
}

/** An endpoint that counts the tokens of a request without sampling; its path ends in `/count_tokens`. */
export interface Counting {
  readonly decode: (body: unknown, memory: Memory) => Effect.Effect<ChatRequest, Failure>
  readonly answer: (promptTokens: number) => unknown
}

/** Earlier answers by id: GET and DELETE. */
export interface Stored {
  readonly retrieve: (id: string, memory: Memory) => Effect.Effect<unknown, Failure>
  readonly remove: (id: string, memory: Memory) => Effect.Effect<unknown, Failure>
}

export interface Dialect<Body> {
  readonly name: "chat" | "responses" | "messages"
  /** `body` is parsed JSON of any shape. */
  readonly decode: (body: unknown, memory: Memory) => Effect.Effect<Turn<Body>, Failure>
  /** The answer's body, before JSON encoding. */
  readonly answer: (turn: Turn<Body>, answered: Answered, memory: Memory) => unknown
  readonly stream: (turn: Turn<Body>, head: Head, memory: Memory) => Streamed
  /** `requestId`: as in the headers of the answer, without its `req_`. */
  readonly failure: (failure: Failure, requestId?: string) => WrittenFailure
  readonly counting?: Counting
  readonly stored?: Stored
}
