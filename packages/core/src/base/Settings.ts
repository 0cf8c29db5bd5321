/**
 * Settings of anything that a user configures: an environment, inference servers, sinks of metrics, a trainer.
 *
 * One declaration gives the defaults, the flags, the YAML keys, `--help` and the validation errors. Inside, names are
 * camelCase; on the command line and in files they are snake_case.
 */
import { Effect, Schema, String } from "effect"

/** A field with a default and a description; the default is shown by `--help`. */
export const field = <S extends Schema.Top & Schema.Codec<unknown, unknown>>(
  schema: S,
  fallback: S["Type"] & S["Encoded"],
  description: string
) => schema.annotate({ description, default: fallback }).pipe(Schema.withDecodingDefaultKey(Effect.succeed(fallback)))

/** camelCase name -> the snake_case name on the command line and in files. */
export const wireName = (name: string): string => String.camelToSnake(name)

/** A set of fields as settings. */
export interface Settings<A> {
  /** By camelCase name; each with `description` and `default` annotations. */
  readonly fields: Schema.Struct.Fields
  /** Decodes the snake_case form (YAML, flags), defaults filled in. */
  readonly decode: (encoded: unknown) => Effect.Effect<A, Schema.SchemaError>
  /** Completes settings given in code. Throws `SchemaError` for a value out of range. */
  readonly complete: (given: Partial<A>) => A
  /** The snake_case form, to be written beside results. */
  readonly encode: (settings: A) => { readonly [name: string]: unknown }
}

/** Settings of these fields alone. */
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
    complete: (given) =>
      decodeSync(Object.fromEntries(Object.entries(given).map(([name, value]) => [wireName(name), value])), strict),
    encode
  }
}
