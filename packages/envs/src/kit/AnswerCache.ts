/**
 * Caches answers by request, in memory and (if a file is configured) across runs.
 *
 * Requests that are equal as JSON, with keys in any order, share one answer; concurrent ones are a single request.
 * Failures are not cached. At most `capacity` answers are stored, with LRU eviction. The file has one JSON line per
 * answer; it is read at the start, unreadable lines are skipped and counted, and it is rewritten once it holds twice
 * the capacity.
 */
import {
  Cache,
  Duration,
  Effect,
  Equal,
  Exit,
  FileSystem,
  Hash,
  Option,
  Path,
  Predicate,
  Schema,
  Semaphore
} from "effect"
import { createHash } from "node:crypto"
import type { ChatRequest, Choice, InferenceError } from "@atropos/core/inference/wire/Inference"
import { Message, ToolCall } from "@atropos/core/trajectory/Message"
import * as Reason from "@atropos/core/base/Reason"

export class AnswerCacheError extends Schema.TaggedError<AnswerCacheError>()("AnswerCacheError", {
  file: Schema.String,
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {}

export interface Options {
  readonly capacity: number
  readonly file: Option.Option<string>
  /** Part of every key: the model that answers. */
  readonly model: string
  readonly ask: (request: ChatRequest) => Effect.Effect<ReadonlyArray<Choice>, InferenceError>
}

const SavedAnswer = Schema.Struct({
  key: Schema.NonEmptyString,
  choices: Schema.Array(
    Schema.Struct({
      message: Message,
      text: Schema.String,
      toolCalls: Schema.Array(ToolCall),
      finishReason: Schema.String
    })
  )
})
type SavedAnswer = typeof SavedAnswer.Type
const decodeLine = Schema.decodeUnknownOption(Schema.fromJsonString(SavedAnswer))

/** Requests are equal if their keys are. */
class Question implements Equal.Equal {
  readonly key: string
  readonly request: ChatRequest
  constructor(key: string, request: ChatRequest) {
    this.key = key
    this.request = request
  }
  [Hash.symbol](): number {
    return Hash.string(this.key)
  }
  [Equal.symbol](that: Equal.Equal): boolean {
    return that instanceof Question && that.key === this.key
  }
}

/** An `ask` function through the cache. */
export const make = Effect.fn("AnswerCache.make")(function* ({ ask, capacity, file, model }: Options) {
  const store = Option.isSome(file) ? Option.some(yield* open(file.value, capacity)) : Option.none()
  const cache = yield* Cache.makeWith(
    ({ key, request }: Question) =>
      Effect.tap(ask(request), (choices) =>
        Option.isSome(store) ? store.value.append({ key, choices: choices.map(toSaved) }) : Effect.void
      ),
    { capacity, timeToLive: (exit) => (Exit.isSuccess(exit) ? Duration.infinity : Duration.zero) }
  )
  for (const { choices, key } of Option.isSome(store) ? store.value.answers : []) {
    yield* Cache.set(cache, new Question(key, { messages: [] }), choices)
  }
  return (request: ChatRequest): Effect.Effect<ReadonlyArray<Choice>, InferenceError> =>
    Cache.get(cache, new Question(keyOf(model, request), request))
})

const toSaved = ({ finishReason, message, text, toolCalls }: Choice) => ({ message, text, toolCalls, finishReason })

const keyOf = (model: string, request: ChatRequest): string =>
  createHash("sha256")
    .update(JSON.stringify([model, request], sortedKeys))
    .digest("base64url")

/** A JSON replacer that sorts keys. */
const sortedKeys = (_: string, value: unknown): unknown =>
  Predicate.isObject(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value

const written = (answers: ReadonlyArray<SavedAnswer>) => answers.map((one) => `${JSON.stringify(one)}\n`).join("")

const open = Effect.fn("AnswerCache.open")(function* (file: string, capacity: number) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const failing = (what: string) => (cause: unknown) =>
    new AnswerCacheError({ file, message: `the file of answers ${file} ${what}: ${Reason.of(cause)}`, cause })
  const text = yield* fs.exists(file).pipe(
    Effect.flatMap((isThere) => (isThere ? fs.readFileString(file) : Effect.succeed(""))),
    Effect.mapError(failing("cannot be read"))
  )
  const lines = text.split("\n").filter((line) => line !== "")
  // A later answer to the same request replaces the earlier one.
  const byKey = new Map<string, SavedAnswer>()
  let unreadable = 0
  for (const line of lines) {
    const answer = decodeLine(line)
    if (Option.isNone(answer)) {
      unreadable++
      continue
    }
    byKey.delete(answer.value.key)
    byKey.set(answer.value.key, answer.value)
  }
  if (unreadable > 0) yield* Effect.logWarning("unreadable answers skipped", { file, lines: unreadable })
  const answers = Array.from(byKey.values()).slice(-capacity)
  yield* fs.makeDirectory(path.dirname(file), { recursive: true }).pipe(
    Effect.andThen(
      lines.length > 2 * capacity
        ? Effect.andThen(fs.writeFileString(`${file}.tmp`, written(answers)), fs.rename(`${file}.tmp`, file))
        : // A truncated last line must not merge with the next one.
          fs.writeFileString(file, text === "" || text.endsWith("\n") ? "" : "\n", { flag: "a" })
    ),
    Effect.mapError(failing("cannot be written"))
  )
  const lock = yield* Semaphore.make(1)
  let isFailing = false
  return {
    answers,
    append: (answer: SavedAnswer): Effect.Effect<void> =>
      fs.writeFileString(file, written([answer]), { flag: "a" }).pipe(
        lock.withPermits(1),
        Effect.match({ onSuccess: () => undefined, onFailure: failing("cannot be written") }),
        Effect.flatMap((failure) => {
          const isNews = failure !== undefined && !isFailing
          isFailing = failure !== undefined
          return isNews ? Effect.logWarning("answer not kept", { reason: failure.message }) : Effect.void
        })
      )
  }
})
