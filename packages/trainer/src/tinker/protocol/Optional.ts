/** Fields that the other side may leave out or send as null: both say the same, and what was sent is sent on. */
import { Schema } from "effect"

export const optional = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

/** Names and values that a user attaches; kept, never looked at. */
export const Metadata = Schema.Record(Schema.String, Schema.Unknown)

/** A number of tokens, samples, bytes. */
export const Count = Schema.Natural
