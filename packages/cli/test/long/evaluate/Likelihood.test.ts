/**
 * Suites that weigh choices, against lm-evaluation-harness with the same model: contexts, continuations, logprobs and
 * verdicts, a third of the rows (`Sample`). `scripts/make-likelihood-fixture.py` asked the harness; both ran the model
 * that comes with the command.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Dataset, Environment, ServerManager, Tokenizer } from "@atropos/core"
import { Judge, MathVerifier, Sandbox, Suite } from "@atropos/envs"
import * as PretrainedModel from "@atropos/trainer/model/PretrainedModel"
import * as PolicyLayers from "@atropos/trainer/server/PolicyLayers"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option, Schema, Stream } from "effect"
import { FetchHttpClient } from "effect/http"
import { readFileSync } from "node:fs"
import * as BundledModel from "../../../src/config/BundledModel.ts"
import * as Suites from "../../../src/config/Suites.ts"
import * as Sample from "../../../../core/test/Sample.ts"

const Row = Schema.Record(Schema.String, Schema.Unknown)
const Fixture = Schema.fromJsonString(
  Schema.Struct({
    examples: Schema.Array(Row),
    suites: Schema.Array(
      Schema.Struct({
        suite: Schema.String,
        cases: Schema.Array(
          Schema.Struct({
            row: Row,
            choices: Schema.Array(
              Schema.Struct({ context: Schema.String, text: Schema.String, logprob: Schema.Finite })
            ),
            values: Schema.Record(Schema.String, Schema.Finite)
          })
        )
      })
    )
  })
)
const { examples, suites: whole } = Schema.decodeUnknownSync(Fixture)(
  readFileSync(new URL("likelihood.json", import.meta.url), "utf8")
)
const suites = whole.map(({ cases, suite }) => ({ suite, cases: Sample.every(6, cases) }))

const ScoredChoices = Schema.Struct({
  choices: Schema.Array(Schema.Struct({ text: Schema.String, logprob: Schema.Finite, tokens: Schema.Int }))
})
const readSample = Schema.decodeUnknownSync(ScoredChoices)

const policy = Layer.unwrap(
  Effect.map(PretrainedModel.load(BundledModel.located(BundledModel.word), { trains: "all", seed: 0 }), (model) =>
    PolicyLayers.layerInProcess(model, { device: "cpu" })
  )
).pipe(Layer.provide([NodeServices.layer, FetchHttpClient.layer]))

/** Everything a suite asks for beside the policy. */
const beside = (rows: ReadonlyArray<unknown>) =>
  Layer.mergeAll(
    Dataset.layerMemory({ rows, "cais/mmlu/all/dev": examples }),
    MathVerifier.layer(),
    Judge.layerScripted(() => ""),
    Sandbox.layerWasi()
  )

const evaluated = Effect.fnUntraced(function* (name: string, rows: ReadonlyArray<unknown>) {
  const { suite } = yield* Suites.choose(name)
  const layer = Suite.environment(suite)
    .fromEncoded({ data: "rows" })
    .pipe(Layer.provide(beside(rows)))
  return yield* Effect.gen(function* () {
    const { evaluation } = yield* Environment.Environment
    const items = yield* Stream.runCollect(Option.getOrThrow(evaluation))
    return yield* Effect.forEach(items, ({ evaluate }) => evaluate, { concurrency: 4 })
  }).pipe(Effect.provide(layer))
})

/**
 * float32 in another order: 1e-4 of a nat for a token. transformers multiplies positions with frequencies in float32,
 * whatever the type of the weights, and we in float64: after 460 tokens that alone is 3.4e-4 (with its angles in
 * float64 the same weights give what we do, to 3e-5).
 */
const perToken = (context: string) => (context.length > 500 ? 5e-4 : 1e-4)

describe("suites that weigh choices", () => {
  it.layer(policy, { excludeTestServices: true })("on the bundled model", (it) => {
    it.effect.each(suites)("agree with lm-evaluation-harness: $suite", ({ cases, suite }) =>
      Effect.gen(function* () {
        const results = yield* evaluated(
          suite,
          cases.map(({ row }) => row)
        )
        assert.lengthOf(results, cases.length)
        for (const [at, { choices, values }] of cases.entries()) {
          const [result] = results[at]!
          const ours = readSample(result!.sample).choices
          assert.lengthOf(ours, choices.length)
          // Where the right choice has a column of its own, they come in an order of the question's.
          const hasOrder = suite !== "sciq-likelihood"
          for (const [place, { context, logprob, text }] of choices.entries()) {
            const same = hasOrder ? ours[place]! : ours.find((one) => one.text === text)!
            assert.strictEqual(same.text, text)
            assert.closeTo(same.logprob, logprob, perToken(context) * same.tokens, `${suite} ${at}: ${text}`)
          }
          const context = result!.trajectory.messages[0]!.content
          assert.isTrue(
            choices.some((choice) => choice.context === context),
            `${suite} ${at}: ${JSON.stringify(context)}`
          )
          for (const [name, value] of Object.entries(values)) {
            assert.strictEqual(result!.rewards?.[name], value, `${suite} ${at}: ${name}`)
          }
        }
      }).pipe(Effect.provide(NodeServices.layer))
    )

    it.effect("says that a tokenizer is not the server's before it scores by its tokens", () =>
      Effect.gen(function* () {
        const { cases } = suites.find(({ suite }) => suite === "piqa-likelihood")!
        const servers = yield* ServerManager.ServerManager
        const other = Layer.succeed(ServerManager.ServerManager, { ...servers, tokenizer: Tokenizer.bytes })
        const error = yield* Effect.flip(
          evaluated(
            "piqa-likelihood",
            cases.map(({ row }) => row)
          ).pipe(Effect.provide(other))
        )
        assert.include(String(error), "--env.tokenizer_name")
      }).pipe(Effect.provide(NodeServices.layer))
    )
  })
})
