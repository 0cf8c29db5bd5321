/**
 * Settings and batches at which a training graph has what long rows need: attention in blocks, logits in chunks,
 * feed-forward parts in pieces and whole parts that are computed again. And an executor that tells whether it had.
 */
import { fromBinary } from "@bufbuild/protobuf"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { Executor } from "../../src/exec/Executor.ts"
import { ModelProtoSchema } from "../../src/graph/gen/onnx_pb.ts"
import * as Toy from "./ToyTraining.ts"

/** Rows of more are attended in blocks. */
const wholeRow = 256
const headRows = 128
/** Of a micro-batch of so many positions. */
const pieces = 4
const tokenBudget = 8192 * pieces

export const longest = 384

/** For the trainer. */
export const settings = { seqLen: longest, tokenBudget, remat: "parts" } as const

/** For the engine: small vocabularies have one chunk otherwise. All else is what the plan of memory says. */
export const graph = { chunks: 2 * pieces, headRows }

export const batch = (step: number) =>
  Toy.batch(
    step,
    [2 * step, 2 * step + 1].map((seed) => Toy.group(seed, {}, { least: wholeRow + 4, max: longest }))
  )

/** What a training graph has, and a micro-batch that it was run on. */
export interface Run {
  /** Loops over blocks of queries. */
  readonly attentionLoops: number
  /** Loops over chunks of logits. */
  readonly headLoops: number
  /** Cuts into as many parts as there are chunks of logits, and into as many as there are pieces. */
  readonly chunkCuts: number
  readonly pieceCuts: number
  /** Of the rows, and of positions that have logits. */
  readonly length: number
  readonly positions: number
}

const count = <A>(all: ReadonlyArray<A>, isOne: (one: A) => boolean) => all.filter(isOne).length

/** Of a training graph; undefined of another. */
const built = (onnx: Uint8Array): Omit<Run, "length" | "positions"> | undefined => {
  const { node = [], output = [] } = fromBinary(ModelProtoSchema, onnx).graph ?? {}
  if (!output.some(({ name }) => name === "grad")) return undefined
  const bodies = node
    .filter(({ opType }) => opType === "Loop")
    .map(({ attribute }) => new Set(attribute[0]?.g?.node.map(({ opType }) => opType)))
  const cuts = (parts: number) => count(node, ({ opType, output }) => opType === "Split" && output.length === parts)
  return {
    // Of all loops these alone look for the first key that a block sees, and these alone for the end of a last chunk.
    attentionLoops: count(bodies, (ops) => ops.has("ReduceMin")),
    headLoops: count(bodies, (ops) => ops.has("Min") && !ops.has("ReduceMin")),
    chunkCuts: cuts(graph.chunks),
    pieceCuts: cuts(pieces)
  }
}

/** The executor, and the runs of training graphs on it. */
export const watched = Effect.map(Executor, (executor) => {
  const runs: Array<Run> = []
  const watching = Executor.of({
    ...executor,
    load: (model, options) =>
      Effect.map(executor.load(model, options), (program) => {
        const seen = built(model.onnx)
        if (seen === undefined) return program
        return {
          run: (feeds, options) => {
            const [length = 0, positions = 0] = [feeds["input_ids"]?.shape[1], feeds["head_ids"]?.shape[0]]
            runs.push({ ...seen, length, positions })
            return program.run(feeds, options)
          }
        }
      })
  })
  return { executor: watching, runs }
})

/** Layers with attention, and those with a feed-forward part that is no mixture; how logits are made. */
export interface Expected {
  readonly attention: number
  readonly dense: number
  /** In a loop where nothing but a frozen matrix makes them, else chunk by chunk, computed again for the gradient. */
  readonly head: "loop" | "chunks"
}

/** Every run was one of long rows, in all ways. */
export const check = (runs: ReadonlyArray<Run>, { attention, dense, head }: Expected): void => {
  assert.isAbove(runs.length, 0)
  for (const { chunkCuts, length, positions, ...seen } of runs) {
    assert.isAbove(length, wholeRow)
    assert.isAbove(positions, headRows)
    assert.strictEqual(chunkCuts > 0, head === "chunks")
    assert.deepStrictEqual(seen, {
      // Forward and backward.
      attentionLoops: 2 * attention,
      headLoops: head === "loop" ? 1 : 0,
      // Forward, again because parts are recomputed, and the gradient.
      pieceCuts: 3 * dense
    })
  }
}
