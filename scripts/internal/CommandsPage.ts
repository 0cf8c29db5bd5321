/**
 * Generates docs/commands.md: every command with its usage, arguments, flags and examples, from the help pages that it
 * prints.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Settings } from "@atropos/core"
import * as TrainerSettings from "@atropos/trainer/run/TrainerSettings"
import { Console, Effect, Option } from "effect"
import * as CliOutput from "effect/cli/CliOutput"
import type { ArgDoc, FlagDoc, HelpDoc } from "effect/cli/HelpDoc"
import * as HelpFlags from "../../packages/cli/src/help/HelpFlags.ts"
import * as Root from "../../packages/cli/src/Root.ts"
import { commands } from "../../packages/cli/src/Commands.ts"

/** The help page of these arguments, from the parser. */
const helpOf = Effect.fnUntraced(function* (words: ReadonlyArray<string>) {
  const docs: Array<HelpDoc> = []
  const taking = CliOutput.layerPresenter({
    present: (event) =>
      Effect.sync(() => {
        if (event._tag === "Help") docs.push(event.helpDoc)
      })
  })
  yield* Root.run([...words, "--help"]).pipe(Effect.provide(taking))
  const [doc] = docs
  if (doc === undefined) return yield* Effect.die(new Error(`${words.join(" ")} --help printed no page of help`))
  return doc
})

const cell = (text: string): string =>
  text
    .replaceAll("|", String.raw`\|`)
    .replaceAll("<", "&lt;")
    .replaceAll(/\s*\n\s*/g, " ")

/** A table of arguments, without a dash, and of flags. */
const table = (rows: ReadonlyArray<string>): ReadonlyArray<string> =>
  rows.length === 0 ? [] : ["| flag | type | meaning |", "| --- | --- | --- |", ...rows, ""]

const text = (description: Option.Option<string>): string => cell(Option.getOrElse(description, () => ""))

/** A row of a table of flags, whose default may differ between commands. */
interface Row {
  readonly name: string
  readonly names: string
  readonly type: string
  readonly description: string
  /** As it is written after the description; empty without one. */
  readonly fallback: string
  readonly isAdvanced: boolean
}

const rowOf =
  (isAdvanced: boolean) =>
  (flag: FlagDoc): Row => {
    const whole = `${text(flag.description)}${flag.required ? " (required)" : ""}`
    const [, fallback = ""] = / \[default: (.*)\](?= \(choices: |$)/.exec(whole) ?? []
    return {
      name: `--${flag.name}`,
      names: [`--${flag.name}`, ...flag.aliases].map((one) => `\`${one}\``).join(", "),
      type: cell(flag.type),
      description: fallback === "" ? whole : whole.replace(` [default: ${fallback}]`, () => ""),
      fallback,
      isAdvanced
    }
  }

const written = ({ description, fallback, isAdvanced, names, type }: Row): string =>
  `| ${names}${isAdvanced ? " +" : ""} | ${type} | ${description}${fallback === "" ? "" : ` [default: ${fallback}]`} |`

const flagTable = (rows: ReadonlyArray<Row>, args: ReadonlyArray<string> = []): ReadonlyArray<string> =>
  table([...args, ...rows.toSorted((a, b) => Number(a.isAdvanced) - Number(b.isAdvanced)).map(written)])

const argumentRow = ({ description, name, required, type, variadic }: ArgDoc): string =>
  `| \`${name}${variadic ? "…" : ""}\` | ${cell(type)} | ${text(description)}${required ? " (required)" : ""} |`

interface Verb {
  readonly verb: string
  readonly doc: HelpDoc
  readonly rows: ReadonlyArray<Row>
}

/** Without the settings of an environment, which `atropos envs NAME` prints. */
const verbOf = (verb: string, doc: HelpDoc): Verb => {
  const { advanced, common } = HelpFlags.grouped(doc)
  return { verb, doc, rows: [...common.map(rowOf(false)), ...advanced.map(rowOf(true))] }
}

const keyOf = ({ description, names }: Row): string => `${names} ${description}`

/** The sections of flags that several commands have, by what their names begin with. */
const prefixes = ["env", "openai", "lora", "loss", "metrics"]
const trainer: ReadonlySet<string> = new Set(
  Object.keys(TrainerSettings.trainerFields).map((field) => `--${Settings.wireName(field)}`)
)
const sets: ReadonlySet<string> = new Set(["sft-gen", "dpo-gen"])
const titles: { readonly [group: string]: string } = {
  env: "Environment flags",
  openai: "Server flags",
  lora: "Adapter flags",
  loss: "Loss flags",
  metrics: "Metrics flags",
  trainer: "Trainer flags",
  sets: "Data set flags",
  others: "Other shared flags"
}
const groups = Object.keys(titles)

interface Shared extends Row {
  readonly group: string
}

const linkTo = (group: string): string =>
  `[${titles[group]!.toLowerCase()}](#${titles[group]!.toLowerCase().replaceAll(" ", "-")})`

const listed = (rows: ReadonlyArray<Row>): string =>
  Array.from(new Set(rows.map(({ name }) => `\`${name}\``))).join(", ")

/** What a command takes of the shared flags: of each group all, all but some, or some. */
const sharedLines = (rows: ReadonlyArray<Row>, shared: ReadonlyMap<string, Shared>): ReadonlyArray<string> => {
  const taken = rows.filter((row) => shared.has(keyOf(row)))
  const keys = new Set(taken.map(keyOf))
  const parts = groups.flatMap((group) => {
    const all = Array.from(shared.values()).filter((row) => row.group === group)
    const missing = all.filter((row) => !keys.has(keyOf(row)))
    const own = all.filter((row) => keys.has(keyOf(row)))
    if (own.length === 0) return []
    if (group === "others" || missing.length >= own.length) return [`${linkTo(group)}: ${listed(own)}`]
    return [missing.length === 0 ? linkTo(group) : `${linkTo(group)} except ${listed(missing)}`]
  })
  const defaults = taken.flatMap((row) => {
    const usual = shared.get(keyOf(row))!.fallback
    return row.fallback === usual || row.fallback === "" ? [] : [`\`${row.name}\` ${row.fallback}`]
  })
  const sentences = [
    ...(parts.length === 0 ? [] : [`Also ${parts.join("; ")}.`]),
    ...(defaults.length === 0 ? [] : [`Other defaults here: ${defaults.join(", ")}.`])
  ]
  return sentences.length === 0 ? [] : [...wrapped(sentences.join(" ")), ""]
}

/** Breaks a line at blanks. */
const wrapped = (line: string): ReadonlyArray<string> => {
  const lines: Array<string> = [""]
  for (const word of line.split(" ")) {
    const last = lines.at(-1)!
    if (last !== "" && last.length + word.length > 158) lines.push(word)
    else lines[lines.length - 1] = last === "" ? word : `${last} ${word}`
  }
  return lines
}

const section = ({ doc, rows, verb }: Verb, shared: ReadonlyMap<string, Shared>): ReadonlyArray<string> => {
  const { args = [], description, examples = [], usage } = doc
  return [
    `## ${verb}`,
    `${description}.`,
    "```",
    ...(args.length === 0 && examples.length > 0 ? [] : [usage]),
    ...examples.map(({ command, description: about }) => (about === undefined ? command : `${command}   # ${about}`)),
    "```",
    ...flagTable(
      rows.filter((row) => !shared.has(keyOf(row))),
      args.map(argumentRow)
    ),
    ...sharedLines(rows, shared)
  ]
}

/** The rows that several commands have, whatever the default, with the commonest one. */
const sharedOf = (all: ReadonlyArray<Verb>): ReadonlyMap<string, Shared> => {
  const byKey = Map.groupBy(
    all.flatMap(({ rows, verb }) => rows.map((row) => ({ row, verb }))),
    ({ row }) => keyOf(row)
  )
  return new Map(
    Array.from(byKey).flatMap(([key, users]) => {
      if (users.length === 1) return []
      const counts = Map.groupBy(users, ({ row }) => row.fallback)
      const [commonest] = Array.from(counts.values()).toSorted((a, b) => b.length - a.length)
      const { row } = commonest![0]!
      const group =
        prefixes.find((prefix) => row.name.startsWith(`--${prefix}.`)) ??
        (users.every(({ verb }) => sets.has(verb)) ? "sets" : trainer.has(row.name) ? "trainer" : "others")
      return [[key, { ...row, group }] as const]
    })
  )
}

const page = (all: ReadonlyArray<Verb>): string => {
  const shared = sharedOf(all)
  const sections = all.flatMap((verb) => section(verb, shared))
  const last = groups.flatMap((group) => [
    `## ${titles[group]}`,
    ...flagTable(Array.from(shared.values()).filter((row) => row.group === group))
  ])
  return `${[head, ...sections, ...last].join("\n").trimEnd()}\n`
}

const head = `# Commands and settings

Every command of \`npx @atropos/cli\`, generated from its help by \`node --conditions=atropos-src scripts/make-commands-page.ts\`. \`--help\` lists what most
people need, \`--help-all\` also the flags marked \`+\`. Arguments, without dashes, are in the same tables. Flags that several commands share are at
the end, once.

**Where settings come from.** Built-in defaults, then \`--config file.yaml\`, then flags; each overrides the one before. A setting has one name everywhere:
the flag \`--env.group_size 8\` is \`group_size: 8\` in the section \`env:\` of the file, and flags without a dot (\`--lr\`, \`--batch_size\`) are in the file's
section \`trainer:\`. Dashes and underscores are the same (\`--batch-size\`). A name that does not exist is refused, with the nearest one that does.

**Environments.** A command that takes \`--env NAME\` also has the settings of that environment, as \`--env.*\`: \`npx @atropos/cli envs NAME\` prints them
([the built-in environments](environments.md)). Environments that ask a judge, a teacher or an opponent add \`--judge.*\`, \`--teacher.*\` or \`--opponent.*\`.

## Environment variables
| variable | meaning |
| --- | --- |
| \`DATABASE_URL\` | a Postgres server for the queue; without it, the queue is stored in \`ATROPOS_DATA_DIR\` |
| \`ATROPOS_OBJECTS\` | object storage for large payloads of the service ([operations](operations.md#large-payloads-in-object-storage)) |
| \`ATROPOS_OBJECTS_FROM\` | bytes from which a payload goes there; 65536 by default |
| \`AWS_ACCESS_KEY_ID\`, \`AWS_SECRET_ACCESS_KEY\`, \`AWS_SESSION_TOKEN\`, \`AWS_REGION\` | credentials and region of the object storage |
| \`ATROPOS_DATA_DIR\` | folder of the embedded database; default \`.atropos\` |
| \`ATROPOS_CACHE_DIR\` | folder for converted weights; default \`$XDG_CACHE_HOME/atropos\`, else \`~/.cache/atropos\` |
| \`ATROPOS_TOKENS\` | tokens that the trajectory service accepts; needed to serve other machines ([operations](operations.md)) |
| \`ATROPOS_TOKEN\` | the token that environments, trainers and viewers send to such a service |
| \`ATROPOS_POLICY_TOKENS\` | the same for \`policy\` |
| \`ATROPOS_GATEWAY_TOKENS\` | the same for \`gateway\` ([agents](agents.md)) |
| \`ATROPOS_OPENENV_TOKENS\` | the same for \`openenv\` ([OpenEnv](openenv.md)); \`OPENENV_TOKEN\` is the token sent to other OpenEnv servers |
| \`ATROPOS_TINKER_KEYS\` | keys that \`tinker\` accepts, separated by commas; \`TINKER_API_KEY\` is the key sent to a Tinker server |
| \`ATROPOS_ALLOWED_HOSTS\` | additional host names by which browsers may reach a service, separated by commas |
| \`ATROPOS_SANDBOX_PYTHON\` | the Python that runs programs behind bubblewrap; \`ATROPOS_SANDBOX_VISIBLE\` names folders they may read ([the sandbox](sandbox.md)) |
| \`OPENAI_API_KEY\` | the key for api.openai.com; other inference servers get only \`--openai.api_key\` |
| \`HF_TOKEN\` | the token for gated models and data sets of the Hugging Face Hub; \`HF_ENDPOINT\` (a mirror), \`HF_HOME\` (its cache) and \`HF_HUB_OFFLINE\` as its own client has them |
| \`WANDB_API_KEY\` | the key of Weights & Biases; \`WANDB_BASE_URL\`, \`WANDB_ENTITY\` and \`WANDB_MODE\` as its own client has them |
| \`OTEL_EXPORTER_OTLP_ENDPOINT\` | where traces and metrics are sent ([metrics](metrics.md)) |
| \`SLURM_JOB_NODELIST\` | set by Slurm; with \`--slurm\`, inference servers are found on its nodes ([on a cluster](cluster.md)) |
`

export const make: Effect.Effect<string> = Effect.forEach(Object.keys(commands), (verb) =>
  Effect.map(helpOf([verb]), (doc) => verbOf(verb, doc))
).pipe(
  Effect.map(page),
  Effect.provideService(Console.Console, { ...globalThis.console, log: () => undefined } as Console.Console),
  Effect.provide(NodeServices.layer),
  Effect.orDie
)
