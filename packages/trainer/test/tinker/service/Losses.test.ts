/** The losses that clients name: their values by hand, and the gradient of the graph by central differences. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as SharedOrt from "../../exec/SharedOrt.ts"
import { Executor } from "../../../src/exec/Executor.ts"
import { grad } from "../../../src/graph/Autodiff.ts"
import { Graph } from "../../../src/graph/Graph.ts"
import * as Onnx from "../../../src/graph/Onnx.ts"
import * as Losses from "../../../src/tinker/service/Losses.ts"

const tokens = [
  { logprob: -1, oldLogprob: -1, advantage: 1.5, weight: 1 },
  { logprob: -0.5, oldLogprob: -1.2, advantage: 2, weight: 1 },
  { logprob: -0.5, oldLogprob: -1.2, advantage: -2, weight: 1 },
  { logprob: -3, oldLogprob: -1.1, advantage: 0.4, weight: 1 },
  { logprob: -3, oldLogprob: -1.1, advantage: -0.4, weight: 1 },
  { logprob: -2, oldLogprob: 0, advantage: 0, weight: 1 }
]

const settings: { readonly [name: string]: Record<string, number> } = {
  cross_entropy: {},
  importance_sampling: {},
  ppo: { clip_low_threshold: 0.7, clip_high_threshold: 1.3 },
  cispo: { clip_high_threshold: 4 },
  dro: { beta: 0.05 }
}

const named = (name: string) => Losses.make(name, new Map(Object.entries(settings[name]!)))

/** Losses and slopes of all tokens, by the graph. */
const byGraph = ({ objective }: Losses.Loss) =>
  Effect.gen(function* () {
    const executor = yield* Executor
    const graph = new Graph("float64")
    const n = tokens.length
    const column = (name: string) => graph.input(name, "float64", [n, 1])
    const logprobs = column("logprobs")
    const oldLogprobs = column("old")
    const advantages = column("advantages")
    const one = graph.add(graph.mul(logprobs, graph.scalar(0)), graph.scalar(1))
    const { loss } = objective.tokenLoss(graph, {
      logprobs,
      oldLogprobs,
      engineLogprobs: oldLogprobs,
      known: one,
      refLogprobs: undefined,
      teacherEntropies: undefined,
      advantages,
      mask: one,
      sequenceMean: (values) => values,
      sequenceSum: (values) => values,
      partnerSum: (values) => values,
      preference: undefined,
      entropies: undefined,
      entropyThreshold: undefined,
      teacherLogprobs: undefined,
      teacherKnown: undefined
    })
    const [slopes] = grad(graph, graph.sum(loss, [0, 1]), [logprobs])
    graph.output("loss", loss)
    graph.output("slopes", slopes!)
    const program = yield* executor.load(Onnx.toOnnx(graph), { optimization: "basic" })
    const feed = (of: (token: (typeof tokens)[number]) => number) =>
      ({ dtype: "float64", shape: [n, 1], data: Float64Array.from(tokens, of) }) as const
    const { host } = yield* program.run({
      logprobs: feed(({ logprob }) => logprob),
      old: feed(({ oldLogprob }) => oldLogprob),
      advantages: feed(({ advantage }) => advantage)
    })
    return { losses: Array.from(host["loss"]!.data, Number), slopes: Array.from(host["slopes"]!.data, Number) }
  }).pipe(Effect.provide(SharedOrt.layer), Effect.scoped)

/** Why a loss is refused. */
const wrong = (loss: string, config: Record<string, number>) =>
  Effect.map(Effect.flip(Losses.make(loss, new Map(Object.entries(config)))), ({ message }) => message)

describe("Tinker's losses", () => {
  it("has those that the SDK names", () => {
    assert.deepStrictEqual(Losses.names, Object.keys(settings))
  })

  for (const loss of Object.keys(settings)) {
    it.effect(`computes ${loss} alike on the host and in the graph, and its gradient`, () =>
      Effect.gen(function* () {
        const made = yield* named(loss)
        const { losses, slopes } = yield* byGraph(made)
        const h = 1e-6
        for (const [at, token] of tokens.entries()) {
          assert.closeTo(made.ofToken(token), losses[at]!, 1e-9)
          // The weight of cispo has no gradient: its slope is that of the logprob alone.
          const fixed = made.ofToken(token) / token.logprob
          const difference =
            loss === "cispo"
              ? fixed
              : (made.ofToken({ ...token, logprob: token.logprob + h }) -
                  made.ofToken({ ...token, logprob: token.logprob - h })) /
                (2 * h)
          assert.closeTo(slopes[at]!, difference, 1e-6)
        }
      })
    )
  }

  it.effect("clips the ratio where its bounds say", () =>
    Effect.gen(function* () {
      const ppo = yield* named("ppo")
      const r = Math.exp(0.7)
      assert.closeTo(ppo.ofToken(tokens[1]!), -1.3 * 2, 1e-12)
      assert.closeTo(ppo.ofToken(tokens[2]!), r * 2, 1e-12)
    })
  )

  it.effect("refuses settings that a loss does not have, and losses that there are not", () =>
    Effect.gen(function* () {
      assert.include(yield* wrong("ppo", { clip: 0.2 }), "ppo has no setting clip")
      assert.include(yield* wrong("dro", {}), "needs beta")
      assert.include(yield* wrong("ppo", { clip_low_threshold: 1.3 }), "above clip_high_threshold")
      assert.include(yield* wrong("gspo", {}), 'unknown loss "gspo"')
    })
  )
})
