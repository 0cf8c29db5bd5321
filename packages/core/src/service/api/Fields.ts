/** Field types of the versioned endpoints: camelCase internally, snake_case on the wire, with bounds. */
import { Schema, String } from "effect"

type SnakeCase<S extends string> = S extends `${infer Head}${infer Tail}`
  ? `${Head extends Lowercase<Head> ? Head : `_${Lowercase<Head>}`}${SnakeCase<Tail>}`
  : S

type SnakeKeys<Fields extends Schema.Struct.Fields> = {
  readonly [K in keyof Fields]: K extends string ? SnakeCase<K> : K
}

const snakeKeys = <Fields extends Schema.Struct.Fields>(fields: Fields): SnakeKeys<Fields> =>
  // The type describes what the expression does to each key.
  Object.fromEntries(Object.keys(fields).map((key) => [key, String.camelToSnake(key)])) as SnakeKeys<Fields>

/** A struct whose keys are snake_case on the wire. */
export const wire = <const Fields extends Schema.Struct.Fields>(fields: Fields) => {
  const keys = snakeKeys(fields)
  return Schema.Struct(fields).pipe(Schema.encodeKeys(keys))
}

export const packedContentType = "application/vnd.atropos.group"

/** The content type of a trainer's logprobs of a batch (`PackedLogprobs`). */
export const logprobsContentType = "application/vnd.atropos.logprobs"

/** Names appear in paths and labels: letters, digits, dot, dash, underscore. */
export const Name = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9._-]{1,128}$/, {
    message: "a name: 1 to 128 letters, digits, dots, dashes and underscores"
  })
)

/** Max values of one client, here and at the original's endpoints: they affect all clients. */
export const bounds = {
  batchSize: 1_000_000,
  /** No group has more sequences. */
  groupSize: 4096,
  maxTokenLength: 100_000_000,
  weight: 1e9,
  text: 4096
} as const

export const positive = (maximum: number) => Schema.Int.check(Schema.isBetween({ minimum: 1, maximum }))

export const text = Schema.String.check(Schema.isMaxLength(bounds.text))

export const int32 = Schema.Int.check(Schema.isBetween({ minimum: -0x8000_0000, maximum: 0x7fff_ffff }))

/** The id of a row, as used by pages. */
export const rowId = (what: string) =>
  Schema.String.check(Schema.isPattern(/^\d{1,18}$/, { message: `an id of ${what}` }))

/** Path parameters of a run's resources. */
export const runParams = { run: Name }

export const environmentParams = { run: Name, envId: Schema.Natural }

export const rowParams = {
  run: Name,
  id: Schema.String.check(Schema.isPattern(/^\d{1,19}$/, { message: "an id of a batch" }))
}
