/** Items with constraints, addressed by number: generated, or rows of a data set. */
import { Columns, Dataset, Message, SeededRandom } from "@atropos/core"
import * as ItemSource from "../kit/ItemSource.ts"
import { Effect, Option, Result, Schema, type Stream } from "effect"
import * as Bank from "./Bank.ts"
import * as Checkers from "./Checkers.ts"
import type { Constraint } from "./Constraint.ts"

/**
 * Reads rows in the shape of RLVR-IFeval: chats, with the checker and its arguments as JSON.
 * A text, or the first user message of a chat.
 */
const promptOf: Columns.Kind<string> = {
  expected: "a text, or a list of messages with a user's",
  read: (value) => {
    const userMessage = Columns.chat.read(value)?.find(({ role }) => role === "user")
    return userMessage === undefined ? undefined : Columns.text.read(Message.text(userMessage))
  }
}

const GroundTruth = Schema.Record(Schema.String, Schema.Unknown)
const decodeGroundTruth = Schema.decodeUnknownOption(
  Schema.fromJsonString(Schema.Union([GroundTruth, Schema.NonEmptyArray(GroundTruth)]))
)

/** The constraints of a row, or the reason if none. */
const constraintsOf = (
  checkers: Checkers.Checkers,
  groundTruth: string
): Result.Result<ReadonlyArray<Constraint>, string> => {
  const decoded = Option.getOrUndefined(decodeGroundTruth(groundTruth))
  return decoded === undefined
    ? Result.fail(`the ground truth is not a JSON object with func_name: ${groundTruth.slice(0, 60)}`)
    : Result.all([decoded].flat().map((one) => Checkers.decode(checkers, one)))
}

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
  checkers: Checkers.Checkers,
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
  checkers: Checkers.Checkers,
  options: {
    readonly source: string
    readonly testSource: string | null
    readonly seed: number
    readonly promptField: string
    readonly groundTruthField: string
  }
) {
  const columns = {
    prompt: { setting: "prompt_field", column: options.promptField, kind: promptOf },
    groundTruth: { setting: "ground_truth_field", column: options.groundTruthField, kind: Columns.text }
  } as const
  const { heldOut, train } = yield* ItemSource.rowsAs({ ...options, columns }, ({ groundTruth, prompt }) =>
    Result.map(constraintsOf(checkers, groundTruth), (constraints): Item => ({ prompt, constraints }))
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
