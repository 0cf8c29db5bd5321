/** Items of mathematics as JSON, so that those put back in the queue survive a restart. */
import { SavedTrajectory } from "@atropos/core"
import { Schema } from "effect"
import type { Item } from "./Items.ts"

const problem = {
  problem: Schema.String,
  answer: Schema.String,
  form: Schema.optionalKey(Schema.Literals(["number", "expanded", "radical"]))
}

const { SavedTrajectory: Attempt } = SavedTrajectory

const overrides = Schema.optionalKey(Schema.Record(Schema.String, Schema.Json))

/** What attempts at these items get: components, or, of runs before there were any, numbers. */
const Score = Schema.Union([
  Schema.Finite,
  Schema.Struct({ rewards: Schema.Record(Schema.String, Schema.Finite), overrides }),
  Schema.Struct({ score: Schema.Finite, overrides })
])

export const SavedItem: Schema.Codec<Item, unknown> = Schema.Union([
  Schema.Struct({ kind: Schema.Literal("normal"), ...problem }),
  Schema.Struct({ kind: Schema.Literal("judge"), ...problem, solution: Schema.String, isRight: Schema.Boolean }),
  Schema.Struct({
    kind: Schema.Literal("selfcorrect"),
    ...problem,
    trajectories: Schema.Array(Attempt),
    scores: Schema.Array(Score)
  }),
  Schema.Struct({ kind: Schema.Literal("rlaif"), ...problem, pair: Schema.Tuple([Attempt, Attempt]) })
])
