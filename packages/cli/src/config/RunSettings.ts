/**
 * Merges and checks all settings of an environment's run: environment defaults < mode < file < flags.
 *
 * A value out of range is an error that names the flag or key it came from.
 */
import { EnvironmentSettings, ServerSettings, Settings } from "@atropos/core"
import { Judge, Opponent, Teacher } from "@atropos/envs"
import { Effect, Option, Predicate, Result, Schema, SchemaIssue } from "effect"
import { UsageError } from "../base/Failure.ts"
import { Secrets } from "../base/Secrets.ts"
import { formatValue } from "./FormatValue.ts"
import * as ConfigFile from "./ConfigFile.ts"
import * as Environments from "./Environments.ts"
import type { Chosen } from "./Environments.ts"
import * as OtherServers from "./OtherServers.ts"
import * as Precedence from "./Precedence.ts"
import * as SettingHints from "./SettingHints.ts"

/**
 * Resolves the inference servers of a command from the environment's own, the file and the flags.
 *
 * Flags cannot change a list of two or more. A single server is merged field by field, flags over file over
 * environment. Differs from the original's `--openai` resolution, which ignores a single server's address unless it is
 * in a list, and ignores file and flags in `process` and `evaluate`.
 */
type Fields = { readonly [name: string]: unknown }

export interface Sources {
  /** Name of the section and its flags: `openai`, `judge`, `teacher`. */
  readonly section: string
  /** The environment's own servers: a map, a list, or nothing. */
  readonly environment: unknown
  readonly file: unknown
  readonly flags: Fields
}

const entries = (value: unknown): ReadonlyArray<Fields> =>
  (Array.isArray(value) ? value : [value]).filter(Predicate.isReadonlyObject)

/** Returns one map, or a list of two or more; an empty map if no source has a server. */
export const resolveServers = ({
  environment,
  file,
  flags,
  section
}: Sources): Result.Result<Fields | ReadonlyArray<Fields>, UsageError> => {
  const flagged = Object.keys(flags)
  const inFile = entries(file)
  const inEnvironment = entries(environment)
  const refuse = (where: string, count: number) =>
    Result.fail(
      new UsageError({
        message: `--${section}.${flagged[0]}: ${where} lists ${count} servers, but flags can only change a single one; edit the list, or list one server`
      })
    )
  if (inFile.length >= 2)
    return flagged.length > 0 ? refuse("the file of --config", inFile.length) : Result.succeed(inFile)
  if (inEnvironment.length >= 2 && inFile.length === 0) {
    return flagged.length > 0 ? refuse("the environment", inEnvironment.length) : Result.succeed(inEnvironment)
  }
  // A single server in the file replaces a list of the environment; merging it into one of several would be a guess.
  const base = inEnvironment.length === 1 ? inEnvironment[0] : {}
  return Result.succeed({ ...base, ...inFile[0], ...flags })
}

type Values = { readonly [name: string]: unknown }

/** The flags that were set, by wire name. */
export interface GivenFlags {
  readonly config: Option.Option<string>
  readonly env: Values
  readonly servers: { readonly [section in ConfigFile.ServerSection]?: Values }
  readonly manager: Values
}

export interface RunSettings {
  readonly selected: Chosen
  readonly word: string
  /** All environment settings that some source set, snake_case; missing ones have their default. */
  readonly input: Values
  readonly common: EnvironmentSettings.Common
  readonly servers: ServerSettings.Server | ReadonlyArray<ServerSettings.Server>
  /** Empty addresses mean no server. */
  readonly judge: ReadonlyArray<Judge.Settings>
  readonly teacher: ReadonlyArray<Teacher.Settings>
  readonly opponent: ReadonlyArray<Opponent.Settings>
  readonly manager: ServerSettings.Manager
  readonly sections: ConfigFile.ConfigFile["sections"]
}

const formatIssue = SchemaIssue.makeFormatterStandardSchemaV1()

/** The first error in some settings, as `name: expected …, got …`. */
export const explain = (error: Schema.SchemaError, values: Values, nameOf: (name: string) => string): UsageError => {
  const [issue] = formatIssue(error.issue).issues
  const path = (issue?.path ?? []).map((part) => String(typeof part === "object" ? part.key : part))
  const [name = ""] = path
  const value = values[name]
  const got = name === "api_key" ? "" : `, got ${formatValue(value)}`
  const problem = (issue?.message ?? error.message).replace(/^Expected/, "expected")
  return new UsageError({ message: `${nameOf(name)}: ${problem}${got}${SettingHints.value(name, value)}` })
}

const decodeCommon = Schema.decodeUnknownEffect(EnvironmentSettings.Common)

const commonOf = (settings: unknown): Effect.Effect<EnvironmentSettings.Common, Schema.SchemaError> =>
  decodeCommon(settings)

/** The values whose names the environment has as settings. */
const ownOf = (values: Values, { environment }: Chosen): Values => {
  const names = new Set(Object.keys(environment.settings.fields).map(Settings.wireName))
  return Object.fromEntries(Object.entries(values).filter(([name]) => names.has(name)))
}

/**
 * Merges and checks. `mode` holds the command's settings below file and flags (`process` keeps groups with equal
 * scores, …); it may depend on the file's other sections and on whether answers are scripted. If several environments
 * run together (`all`), each takes the settings it has.
 */
export const make = Effect.fn("RunSettings.make")(function* (
  word: string,
  selected: Chosen,
  flags: GivenFlags,
  mode: (sections: ConfigFile.ConfigFile["sections"], isTesting: boolean) => Values = () => ({}),
  all: ReadonlyArray<Chosen> = [selected]
) {
  const { environment } = selected
  const file = Option.isSome(flags.config)
    ? yield* ConfigFile.read(flags.config.value, Option.some(Environments.fieldsOf(all)))
    : ConfigFile.empty
  const managerValues = Precedence.merge(file.manager, flags.manager)
  const manager = yield* ServerSettings.manager
    .decode(managerValues)
    .pipe(
      Effect.mapError((error) => explain(error, managerValues, (name) => (name in flags.manager ? `--${name}` : name)))
    )
  const input = Precedence.merge(
    mode(file.sections, manager.testing),
    ownOf(file.env, selected),
    ownOf(flags.env, selected)
  )
  const settings = yield* environment.settings
    .decode(input)
    .pipe(Effect.mapError((error) => explain(error, input, (name) => Precedence.origin(name, flags.env, file.env))))
  const common = yield* Effect.orDie(commonOf(settings))

  const decode = Effect.fnUntraced(function* <A extends { readonly apiKey: string | null }>(
    section: ConfigFile.ServerSection,
    kind: Settings.Settings<A>,
    environment?: unknown
  ) {
    const flagged = flags.servers[section] ?? {}
    const raw = yield* Effect.fromResult(
      resolveServers({ section, environment, file: file.servers[section], flags: flagged })
    )
    const one = (values: Values, where: string) =>
      kind
        .decode(values)
        .pipe(
          Effect.mapError((error) =>
            explain(error, values, (name) => (name in flagged ? `--${section}.${name}` : `${where}.${name}`))
          )
        )
    const decoded = isList(raw)
      ? yield* Effect.forEach(raw, (values, index) => one(values, `${section}[${index}]`))
      : yield* one(raw, section)
    yield* keepSecret([decoded].flat().map(({ apiKey }) => apiKey))
    return decoded
  })
  const servers = yield* decode("openai", ServerSettings.server, selected.servers)
  const judge = [yield* decode("judge", Judge.settings)].flat()
  const teacher = [yield* decode("teacher", Teacher.settings)].flat()
  const opponent = [yield* decode("opponent", Opponent.settings)].flat()
  for (const [section, reported] of [
    ["judge", judge],
    ["teacher", teacher],
    ["opponent", opponent]
  ] as const) {
    const isIdle = !all.some((one) => OtherServers.asks(one, section))
    if (isIdle && reported.some(({ baseUrl }) => baseUrl !== "")) {
      yield* Effect.logWarning(`the environment uses no ${section}; ignoring that section of the file`)
    }
  }
  return {
    selected,
    word,
    input,
    common,
    servers,
    judge,
    teacher,
    opponent,
    manager,
    sections: file.sections
  } satisfies RunSettings
})

const isList = (value: Values | ReadonlyArray<Values>): value is ReadonlyArray<Values> => Array.isArray(value)

/** Registers keys as secrets, so that they are redacted from all output. */
const keepSecret = Effect.fn("RunSettings.keepSecret")(function* (keys: ReadonlyArray<string | null>) {
  const secrets = yield* Secrets
  for (const key of keys) if (key) secrets.add(key)
})

/** A server without its key, safe to write down. */
export const withoutKey = (server: ServerSettings.Server): Values => {
  const { api_key: _, ...rest } = ServerSettings.server.encode(server)
  return rest
}
