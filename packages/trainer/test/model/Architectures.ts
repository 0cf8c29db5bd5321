/** The models of `scripts/make-architecture-fixtures.py`, and what transformers and PEFT computed with them. */
import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { Effect } from "effect"
import { Executor } from "../../src/exec/Executor.ts"
import { grad } from "../../src/graph/Autodiff.ts"
import { Graph } from "../../src/graph/Graph.ts"
import { toOnnx } from "../../src/graph/Onnx.ts"
import type { Remat } from "../../src/model/Decoder.ts"
import * as Decoder from "../../src/model/Decoder.ts"
import * as Lora from "../../src/model/Lora.ts"
import * as Model from "../../src/model/Model.ts"
import * as ModelFolder from "../../src/model/ModelFolder.ts"
import * as Parameters from "../../src/model/Parameters.ts"
import * as Peft from "../../src/model/Peft.ts"
import * as Stacks from "../../src/model/Stacks.ts"
import * as Tensors from "../../src/model/Tensors.ts"
import type { AttentionKind } from "../../src/model/TrainableModel.ts"
import * as Fixtures from "./Fixtures.ts"

const root = new URL("../fixtures/architectures/", import.meta.url)

export const names: ReadonlyArray<string> = readdirSync(root).toSorted()

interface Expected {
  readonly vocabSize: number
  /** What the model is used for, where that is less than its own. */
  readonly positions?: number
  readonly inputIds: ReadonlyArray<ReadonlyArray<number>>
  readonly logits: ReadonlyArray<string>
  readonly logprobs: ReadonlyArray<string>
  /** By name of the parameter, of the mean negative log-probability of the last row. */
  readonly gradient: Readonly<Record<string, string>>
  readonly prompts: ReadonlyArray<ReadonlyArray<number>>
  /** Null where the choice is not clear. */
  readonly greedy: {
    readonly tokens: ReadonlyArray<ReadonlyArray<number>>
    readonly logprobs: ReadonlyArray<string>
  } | null
}

/** A model with its adapter, and what to expect of it. */
export const load = Effect.fnUntraced(function* (folder: string) {
  // Written by the script.
  const expected = JSON.parse(readFileSync(`${folder}/expected.json`, "utf8")) as Expected
  const published = yield* ModelFolder.readConfig(folder)
  const config = { ...published, maxPositions: expected.positions ?? published.maxPositions }
  const entries = yield* ModelFolder.readEntries(folder, config)
  const stacks = yield* Stacks.cached(Tensors.stacks(config), entries)
  const weights = new Map([...ModelFolder.weights(config, entries), ...stacks])
  const adapter = yield* Peft.readSettings(`${folder}/adapter`)
  const layout = Lora.layout(config, adapter)
  const parameters = yield* Peft.read(`${folder}/adapter`, { adapter, layout })
  return { expected, model: { config, weights, adapter, layout }, parameters }
})

export const folder = (name: string): string => fileURLToPath(new URL(name, root))

/** A model with the parameters that are trained, none of them where it is merged. */
type Loaded = Omit<Effect.Success<ReturnType<typeof load>>, "model"> & {
  readonly model: Pick<Model.Model, "config" | "weights" | "adapter" | "layout">
}

/** Logits of sequences in one row, and the gradient of the last one's mean negative log-probability. */
export const forwardAndBackward = Effect.fnUntraced(function* (
  { expected, model, parameters }: Loaded,
  { attention, remat }: { readonly attention: AttentionKind; readonly remat: Remat }
) {
  const { layout } = model
  const graph = new Graph()
  const ids = (name: string) => graph.input(name, "int32", ["B", "T"])
  const inputs = { inputIds: ids("input_ids"), positionIds: ids("position_ids"), segmentIds: ids("segment_ids") }
  const slots = new Map(layout.slots.map(({ name, shape }) => [name, graph.input(name, "float32", shape)]))
  const built = Model.policy(model).build(graph, (name) => slots.get(name), { ...inputs, remat, attention })
  const logits = Decoder.logits(graph, built, built.hidden)
  graph.output("logits", logits)
  const last = expected.inputIds.at(-1)!
  const cells = Fixtures.grid([expected.inputIds])
  const start = cells.starts.at(-1)!
  const rows = graph.slice(logits, 0, start, start + last.length - 1)
  const targets = graph.initializer("targets", "int32", [last.length - 1, 1], Int32Array.from(last.slice(1)))
  const picked = graph.gatherLast(graph.logSoftmax(rows), targets)
  const loss = graph.neg(graph.mean(picked, [0, 1]))
  const gradients = grad(graph, loss, [...slots.values()])
  gradients.forEach((gradient, i) => graph.output(`gradient ${layout.slots[i]!.name}`, gradient))
  const program = yield* (yield* Executor).load(toOnnx(graph))
  const shape = [cells.rows, cells.width]
  const int32 = (data: Int32Array) => ({ dtype: "int32", shape, data }) as const
  const { host } = yield* program.run({
    ...Object.fromEntries(
      layout.slots.map((slot) => [
        slot.name,
        { dtype: "float32" as const, shape: slot.shape, data: Parameters.view(parameters, slot) }
      ])
    ),
    input_ids: int32(cells.inputIds),
    position_ids: int32(cells.positionIds),
    segment_ids: int32(cells.segmentIds)
  })
  const floats = (name: string) => host[name]!.data as Float32Array
  const { vocabSize } = expected
  return {
    logits: expected.inputIds.map((row, i) =>
      floats("logits").subarray(cells.starts[i]! * vocabSize, (cells.starts[i]! + row.length) * vocabSize)
    ),
    gradient: Object.fromEntries(layout.slots.map(({ name }) => [name, floats(`gradient ${name}`)]))
  }
})

/** log softmax(logits)[target] of each position that has a target. */
export const logprobs = (logits: Float32Array, row: ReadonlyArray<number>, vocabSize: number): Float32Array =>
  Float32Array.from(row.slice(1), (target, t) => {
    const own = logits.subarray(t * vocabSize, (t + 1) * vocabSize)
    const top = Math.max(...own)
    return own[target]! - top - Math.log(own.reduce((sum, z) => sum + Math.exp(z - top), 0))
  })
