/**
 * Rows for environments: from the Hugging Face hub, from local files, or from memory in tests.
 *
 * A source is a string: `owner/name/[config/]split` on the hub (`openai/gsm8k/main/train`), or a path to a `.parquet`, `.jsonl`,
 * `.json` or `.csv` file (`./rows.jsonl`). Rows are decoded by a Schema; a row that does not fit says file, line (or row) and field.
 */
import { Context, type Effect, Schema } from "effect"

export class DatasetError extends Schema.TaggedError<DatasetError>()("DatasetError", {
  source: Schema.String,
  message: Schema.String,
  /** Line of a text file or row of a table, counted from 1. */
  row: Schema.optionalKey(Schema.Int),
  field: Schema.optionalKey(Schema.String),
  cause: Schema.optionalKey(Schema.Defect())
}) {}

export class Dataset extends Context.Service<
  Dataset,
  {
    /** All rows of a source, decoded. The first call reads (and caches on disk what came from the hub). */
    readonly rows: <A, I, RD>(
      source: string,
      row: Schema.Codec<A, I, RD, unknown>
    ) => Effect.Effect<ReadonlyArray<A>, DatasetError, RD>
  }
>()("@atropos/core/Dataset") {}
