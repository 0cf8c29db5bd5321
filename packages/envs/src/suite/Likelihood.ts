/**
 * Answers multiple choice by likelihood, without sampling: the choice with the highest logprob after the prompt is the
 * answer.
 *
 * A choice's logprob is the sum over its tokens, in nats, given the prompt as plain text, without a chat template.
 * Prompt and choice are encoded as one text and split where the prompt alone ends; its trailing white space counts as
 * the choice's. Ties go to the first. Same as `multiple_choice` of lm-evaluation-harness (0.4.13): its `acc` is by
 * sums, `acc_norm` by characters, `acc_bytes` by bytes of UTF-8.
 */
import { type Environment, NotConfigured, ServerManager, type Tokenizer, Trajectory } from "@atropos/core"
import { Effect, Option } from "effect"
import type { Continuation, Item } from "./Item.ts"
import type { Of } from "./ScoreSpec.ts"

/** A choice with its logprobs. */
export interface Scored extends Continuation {
  readonly tokens: ReadonlyArray<number>
  /** Number of tokens of the context. */
  readonly start: number
  /** Logprobs of the continuation's tokens, in nats. */
  readonly logprobs: ReadonlyArray<number>
}

/** Token ids of both, and the index of the continuation's first token. */
export const encode = ({ encode }: Pick<Tokenizer.TokenizerShape, "encode">, { context, text }: Continuation) => {
  const known = encode(context.trimEnd())
  return { tokens: [...known, ...encode(`${context}${text}`).slice(known.length)], start: known.length }
}

const sum = (values: ReadonlyArray<number>): number => values.reduce((total, value) => total + value, 0)

/** Divisors of the sum: 1, or the length of the choice's text in the row. */
const lengths = {
  choice: () => 1,
  character: (text: string) => Array.from(text).length,
  byte: (text: string) => Buffer.byteLength(text)
} as const

/** Index of the likeliest choice, normalized by the length of these texts; the first on ties. */
export const likeliest = (
  logprobs: ReadonlyArray<number>,
  texts: ReadonlyArray<string>,
  per: keyof typeof lengths = "choice"
): number => {
  const values = logprobs.map((logprob, at) => logprob / lengths[per](texts[at] ?? ""))
  return values.indexOf(Math.max(...values))
}

const wrongTokenizer = (server: string, tokenizer: string) =>
  new ServerManager.InferenceError({
    reason: "rejected",
    server,
    message: `the server encodes a prompt to other tokens than the tokenizer ${JSON.stringify(tokenizer)}: name the served model's with --env.tokenizer_name (a hub id or a folder)`
  })

type Servers = Pick<ServerManager.ServerManagerShape, "modelName" | "promptLogprobs" | "tokenize" | "tokenizer">

/** The likeliest choice of an item as a rollout, with its scores. */
type Weigh = (item: Item) => Effect.Effect<Environment.RolloutGroup, ServerManager.InferenceError>

/** Requests the logprobs of an item's choices, one request for each. */
export const make = (
  servers: Servers,
  scores: { readonly [name: string]: Of<"likelihood"> },
  main: string
): Effect.Effect<Weigh, NotConfigured.NotConfigured> =>
  Effect.gen(function* () {
    const { modelName, tokenizer } = servers
    if (tokenizer === undefined) {
      return yield* new NotConfigured.NotConfigured({
        what: "tokenizer",
        message: "choices are scored token by token: name the served model's tokenizer with --env.tokenizer_name"
      })
    }

    /** Checks that the server tokenizes a text like the local tokenizer. */
    const check = Effect.fn("Likelihood.check")(function* (prompt: string) {
      const ours = tokenizer.encode(prompt)
      const isOther = Option.exists(
        yield* servers.tokenize(prompt),
        (theirs) => theirs.length !== ours.length || theirs.some((id, at) => id !== ours[at])
      )
      if (isOther) return yield* wrongTokenizer(modelName, tokenizer.name)
    })
    let checking: Effect.Effect<void, ServerManager.InferenceError> | undefined

    const score = Effect.fn("Likelihood.score")(function* (continuation: Continuation) {
      const { start, tokens } = encode(tokenizer, continuation)
      // An empty continuation would have logprob 0, more than any text.
      if (tokens.length === start) {
        return yield* new ServerManager.InferenceError({
          reason: "rejected",
          server: modelName,
          message: `the choice ${JSON.stringify(continuation.text)} adds no token to its prompt: there is nothing to weigh`
        })
      }
      const { topLogprobs, topTokenIds } = yield* servers.promptLogprobs({ inputIds: tokens, topK: 1, split: "eval" })
      const logprobs: Array<number> = []
      for (let at = start; at < tokens.length; at++) {
        const value = topLogprobs[at]?.[topTokenIds[at]?.indexOf(tokens[at]!) ?? -1]
        if (value === undefined) {
          return yield* new ServerManager.InferenceError({
            reason: "malformed",
            server: modelName,
            message: `${modelName} gives no logprob of the prompt's own token at position ${at}`
          })
        }
        logprobs.push(value)
      }
      return { ...continuation, tokens, start, logprobs } satisfies Scored
    })

    return Effect.fn("Likelihood.ask")(function* (item: Item) {
      checking ??= yield* Effect.cached(check(item.continuations[0]?.context ?? ""))
      yield* checking
      const scored = yield* Effect.forEach(item.continuations, score, { concurrency: "unbounded" })
      const sums = scored.map(({ logprobs }) => sum(logprobs))
      const selected = Object.entries(scores).map(
        ([name, { per }]) => [name, likeliest(sums, item.texts, per)] as const
      )
      const rewards = Object.fromEntries(
        selected.map(([name, place]) => [name, item.gold.includes(item.letters[place] ?? "") ? 1 : 0])
      )
      const place = selected.find(([name]) => name === main)?.[1] ?? 0
      const judged: Environment.Score = {
        score: rewards[main] ?? Number.NaN,
        rewards,
        sample: {
          id: item.id,
          row: item.row,
          ...(item.category !== undefined && { category: item.category }),
          gold: item.gold,
          parsed: item.letters[place] ?? null,
          choices: scored.map(({ logprobs, text }, at) => ({
            letter: item.letters[at],
            text,
            logprob: sums[at],
            tokens: logprobs.length
          }))
        }
      }
      return { trajectories: scored.slice(place, place + 1).map(trajectoryOf), scores: [judged] }
    })
  })

/** The likeliest choice as if it had been sampled. */
const trajectoryOf = ({ context, logprobs, start, text, tokens }: Scored): Trajectory.Trajectory => ({
  messages: [
    { role: "user", content: context },
    { role: "assistant", content: text }
  ],
  completion: text,
  finishReason: "stop",
  tokens: Int32Array.from(tokens),
  mask: Trajectory.maskFrom(start, tokens.length),
  logprobs: Float32Array.from(tokens, (_, at) => logprobs[at - start] ?? Trajectory.notSampled)
})
