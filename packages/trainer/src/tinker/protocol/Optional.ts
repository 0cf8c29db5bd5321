/** Fields that may be omitted or null: both mean the same, and are forwarded as received. */
import { Schema } from "effect"

export const optional = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

const isFinite = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value)

/**
 * A number that may be omitted, but not null: SDKs send NaN and infinity as null, which must not become the default.
 */
export const finite = Schema.optionalKey(
  Schema.declare(isFinite, { expected: "a finite number (NaN and infinity arrive as null)" })
)

/** Names and values attached by a user; stored without interpretation. */
export const Metadata = Schema.Record(Schema.String, Schema.Unknown)

export const Count = Schema.Natural
