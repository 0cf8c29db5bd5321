/** A run's configuration at start: the settings of its trainer and of each environment, without secrets. */
import { Schema } from "effect"
import { Name, wire } from "./Fields.ts"

/** Max characters of one source's settings as JSON. */
const maxSettings = 262_144

/** Settings by name, snake_case; may be nested. */
const values = Schema.Record(Schema.String, Schema.Json).check(
  Schema.isMaxProperties(1000),
  Schema.makeFilter(
    (settings) =>
      JSON.stringify(settings).length <= maxSettings || `settings of at most ${maxSettings} characters as JSON`
  )
)

const kind = Schema.Literals(["environment", "trainer"])

/** A source's settings at its start; the last ones count. */
export const SourceSettings = wire({ source: Name, kind, settings: values })
export type SourceSettings = typeof SourceSettings.Type

/** Stored settings; `at` in milliseconds since the epoch. */
export const SourceSettingsRow = wire({
  source: Schema.String,
  kind,
  at: Schema.Finite,
  settings: Schema.Record(Schema.String, Schema.Json)
})
export type SourceSettingsRow = typeof SourceSettingsRow.Type
