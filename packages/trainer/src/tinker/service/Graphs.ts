/**
 * Holds the training graphs of all adapters: one per layout and loss, built on first use, and one for logprobs only.
 * The most recently used stay loaded; all share the mapped frozen weights. One caller at a time uses a graph (`turn`).
 */
import { Effect, Exit, Scope, Semaphore } from "effect"
import * as Pieces from "../../base/Pieces.ts"
import { Executor, type ExecutorError, type Program, type DeviceTensor } from "../../exec/Executor.ts"
import type { Graph } from "../../graph/Graph.ts"
import * as Onnx from "../../graph/Onnx.ts"
import * as MemoryPlan from "../../local/MemoryPlan.ts"
import type { MicroBatch } from "../../local/MicroBatch.ts"
import * as TrainFeeds from "../../local/TrainFeeds.ts"
import * as TrainGraph from "../../local/TrainGraph.ts"
import * as Model from "../../model/Model.ts"
import type { Adapted } from "./Adapters.ts"
import { broken, type OperationFailed } from "./Failures.ts"
import type { Loss } from "./Losses.ts"
import type * as Rows from "./Rows.ts"

export interface Graphs {
  /** Gradient in the model's layout, and logprobs (B, T) in nats. */
  readonly gradient: (
    model: Adapted,
    loss: Loss,
    batch: MicroBatch,
    theta: DeviceTensor
  ) => Effect.Effect<{ readonly gradient: Float32Array; readonly logprobs: Float32Array }, OperationFailed>
  /** (B, T) nats. */
  readonly logprobs: (
    model: Adapted,
    batch: MicroBatch,
    theta: DeviceTensor
  ) => Effect.Effect<Float32Array, OperationFailed>
  readonly put: (parameters: Float32Array) => Effect.Effect<DeviceTensor, OperationFailed>
  readonly free: (resident: DeviceTensor) => Effect.Effect<void>
  /** One caller at a time. */
  readonly turn: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  readonly packing: Rows.Settings
}

interface Loaded {
  readonly program: Program
  readonly scope: Scope.Closeable
}

const max = 6

const failed = broken("the graph failed")

const keyOf = ({ adapter, kind }: Adapted) => `${kind.rank} ${kind.trainAttn} ${kind.trainMlp} ${adapter.alpha}`

export const make = Effect.fnUntraced(function* (
  base: Model.Model,
  /** Max positions of a micro-batch of several rows; null: what the device computes fastest. */
  budget: number | null,
  /** Memory limit of the process, bytes. Default: the available memory. */
  memory?: number
): Effect.fn.Return<Graphs, never, Executor | Scope.Scope> {
  const executor = yield* Executor
  const owner = yield* Effect.scope
  const lock = yield* Semaphore.make(1)
  const { kind } = executor.device
  const workload = MemoryPlan.ofAnyLength(base.config, budget, kind, memory)
  const plan = MemoryPlan.choose(workload, kind, memory)
  const { attention, chunks, headRows, feedForwardChunks, remat } = plan
  const options = { ...TrainGraph.defaults, attention, feedForwardChunks, chunks, headRows, remat, entropy: false }
  /** Most recently used last. */
  const loaded = new Map<string, Loaded>()

  const load = Effect.fnUntraced(function* (graph: Effect.Effect<Graph>) {
    const scope = yield* Scope.fork(owner)
    const onnx = yield* Effect.flatMap(graph, (built) => Pieces.yielding(() => Onnx.toOnnxPieces(built)))
    // Frozen weights are not prepacked, which would copy them for each graph.
    const program = yield* executor.load(onnx, { prepack: false }).pipe(
      Scope.provide(scope),
      Effect.onError(() => Scope.close(scope, Exit.void))
    )
    return { program, scope } satisfies Loaded
  })

  const programOf = (key: string, graph: Effect.Effect<Graph>): Effect.Effect<Program, ExecutorError> =>
    Effect.gen(function* () {
      const found = loaded.get(key) ?? (yield* load(graph))
      loaded.delete(key)
      loaded.set(key, found)
      for (const [old, { scope }] of loaded) {
        if (loaded.size <= max) break
        loaded.delete(old)
        yield* Scope.close(scope, Exit.void)
      }
      return found.program
    })

  return {
    gradient: Effect.fnUntraced(function* (model, loss, batch, theta) {
      const policy = Model.policy(model)
      const graph = Effect.map(
        Pieces.yielding(() => TrainGraph.buildPieces(policy, loss.objective, options)),
        (built) => built.graph
      )
      const program = yield* programOf(`${keyOf(model)} ${loss.key}`, graph)
      const feeds = TrainFeeds.feeds(batch, loss.objective)
      const { host } = yield* program.run({ ...feeds, theta }, { fetch: ["grad", "logprobs"] })
      // The graph's outputs are float32 by construction.
      return { gradient: host["grad"]!.data as Float32Array, logprobs: host["logprobs"]!.data as Float32Array }
    }, Effect.mapError(failed)),
    logprobs: Effect.fnUntraced(function* (model, batch, theta) {
      const graph = Effect.sync(() => TrainGraph.buildLogprobs(Model.policy(model), options))
      const program = yield* programOf(`${keyOf(model)} logprobs`, graph)
      const { host } = yield* program.run({ ...TrainFeeds.idFeeds(batch, "all"), theta }, { fetch: ["logprobs"] })
      return host["logprobs"]!.data as Float32Array
    }, Effect.mapError(failed)),
    put: (parameters) =>
      Effect.mapError(executor.put({ dtype: "float32", shape: [parameters.length], data: parameters }), failed),
    free: (resident) => executor.free(resident),
    turn: lock.withPermits(1),
    packing: { tokenBudget: workload.tokens, multiple: Math.max(plan.chunks, plan.feedForwardChunks) }
  }
})
