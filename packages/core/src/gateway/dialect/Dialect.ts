/**
 * A dialect of model APIs: a pure translation between its requests and answers and ours.
 *
 * The gateway reads bodies, asks the session and sends what a dialect makes of the answer; a dialect knows nothing of
 * HTTP, sessions or servers. Whatever a request says that cannot be honoured is refused by name; what changes nothing
 * about sampling may be passed over, and is then named in `ignored`, which the gateway counts.
 */
import { type Effect, Schema } from "effect"
import type { ChatRequest, Choice, Piece } from "../../inference/backend/Inference.ts"
import type { Message } from "../../Message.ts"

/** Why a request gets no answer, in words that every dialect has an error for. */
export const FailureReason = Schema.Literals([
  "invalid", // the body is not what the dialect says
  "unsupported", // it is, but asks for what cannot be done here
  "noRoom", // the prompt fills the longest sequence
  "unknownPath", // no such endpoint, or no such session
  "unauthorized", // without the token that is asked for
  "tooLarge", // more bytes, messages or sessions than there may be
  "closed", // the session is over
  "overloaded", // asked to come back later
  "timeout", // no answer in time
  "failed" // the server behind the gateway failed
])
export type FailureReason = typeof FailureReason.Type

/** A request that gets no answer. */
export class Failure extends Schema.TaggedError<Failure>()("Failure", {
  reason: FailureReason,
  message: Schema.String,
  /** The parameter that is to blame, as the dialect spells it (`messages[2].content`). */
  param: Schema.optionalKey(Schema.String),
  /** The dialect's own word for it (`previous_response_not_found`), where `reason` says too little. */
  code: Schema.optionalKey(Schema.String),
  retryAfterMillis: Schema.optionalKey(Schema.Finite)
}) {}

/** What a session keeps of earlier answers, for dialects that refer to them by id (`previous_response_id`). */
export interface Memory {
  /** The chat that an answer ended, the answer as its last message. */
  readonly recall: (id: string) => ReadonlyArray<Message> | undefined
  /** `stored`: what is given back to who asks for the answer itself. */
  readonly remember: (id: string, messages: ReadonlyArray<Message>, stored?: unknown) => void
  readonly stored: (id: string) => unknown
  /** Whether there was something to forget. */
  readonly forget: (id: string) => boolean
  /** A value that says the same and is kept already, where there is one; else the value itself, from now on. */
  readonly same: <A>(value: A) => A
}

/** A request, read. `Body` is what the dialect itself wants to know again when it writes the answer. */
export interface Turn<Body> {
  readonly request: ChatRequest
  readonly isStreamed: boolean
  /** Parameters that were passed over, by the dialect's names. */
  readonly ignored: ReadonlyArray<string>
  readonly body: Body
}

/** What is known of an answer before any of it is. */
export interface Head {
  /** Unique, of letters and digits: what ids of the dialect are made of. */
  readonly id: string
  /** Seconds since 1970. */
  readonly createdAt: number
  /** The model's name as the request spelled it. */
  readonly model: string
}

/** What the session answered. */
export interface Answered extends Head {
  /** The request's messages, as the session keeps them. */
  readonly chat: ReadonlyArray<Message>
  /**
   * As many as were asked for. In a message `content` is the visible text (null: none), `reasoning_content` what was
   * thought before, `tool_calls` the calls with JSON text as arguments.
   */
  readonly choices: ReadonlyArray<Choice>
  readonly usage: { readonly promptTokens: number; readonly completionTokens: number }
}

/** An answer as server-sent events, each a whole frame with its blank line. */
export interface Streamed {
  /** The events of further words; together they are the beginning of the first choice. */
  readonly piece: (piece: Piece) => ReadonlyArray<string>
  /** The events of all that was not said in pieces, which may be everything, and of the end. */
  readonly end: (answered: Answered) => ReadonlyArray<string>
  /** Why there is no end, where the stream has begun. */
  readonly broken: (failure: Failure) => ReadonlyArray<string>
}

/** An error as the dialect's clients know it. */
export interface WrittenFailure {
  readonly status: number
  readonly body: unknown
}

/** An endpoint that counts the tokens of a request and samples nothing; its path ends in `/count_tokens`. */
export interface Counting {
  readonly decode: (body: unknown, memory: Memory) => Effect.Effect<ChatRequest, Failure>
  readonly answer: (promptTokens: number) => unknown
}

/** Answers that were given, by id: GET and DELETE. */
export interface Stored {
  readonly retrieve: (id: string, memory: Memory) => Effect.Effect<unknown, Failure>
  readonly remove: (id: string, memory: Memory) => Effect.Effect<unknown, Failure>
}

export interface Dialect<Body> {
  readonly name: "chat" | "responses" | "messages"
  /** `body` is parsed JSON of any shape. */
  readonly decode: (body: unknown, memory: Memory) => Effect.Effect<Turn<Body>, Failure>
  /** The answer's body, before it is JSON. */
  readonly answer: (turn: Turn<Body>, answered: Answered, memory: Memory) => unknown
  readonly stream: (turn: Turn<Body>, head: Head, memory: Memory) => Streamed
  /** `requestId`: as in the headers of the answer, without its `req_`. */
  readonly failure: (failure: Failure, requestId?: string) => WrittenFailure
  readonly counting?: Counting
  readonly stored?: Stored
}
