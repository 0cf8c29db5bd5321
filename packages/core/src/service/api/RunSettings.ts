/** What a run was started with: the settings of its trainer and of each environment, without their secrets. */
import { Schema } from "effect"
import { Name, wire } from "./Fields.ts"

/** Characters of one source's settings as JSON, at most. */
const mostSettings = 262_144

/** Settings by their names, snake_case; nested as they are. */
const values = Schema.Record(Schema.String, Schema.Json).check(
  Schema.isMaxProperties(1000),
  Schema.makeFilter(
    (settings) =>
      JSON.stringify(settings).length <= mostSettings || `settings of at most ${mostSettings} characters as JSON`
  )
)

const kind = Schema.Literals(["environment", "trainer"])

/** What a source says of itself as it starts; the last counts. */
export const SourceSettings = wire({ source: Name, kind, settings: values })
export type SourceSettings = typeof SourceSettings.Type

/** The same as kept; `at` in milliseconds since the epoch. */
export const SourceSettingsRow = wire({
  source: Schema.String,
  kind,
  at: Schema.Finite,
  settings: Schema.Record(Schema.String, Schema.Json)
})
export type SourceSettingsRow = typeof SourceSettingsRow.Type
