/** The gated delta rule in chunks beside the same token after token, forward and backward, in double precision. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { grad } from "../../src/graph/Autodiff.ts"
import { Graph } from "../../src/graph/Graph.ts"
import * as PackedDelta from "../../src/model/PackedDelta.ts"
import { load, noise } from "../graph/RunGraph.ts"

const [rows, width, heads, keyDim, valueDim, channels, kernel] = [2, 75, 2, 3, 4, 5, 4]

/** Lengths of the sequences of each row; the second ends in padding. */
const lengths = [
  [40, 1, 34],
  [31, 33]
]

const segmentIds = new Int32Array(rows * width).fill(-1)
const positionIds = new Int32Array(rows * width)
lengths.forEach((row, r) => {
  let at = r * width
  row.forEach((length, segment) => {
    for (let t = 0; t < length; t++, at++) {
      segmentIds[at] = segment
      positionIds[at] = t
    }
  })
})

type Name = "queries" | "keys" | "values" | "decays" | "betas"

const sizes: Readonly<Record<Name, ReadonlyArray<number>>> = {
  queries: [heads, keyDim],
  keys: [heads, keyDim],
  values: [heads, valueDim],
  decays: [heads],
  betas: [heads]
}

const names = Object.keys(sizes) as ReadonlyArray<Name>

const inputs = Object.fromEntries(
  names.map((name, seed) => {
    const numbers = noise(
      sizes[name].reduce((a, b) => a * b, rows * width),
      seed
    )
    // Some tokens are all but forgotten, some overwrite, as sigmoids and exponentials have them.
    if (name === "decays") return [name, numbers.map((x) => -4 * (x + 1) ** 3)]
    return [name, name === "betas" ? numbers.map((x) => (x + 1) / 2) : numbers]
  })
) as Record<Name, Float64Array>

const weights = noise(rows * width * heads * valueDim, 99)

/** Σ weights · output of the tokens of sequences, and the output, token after token. */
const plain = (given: Record<Name, Float64Array>) => {
  const output = new Float64Array(rows * width * heads * valueDim)
  for (let row = 0; row < rows; row++) {
    for (let head = 0; head < heads; head++) {
      let state = new Float64Array(keyDim * valueDim)
      for (let t = 0; t < width; t++) {
        const token = row * width + t
        if (segmentIds[token] === -1) continue
        if (positionIds[token] === 0) state = new Float64Array(keyDim * valueDim)
        const at = token * heads + head
        const decay = Math.exp(given.decays[at]!)
        state = state.map((s) => s * decay)
        for (let v = 0; v < valueDim; v++) {
          let known = 0
          for (let k = 0; k < keyDim; k++) known += state[k * valueDim + v]! * given.keys[at * keyDim + k]!
          const missing = given.betas[at]! * (given.values[at * valueDim + v]! - known)
          for (let k = 0; k < keyDim; k++) state[k * valueDim + v]! += given.keys[at * keyDim + k]! * missing
          let sum = 0
          for (let k = 0; k < keyDim; k++) sum += state[k * valueDim + v]! * given.queries[at * keyDim + k]!
          output[at * valueDim + v] = sum
        }
      }
    }
  }
  return { output, loss: output.reduce((sum, x, i) => sum + x * weights[i]!, 0) }
}

const isOfSequence = (perToken: number) => (_: number, i: number) => segmentIds[Math.floor(i / perToken)] !== -1

const graphOf = () => {
  const graph = new Graph("float64")
  const ids = (name: string) => graph.input(name, "int32", ["B", "T"])
  return { graph, recurrence: PackedDelta.make(graph, ids("segment_ids"), ids("position_ids")) }
}

const feeds = { segment_ids: segmentIds, position_ids: positionIds }

describe("the gated delta rule in chunks", () => {
  it.effect("gives what it gives token after token, sequence by sequence, with the same gradients", () =>
    Effect.gen(function* () {
      const { graph, recurrence } = graphOf()
      const values = names.map((name) => graph.input(name, "float64", ["B", "T", ...sizes[name]]))
      const [queries, keys, ofValues, decays, betas] = values as [
        (typeof values)[0],
        (typeof values)[0],
        (typeof values)[0],
        (typeof values)[0],
        (typeof values)[0]
      ]
      const output = recurrence.mix(0, { queries, keys, values: ofValues, decays, betas })
      graph.output("output", output)
      const weighed = graph.mul(output, graph.input("weights", "float64", ["B", "T", heads, valueDim]))
      grad(graph, graph.sum(weighed, [0, 1, 2, 3]), values).forEach((gradient, i) =>
        graph.output(`gradient.${names[i]!}`, gradient)
      )
      const { run } = yield* load(graph, { B: rows, T: width })
      const masked = weights.map((x, i) => (isOfSequence(heads * valueDim)(x, i) ? x : 0))
      const found = yield* run({ ...feeds, ...inputs, weights: masked })
      const { output: expected } = plain(inputs)
      const ours = found["output"] as Float64Array
      expected.forEach((x, i) => {
        if (isOfSequence(heads * valueDim)(x, i)) assert.closeTo(ours[i]!, x, 1e-11)
      })
      for (const name of names) {
        const gradient = found[`gradient.${name}`] as Float64Array
        const perToken = sizes[name].reduce((a, b) => a * b, 1)
        assert.isTrue(gradient.every((x, i) => isOfSequence(perToken)(x, i) || x === 0))
        for (let at = 0; at < gradient.length; at += 17) {
          if (!isOfSequence(perToken)(0, at)) continue
          const moved = (by: number) => plain({ ...inputs, [name]: inputs[name].with(at, inputs[name][at]! + by) }).loss
          assert.closeTo(gradient[at]!, (moved(1e-5) - moved(-1e-5)) / 2e-5, 1e-7, `${name} ${at}`)
        }
      }
    }).pipe(Effect.scoped)
  )

  it.effect("convolves no token with one of another sequence", () =>
    Effect.gen(function* () {
      const { graph, recurrence } = graphOf()
      const x = graph.input("x", "float64", ["B", "T", channels])
      graph.output("output", recurrence.convolve(0, x, graph.input("weight", "float64", [channels, 1, kernel])))
      const { run } = yield* load(graph, { B: rows, T: width })
      const [given, weight] = [noise(rows * width * channels, 5), noise(channels * kernel, 6)]
      const { output } = yield* run({ ...feeds, x: given, weight })
      for (let token = 0; token < rows * width; token++) {
        if (segmentIds[token] === -1) continue
        for (let channel = 0; channel < channels; channel++) {
          let sum = 0
          for (let lag = 0; lag < kernel && lag <= positionIds[token]!; lag++) {
            sum += weight[channel * kernel + kernel - 1 - lag]! * given[(token - lag) * channels + channel]!
          }
          assert.closeTo(Number(output![token * channels + channel]), sum, 1e-12)
        }
      }
    }).pipe(Effect.scoped)
  )
})
