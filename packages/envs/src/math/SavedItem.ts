/** Serializes items of mathematics as JSON, so that requeued ones survive a restart. */
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

/** Scores of attempts at these items: components, or numbers in runs from before components existed. */
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
