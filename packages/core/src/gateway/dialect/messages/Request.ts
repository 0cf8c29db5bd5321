/**
 * Reads a request's parameters: which are read, ignored and reported, or rejected by name.
 *
 * Read: `model`, `messages`, `system`, `max_tokens`, `temperature`, `top_p`, `top_k`, `stop_sequences`, `tools`,
 * `tool_choice`, `stream`. Others are ignored and counted if they ask for nothing that changes the prompt or the
 * sampling (`UnknownParameters`), else rejected by name. Null is the same as absent.
 */
import { Effect, Predicate, Schema } from "effect"
import type { ChatRequest, SamplingOptions } from "../../../inference/wire/Inference.ts"
import type { Failure } from "../Dialect.ts"
import * as OutputConstraints from "../OutputConstraints.ts"
import * as UnknownParameters from "../UnknownParameters.ts"
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

/** Read by `checkWishes` and `checkEdits`. */
const ofOthers = ["output_config", "context_management"]

/** Output constraints in `output_config`; a JSON schema is one too, because the client validates the answer. */
const constraintKeys = ["effort", "format", "task_budget"]

const thinkingTypes = ["enabled", "disabled", "adaptive", "between_tools"]

const instead: ReadonlyMap<string, string> = new Map(
  Object.entries({
    thread: "conversations are not stored: send all messages, without thread",
    mcp_servers: "MCP servers are not supported: pass their tools in tools, and run them in your program",
    container: "containers are not supported: run code in your program, as a tool in tools",
    compaction: "not supported: shorten the history in your program"
  })
)

/** Edits by which a provider would save prompt tokens; the model is shown the whole history instead. */
const savingEdits = /^clear_(?:thinking|tool_uses)_\d{8}$/

const shorten =
  "is not supported, because the history is used as sent: shorten it in your program, and remove this " +
  "(Claude Code: CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS=1)"

const checkEdits = Effect.fnUntraced(function* ({ context_management: management }: Given, ignored: Ignored) {
  if (management === undefined) return
  const { edits = [], ...others } = Predicate.isReadonlyObject(management) ? management : { edits: management }
  const [other] = Object.keys(others)
  if (other !== undefined) return yield* MessagesErrors.unsupported(`context_management.${other}`, shorten)
  if (!Array.isArray(edits)) return yield* MessagesErrors.invalid("context_management.edits", "must be a list")
  if (edits.length === 0) ignored.add("context_management")
  for (const [index, edit] of edits.entries()) {
    const type = Predicate.isReadonlyObject(edit) ? edit["type"] : undefined
    if (typeof type !== "string" || !savingEdits.test(type)) {
      return yield* MessagesErrors.unsupported(`context_management.edits.${index}`, shorten)
    }
    ignored.add(`context_management.${type}`)
  }
})

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
const check = Effect.fnUntraced(function* (input: Given, ignored: Ignored) {
  for (const [key, value] of Object.entries(input)) {
    if (ofOthers.includes(key) || ofHistory.includes(key) || ofSampling.includes(key)) continue
    const why = UnknownParameters.isUsual(key, value)
      ? undefined
      : (instead.get(key) ?? UnknownParameters.refusal(key, value, (name) => ofSampling.includes(name)))
    if (why !== undefined) return yield* MessagesErrors.unsupported(key, why)
    ignored.add(key)
  }
  yield* checkEdits(input, ignored)
  yield* checkWishes(input, ignored)
})

const conversation = Effect.fnUntraced(function* (input: Given, ignored: Ignored) {
  const { messages, system } = input
  const tools = yield* MessagesTools.read(input["tools"], ignored)
  const { toolChoice, constraints: selected } = yield* MessagesTools.choice(input["tool_choice"], tools)
  const { output_config: config } = input
  const format = Predicate.isReadonlyObject(config) ? config["format"] : undefined
  return {
    messages: yield* MessagesHistory.read({ messages, system }, ignored),
    ...(tools.length > 0 && { tools }),
    ...(toolChoice !== undefined && { toolChoice }),
    ...OutputConstraints.of([
      ...selected,
      Predicate.isReadonlyObject(format) ? OutputConstraints.jsonSchema("output_config.format", format) : undefined
    ])
  } satisfies ChatRequest
})

const sampling = Effect.fnUntraced(function* (input: Given) {
  const { stop_sequences: stops, temperature, top_k: topK, top_p: topP } = input
  return {
    maxTokens: yield* reads.max_tokens(input["max_tokens"], "max_tokens"),
    ...(temperature !== undefined && { temperature: yield* reads.temperature(temperature, "temperature") }),
    ...(topP !== undefined && { topP: yield* reads.top_p(topP, "top_p") }),
    ...(topK !== undefined && { topK: yield* reads.top_k(topK, "top_k") }),
    ...(stops !== undefined && { stop: yield* reads.stop_sequences(stops, "stop_sequences") })
  } satisfies SamplingOptions
})

export const read = Effect.fnUntraced(function* (body: unknown) {
  const input = yield* present(body)
  const ignored: Ignored = new Set()
  yield* check(input, ignored)
  yield* reads.model(input["model"], "model")
  const options = yield* sampling(input)
  const parsed: Body = { stops: options.stop ?? [] }
  return {
    request: { ...(yield* conversation(input, ignored)), ...options } satisfies ChatRequest,
    isStreamed: yield* reads.stream(input["stream"] ?? false, "stream"),
    ignored: [...ignored],
    body: parsed
  }
})

/** A request to count a prompt's tokens: without the parameters of the answer. */
export const count = Effect.fnUntraced(function* (body: unknown) {
  const input = yield* present(body)
  const ignored: Ignored = new Set()
  yield* check(input, ignored)
  return yield* conversation(input, ignored)
})
