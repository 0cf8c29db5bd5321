/** Fields that may be omitted or null: both mean the same, and are forwarded as received. */
import { Schema } from "effect"

export const optional = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

/** Names and values attached by a user; stored without interpretation. */
export const Metadata = Schema.Record(Schema.String, Schema.Unknown)

export const Count = Schema.Natural
