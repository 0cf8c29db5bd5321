/**
 * Declares settings of anything that a user configures: an environment, inference servers, metrics sinks, a trainer.
 *
 * One declaration provides the defaults, the flags, the YAML keys, `--help` and the validation errors. Names are
 * camelCase internally, and snake_case on the command line and in files.
 */
import { Effect, Schema, String } from "effect"

/** A field with a default and a description; `--help` shows the default. */
export const field = <S extends Schema.Top & Schema.Codec<unknown, unknown>>(
  schema: S,
  fallback: S["Type"] & S["Encoded"],
  description: string
) => schema.annotate({ description, default: fallback }).pipe(Schema.withDecodingDefaultKey(Effect.succeed(fallback)))

/** A number that is not negative: a temperature, a weight, a price. */
export const nonNegative = Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0))

/** camelCase name -> the snake_case name on the command line and in files. */
export const wireName = (name: string): string => String.camelToSnake(name)

export interface Settings<A> {
  /** By camelCase name; each with `description` and `default` annotations. */
  readonly fields: Schema.Struct.Fields
  /** Decodes the snake_case form (YAML, flags), filling in defaults. */
  readonly decode: (encoded: unknown) => Effect.Effect<A, Schema.SchemaError>
  /** Completes settings given in code. Throws `SchemaError` for a value out of range. */
  readonly complete: (input: Partial<A>) => A
  /** The snake_case form, to be written with results. */
  readonly encode: (settings: A) => { readonly [name: string]: unknown }
}

export const fromFields = <const Fields extends Schema.Struct.Fields>(
  fields: Fields
): Settings<Schema.Struct.Type<Fields>> => {
  type A = Schema.Struct.Type<Fields>
  const names: Record<string, string> = Object.fromEntries(Object.keys(fields).map((name) => [name, wireName(name)]))
  // The keys are computed, so the compiler cannot relate them to the fields: one cast, here.
  const codec = Schema.Struct(fields).pipe(Schema.encodeKeys(names)) as unknown as Schema.Codec<
    A,
    Record<string, unknown>
  >
  const decodeEffect = Schema.decodeUnknownEffect(codec)
  const decodeSync = Schema.decodeUnknownSync(codec)
  const encode = Schema.encodeSync(codec)
  const strict = { onExcessProperty: "error" } as const
  return {
    fields,
    decode: (encoded) => decodeEffect(encoded, strict),
    complete: (input) =>
      decodeSync(Object.fromEntries(Object.entries(input).map(([name, value]) => [wireName(name), value])), strict),
    encode
  }
}
