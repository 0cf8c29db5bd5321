import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { grad } from "../../src/graph/Autodiff.ts"
import { Graph } from "../../src/graph/Graph.ts"
import { GradientError, ShapeError } from "../../src/graph/GraphError.ts"
import { nodeOrder } from "../../src/graph/NodeOrder.ts"
import type { Value } from "../../src/graph/Value.ts"
import { load, noise, type Numbers } from "./RunGraph.ts"

/** Outputs of a graph of one input, w (4). */
const outputsOf = Effect.fnUntraced(function* (build: (g: Graph, w: Value) => Readonly<Record<string, Value>>) {
  const g = new Graph("float64")
  const outputs = build(g, g.input("w", "float64", [4]))
  for (const [name, value] of Object.entries(outputs)) g.output(name, value)
  const { run } = yield* load(g)
  return yield* run({ w: Float64Array.of(1, 2, 3, 4) })
})

const close = (actual: Numbers | undefined, expected: ReadonlyArray<number>) => {
  assert.strictEqual(actual?.length, expected.length)
  expected.forEach((x, i) => assert.closeTo(Number(actual![i]), x, 1e-12))
}

describe("grad", () => {
  it.effect("stops where it is told to, and is zero where nothing depends on a value", () =>
    Effect.gen(function* () {
      const outputs = yield* outputsOf((g, w) => {
        const square = g.mul(w, w)
        const cube = g.mul(square, w)
        const unused = g.exp(w)
        const loss = g.sum(g.add(cube, g.mul(g.stopGradient(w), w)), [0])
        return {
          all: grad(g, loss, [w])[0]!,
          stopped: grad(g, loss, [w], new Set([square]))[0]!,
          unused: grad(g, loss, [unused])[0]!
        }
      })
      // w³ + c w with c = w held constant: 3 w² + w; with w² held constant too: w² + w.
      close(outputs["all"], [4, 14, 30, 52])
      close(outputs["stopped"], [2, 6, 12, 20])
      close(outputs["unused"], [0, 0, 0, 0])
    })
  )

  it.effect("differentiates by values in the middle of the graph as well", () =>
    Effect.gen(function* () {
      const outputs = yield* outputsOf((g, w) => {
        const square = g.mul(w, w)
        const [byW, bySquare] = grad(g, g.sum(g.mul(square, square), [0]), [w, square])
        return { byW: byW!, bySquare: bySquare! }
      })
      close(outputs["byW"], [4, 32, 108, 256])
      close(outputs["bySquare"], [2, 8, 18, 32])
    })
  )

  it.effect("gives ties to both, as PyTorch does", () =>
    Effect.gen(function* () {
      const outputs = yield* outputsOf((g, w) => {
        const [tied] = grad(g, g.sum(g.min(w, g.scalar(2)), [0]), [w])
        const pairs = g.reshape(g.min(w, g.scalar(3)), [2, 2])
        const [greatest] = grad(g, g.sum(g.amax(pairs, [1]), [0]), [pairs])
        return { tied: tied!, greatest: greatest! }
      })
      close(outputs["tied"], [1, 0.5, 0, 0])
      close(outputs["greatest"], [0, 1, 0.5, 0.5])
    })
  )

  it("names operator and value where a rule is missing", () => {
    const g = new Graph()
    const w = g.input("w", "float32", [4])
    const loss = g.sum(g.node("Erf", [g.exp(w)], "float32", [4]), [0])
    assert.throws(
      () => grad(g, loss, [w]),
      GradientError,
      /^no gradient through Erf of value Erf#\d+: it has no gradient rule$/
    )
    const fused = g.sum(g.node("Softmax", [w], "float32", [4], {}, "com.microsoft"), [0])
    assert.throws(() => grad(g, fused, [w]), GradientError, "no gradient through Softmax")
    assert.strictEqual(grad(g, loss, [g.neg(w)]).length, 1)
  })

  it("refuses uses of an operator that its rule does not cover", () => {
    const g = new Graph()
    const w = g.input("w", "float32", [4])
    const largest = g.node("ScatterElements", [w, g.ints([0]), g.ints([1])], "float32", [4], { reduction: "max" })
    assert.throws(() => grad(g, g.sum(largest, [0]), [w]), GradientError, "this reduction is not supported")
    const everySecond = g.node("Slice", [w, g.ints([0]), g.ints([4]), g.ints([0]), g.ints([2])], "float32", [2])
    assert.throws(() => grad(g, g.sum(everySecond, [0]), [w]), GradientError, "it slices several axes or uses steps")
    const computed = g.node("ReduceSum", [w, g.node("Abs", [g.ints([0])], "int64", [1])], "float32", [], {
      keepdims: 0
    })
    assert.throws(() => grad(g, computed, [w]), GradientError, "input 1 must be known while the graph is built")
  })

  it("refuses a loss that is no real scalar", () => {
    const g = new Graph()
    const w = g.input("w", "float32", [4])
    assert.throws(() => grad(g, w, [w]), ShapeError, "the loss must be a real scalar")
  })

  it.effect("keeps the types of a graph of mixed precision", () =>
    Effect.gen(function* () {
      const g = new Graph("float32")
      const w = g.input("w", "float64", [3])
      const [dw] = grad(g, g.sum(g.exp(g.cast(w, "float32")), [0]), [w])
      assert.strictEqual(dw!.dtype, "float64")
      g.output("dw", dw!)
      const { run } = yield* load(g)
      const { dw: gradient } = yield* run({ w: Float64Array.of(0, 1, 2) })
      gradient!.forEach((x, i) => assert.closeTo(Number(x), Math.exp(i), 1e-6))
    })
  )

  it.effect("passes values that are tied together, without computing the others again in a checkpoint", () =>
    Effect.gen(function* () {
      const g = new Graph("float64")
      const w = g.input("w", "float64", [4])
      const y = g.checkpoint([w], () => g.together([g.exp(g.mul(w, w)), g.cos(w)])[0]!)
      g.output("gradient", grad(g, g.sum(y, [0]), [w])[0]!)
      assert.deepStrictEqual(
        nodeOrder(g).filter(({ op }) => op === "Cos"),
        []
      )
      const { run } = yield* load(g)
      const { gradient } = yield* run({ w: Float64Array.of(0, 0.5, 1, 1.5) })
      close(
        gradient,
        [0, 0.5, 1, 1.5].map((w) => 2 * w * Math.exp(w * w))
      )
    })
  )

  it.effect("does log-sum-exp without overflow", () =>
    Effect.gen(function* () {
      const outputs = yield* outputsOf((g, w) => {
        const large = g.scale(w, 1000)
        const lse = g.logSumExp(large)
        return { lse, gradient: grad(g, g.sum(lse, [0]), [large])[0]! }
      })
      close(outputs["lse"], [4000])
      close(outputs["gradient"], [0, 0, 0, 1])
    })
  )
})

/**
 * Log-probabilities of targets in chunks of tokens; the gradient by h is made in the forward pass: two products a
 * chunk, not three.
 */
const chunkedHead = (g: Graph, h: Value, head: Value, targets: Value, chunks: number): Value => {
  const [vocabulary] = head.shape
  const ids = g.split(targets, 0, chunks)
  const parts = g.split(h, 0, chunks).map((rows, i) => {
    const [logprobs] = g.customGradient([rows], () => {
      const logits = g.gemm(rows, head, false, true)
      const logprobs = g.logSoftmax(logits)
      const target = g.equal(
        ids[i]!,
        g.reshape(
          g.initializer(
            `ids${i}`,
            "int32",
            [Number(vocabulary)],
            Int32Array.from({ length: Number(vocabulary) }, (_, k) => k)
          ),
          [1, vocabulary!]
        )
      )
      const slope = g.gemm(g.sub(g.cast(target, g.real), g.exp(logprobs)), head)
      return { outputs: [g.gatherLast(logprobs, ids[i]!)], backward: ([dy]) => [dy && g.mul(dy, slope)] }
    })
    return logprobs!
  })
  return g.concat(parts, 0)
}

describe("customGradient", () => {
  it.effect("makes a chunk's gradient in the forward pass: equal to the plain head's, with two products a chunk", () =>
    Effect.gen(function* () {
      const graphs = ["plain", "chunked"].map((kind) => {
        const g = new Graph("float64")
        const h = g.input("h", "float64", ["N", 3])
        const head = g.input("head", "float64", [5, 3])
        const targets = g.input("targets", "int32", ["N", 1])
        const logprobs =
          kind === "plain"
            ? g.gatherLast(g.logSoftmax(g.gemm(h, head, false, true)), targets)
            : chunkedHead(g, h, head, targets, 2)
        const loss = g.sum(g.exp(logprobs), [0, 1])
        g.output("loss", loss)
        g.output("dh", grad(g, loss, [h])[0]!)
        return g
      })
      assert.strictEqual(graphs[1]!.nodes.filter(({ op }) => op === "Gemm").length, 4)
      const feeds = { h: noise(12, 1), head: noise(15, 2), targets: Int32Array.of(4, 0, 2, 2) }
      const [plain, chunked] = yield* Effect.forEach(graphs, (g) =>
        Effect.flatMap(load(g, { N: 4 }), ({ run }) => run(feeds))
      )
      close(chunked!["loss"], Array.from(plain!["loss"]!, Number))
      close(chunked!["dh"], Array.from(plain!["dh"]!, Number))
    })
  )

  it.effect("works in a checkpoint: what is recalled is computed again", () =>
    Effect.gen(function* () {
      const outputs = yield* outputsOf((g, w) => {
        const y = g.checkpoint([w], () => {
          const square = g.mul(w, w)
          return g.customGradient([square], () => {
            const cosine = g.cos(square)
            return { outputs: [g.sin(square)], backward: ([dy], { recall }) => [dy && g.mul(dy, recall(cosine))] }
          })[0]!
        })
        const [gradient] = grad(g, g.sum(y, [0]), [w])
        assert.strictEqual(g.nodes.filter(({ op }) => op === "Cos").length, 2)
        return { gradient: gradient! }
      })
      close(
        outputs["gradient"],
        [1, 2, 3, 4].map((w) => 2 * w * Math.cos(w * w))
      )
    })
  )

  it.effect("computes inputs of a checkpoint in a checkpoint again, too", () =>
    Effect.gen(function* () {
      const outputs = yield* outputsOf((g, w) => {
        const y = g.checkpoint([w], () => {
          const cosine = g.cos(w)
          return g.mul(
            g.checkpoint([cosine], () => g.exp(g.mul(cosine, cosine))),
            w
          )
        })
        const [gradient] = grad(g, g.sum(y, [0]), [w])
        const count = (name: string) => g.nodes.filter(({ op }) => op === name).length
        assert.deepStrictEqual([count("Cos"), count("Exp")], [2, 2])
        return { gradient: gradient! }
      })
      close(
        outputs["gradient"],
        [1, 2, 3, 4].map((w) => {
          const cosine = Math.cos(w)
          return Math.exp(cosine ** 2) * (1 - 2 * w * cosine * Math.sin(w))
        })
      )
    })
  )

  it("refuses a parameter that is used inside but not among the inputs", () => {
    const g = new Graph()
    const w = g.input("w", "float32", [4])
    const x = g.input("x", "float32", [4])
    const [y] = g.customGradient([x], () => ({ outputs: [g.mul(x, w)], backward: ([dy]) => [dy] }))
    const loss = g.sum(y!, [0])
    assert.throws(() => grad(g, loss, [w]), GradientError, "w is used inside and needs a gradient")
    assert.strictEqual(grad(g, loss, [x]).length, 1)
  })

  it("refuses a gradient of another shape or count", () => {
    const g = new Graph()
    const x = g.input("x", "float32", [4])
    const [y] = g.customGradient([x], () => ({ outputs: [g.exp(x)], backward: () => [g.scalar(1)] }))
    assert.throws(() => grad(g, g.sum(y!, [0]), [x]), ShapeError)
    const [z] = g.customGradient([x], () => ({ outputs: [g.exp(x)], backward: () => [] }))
    assert.throws(() => grad(g, g.sum(z!, [0]), [x]), ShapeError, "one gradient per input")
  })
})
