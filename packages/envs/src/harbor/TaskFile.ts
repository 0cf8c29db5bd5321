/**
 * Parses `task.toml` of a Harbor task (schema 1.4 of harborframework.com, and the older forms that Harbor still reads).
 *
 * Unknown keys are ignored, as in Harbor, and reported; values are validated, and an error names file, key and the
 * expected value.
 */
import * as Nearest from "@atropos/core/base/Nearest"
import { Effect, Schema, SchemaIssue } from "effect"
import { parse, TomlError } from "smol-toml"
import { HarborError } from "./HarborError.ts"

const seconds = Schema.Finite.check(Schema.isGreaterThan(0, { message: "expected a number of seconds above 0" }))
const natural = Schema.Natural
const texts = Schema.Array(Schema.String)
const variables = Schema.Record(
  Schema.String.check(Schema.isPattern(/^[A-Za-z_]\w*$/, { message: "variable names have letters, digits and _" })),
  Schema.String
)
const user = Schema.Union([Schema.NonEmptyString, Schema.Natural])
const anything = Schema.Unknown
const { optionalKey } = Schema

const network = {
  network_mode: optionalKey(Schema.Literals(["public", "no-network", "allowlist"])),
  allowed_hosts: optionalKey(texts)
}

const Healthcheck = Schema.Struct({
  command: Schema.NonEmptyString,
  interval_sec: optionalKey(seconds),
  timeout_sec: optionalKey(seconds),
  start_period_sec: optionalKey(Schema.Finite),
  start_interval_sec: optionalKey(seconds),
  retries: optionalKey(natural)
})

/** A machine: that of the agent, or a separate one of the verifier. */
const Environment = Schema.Struct({
  ...network,
  build_timeout_sec: optionalKey(seconds),
  docker_image: optionalKey(
    // Docker would read it as an option.
    Schema.NonEmptyString.check(
      Schema.isPattern(/^[^-]/, { message: "expected the name of an image, such as debian:12" })
    )
  ),
  os: optionalKey(Schema.String),
  cpus: optionalKey(Schema.Finite.check(Schema.isGreaterThan(0))),
  memory_mb: optionalKey(natural),
  storage_mb: optionalKey(natural),
  gpus: optionalKey(natural),
  gpu_types: optionalKey(texts),
  tpu: optionalKey(anything),
  mcp_servers: optionalKey(Schema.Array(anything)),
  env: optionalKey(variables),
  skills_dir: optionalKey(Schema.String),
  healthcheck: optionalKey(Healthcheck),
  workdir: optionalKey(
    Schema.String.check(Schema.isPattern(/^\//, { message: "expected an absolute path, such as /app" }))
  ),
  // Older forms.
  allow_internet: optionalKey(Schema.Boolean),
  memory: optionalKey(Schema.String),
  storage: optionalKey(Schema.String)
})
export type Environment = typeof Environment.Type

const Verifier = Schema.Struct({
  ...network,
  timeout_sec: optionalKey(seconds),
  env: optionalKey(variables),
  user: optionalKey(user),
  environment_mode: optionalKey(Schema.Literals(["shared", "separate"])),
  environment: optionalKey(Environment),
  collect: optionalKey(Schema.Array(anything))
})

const Artifact = Schema.Union([
  Schema.String,
  Schema.Struct({ source: Schema.String, exclude: optionalKey(texts), service: optionalKey(Schema.String) })
])

const fields = {
  schema_version: optionalKey(Schema.String),
  version: optionalKey(Schema.String),
  task: optionalKey(Schema.Struct({ name: Schema.NonEmptyString, description: optionalKey(Schema.String) })),
  metadata: optionalKey(Schema.Record(Schema.String, anything)),
  verifier: optionalKey(Verifier),
  agent: optionalKey(Schema.Struct({ ...network, timeout_sec: optionalKey(seconds), user: optionalKey(user) })),
  environment: optionalKey(Environment),
  solution: optionalKey(Schema.Struct({ env: optionalKey(variables) })),
  source: optionalKey(Schema.String),
  multi_step_reward_strategy: optionalKey(Schema.String),
  steps: optionalKey(Schema.Array(anything)),
  artifacts: optionalKey(Schema.Array(Artifact))
}

const TaskFile = Schema.Struct(fields)
export type TaskFile = typeof TaskFile.Type

const decode = Schema.decodeUnknownEffect(TaskFile)
const format = SchemaIssue.makeFormatterStandardSchemaV1()

const known: { readonly [table: string]: ReadonlyArray<string> } = {
  "": Object.keys(fields),
  environment: Object.keys(Environment.fields),
  verifier: Object.keys(Verifier.fields),
  "verifier.environment": Object.keys(Environment.fields),
  agent: ["timeout_sec", "user", "network_mode", "allowed_hosts"],
  solution: ["env"]
}

const at = (table: unknown, path: string): unknown =>
  path === ""
    ? table
    : path
        .split(".")
        .reduce<unknown>(
          (inner, key) => (typeof inner === "object" && inner !== null ? Reflect.get(inner, key) : undefined),
          table
        )

/** Ignored keys, with the likely intended key. */
const unknownKeys = (table: unknown): ReadonlyArray<string> =>
  Object.entries(known).flatMap(([path, keys]) => {
    const inner = at(table, path)
    if (typeof inner !== "object" || inner === null) return []
    return Object.keys(inner)
      .filter((key) => !keys.includes(key))
      .map((key) => `${path === "" ? "" : `${path}.`}${key}${Nearest.hint(key, keys)}`)
  })

export interface Read {
  readonly file: TaskFile
  /** Keys that the format does not have. */
  readonly unknown: ReadonlyArray<string>
}

export const read = (path: string, text: string): Effect.Effect<Read, HarborError> =>
  Effect.gen(function* () {
    const table = yield* Effect.try({
      try: () => parse(text),
      catch: (cause) =>
        new HarborError({
          message:
            cause instanceof TomlError
              ? `${path}:${cause.line}: ${cause.message.split("\n")[0]}`
              : `${path} is not TOML: ${String(cause)}`,
          cause
        })
    })
    const file = yield* Effect.mapError(decode(table), (cause) => {
      const [issue] = format(cause.issue).issues
      const key = (issue?.path ?? []).map((part) => String(typeof part === "object" ? part.key : part)).join(".")
      return new HarborError({ message: `${path}: ${key}: ${issue?.message ?? cause.message}`, cause })
    })
    return { file, unknown: unknownKeys(table) }
  })
