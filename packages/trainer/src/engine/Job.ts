/**
 * A request inside the engine, from its arrival to its last choice.
 *
 * Its prompt goes through the model once, into a cache of its own, in pieces whose size depends on the prompt alone;
 * each choice starts with a copy of that cache and its own first token, drawn from the same row of logits.
 */
import { Effect } from "effect"
import { GrammarError, type Grammars, type Matcher } from "../grammar/Grammars.ts"
import type { Demand } from "./Admission.ts"
import type { SeededRequest } from "./EngineProtocol.ts"
import type { Alternatives, TokenCompletion, ScoreRequest } from "./EngineRequests.ts"
import { KvCache } from "./KvCache.ts"
import { type KvShape, promptPage } from "./KvShape.ts"
import type { Version } from "./PolicyTable.ts"
import * as LogitAdjustments from "./LogitAdjustments.ts"
import * as Sampler from "./Sampler.ts"

/** What asks for tokens, or for the logprobs of given ones. */
export type Work =
  | { readonly _tag: "Generate"; readonly request: SeededRequest; readonly stream: boolean }
  | { readonly _tag: "Score"; readonly request: ScoreRequest }

/** One choice that is being sampled; row i of its lane's cache holds all of its tokens but the last. */
export interface Choice<W> {
  readonly job: Job<W>
  readonly index: number
  readonly tokens: Array<number>
  readonly logprobs: Array<number>
  readonly alternatives: Array<Alternatives>
  /** Of the weights that drew each of its tokens. */
  readonly versions: Array<number>
  /** The experts of its prompt, then those of its tokens but the last, as they went through the model. */
  readonly routed: Array<Int32Array>
  /** What it is held to. */
  readonly matcher?: Matcher
  /** What of that may follow now. */
  mask: Int32Array | undefined
  /** How often it has each of its tokens, where its request looks at that. */
  readonly counts?: Map<number, number>
}

const unknownTokens = "what this model's tokens stand for is not known, so its answers cannot be held to a schema"

export class Job<W> {
  readonly id: number
  readonly work: Work
  readonly demand: Demand
  readonly prompt: ReadonlyArray<number>
  readonly inverseTemperature: number
  /** The weights it runs on, from when it begins. */
  version: Version<W> | undefined
  /** Keys and values of the prompt, as far as it went through the model. */
  cache: KvCache | undefined
  /** What its choices are held to, each by its own matcher, and what they may begin with. */
  held: { readonly matchers: ReadonlyArray<Matcher>; readonly first: Int32Array } | undefined
  /** Prompt tokens that were known before. */
  cachedTokens = 0
  private tokensOfPrompt: ReadonlySet<number> | undefined
  /** The experts that the prompt passed, piece by piece, where the model writes them down. */
  routed: Array<Int32Array> = []
  /** The logits after the prompt. */
  row: Sampler.Row | undefined
  /** Choices that were promised rows, and those that have begun. */
  granted = 0
  begun = 0
  /** By index; a place is filled when its choice ends. */
  readonly finished: Array<TokenCompletion> = []
  /** Its logits were not finite. */
  hasFailed = false
  /** Why what follows under its schema is not known any more. */
  broken: string | undefined
  /** Its schema leaves it no token to go on with. */
  hasNoWay = false
  /** Choices that have not ended. */
  left: number
  /** Of a score: logprobs and alternatives so far. */
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

  /** The choice that begins next. */
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

  /** Makes the grammar of its schema, where it has one. */
  hold(grammars: Grammars | undefined): Effect.Effect<void, GrammarError> {
    return Effect.gen({ self: this }, function* () {
      if (this.work._tag !== "Generate" || this.work.request.schema === undefined) return
      const { n, schema, stopTokenIds } = this.work.request
      if (grammars === undefined) return yield* new GrammarError({ message: unknownTokens })
      const matchers = yield* grammars.matchers(schema, n, stopTokenIds)
      this.held = { matchers, first: yield* matchers[0]!.mask }
    })
  }

  /** Frees what the grammar of its schema takes. */
  dispose(): void {
    for (const matcher of this.held?.matchers ?? []) matcher.dispose()
    this.held = undefined
  }

  get promptSet(): ReadonlySet<number> {
    return (this.tokensOfPrompt ??= new Set(this.prompt))
  }

  /** Prompt tokens that went through the model. */
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
