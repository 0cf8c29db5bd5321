/**
 * What sampling parameters make of logits, against transformers' processors and vLLM's formulas
 * (`scripts/make-sampling-fixtures.py`).
 */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as CounterRandom from "../../src/base/CounterRandom.ts"
import * as LogitAdjustments from "../../src/engine/LogitAdjustments.ts"
import * as Sampler from "../../src/engine/Sampler.ts"
import cases from "../fixtures/sampling.json" with { type: "json" }

const countsOf = (tokens: ReadonlyArray<number>) => {
  const counts = new Map<number, number>()
  for (const token of tokens) counts.set(token, (counts.get(token) ?? 0) + 1)
  return counts
}

type Words = { readonly [word: string]: number | Readonly<Record<string, number>> }

const read = (request: Words) => {
  const number = (word: string, off: number) => (typeof request[word] === "number" ? request[word] : off)
  return {
    temperature: number("temperature", 1),
    topK: number("top_k", 0),
    topP: number("top_p", 1),
    minP: number("min_p", 0),
    repetitionPenalty: number("repetition_penalty", 1),
    presencePenalty: number("presence_penalty", 0),
    frequencyPenalty: number("frequency_penalty", 0),
    ...(typeof request["logit_bias"] === "object" && { logitBias: request["logit_bias"] })
  }
}

const draws = 2000

describe("sampling parameters", () => {
  it.each(cases.map((one, i) => [`${i}: ${JSON.stringify(one.request)}`, one] as const))(
    "change the distribution as transformers and vLLM do, %s",
    (_, { adjusted, logits, output, probabilities, prompt, request }) => {
      const asked = read(request)
      for (const blocks of [1, 6]) {
        const plain = Sampler.row(Float32Array.from(logits), 1 / asked.temperature, logits.length / blocks)
        const history = { prompt: new Set(prompt), sampled: countsOf(output) }
        const row = LogitAdjustments.apply(plain, asked, history)
        for (const [token, logit] of adjusted.entries())
          assert.closeTo(row.logits[token]!, logit, 2e-5, `token ${token}`)
        // A draw inverts the distribution: evenly spaced numbers give every token its share of them.
        const seen = Array.from(logits, () => 0)
        for (let i = 0; i < draws; i++) seen[Sampler.draw(row, asked, (i + 0.5) / draws).token]!++
        for (const [token, p] of probabilities.entries()) {
          assert.isAtMost(Math.abs(seen[token]! - p * draws), 1.5, `token ${token} of ${JSON.stringify(request)}`)
        }
        // Greedy takes the likeliest of what penalties leave.
        const { token } = Sampler.draw(row, { ...asked, temperature: 0 }, 0)
        assert.strictEqual(adjusted[token], Math.max(...adjusted))
      }
    }
  )

  it.prop(
    "replacing logits gives the row of the new logits, however far they go",
    [Schema.Natural, Schema.Literals([0.1, 1, 5, 80]), Schema.Literals([0.5, 1, 3])],
    ([seed, scale, inverse]) => {
      const numberAt = (i: number, j: number) => scale * (2 * CounterRandom.uniform(seed, i, j) - 1)
      const logits = Float32Array.from({ length: 36 }, (_, i) => numberAt(0, i))
      const changed = new Map([3, 4, 20, logits.indexOf(Math.max(...logits))].map((at) => [at, numberAt(1, at)]))
      const wanted = Sampler.row(
        logits.map((logit, i) => changed.get(i) ?? logit),
        inverse,
        6
      )
      const row = Sampler.replaced(Sampler.row(logits, inverse, 6), changed)
      assert.deepStrictEqual([row.logits, row.maxima], [wanted.logits, wanted.maxima])
      for (const [i, sum] of wanted.sums.entries()) assert.closeTo(row.sums[i]!, sum, 1e-5 * (1 + sum))
    }
  )
})
