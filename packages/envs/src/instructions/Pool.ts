/** Items with constraints, addressed by number: generated, or rows of a data set. */
import { Columns, Dataset, SeededRandom } from "@atropos/core"
import * as ItemSource from "../kit/ItemSource.ts"
import { Effect, Result, type Stream } from "effect"
import * as Bank from "./Bank.ts"
import type { Checkers } from "./Checkers.ts"
import * as Row from "./Row.ts"

export interface Item extends Omit<Bank.Task, "sample"> {
  /** For generated prompts: an answer that meets all constraints. */
  readonly sample?: string
}

export interface Pool {
  readonly size: number
  /** `index` must be below the size. */
  readonly at: (index: number) => Item
  /** All items in turn, endlessly. */
  readonly items: (cursor: number) => Stream.Stream<Item>
  readonly heldOut: Stream.Stream<Item, Dataset.DatasetError>
}

export const generated = (
  checkers: Checkers,
  options: {
    readonly seed: number
    readonly maxConstraints: number
    readonly poolSize: number
    readonly evaluationItems: number
  }
): Pool => {
  const drawing: ItemSource.Drawing<Item> = {
    seed: options.seed,
    draw: Bank.draw(checkers, options.maxConstraints),
    key: ({ prompt }) => prompt
  }
  return {
    ...ItemSource.drawn({ ...drawing, evaluationItems: options.evaluationItems }),
    size: options.poolSize,
    at: (index) => ItemSource.drawAt(drawing, index, false)
  }
}

export const ofRows = Effect.fn("Pool.ofRows")(function* (
  checkers: Checkers,
  options: {
    readonly source: string
    readonly testSource: string | null
    readonly seed: number
    readonly promptField: string
    readonly groundTruthField: string
  }
) {
  const columns = {
    prompt: { setting: "prompt_field", column: options.promptField, kind: Row.prompt },
    groundTruth: { setting: "ground_truth_field", column: options.groundTruthField, kind: Columns.text }
  } as const
  const { heldOut, train } = yield* ItemSource.rowsAs({ ...options, columns }, ({ groundTruth, prompt }) =>
    Result.map(Row.constraintsOf(checkers, groundTruth), (constraints): Item => ({ prompt, constraints }))
  )
  const order = SeededRandom.seeded(options.seed, 0).shuffle(train)
  const pool: Pool = {
    size: order.length,
    // `index` is within the size.
    at: (index) => order[index]!,
    items: Dataset.shuffle(train, options),
    heldOut
  }
  return pool
})
