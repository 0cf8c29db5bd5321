/**
 * Grammars of JSON schemas over one vocabulary, compiled once each, and matchers of answers in progress.
 *
 * For the engine's thread: what the library does, it does at once. A schema that it cannot compile ends its instance
 * (it aborts), so the next one gets another.
 */
import { Effect, Schema } from "effect"
import * as Vocabulary from "./Vocabulary.ts"
import * as XGrammar from "./XGrammar.ts"

/** A schema that answers cannot be held to, or no library to do so. */
export class GrammarError extends Schema.TaggedError<GrammarError>()("GrammarError", { message: Schema.String }) {}

/** One answer in progress. */
export interface Matcher {
  /** What may follow: bit i % 32 of word i / 32 for token i. */
  readonly mask: Effect.Effect<Int32Array>
  /** Whether the token may follow; it has then. */
  readonly accept: (token: number) => boolean
  readonly dispose: () => void
}

interface Loaded {
  readonly library: XGrammar.Library
  readonly compiler: XGrammar.Compiler
  readonly grammars: Map<string, unknown>
}

/** Spaces and line breaks in a row: without a limit a model that finds no end writes them for ever. */
const mostWhitespace = 32

/** Schemas kept compiled. */
const most = 64

export class Grammars {
  private readonly vocabulary: Vocabulary.Vocabulary
  private readonly size: number
  private loaded: Loaded | undefined

  /** `size`: logits of the model. */
  constructor(vocabulary: Vocabulary.Vocabulary, size: number) {
    this.vocabulary = vocabulary
    this.size = size
  }

  /** Matchers of `count` answers to one schema (its text), each ended by one of these tokens. */
  matchers(
    schema: string,
    count: number,
    ends: ReadonlyArray<number>
  ): Effect.Effect<ReadonlyArray<Matcher>, GrammarError> {
    return Effect.gen({ self: this }, function* () {
      const loaded = (this.loaded ??= yield* this.load)
      const { compiler, grammars, library } = loaded
      let grammar = grammars.get(schema)
      if (grammar === undefined) {
        grammar = yield* Effect.tryPromise({
          try: () => compiler.compileJSONSchema(schema, true, undefined, undefined, true, mostWhitespace),
          catch: () => {
            this.loaded = undefined
            return new GrammarError({
              message:
                "the schema cannot be made a grammar; what is wrong with it stands in the log of the engine's process"
            })
          }
        })
        if (grammars.size >= most) grammars.clear()
        grammars.set(schema, grammar)
      }
      const all = yield* Effect.promise(() =>
        Promise.all(Array.from({ length: count }, () => library.GrammarMatcher.createGrammarMatcher(grammar, ends)))
      )
      return all.map((matcher): Matcher => ({
        mask: Effect.promise(() => matcher.getNextTokenBitmask()),
        accept: (token) => matcher.acceptToken(token),
        dispose: () => matcher.dispose()
      }))
    })
  }

  private readonly load: Effect.Effect<Loaded, GrammarError> = Effect.suspend(() => {
    const library = XGrammar.load()
    if (library === undefined) return Effect.fail(new GrammarError({ message: XGrammar.missing }))
    const tokens = Vocabulary.tokens(this.vocabulary, this.size)
    return Effect.promise(async () => {
      const info = await library.TokenizerInfo.createTokenizerInfo(tokens, this.vocabulary.kind, false, this.size, [])
      const compiler = await library.GrammarCompiler.createGrammarCompiler(info, true)
      return { library, compiler, grammars: new Map<string, unknown>() }
    })
  })
}
