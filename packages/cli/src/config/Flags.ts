/**
 * Derives flags from a settings schema: `--env.group_size`, `--openai.base_url`, `--slurm`.
 *
 * Each field gives one flag with its description, default and choices. An absent flag yields nothing, so that files and
 * defaults apply. `None` (or `null`) is null if the field allows it; lists and maps are JSON.
 */
import { Settings } from "@atropos/core"
import { Option, Schema, SchemaAST } from "effect"
import { Flag } from "effect/cli"

/** Flags by wire name, without the prefix. */
export type SettingsFlags = Record<string, Flag.Flag<Option.Option<unknown>>>

export interface Derived {
  readonly flags: SettingsFlags
  /** Full names of the boolean flags, without dashes. */
  readonly booleans: ReadonlyArray<string>
}

/** The value type of a field on the command line. */
type Kind =
  | { readonly of: "boolean" | "integer" | "number" | "text" | "json" }
  | { readonly of: "choice"; readonly choices: ReadonlyArray<string> }

interface Field {
  readonly kind: Kind
  readonly isNullable: boolean
  /** The default as written, if that shows the form. */
  readonly example: string | undefined
}

const members = (ast: SchemaAST.AST): ReadonlyArray<SchemaAST.AST> =>
  SchemaAST.isUnion(ast) ? ast.types.flatMap(members) : [ast]

const isIntegerCheck = ({ annotations }: SchemaAST.Check<unknown>): boolean =>
  annotations?.["expected"] === "an integer" ||
  (typeof annotations?.["representation"] === "object" &&
    annotations["representation"] !== null &&
    "id" in annotations["representation"] &&
    annotations["representation"].id === "effect/schema/isInt")

const kindOf = (types: ReadonlyArray<SchemaAST.AST>): Kind => {
  const literals = types.flatMap((ast) =>
    SchemaAST.isLiteral(ast) && typeof ast.literal === "string" ? [ast.literal] : []
  )
  if (literals.length === types.length) return { of: "choice", choices: literals }
  const [only, ...others] = types
  if (only === undefined || others.length > 0) return { of: "json" }
  if (SchemaAST.isBoolean(only)) return { of: "boolean" }
  if (SchemaAST.isString(only)) return { of: "text" }
  if (SchemaAST.isNumber(only)) return { of: only.checks?.some(isIntegerCheck) ? "integer" : "number" }
  return { of: "json" }
}

const read = (schema: Schema.Constraint): Field => {
  const types = members(schema.ast)
  const others = types.filter((ast) => !SchemaAST.isNull(ast))
  const { default: standard } = SchemaAST.resolve(schema.ast) ?? {}
  const isEmpty = Array.isArray(standard) && standard.length === 0
  const example =
    typeof standard === "object" && standard !== null ? JSON.stringify(isEmpty ? ["…"] : standard) : undefined
  return { kind: kindOf(others), isNullable: others.length < types.length, example }
}

/** The end of a flag's description; `changed` is a default that replaces the schema's. */
const withDefault = (schema: Schema.Constraint, changed: unknown): string => {
  const { default: own, description } = SchemaAST.resolve(schema.ast) ?? {}
  const fallback = changed === undefined ? own : changed
  const suffix = fallback === undefined ? [] : [`[default: ${fallback === null ? "unset" : JSON.stringify(fallback)}]`]
  return [...(typeof description === "string" ? [description] : []), ...suffix].join(" ")
}

const isNone = (word: string): boolean => word === "None" || word === "null"

const numberOf = (word: string, isWhole: boolean): Option.Option<number> => {
  const value = word.trim() === "" ? Number.NaN : Number(word)
  return Number.isFinite(value) && (!isWhole || Number.isInteger(value)) ? Option.some(value) : Option.none()
}

const parseJson = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Unknown))

const flagOf = (name: string, { example, isNullable, kind }: Field): Flag.Flag<unknown> => {
  switch (kind.of) {
    case "boolean":
      return isNullable
        ? Flag.ChoiceWithValue(name, [
            ["true", true],
            ["false", false],
            ["None", null]
          ])
        : Flag.Boolean(name)
    case "choice": {
      const choices = kind.choices.map((choice): readonly [string, string | null] => [choice, choice])
      return Flag.ChoiceWithValue(name, isNullable ? [...choices, ["None", null]] : choices)
    }
    case "text":
      return isNullable
        ? Flag.String(name).pipe(
            Flag.map((word) => (isNone(word) ? null : word)),
            Flag.withMetavar("string|None")
          )
        : Flag.String(name)
    case "integer":
    case "number": {
      const isWhole = kind.of === "integer"
      const metavar = isWhole ? "integer" : "number"
      return Flag.String(name).pipe(
        Flag.filterMap(
          (word): Option.Option<unknown> => (isNullable && isNone(word) ? Option.some(null) : numberOf(word, isWhole)),
          () => `${isWhole ? "an" : "a"} ${metavar}${isNullable ? " or None" : ""}`
        ),
        Flag.withMetavar(isNullable ? `${metavar}|None` : metavar)
      )
    }
    case "json":
      return Flag.String(name).pipe(
        Flag.filterMap(
          (word) => (isNullable && isNone(word) ? Option.some<unknown>(null) : parseJson(word)),
          () => (example === undefined ? "JSON" : `JSON, for example '${example}'`)
        ),
        Flag.withMetavar("json")
      )
  }
}

/**
 * Derives the flags of fields (by camelCase name). `prefix` is `"env."`, `"openai."` or empty, `defaults` (by wire
 * name) the command's own defaults, `aliases` (by wire name) alternative names.
 */
export const fromFields = (
  prefix: string,
  fields: Schema.Struct.Fields,
  defaults: { readonly [name: string]: unknown } = {},
  aliases: { readonly [name: string]: string } = {}
): Derived => {
  const flags: SettingsFlags = {}
  const booleans: Array<string> = []
  for (const [field, schema] of Object.entries(fields)) {
    const wire = Settings.wireName(field)
    const name = `${prefix}${wire}`
    const shape = read(schema)
    if (shape.kind.of === "boolean") booleans.push(name)
    const alias = aliases[wire]
    const flag = flagOf(name, shape).pipe(Flag.withDescription(withDefault(schema, defaults[wire])), Flag.optional)
    flags[wire] = alias === undefined ? flag : Flag.withAlias(flag, alias)
  }
  return { flags, booleans }
}

export const provided = (values: {
  readonly [name: string]: Option.Option<unknown>
}): { readonly [name: string]: unknown } =>
  Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => (Option.isSome(value) ? [[name, value.value]] : []))
  )

/** The flag `--port`; 0 picks any free port. */
export const port = (description: string, standard = 8000, name = "port"): Flag.Flag<number> =>
  Flag.Int(name).pipe(
    Flag.filter(
      (value) => value >= 0 && value <= 65_535,
      () => "a port from 0 to 65535"
    ),
    Flag.withDescription(`${description} [default: ${standard}]`),
    Flag.withDefault(standard)
  )
