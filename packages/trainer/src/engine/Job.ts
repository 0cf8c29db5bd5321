/**
 * A request inside the engine, from arrival to its last choice.
 *
 * The prompt is prefilled once, in chunks whose size depends only on the prompt; each choice starts with a copy of its
 * cache, and its own first token from the same logits.
 */
import { Effect } from "effect"
import { GrammarError, type Grammars, type Matcher } from "../grammar/Grammars.ts"
import type { Demand } from "./Admission.ts"
import type { SeededRequest } from "./EngineProtocol.ts"
import type { Alternatives, TokenCompletion, ScoreRequest } from "./EngineRequests.ts"
import { KvCache } from "./cache/KvCache.ts"
import { type KvShape, promptPage } from "./cache/KvShape.ts"
import type { Version } from "./PolicyTable.ts"
import * as LogitAdjustments from "./LogitAdjustments.ts"
import * as Sampler from "./Sampler.ts"

/** A request for tokens, or for the logprobs of given ones. */
export type Work =
  | { readonly _tag: "Generate"; readonly request: SeededRequest; readonly stream: boolean }
  | { readonly _tag: "Score"; readonly request: ScoreRequest }

/** One choice that is being sampled; row i of its batch's cache holds all of its tokens except the last. */
export interface Choice<W> {
  readonly job: Job<W>
  readonly index: number
  readonly tokens: Array<number>
  readonly logprobs: Array<number>
  readonly alternatives: Array<Alternatives>
  readonly versions: Array<number>
  /** The experts of its prompt, then those of its tokens except the last, as they were computed. */
  readonly routed: Array<Int32Array>
  /** Grammar state, if it has a schema. */
  readonly matcher?: Matcher
  /** Allowed next tokens. */
  mask: Int32Array | undefined
  /** Occurrences of each of its tokens, if its request uses penalties. */
  readonly counts?: Map<number, number>
}

const unknownTokens = "the text of this model's tokens is unknown, so its answers cannot be constrained to a schema"

export class Job<W> {
  readonly id: number
  readonly work: Work
  readonly demand: Demand
  readonly prompt: ReadonlyArray<number>
  readonly inverseTemperature: number
  /** The weights it runs on, set when it starts. */
  version: Version<W> | undefined
  /** KV cache of the prefilled part of the prompt. */
  cache: KvCache | undefined
  /** Grammar states, one per choice, and the allowed first tokens. */
  held: { readonly matchers: ReadonlyArray<Matcher>; readonly first: Int32Array } | undefined
  /** Prompt tokens taken from the prefix cache. */
  cachedTokens = 0
  private tokensOfPrompt: ReadonlySet<number> | undefined
  /** The prompt's experts, chunk by chunk, if the model records them. */
  routed: Array<Int32Array> = []
  row: Sampler.Row | undefined
  /** Choices with reserved rows, and choices that have started. */
  granted = 0
  begun = 0
  /** By index; filled when a choice ends. */
  readonly finished: Array<TokenCompletion> = []
  hasFailed = false
  broken: string | undefined
  hasNoWay = false
  left: number
  /** Logprobs and alternatives of a score request so far. */
  readonly scores: { readonly logprobs: Array<number>; readonly alternatives: Array<Alternatives> }

  constructor(id: number, work: Work) {
    this.id = id
    this.work = work
    this.prompt = work.request.promptTokens
    this.inverseTemperature = Sampler.inverseTemperature({ temperature: work.request.temperature ?? 1 })
    const tokens = this.prompt.length
    this.left = work._tag === "Generate" ? work.request.n : 0
    this.demand =
      work._tag === "Generate"
        ? { choices: work.request.n, promptTokens: tokens, totalTokens: tokens + work.request.maxTokens }
        : { choices: 1, promptTokens: tokens, totalTokens: tokens }
    this.scores = { logprobs: [0], alternatives: [{ tokens: [], logprobs: [] }] }
  }

  beginChoice(): Choice<W> {
    const { work } = this
    const isCounted = work._tag === "Generate" && LogitAdjustments.isAdjusting(work.request)
    const index = this.begun++
    const matcher = this.held?.matchers[index]
    return {
      job: this,
      index,
      ...(matcher && { matcher }),
      mask: this.held?.first,
      tokens: [],
      logprobs: [],
      alternatives: [],
      versions: [],
      routed: [...this.routed],
      ...(isCounted && { counts: new Map<number, number>() })
    }
  }

  get hasSchema(): boolean {
    return this.work._tag === "Generate" && this.work.request.schema !== undefined
  }

  /** Compiles the grammar of its schema, if it has one. */
  hold(grammars: Grammars | undefined): Effect.Effect<void, GrammarError> {
    return Effect.gen({ self: this }, function* () {
      if (this.work._tag !== "Generate" || this.work.request.schema === undefined) return
      const { n, schema, stopTokenIds } = this.work.request
      if (grammars === undefined) return yield* new GrammarError({ message: unknownTokens })
      const matchers = yield* grammars.matchers(schema, n, stopTokenIds)
      this.held = { matchers, first: yield* matchers[0]!.mask }
    })
  }

  dispose(): void {
    for (const matcher of this.held?.matchers ?? []) matcher.dispose()
    this.held = undefined
  }

  get promptSet(): ReadonlySet<number> {
    return (this.tokensOfPrompt ??= new Set(this.prompt))
  }

  get processed(): number {
    return this.cache?.lengths[0] ?? 0
  }

  begin(version: Version<W>, shape: KvShape): void {
    this.version = version
    this.row = undefined
    this.cachedTokens = 0
    this.routed = []
    this.cache = new KvCache(shape, promptPage)
    this.cache.addEmpty(this.prompt.length)
  }
}
