/** The failure of reading rows, in a separate module so that the readers and `Dataset` can both raise it. */
import { Schema } from "effect"

export class DatasetError extends Schema.TaggedError<DatasetError>()("DatasetError", {
  source: Schema.String,
  message: Schema.String,
  /** Line of a text file or row of a table, from 1. */
  row: Schema.optionalKey(Schema.Int),
  field: Schema.optionalKey(Schema.String),
  cause: Schema.optionalKey(Schema.Defect())
}) {}
