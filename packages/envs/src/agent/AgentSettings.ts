/** The settings that agents have beside those of all environments, and those that their authors declare. */
import { Environment } from "@atropos/core"
import { Schema } from "effect"
import * as PlainSettings from "./PlainSettings.ts"

const rows = (of: string) => `${of}: a file, or a data set of the hub; null: the environment's own`

/** Settings of every environment that is made of plain functions. */
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

/** Settings of every agent. */
export const fields = {
  ...plainFields,
  temperature: Environment.field(
    Schema.Finite.check(Schema.isGreaterThan(0)),
    1,
    "sampling temperature of training rollouts, whatever the agent asks for; evaluations take the agent's own, else 0"
  ),
  sessionTimeout: Environment.field(
    Schema.Finite,
    300,
    "time limit for one run of the agent, in seconds; 0 or less means no limit"
  )
} as const

/** What every plain environment is set to, beside the common settings. */
export type Plain = Schema.Struct.Type<typeof plainFields>

/** What every agent is set to, beside the common settings. */
export type Agent = Schema.Struct.Type<typeof fields>

/** The settings of an agent, with those that it declares. */
export const make = (declared: PlainSettings.Declaration = {}) =>
  // What is declared is known by name only to its author.
  Environment.settings({ ...fields, ...(PlainSettings.fields(declared) as {}) })

/** The same for an environment of plain functions. */
export const makePlain = (declared: PlainSettings.Declaration = {}) =>
  Environment.settings({ ...plainFields, ...(PlainSettings.fields(declared) as {}) })
