/**
 * Generates docs/commands.md: every command with its usage, arguments, flags and examples, from the help pages that it
 * prints.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Console, Effect, Option } from "effect"
import * as CliOutput from "effect/cli/CliOutput"
import type { ArgDoc, FlagDoc, HelpDoc } from "effect/cli/HelpDoc"
import * as HelpFlags from "../../packages/cli/src/help/HelpFlags.ts"
import * as Root from "../../packages/cli/src/Root.ts"
import { commands } from "../../packages/cli/src/commands/Commands.ts"

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

const table = (head: string, rows: ReadonlyArray<string>): ReadonlyArray<string> =>
  rows.length === 0 ? [] : [`| ${head} | type | what it is |`, "| --- | --- | --- |", ...rows, ""]

const text = (description: Option.Option<string>): string => cell(Option.getOrElse(description, () => ""))

const flagRow = ({ aliases, description, name, required, type }: FlagDoc): string => {
  const names = [`--${name}`, ...aliases].map((one) => `\`${one}\``).join(", ")
  return `| ${names} | ${cell(type)} | ${text(description)}${required ? " (required)" : ""} |`
}

const argumentRow = ({ description, name, required, type, variadic }: ArgDoc): string =>
  `| \`${name}${variadic ? "…" : ""}\` | ${cell(type)} | ${text(description)}${required ? " (required)" : ""} |`

/** Names of a row. */
const nameOf = (row: string): string => row.slice(2, row.indexOf(" |"))

/** Names of flags, in lines of a width. */
const nameLines = (label: string, rows: ReadonlyArray<string>): ReadonlyArray<string> => {
  const names = rows.map(nameOf)
  const lines: Array<string> = []
  let line = `${label}:`
  for (const [at, name] of names.entries()) {
    const next = ` ${name}${at === names.length - 1 ? "." : ","}`
    if (line.length + next.length > 150) {
      lines.push(line)
      line = next.trim()
    } else line += next
  }
  return rows.length === 0 ? [] : [...lines, line, ""]
}

interface Verb {
  readonly verb: string
  readonly doc: HelpDoc
  readonly flags: ReadonlyArray<string>
  readonly advanced: ReadonlyArray<string>
}

const verbOf = (verb: string, given: HelpDoc): Verb => {
  const doc = HelpFlags.grouped(given)
  return { verb, doc, flags: doc.flags.map(flagRow), advanced: (doc.inheritedFlags ?? []).map(flagRow) }
}

const section = ({ advanced, doc, flags, verb }: Verb, shared: ReadonlySet<string>): ReadonlyArray<string> => {
  const { args = [], description, examples = [], usage } = doc
  const isOwn = (row: string) => !shared.has(row)
  const isShared = (row: string) => shared.has(row)
  return [
    `## ${verb}`,
    "",
    `${description}.`,
    "",
    "```",
    usage,
    "```",
    "",
    ...table("argument", args.map(argumentRow)),
    ...table("flag", flags.filter(isOwn)),
    ...table("advanced flag", advanced.filter(isOwn)),
    ...nameLines("[Shared](#shared-flags)", flags.filter(isShared)),
    ...nameLines("Shared and advanced", advanced.filter(isShared)),
    ...examples.flatMap((example) => [
      ...(example.description === undefined ? [] : [`${example.description}:`, ""]),
      "```",
      example.command,
      "```",
      ""
    ])
  ]
}

/** Of each name the row that most verbs have, if several do. */
const sharedOf = (all: ReadonlyArray<Verb>): ReadonlyMap<string, string> => {
  const counts = new Map<string, number>()
  for (const { advanced, flags } of all) {
    for (const row of [...flags, ...advanced]) counts.set(row, (counts.get(row) ?? 0) + 1)
  }
  const shared = new Map<string, string>()
  for (const [row, count] of counts) {
    const before = shared.get(nameOf(row))
    if (count > 1 && (before === undefined || count > counts.get(before)!)) shared.set(nameOf(row), row)
  }
  return shared
}

const page = (all: ReadonlyArray<Verb>): string => {
  const shared = Array.from(sharedOf(all).values())
  const sections = all.flatMap((verb) => section(verb, new Set(shared)))
  const last = ["## Shared flags", "", "Flags that several verbs have. Each verb lists those it takes.", ""]
  return `${[head, ...sections, ...last, ...table("flag", shared)].join("\n").trimEnd()}\n`
}

const head = `# Commands and settings

Every verb of \`npx @atropos/cli\`, made from the command's own help by \`node --conditions=atropos-src scripts/make-commands-page.ts\`.

**Where settings come from.** Built-in defaults, then \`--config file.yaml\`, then flags; each overrides the one before. A setting has one name everywhere:
the flag \`--env.group_size 8\` is \`group_size: 8\` in the section \`env:\` of the file, and flags without a dot (\`--lr\`, \`--batch_size\`) are in the file's
section \`trainer:\`. Dashes and underscores are the same (\`--batch-size\`). A name that does not exist is refused, with the nearest one that does.

**Environments.** A verb that takes \`--env NAME\` also has the settings of that environment, as \`--env.*\`: see [the built-in environments](environments.md),
or \`npx @atropos/cli VERB --env NAME --help\`. Environments that ask a judge, a teacher or an opponent add \`--judge.*\`, \`--teacher.*\` or \`--opponent.*\`.

**Environment variables.**

| variable | what it is |
| --- | --- |
| \`DATABASE_URL\` | a Postgres server for the queue; without it, the queue is stored in \`ATROPOS_DATA_DIR\` |
| \`ATROPOS_OBJECTS\` | object storage for large payloads of the service ([operations](operations.md#large-payloads-in-object-storage)) |
| \`ATROPOS_OBJECTS_FROM\` | bytes from which a payload goes there; 65536 by default |
| \`AWS_ACCESS_KEY_ID\`, \`AWS_SECRET_ACCESS_KEY\`, \`AWS_SESSION_TOKEN\`, \`AWS_REGION\` | credentials and region of the object storage |
| \`ATROPOS_DATA_DIR\` | folder of the embedded database and of runs; default \`.atropos\` |
| \`ATROPOS_CACHE_DIR\` | folder for converted weights; default \`$XDG_CACHE_HOME/atropos\`, else \`~/.cache/atropos\` |
| \`ATROPOS_TOKENS\` | tokens that the trajectory service accepts; needed to serve other machines ([operations](operations.md)) |
| \`ATROPOS_TOKEN\` | the token that environments, trainers and viewers send to such a service |
| \`ATROPOS_POLICY_TOKENS\` | the same for \`policy\` |
| \`ATROPOS_GATEWAY_TOKENS\` | the same for \`gateway\` ([agents](agents.md)) |
| \`ATROPOS_OPENENV_TOKENS\` | the same for \`openenv\` ([OpenEnv](openenv.md)); \`OPENENV_TOKEN\` is the token sent to other OpenEnv servers |
| \`ATROPOS_TINKER_KEYS\` | keys that \`tinker\` accepts, separated by commas; \`TINKER_API_KEY\` is the key sent to a Tinker server |
| \`ATROPOS_ALLOWED_HOSTS\` | further host names by which browsers may reach a service, separated by commas |
| \`ATROPOS_SANDBOX_PYTHON\` | the Python that runs programs behind bubblewrap; \`ATROPOS_SANDBOX_VISIBLE\` names folders they may read ([the sandbox](sandbox.md)) |
| \`OPENAI_API_KEY\` | the key for api.openai.com; other inference servers are sent only what \`--openai.api_key\` says |
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
