/**
 * Converts sequences to training traces of OpenEnv (version 1: exact tokens and logprobs of each call of a rollout) and
 * back. TRL's asynchronous trainer reads this format.
 *
 * A call is a run of trained tokens with all tokens before it as its prompt; what a sequence does not train is context.
 * On the way back, a call whose prompt begins with an earlier call's prompt and completion continues its sequence. The
 * format has no score: `metadata.score` holds it, which OpenEnv passes on unread.
 */
import { Effect, Schema } from "effect"
import type { Message } from "../../trajectory/Message.ts"
import { notSampled } from "../../trajectory/Trajectory.ts"
import type { Sequence } from "./Atif.ts"

const TokenIds = Schema.Array(Schema.Natural)
const Fields = Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown))

const Turn = Schema.Struct({
  node_id: Schema.NonEmptyString,
  prompt_token_ids: TokenIds,
  completion_token_ids: TokenIds,
  per_token_logps: Schema.Array(Schema.Finite),
  loss_mask: Schema.Array(Schema.Literals([0, 1])),
  request: Fields,
  response: Fields,
  metadata: Fields
})
type Turn = typeof Turn.Type

export const Document = Schema.Struct({ schema_version: Schema.Literal(1), turns: Schema.Array(Turn) })
export type Document = typeof Document.Type

export class TrainingTraceError extends Schema.TaggedError<TrainingTraceError>()("TrainingTraceError", {
  message: Schema.String
}) {}

const fail = (message: string) => Effect.fail(new TrainingTraceError({ message }))

/** The runs of trained tokens: from `start` to before `end`. */
const runsOf = (mask: Uint8Array): ReadonlyArray<{ readonly start: number; readonly end: number }> => {
  const runs: Array<{ start: number; end: number }> = []
  for (let at = 0; at < mask.length; at++) {
    if (mask[at] !== 1) continue
    const last = runs.at(-1)
    if (last?.end === at) last.end = at + 1
    else runs.push({ start: at, end: at + 1 })
  }
  return runs
}

/** The chat before each answer, and the answer, if each run is one of the chat's answers. */
const chatOf = (messages: ReadonlyArray<Message>, runs: number) => {
  const answers = messages.flatMap(({ role }, at) => (role === "assistant" ? [at] : []))
  return (run: number): Pick<Turn, "request" | "response"> => {
    const at = answers.length === runs ? answers[run] : undefined
    if (at === undefined) return {}
    return { request: { messages: messages.slice(0, at) }, response: { choices: [{ message: messages[at] }] } }
  }
}

export const ofSequence = Effect.fnUntraced(function* ({
  logprobs,
  mask,
  messages,
  score,
  sessionId = "sequence",
  tokens
}: Sequence): Effect.fn.Return<Document, TrainingTraceError> {
  if (tokens.length === 0) return yield* fail("it has no token ids, which a training trace consists of")
  if (logprobs === undefined) return yield* fail("it has no logprobs, which a training trace requires")
  const runs = runsOf(mask)
  if (runs.length === 0) return yield* fail("none of its tokens is trained")
  if (runs[0]!.start === 0) return yield* fail("its first token is trained, but a call requires a prompt")
  const chat = chatOf(messages, runs.length)
  return {
    schema_version: 1,
    turns: runs.map(({ end, start }, index) => ({
      node_id: `${sessionId}-${index}`,
      prompt_token_ids: Array.from(tokens.subarray(0, start)),
      completion_token_ids: Array.from(tokens.subarray(start, end)),
      per_token_logps: Array.from(logprobs.subarray(start, end)),
      loss_mask: Array.from({ length: end }, (_, at) => (at < start ? 0 : 1)),
      ...chat(index),
      metadata: { ...(score !== undefined && { score }) }
    }))
  }
})

const idsOf = ({ completion_token_ids: completion, prompt_token_ids: prompt }: Turn): ReadonlyArray<number> => [
  ...prompt,
  ...completion
]

const startsWith = (ids: ReadonlyArray<number>, prefix: ReadonlyArray<number>): boolean =>
  prefix.length <= ids.length && prefix.every((id, at) => ids[at] === id)

const faultOf = ({
  completion_token_ids: ids,
  loss_mask: mask,
  node_id: id,
  per_token_logps: logprobs,
  ...turn
}: Turn) => {
  const { prompt_token_ids: prompt } = turn
  if (logprobs.length !== ids.length) return `turn ${id} has ${ids.length} tokens but ${logprobs.length} logprobs`
  if (mask.length !== prompt.length + ids.length) return `the loss mask of turn ${id} does not cover its tokens`
  return mask.slice(0, prompt.length).includes(1) ? `turn ${id} trains tokens of its prompt` : undefined
}

const decode = Schema.decodeUnknownEffect(Document)

const messagesOf = ({ request, response }: Turn): ReadonlyArray<Message> => {
  const before = Array.isArray(request?.["messages"]) ? (request["messages"] as ReadonlyArray<Message>) : []
  const choices = response?.["choices"]
  const [choice] = Array.isArray(choices) ? (choices as ReadonlyArray<{ readonly message?: Message }>) : []
  return choice?.message === undefined ? before : [...before, choice.message]
}

/** The sequences of a trace, each with all calls that continue each other. */
export const toSequences = Effect.fnUntraced(function* (
  json: unknown
): Effect.fn.Return<ReadonlyArray<Sequence>, TrainingTraceError> {
  const { turns } = yield* Effect.mapError(
    decode(json),
    ({ message }) => new TrainingTraceError({ message: `is not a training trace of version 1: ${message}` })
  )
  const chains: Array<{ last: Turn; ids: ReadonlyArray<number>; readonly turns: Array<Turn> }> = []
  for (const turn of turns) {
    const fault = faultOf(turn)
    if (fault !== undefined) return yield* fail(fault)
    const chain = chains.findLast(({ ids }) => startsWith(turn.prompt_token_ids, ids))
    const ids = idsOf(turn)
    if (chain === undefined) chains.push({ last: turn, ids, turns: [turn] })
    else {
      chain.last = turn
      chain.ids = ids
      chain.turns.push(turn)
    }
  }
  return chains.map(({ ids, last, turns: calls }) => {
    const mask = new Uint8Array(ids.length)
    const logprobs = new Float32Array(ids.length).fill(notSampled)
    for (const { loss_mask: trained, per_token_logps: values, prompt_token_ids: prompt } of calls) {
      for (const [at, value] of values.entries()) {
        if (trained[prompt.length + at] !== 1) continue
        mask[prompt.length + at] = 1
        logprobs[prompt.length + at] = value
      }
    }
    const score = last.metadata?.["score"]
    return {
      messages: messagesOf(last),
      tokens: Int32Array.from(ids),
      mask,
      logprobs,
      ...(typeof score === "number" && { score })
    }
  })
})
