import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import { Executor, type HostTensor } from "../../src/exec/Executor.ts"
import * as Ort from "../../src/exec/Ort.ts"
import * as OrtWorker from "../../src/exec/OrtWorker.ts"
import { Graph } from "../../src/graph/Graph.ts"
import { toOnnx } from "../../src/graph/Onnx.ts"
import { arithmetic, devices, devicesNote, floats } from "./TestGraphs.ts"

console.log(`executor suites run ${devicesNote}`)

// The devices were tried as the list was made: chosen ones are not tried again.
const layers = devices.flatMap((kind) => {
  const options = { device: { kind, detail: kind }, threads: 1 }
  return [
    [kind, "in the calling thread", Ort.layer(options)],
    [kind, "in a thread of its own", OrtWorker.layer(options)]
  ] as const
})

const tensors: ReadonlyArray<HostTensor> = [
  floats(1, -2, Number.NaN, Number.POSITIVE_INFINITY),
  { dtype: "float32", shape: [], data: Float32Array.of(3) },
  { dtype: "float32", shape: [0, 2], data: new Float32Array(0) },
  { dtype: "float64", shape: [1, 2], data: Float64Array.of(1 / 3, 2) },
  { dtype: "int32", shape: [2], data: Int32Array.of(-1, 2 ** 30) },
  { dtype: "int64", shape: [2], data: BigInt64Array.of(-1n, 2n ** 40n) },
  { dtype: "bool", shape: [3], data: Uint8Array.of(0, 1, 1) }
]

describe.each(layers)("Executor on %s, %s", (device, _thread, executorLayer) => {
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
        assert.strictEqual(executor.device.kind, device)
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
        assert.match(error.message, /was freed/)
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
        const executor = yield* Executor
        // Also where the model itself does not tell the sizes of its inputs.
        for (const program of [yield* executor.load(arithmetic()), yield* executor.load(arithmetic(true))]) {
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
        }
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

    it.effect("tensors of every type come back as they were put", () =>
      Effect.gen(function* () {
        const executor = yield* Executor
        for (const tensor of tensors) {
          const resident = yield* executor.put({ ...tensor, data: tensor.data.slice() })
          assert.deepStrictEqual(yield* executor.read(resident), tensor)
          yield* executor.free(resident)
        }
      })
    )

    it.effect("values that are no numbers pass through", () =>
      Effect.gen(function* () {
        const program = yield* (yield* Executor).load(arithmetic())
        const { host } = yield* program.run({ x: floats(Number.NaN, 0, 1), y: floats(1, Number.POSITIVE_INFINITY, 2) })
        assert.deepStrictEqual(host["sum"], floats(Number.NaN, Number.POSITIVE_INFINITY, 3))
        assert.deepStrictEqual(host["product"], floats(Number.NaN, Number.NaN, 2))
      })
    )

    it.effect("updates outside of a resident, and of another type, are refused and change nothing", () =>
      Effect.gen(function* () {
        const executor = yield* Executor
        const resident = yield* executor.put(floats(1, 2, 3))
        const message = (offset: number, values: HostTensor["data"]) =>
          Effect.map(Effect.flip(executor.update(resident, offset, values)), (error) => error.message)
        assert.match(yield* message(2, Float32Array.of(8, 9)), /elements 2 to 4 of a device tensor of 3/)
        assert.match(yield* message(-1, Float32Array.of(8)), /elements -1 to 0/)
        assert.match(yield* message(0, Int32Array.of(8)), /the device tensor is float32, the values are a Int32Array/)
        // A part of a larger array.
        yield* executor.update(resident, 1, Float32Array.of(0, 0, 7).subarray(2))
        assert.deepStrictEqual(yield* executor.read(resident), floats(1, 7, 3))
      })
    )

    it.effect("an output goes to one place, and over a resident of its own shape only", () =>
      Effect.gen(function* () {
        const executor = yield* Executor
        const program = yield* executor.load(arithmetic())
        const feeds = { x: floats(1, 2), y: floats(3, 4) }
        const twice = yield* Effect.flip(program.run(feeds, { fetch: ["sum"], keep: ["sum"] }))
        assert.match(
          twice.message,
          /the output sum can be fetched, kept, or written to a device tensor: only one of the three/
        )
        const longer = yield* executor.put(floats(0, 0, 0))
        const error = yield* Effect.flip(program.run(feeds, { into: { sum: longer } }))
        assert.match(error.message, /sum/)
        const { host } = yield* program.run(feeds, { fetch: ["sum"] })
        assert.deepStrictEqual(host["sum"], floats(4, 6))
      })
    )

    it.effect("outputs that stay are kept and written over like others, and others can be asked for alone", () =>
      Effect.gen(function* () {
        const executor = yield* Executor
        const program = yield* executor.load(arithmetic(), { stay: ["sum"] })
        const feeds = { x: floats(1, 2), y: floats(3, 4) }
        const { host, kept } = yield* program.run(feeds, { keep: ["sum"] })
        assert.deepStrictEqual(host, { product: floats(3, 8) })
        const total = kept["sum"]!
        yield* program.run({ x: total, y: total }, { fetch: [], into: { sum: total } })
        assert.deepStrictEqual(yield* executor.read(total), floats(8, 12))
        const product = yield* program.run({ x: total, y: total }, { fetch: ["product"] })
        assert.deepStrictEqual(product.host, { product: floats(64, 144) })
        const sum = yield* program.run(feeds, { fetch: ["sum"] })
        assert.deepStrictEqual(sum.host, { sum: floats(4, 6) })
      })
    )

    it.effect("a released program runs no more", () =>
      Effect.gen(function* () {
        const executor = yield* Executor
        const program = yield* Effect.scoped(executor.load(arithmetic()))
        const error = yield* Effect.flip(program.run({ x: floats(1), y: floats(1) }))
        assert.match(error.message, /has been released/)
      })
    )
  })
})

describe("Ort", () => {
  it.effect("on the CPU an output over a resident is written to the very memory that was put", () =>
    Effect.gen(function* () {
      const executor = yield* Executor
      const program = yield* executor.load(arithmetic())
      const memory = Float32Array.of(1, 2)
      const resident = yield* executor.put({ dtype: "float32", shape: [2], data: memory })
      yield* program.run({ x: resident, y: floats(10, 20) }, { fetch: [], into: { sum: resident } })
      assert.deepStrictEqual(memory, Float32Array.of(11, 22))
    }).pipe(Effect.provide(Ort.layer({ threads: 1 })))
  )

  it.effect("a run that fails names the operation and what it could not take", () =>
    Effect.gen(function* () {
      const graph = new Graph()
      const ids = graph.input("ids", "int32", ["N"])
      graph.output("rows", graph.gather(graph.input("table", "float32", [2, 1]), ids))
      const program = yield* (yield* Executor).load(toOnnx(graph))
      const table: HostTensor = { dtype: "float32", shape: [2, 1], data: Float32Array.of(1, 2) }
      const error = yield* Effect.flip(
        program.run({ table, ids: { dtype: "int32", shape: [1], data: Int32Array.of(7) } })
      )
      assert.strictEqual(error.reason, "run")
      assert.match(error.message, /Gather/)
      assert.match(error.message, /idx=7/)
    }).pipe(Effect.provide(Ort.layer({ threads: 1 })))
  )
})
