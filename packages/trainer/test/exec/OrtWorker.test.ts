import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Scope } from "effect"
import type { Worker } from "node:worker_threads"
import { Executor, type ExecutorError, type HostTensor } from "../../src/exec/Executor.ts"
import * as Ort from "../../src/exec/Ort.ts"
import * as OrtWorker from "../../src/exec/OrtWorker.ts"
import { Graph } from "../../src/graph/Graph.ts"
import { toOnnx } from "../../src/graph/Onnx.ts"
import { arithmetic, floats, power, square } from "./TestGraphs.ts"

const inThread = <A, E, R>(test: Effect.Effect<A, E, R>) => test.pipe(Effect.provide(OrtWorker.layer({ threads: 1 })))

/** What `open` gives, and the thread that it starts. */
const withThread = <A, E, R>(open: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const started = new Promise<Worker>((resolve) => process.once("worker", resolve))
    return Effect.all([open, Effect.promise(() => started)])
  })

describe("OrtWorker", () => {
  it.live("a long run does not hold up the event loop", () =>
    inThread(
      Effect.gen(function* () {
        const program = yield* (yield* Executor).load(power(900))
        const x = square(900)
        const run = yield* Effect.forkChild(program.run({ x }, { transfer: true }), { startImmediately: true })
        let turns = 0
        while (run.pollUnsafe() === undefined) {
          yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
          turns++
        }
        yield* Fiber.join(run)
        // Blocked, it would be a few: one for the request, one for the answer.
        assert.isAbove(turns, 50)
      })
    )
  )

  it.effect("arrays that are given up move, others stay as they are", () =>
    inThread(
      Effect.gen(function* () {
        const program = yield* (yield* Executor).load(arithmetic())
        const x = floats(1, 2)
        yield* program.run({ x, y: x })
        assert.deepStrictEqual(x, floats(1, 2))
        // The same array twice, and a part of a larger one, which keeps its other parts.
        const { host } = yield* program.run({ x, y: x }, { transfer: true })
        assert.deepStrictEqual(host["sum"], floats(2, 4))
        assert.strictEqual(x.data.length, 0)
        const large = Float32Array.of(5, 6, 7)
        const part: HostTensor = { dtype: "float32", shape: [2], data: large.subarray(1) }
        yield* program.run({ x: part, y: floats(1, 1) }, { transfer: true })
        assert.deepStrictEqual(large, Float32Array.of(5, 6, 7))
      })
    )
  )

  it.effect("memory that threads share is an input like any other", () =>
    inThread(
      Effect.gen(function* () {
        const program = yield* (yield* Executor).load(arithmetic())
        const data = new Float32Array(new SharedArrayBuffer(8))
        data.set([1, 2])
        const { host } = yield* program.run({ x: { dtype: "float32", shape: [2], data }, y: floats(1, 1) })
        assert.deepStrictEqual(host["sum"], floats(2, 3))
      })
    )
  )

  it.effect("what is wrong in the thread is an error of its caller", () =>
    inThread(
      Effect.gen(function* () {
        const graph = new Graph()
        const ids = graph.input("ids", "int32", ["N"])
        graph.output("rows", graph.gather(graph.input("table", "float32", [2, 1]), ids))
        const program = yield* (yield* Executor).load(toOnnx(graph))
        const table: HostTensor = { dtype: "float32", shape: [2, 1], data: Float32Array.of(1, 2) }
        const rowsOf = (id: number) =>
          program.run({ table, ids: { dtype: "int32", shape: [1], data: Int32Array.of(id) } })
        const error = yield* Effect.flip(rowsOf(7))
        assert.strictEqual(error.reason, "run")
        assert.match(error.message, /Gather.*idx=7/s)
        // The thread goes on.
        assert.deepStrictEqual((yield* rowsOf(1)).host["rows"]?.data, Float32Array.of(2))
      })
    )
  )

  it.live("a caller that is interrupted does not wait for its run, and the next one gets its own", () =>
    Effect.gen(function* () {
      const [executor, thread] = yield* withThread(OrtWorker.make({ device: "cpu", threads: 1 }))
      let answers = 0
      thread.on("message", () => answers++)
      const program = yield* executor.load(power(1200))
      const small = yield* executor.load(arithmetic())
      const before = answers
      const fiber = yield* Effect.forkChild(program.run({ x: square(1200) }, { keep: ["y"] }), {
        startImmediately: true
      })
      yield* Fiber.interrupt(fiber)
      assert.strictEqual(answers, before)
      const { host } = yield* small.run({ x: floats(1), y: floats(2) })
      assert.deepStrictEqual(host["sum"], floats(3))
      // It was queued behind the run whose caller was interrupted.
      assert.isAtLeast(answers, before + 2)
    })
  )

  it.live("when the thread ends, what it was asked fails, and so does every later request", () =>
    Effect.gen(function* () {
      const [executor, thread] = yield* withThread(OrtWorker.make({ device: "cpu", threads: 1 }))
      const program = yield* executor.load(arithmetic())
      const feeds = { x: floats(1), y: floats(1) }
      // No request of ours: the thread does not survive it.
      thread.postMessage(null)
      const errors: ReadonlyArray<ExecutorError> = [
        ...(yield* Effect.all([Effect.flip(program.run(feeds)), Effect.flip(executor.put(floats(1)))], {
          concurrency: 2
        })),
        yield* Effect.flip(executor.load(arithmetic())),
        yield* Effect.flip(program.run(feeds))
      ]
      for (const { message, reason } of errors) {
        assert.strictEqual(reason, "thread")
        assert.match(message, /the thread that runs the graphs has ended: .*null/)
      }
    })
  )

  it.live("closing waits for the run that has begun, which nobody waits for", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const [executor, thread] = yield* withThread(
        OrtWorker.make({ device: "cpu", threads: 1 }).pipe(Scope.provide(scope))
      )
      const ended = new Promise<number>((resolve) => thread.once("exit", resolve))
      const program = yield* executor.load(power(800))
      const fiber = yield* Effect.forkChild(program.run({ x: square(800) }), { startImmediately: true })
      yield* Fiber.interrupt(fiber)
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(yield* Effect.promise(() => ended), 0)
    })
  )

  it.live("closing ends the thread, and values that came back outlive it", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const [executor, thread] = yield* withThread(
        OrtWorker.make({ device: "cpu", threads: 1 }).pipe(Scope.provide(scope))
      )
      const ended = new Promise<number>((resolve) => thread.once("exit", resolve))
      const program = yield* executor.load(arithmetic()).pipe(Scope.provide(scope))
      const x: HostTensor = { dtype: "float32", shape: [1 << 20], data: new Float32Array(1 << 20).fill(2) }
      const { host } = yield* program.run({ x, y: x })
      yield* Scope.close(scope, Exit.void)
      yield* Effect.promise(() => ended)
      const sum = host["sum"]!.data as Float32Array
      assert.isTrue(sum.every((value) => value === 4))
    })
  )
})

describe.each([
  ["Ort", Ort.layer({ threads: 1 })],
  ["OrtWorker", OrtWorker.layer({ threads: 1 })]
] as const)("%s", (_name, executorLayer) => {
  it.effect("memory of programs, residents and results is given back", () =>
    Effect.gen(function* () {
      const executor = yield* Executor
      const length = 4 << 20
      const graph = new Graph()
      const constant = graph.initializer("constant", "float32", [length], new Float32Array(length))
      graph.output("y", graph.add(graph.input("x", "float32", [length]), constant))
      const model = toOnnx(graph)
      const round = Effect.scoped(
        Effect.gen(function* () {
          const program = yield* executor.load(model)
          const x = yield* executor.put({ dtype: "float32", shape: [length], data: new Float32Array(length) })
          const { kept } = yield* program.run({ x }, { fetch: [], keep: ["y"] })
          yield* executor.free(x)
          yield* executor.free(kept["y"]!)
        })
      )
      /** How many rounds' tensors, three of each, are left of so many. */
      const left = Effect.fnUntraced(function* (rounds: number) {
        const before = process.memoryUsage().rss
        for (let count = 0; count < rounds; count++) yield* round
        return (process.memoryUsage().rss - before) / (3 * 4 * length)
      })
      yield* left(5)
      // Other memory of the process comes and goes; what is not given back grows every time.
      let least = Infinity
      for (let once = 0; once < 3 && least >= 5; once++) least = Math.min(least, yield* left(15))
      assert.isBelow(least, 5)
    }).pipe(Effect.provide(executorLayer))
  )
})
