/** Every preset holds the laws of objectives; broken ones are told apart, with what is wrong. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as SharedOrt from "../exec/SharedOrt.ts"
import * as ObjectiveLaws from "../../src/learn/ObjectiveLaws.ts"
import * as Objective from "../../src/loss/Objective.ts"
import { objectives } from "../loss/LossExamples.ts"

/** The laws that do not hold, with their explanations. */
const broken = (objective: Objective.Objective) =>
  ObjectiveLaws.check(objective).pipe(
    Effect.map((verdicts) =>
      verdicts.flatMap(({ explanation, law }) => (explanation === undefined ? [] : [[law, explanation]]))
    ),
    Effect.scoped,
    Effect.provide(SharedOrt.layer)
  )

const laws = {
  gradient: "the loss depends on the logprobs",
  masking: "masked tokens have no influence",
  order: "the order of sequences does not matter",
  packing: "padding and packing do not matter",
  parts: "micro-batches add up to the batch",
  finite: "loss, gradient and metrics are finite at extremes",
  advantage: "the loss is 0 if the advantage is 0 (isAdvantageOnly)"
}

describe("ObjectiveLaws", () => {
  for (const objective of objectives) {
    it.effect(`hold for ${objective.name}`, () =>
      Effect.map(broken(objective), (found) => assert.deepStrictEqual(found, []))
    )
  }

  const cases: Readonly<Record<string, readonly [Objective.Definition, Array<string>]>> = {
    "exp of an unbounded difference": [
      {
        name: "overflowing",
        tokenLoss: (graph, { advantages, logprobs, oldLogprobs }) =>
          graph.neg(graph.mul(graph.exp(graph.sub(logprobs, oldLogprobs)), advantages))
      },
      [laws.finite]
    ],
    "a mean over the micro-batch": [
      {
        name: "centred",
        tokenLoss: (graph, { advantages, logprobs }) =>
          graph.neg(graph.mul(graph.sub(advantages, graph.mean(advantages, [0], true)), logprobs))
      },
      [laws.masking, laws.packing, laws.parts]
    ],
    "a running sum that reads masked tokens": [
      {
        name: "prefix",
        tokenLoss: (graph, { logprobs, mask }) => graph.neg(graph.mul(graph.cumsum(logprobs, 0), mask))
      },
      [laws.masking, laws.order, laws.packing, laws.parts]
    ],
    "a loss without a gradient": [
      { name: "stopped", tokenLoss: (graph, { logprobs }) => graph.neg(graph.stopGradient(logprobs)) },
      [laws.gradient]
    ],
    "a claim that is not true": [
      { name: "claims", isAdvantageOnly: true, tokenLoss: (graph, { logprobs }) => graph.neg(logprobs) },
      [laws.advantage]
    ]
  }
  for (const [what, [definition, expected]] of Object.entries(cases)) {
    it.effect(`find ${what}`, () =>
      Effect.map(broken(Objective.make(definition)), (found) => {
        assert.deepStrictEqual(
          found.map(([law]) => law),
          expected
        )
      })
    )
  }

  it("tells what is missing of a value that is no objective", () => {
    const whole = Objective.make({ name: "own", tokenLoss: (graph, { logprobs }) => graph.neg(logprobs) })
    assert.isUndefined(Objective.problem(whole))
    assert.include(Objective.problem(() => whole) ?? "", "it is a function")
    assert.include(Objective.problem({ name: "own" }) ?? "", "tokenLoss is missing")
    assert.include(Objective.problem({ ...whole, aggregation: "mean" }) ?? "", 'aggregation is "mean"')
    assert.include(
      Objective.problem({ name: "own", tokenLoss: whole.tokenLoss }) ?? "",
      "Objective.make({ … }) fills in"
    )
    assert.include(Objective.problem(undefined) ?? "", "it is undefined")
  })
})
