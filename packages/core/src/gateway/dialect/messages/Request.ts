/**
 * Reads a request's parameters: which are read, ignored and reported, or rejected by name.
 *
 * Read: `model`, `messages`, `system`, `max_tokens`, `temperature`, `top_p`, `top_k`, `stop_sequences`, `tools`,
 * `tool_choice`, `stream`. Unknown parameters are rejected, as by Anthropic; null is the same as absent.
 */
import { Effect, Predicate, Schema } from "effect"
import type { ChatRequest, SamplingOptions } from "../../../inference/backend/Inference.ts"
import type { Failure } from "../Dialect.ts"
import * as OutputConstraints from "../OutputConstraints.ts"
import * as MessagesBlocks from "./Blocks.ts"
import * as MessagesErrors from "./Errors.ts"
import * as MessagesHistory from "./History.ts"
import * as MessagesTools from "./Tools.ts"

type Ignored = MessagesBlocks.Ignored

/** A body without its nulls. */
interface Given {
  readonly [key: string]: unknown
}

/** Data for writing the answer, in addition to the answer itself. */
export interface Body {
  readonly stops: ReadonlyArray<string>
}

const reads = {
  model: MessagesBlocks.reader<string>(Schema.NonEmptyString),
  max_tokens: MessagesBlocks.reader<number>(Schema.Int.check(Schema.isGreaterThan(0))),
  temperature: MessagesBlocks.reader<number>(Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0))),
  top_p: MessagesBlocks.reader<number>(
    Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1, exclusiveMinimum: true }))
  ),
  top_k: MessagesBlocks.reader<number>(Schema.Natural),
  stop_sequences: MessagesBlocks.reader<ReadonlyArray<string>>(Schema.Array(Schema.NonEmptyString)),
  stream: MessagesBlocks.reader<boolean>(Schema.Boolean)
}

const ofHistory = ["messages", "system", "tools", "tool_choice"]
const ofSampling = Object.keys(reads)

/** No effect on sampling: billing, caches, regions, and the requested amount of reasoning. */
const passedOver = new Set([
  "betas",
  "cache_control",
  "diagnostics",
  "inference_geo",
  "metadata",
  "service_tier",
  "speed",
  "thinking"
])

/** Output constraints in `output_config`; a JSON schema is one too, because the client validates the answer. */
const constraintKeys = ["effort", "format", "task_budget"]

const thinkingTypes = ["enabled", "disabled", "adaptive", "between_tools"]

const instead: ReadonlyMap<string, string> = new Map(
  Object.entries({
    thread: "conversations are not stored: send all messages, without thread",
    mcp_servers: "MCP servers are not supported: pass their tools in tools, and run them in your program",
    container: "containers are not supported: run code in your program, as a tool in tools",
    context_management: "not supported: shorten the history in your program",
    compaction: "not supported: shorten the history in your program"
  })
)

const present = (body: unknown): Effect.Effect<Given, Failure> =>
  Predicate.isReadonlyObject(body)
    ? Effect.succeed(Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null)))
    : Effect.fail(MessagesErrors.invalid("body", "must be a JSON object with model, max_tokens and messages"))

const checkWishes = Effect.fnUntraced(function* ({ output_config: config, thinking }: Given, ignored: Ignored) {
  if (thinking !== undefined) {
    const type = Predicate.isReadonlyObject(thinking) ? thinking["type"] : undefined
    if (typeof type !== "string" || !thinkingTypes.includes(type)) {
      return yield* MessagesErrors.invalid("thinking.type", `must be one of ${thinkingTypes.join(", ")}`)
    }
  }
  if (config === undefined) return
  if (!Predicate.isReadonlyObject(config)) {
    return yield* MessagesErrors.invalid("output_config", "must be an object")
  }
  for (const [key, value] of Object.entries(config)) {
    if (value === null) continue
    if (!constraintKeys.includes(key)) {
      return yield* MessagesErrors.unsupported(`output_config.${key}`, "is not supported: remove it")
    }
    if (key !== "format") ignored.add(`output_config.${key}`)
  }
})

/** Records ignored parameters and rejects unknown ones. */
const check = Effect.fnUntraced(function* (given: Given, ignored: Ignored) {
  for (const key of Object.keys(given)) {
    if (passedOver.has(key)) ignored.add(key)
    else if (key !== "output_config" && !ofHistory.includes(key) && !ofSampling.includes(key)) {
      return yield* MessagesErrors.unsupported(key, instead.get(key) ?? "unknown or unsupported parameter: remove it")
    }
  }
  yield* checkWishes(given, ignored)
})

const conversation = Effect.fnUntraced(function* (given: Given, ignored: Ignored) {
  const { messages, system } = given
  const tools = yield* MessagesTools.read(given["tools"], ignored)
  const { toolChoice, constraints: chosen } = yield* MessagesTools.choice(given["tool_choice"], tools.length > 0)
  const { output_config: config } = given
  const format = Predicate.isReadonlyObject(config) ? config["format"] : undefined
  return {
    messages: yield* MessagesHistory.read({ messages, system }, ignored),
    ...(tools.length > 0 && { tools }),
    ...(toolChoice !== undefined && { toolChoice }),
    ...OutputConstraints.of([
      ...chosen,
      Predicate.isReadonlyObject(format) ? OutputConstraints.jsonSchema("output_config.format", format) : undefined
    ])
  } satisfies ChatRequest
})

const sampling = Effect.fnUntraced(function* (given: Given) {
  const { stop_sequences: stops, temperature, top_k: topK, top_p: topP } = given
  return {
    maxTokens: yield* reads.max_tokens(given["max_tokens"], "max_tokens"),
    ...(temperature !== undefined && { temperature: yield* reads.temperature(temperature, "temperature") }),
    ...(topP !== undefined && { topP: yield* reads.top_p(topP, "top_p") }),
    ...(topK !== undefined && { topK: yield* reads.top_k(topK, "top_k") }),
    ...(stops !== undefined && { stop: yield* reads.stop_sequences(stops, "stop_sequences") })
  } satisfies SamplingOptions
})

export const read = Effect.fnUntraced(function* (body: unknown) {
  const given = yield* present(body)
  const ignored: Ignored = new Set()
  yield* check(given, ignored)
  yield* reads.model(given["model"], "model")
  const options = yield* sampling(given)
  const parsed: Body = { stops: options.stop ?? [] }
  return {
    request: { ...(yield* conversation(given, ignored)), ...options } satisfies ChatRequest,
    isStreamed: yield* reads.stream(given["stream"] ?? false, "stream"),
    ignored: [...ignored],
    body: parsed
  }
})

/** A request to count a prompt's tokens: without the parameters of the answer. */
export const count = Effect.fnUntraced(function* (body: unknown) {
  const given = yield* present(body)
  const ignored: Ignored = new Set()
  yield* check(given, ignored)
  return yield* conversation(given, ignored)
})
