/** Declares the settings of agents, in addition to the common ones, and those that their authors declare. */
import { Environment } from "@atropos/core"
import { Trained } from "@atropos/core/gateway/session/Trained"
import { Schema } from "effect"
import * as PlainSettings from "./PlainSettings.ts"

const rows = (of: string) => `${of}: a file, or a data set on the hub; null: the environment's own`

/** Settings of every environment defined by plain functions. */
export const plainFields = {
  seed: Environment.field(Schema.Int, 0, "random seed: the order of rows, and sampling"),
  items: Environment.field(Schema.NullOr(Schema.NonEmptyString), null, rows("rows to train on")),
  testItems: Environment.field(Schema.NullOr(Schema.NonEmptyString), null, rows("rows to evaluate with")),
  evaluationItems: Environment.field(
    Schema.Int.check(Schema.isGreaterThan(0)),
    200,
    "held-out items per evaluation, at most"
  )
} as const

export const fields = {
  ...plainFields,
  temperature: Environment.field(
    Schema.Finite.check(Schema.isGreaterThan(0)),
    1,
    "sampling temperature of training rollouts, overriding the agent's; evaluations use the agent's, else 0"
  ),
  trained: Environment.field(
    Schema.NullOr(Trained),
    null,
    "which requests of a run are trained: all, or those that offer tools, not titles and suggestions on the side; others are recorded. Default: tools with a coding agent (--env.agent), else all"
  ),
  sessionTimeout: Environment.field(
    Schema.Finite,
    300,
    "time limit for one run of the agent, in seconds; 0 or less means no limit"
  )
} as const

/** The settings of every plain environment, without the common ones. */
export type Plain = Schema.Struct.Type<typeof plainFields>

/** The settings of every agent, without the common ones. */
export type Agent = Schema.Struct.Type<typeof fields>

export const make = (declared: PlainSettings.Declaration = {}) =>
  // Only the author knows the names of declared settings.
  Environment.settings({ ...fields, ...(PlainSettings.fields(declared) as {}) })

export const makePlain = (declared: PlainSettings.Declaration = {}) =>
  Environment.settings({ ...plainFields, ...(PlainSettings.fields(declared) as {}) })
