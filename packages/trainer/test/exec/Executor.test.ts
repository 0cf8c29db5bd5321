import { NodeServices } from "@effect/platform-node"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import { monitorEventLoopDelay } from "node:perf_hooks"
import { Executor, type HostTensor } from "../../src/exec/Executor.ts"
import * as Ort from "../../src/exec/Ort.ts"
import * as OrtWorker from "../../src/exec/OrtWorker.ts"
import { Graph } from "../../src/graph/Graph.ts"
import { toOnnx } from "../../src/graph/Onnx.ts"

const floats = (...values: ReadonlyArray<number>): HostTensor => ({
  dtype: "float32",
  shape: [values.length],
  data: Float32Array.from(values)
})

/** sum = x + y, product = x * y, of vectors of length N. */
const arithmetic = () => {
  const graph = new Graph()
  const x = graph.input("x", "float32", ["N"])
  const y = graph.input("y", "float32", ["N"])
  graph.output("sum", graph.add(x, y))
  graph.output("product", graph.mul(x, y))
  return toOnnx(graph)
}

describe.each([
  ["in the calling thread", Ort.layer({ threads: 1 })],
  ["in a thread of its own", OrtWorker.layer({ threads: 1 })]
] as const)("Executor %s", (_name, executorLayer) => {
  layer(executorLayer)("runs graphs", (it) => {
    it.effect("brings back what is asked for, and leaves inputs as they are", () =>
      Effect.gen(function* () {
        const executor = yield* Executor
        const program = yield* executor.load(arithmetic())
        const feeds = { x: floats(1, 2), y: floats(3, 4) }
        const { host } = yield* program.run(feeds)
        assert.deepStrictEqual(host["sum"], floats(4, 6))
        assert.deepStrictEqual(host["product"], floats(3, 8))
        const some = yield* program.run(feeds, { fetch: ["sum"] })
        assert.deepStrictEqual(Object.keys(some.host), ["sum"])
        assert.strictEqual(executor.device.kind, "cpu")
      })
    )

    it.effect("keeps tensors, writes outputs over them in place, and frees them", () =>
      Effect.gen(function* () {
        const executor = yield* Executor
        const program = yield* executor.load(arithmetic())
        const total = yield* executor.put(floats(0, 0))
        for (let round = 1; round <= 3; round++) {
          const { host } = yield* program.run({ x: total, y: floats(1, 10) }, { fetch: [], into: { sum: total } })
          assert.deepStrictEqual(host, {})
        }
        assert.deepStrictEqual(yield* executor.read(total), floats(3, 30))
        yield* executor.update(total, 1, Float32Array.of(7))
        const { kept } = yield* program.run({ x: total, y: total }, { fetch: [], keep: ["product"] })
        assert.deepStrictEqual(yield* executor.read(kept["product"]!), floats(9, 49))
        yield* executor.free(total)
        const error = yield* Effect.flip(program.run({ x: total, y: floats(1, 1) }))
        assert.match(error.message, /has been freed/)
      })
    )

    it.effect("a slice of a larger array is an input like any other", () =>
      Effect.gen(function* () {
        const program = yield* (yield* Executor).load(arithmetic())
        const large = Float32Array.of(9, 9, 1, 2, 9)
        const x: HostTensor = { dtype: "float32", shape: [2], data: large.subarray(2, 4) }
        const { host } = yield* program.run({ x, y: floats(1, 1) }, { fetch: ["sum"] })
        assert.deepStrictEqual(host["sum"], floats(2, 3))
      })
    )

    it.effect("what is wrong with an input is said before anything runs", () =>
      Effect.gen(function* () {
        const program = yield* (yield* Executor).load(arithmetic())
        const message = (feeds: Parameters<typeof program.run>[0]) =>
          Effect.map(Effect.flip(program.run(feeds)), (error) => {
            assert.strictEqual(error.reason, "input")
            return error.message
          })
        assert.match(yield* message({ x: floats(1) }), /input y is missing: float32 \[N\]/)
        assert.match(yield* message({ x: floats(1), y: floats(1, 2) }), /so N is 2, but x has 1/)
        assert.match(yield* message({ x: floats(1), y: floats(1), z: floats(1) }), /no input z; it has x, y/)
        const ids: HostTensor = { dtype: "int32", shape: [1], data: Int32Array.of(1) }
        assert.match(yield* message({ x: floats(1), y: ids }), /y must be float32, got int32/)
        assert.match(yield* message({ x: floats(1), y: { ...floats(1), shape: [2] } }), /needs 2 values, got 1/)
        const error = yield* Effect.flip(program.run({ x: floats(1), y: floats(1) }, { fetch: ["quotient"] }))
        assert.match(error.message, /no output quotient; it has sum, product/)
      })
    )

    it.effect("bytes that are no model, and files that are not there, are errors", () =>
      Effect.gen(function* () {
        const executor = yield* Executor
        const bytes = { onnx: Uint8Array.of(1, 2, 3, 4), external: { folder: undefined } }
        assert.strictEqual((yield* Effect.flip(executor.load(bytes))).reason, "model")
        const graph = new Graph()
        const file = { file: "/nowhere/weights.safetensors", offset: 0 }
        graph.output("y", graph.add(graph.input("x", "float32", [2]), graph.initializer("w", "float32", [2], file)))
        const error = yield* Effect.flip(executor.load(toOnnx(graph)))
        assert.strictEqual(error.reason, "model")
        assert.match(error.message, /weights\.safetensors/)
      })
    )

    it.effect("constants are read from their place in a file", () =>
      Effect.gen(function* () {
        const executor = yield* Executor
        const fs = yield* FileSystem.FileSystem
        const folder = yield* fs.makeTempDirectoryScoped()
        const values = Float32Array.of(0, 0, 5, 6)
        yield* fs.writeFile(`${folder}/weights.bin`, new Uint8Array(values.buffer))
        const graph = new Graph()
        const place = { file: `${folder}/weights.bin`, offset: 8 }
        graph.output("y", graph.add(graph.input("x", "float32", [2]), graph.initializer("w", "float32", [2], place)))
        const { host } = yield* (yield* executor.load(toOnnx(graph))).run({ x: floats(1, 1) })
        assert.deepStrictEqual(host["y"], floats(6, 7))
      }).pipe(Effect.provide(NodeServices.layer))
    )
  })
})

describe("OrtWorker", () => {
  it.live("a long run does not hold up the event loop", () =>
    Effect.gen(function* () {
      const graph = new Graph()
      let value = graph.input("x", "float32", [1200, 1200])
      const x = value
      for (let round = 0; round < 6; round++) value = graph.matmul(value, x)
      graph.output("y", value)
      const executor = yield* Executor
      const program = yield* executor.load(toOnnx(graph))
      const data = new Float32Array(1200 * 1200)
      const delay = monitorEventLoopDelay({ resolution: 2 })
      delay.enable()
      yield* program.run({ x: { dtype: "float32", shape: [1200, 1200], data } }, { fetch: ["y"] })
      delay.disable()
      // Blocked for the run, it would have been hundreds of milliseconds at once.
      assert.isAbove(delay.count, 5)
    }).pipe(Effect.provide(OrtWorker.layer({ threads: 1 })))
  )

  it.live("a released program runs no more", () =>
    Effect.gen(function* () {
      const executor = yield* Executor
      const program = yield* Effect.scoped(executor.load(arithmetic()))
      const error = yield* Effect.flip(program.run({ x: floats(1), y: floats(1) }))
      assert.match(error.message, /has been released/)
    }).pipe(Effect.provide(OrtWorker.layer({ threads: 1 })))
  )
})
