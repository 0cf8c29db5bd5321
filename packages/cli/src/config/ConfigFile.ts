/**
 * Reads the YAML file of `--config`, shared by all commands: `env:`, servers (`openai:`, `judge:`, `teacher:`,
 * `opponent:`: each a map or a list), `slurm:`, `testing:`, `trainer:`, `lora:`, `loss:` and `metrics:`.
 *
 * An unknown key is an error that names file, line, key and the nearest valid key, also in sections the command does
 * not use. Values are checked after all sources are merged.
 */
import { MetricsSettings, ServerSettings, Settings } from "@atropos/core"
import { Judge, Opponent, Teacher } from "@atropos/envs"
import * as TrainerSettings from "@atropos/trainer/run/TrainerSettings"
import { Effect, Option, Predicate, type Schema } from "effect"
import { Flag } from "effect/cli"
import { UsageError } from "../base/Failure.ts"
import * as SettingHints from "./SettingHints.ts"
import { formatValue } from "./FormatValue.ts"
import * as YamlFile from "./YamlFile.ts"

export const serverFields = {
  openai: ServerSettings.server.fields,
  judge: Judge.settings.fields,
  teacher: Teacher.settings.fields,
  opponent: Opponent.settings.fields
} as const satisfies { readonly [section: string]: Schema.Struct.Fields }
export type ServerSection = keyof typeof serverFields

const sectionFields = {
  trainer: TrainerSettings.trainer.fields,
  lora: TrainerSettings.lora.fields,
  loss: TrainerSettings.loss.fields,
  metrics: MetricsSettings.settings.fields
} as const satisfies { readonly [section: string]: Schema.Struct.Fields }

/** Content of a file; only its keys are checked. */
export interface ConfigFile {
  readonly env: { readonly [name: string]: unknown }
  readonly servers: { readonly [section in ServerSection]?: unknown }
  readonly manager: { readonly [name: string]: unknown }
  /** The sections `trainer:`, `lora:`, `loss:` and `metrics:` that are present. */
  readonly sections: { readonly [section: string]: { readonly [name: string]: unknown } }
}

export const empty: ConfigFile = { env: {}, servers: {}, manager: {}, sections: {} }

export const flag = Flag.String("config").pipe(
  Flag.withDescription(
    "YAML file, shared by all commands, with the sections env, openai, judge, teacher, opponent, trainer, lora, loss, metrics, slurm and testing; flags override it"
  ),
  Flag.withMetavar("file"),
  Flag.optional
)

const wireNames = (fields: Schema.Struct.Fields): ReadonlyArray<string> => Object.keys(fields).map(Settings.wireName)

const managerKeys = wireNames(ServerSettings.managerFields)
const topKeys = ["env", ...Object.keys(serverFields), ...managerKeys, ...Object.keys(sectionFields)]

/**
 * Reads a file and checks its keys for an environment with these settings; without an environment, the keys of `env:`
 * are unchecked.
 */
export const read = Effect.fn("ConfigFile.read")(function* (
  file: string,
  environment: Option.Option<Schema.Struct.Fields>
) {
  const { isMap: isMapNode } = yield* Effect.promise(() => import("yaml"))
  const { content: input, document, lines } = yield* YamlFile.read(file)
  const content = input ?? {}
  if (!Predicate.isReadonlyObject(content))
    return yield* new UsageError({ message: `${file}: expected a map with the keys ${topKeys.join(", ")}` })

  const lineOf = (path: ReadonlyArray<string | number>): string => {
    const parent = path.length === 1 ? document.contents : document.getIn(path.slice(0, -1), true)
    const pair = isMapNode(parent) ? parent.items.find(({ key }) => String(key) === String(path.at(-1))) : undefined
    const range = (pair?.key as { readonly range?: readonly [number, number, number] } | undefined)?.range
    return range === undefined ? file : `${file}:${lines.linePos(range[0]).line}`
  }
  const check = (map: unknown, known: ReadonlyArray<string>, path: ReadonlyArray<string | number>) =>
    Effect.gen(function* () {
      const where = path.length === 0 ? "" : `${path.join(".")}.`
      if (!Predicate.isReadonlyObject(map)) {
        return yield* new UsageError({
          message: `${lineOf(path)}: "${path.join(".")}" must be a map, got ${formatValue(map)}`
        })
      }
      for (const key of Object.keys(map)) {
        if (known.includes(key)) continue
        return yield* new UsageError({
          message: `${lineOf([...path, key])}: unknown setting "${where}${key}"${SettingHints.hint(key, known)}`
        })
      }
      return map
    })

  yield* check(content, topKeys, [])
  const { env, ...rest } = content
  const sections: Record<string, Record<string, unknown>> = {}
  for (const [name, known] of Object.entries(sectionFields)) {
    if (content[name] === undefined || content[name] === null) continue
    sections[name] = yield* check(content[name], wireNames(known), [name])
  }
  const manager = Object.fromEntries(
    Object.entries(rest).filter(([name]) => !(name in sectionFields) && !(name in serverFields))
  )
  const servers: Record<string, unknown> = {}
  for (const [section, fields] of Object.entries(serverFields)) {
    const input = content[section] ?? undefined
    if (input === undefined) continue
    servers[section] = input
    const keys = wireNames(fields)
    if (Array.isArray(input)) yield* Effect.forEach(input, (entry, index) => check(entry, keys, [section, index]))
    else yield* check(input, keys, [section])
  }
  return {
    env:
      env === undefined || env === null || Option.isNone(environment)
        ? {}
        : yield* check(env, wireNames(environment.value), ["env"]),
    servers,
    manager,
    sections
  } satisfies ConfigFile
})
