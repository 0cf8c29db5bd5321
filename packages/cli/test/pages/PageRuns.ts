/**
 * What becomes of every command line in the blocks of README and the pages: it is run to its end, served until it says
 * that it serves, run with a scripted policy, or left alone for a reason that stands here or in `EnvironmentLines`.
 */
import * as EnvironmentLines from "./EnvironmentLines.ts"
import * as PageCommands from "./PageCommands.ts"

/** Runs to its end; `more`: words that make it shorter. */
interface Runs {
  readonly as: "runs"
  readonly more?: ReadonlyArray<string>
}
/** Goes on until it is stopped; on a port that is free, not on the page's. */
interface Serves {
  readonly as: "serves"
  readonly says: RegExp
}
/** Runs in the process of the test, for one group, which a scripted policy answers: a fraction of a second. */
interface Scripted {
  readonly as: "scripted"
}
export interface LeftAlone {
  readonly as: "left alone"
  readonly because: string
}

export interface PageRun {
  readonly page: string
  /** What the line begins with. */
  readonly line: string
  readonly how: Runs | Serves | Scripted | LeftAlone
}

const runs = (...more: ReadonlyArray<string>): Runs => ({ as: "runs", more })
const serves = (says: RegExp): Serves => ({ as: "serves", says })
const scripted: Scripted = { as: "scripted" }
const leftAlone = (because: string): LeftAlone => ({ as: "left alone", because })

const ownModel = leftAlone("a model of the reader's")
const ownFile = leftAlone("a file of the reader's")
const ownServer = leftAlone("an inference server of the reader's")
const hub = leftAlone("a model or a tokenizer of the hub")
const service = leftAlone("a service with rollouts; sets/Service.test.ts has one")

const ownTasks = leftAlone("tasks of the reader's; packages/envs/test/harbor has some")
const openEnv = leftAlone("a server of OpenEnv; openenv/Served.test.ts has one")
const python = leftAlone("packages of Python, which long/python and packages/envs/test/long/python have where they are")
const trl = leftAlone("TRL and its packages of Python; trl/Trl.test.ts goes this way where they are")

const short = ["--steps", "2", "--env.group_size", "4"]

const lines = (
  page: string,
  all: ReadonlyArray<readonly [line: string, how: PageRun["how"]]>
): ReadonlyArray<PageRun> => all.map(([line, how]) => ({ page, line, how }))

/** In this order: earlier ones make what later ones read. */
export const all: ReadonlyArray<PageRun> = [
  ...lines("README.md", [
    ["process --env arithmetic-stories", runs()],
    ["view out.jsonl", serves(/http:\S+/)],
    ["reverify out.jsonl", runs()],
    ["validate --env arithmetic-stories", runs()],
    ["init my-env", runs()],
    ["envs", runs()],
    ["doctor", runs()],
    ["serve --help", runs()],
    ["api --port", serves(/service at http:\S+/)],
    ["up --env ./support-agent.ts", leftAlone("an agent and a model of the reader's")]
  ]),
  // `npm run check:install` runs every line of this page as it stands, and those of README again, from the packages.
  ...lines("docs/installing.md", [["up", runs(...short)]]),
  ...lines("docs/training.md", [
    ["up --seed 2", runs(...short, "--fresh")],
    ["up --steps_ahead 2", runs(...short, "--fresh")],
    ["up --config run.yaml", ownFile],
    ["up --config examples/19", leftAlone("minutes; nightly/BundledCurve.test.ts has its first steps")],
    ["up --env arithmetic-stories --model Qwen/", hub],
    ["up --env examples/models/capitals.ts", ownModel],
    ["api --port", serves(/service at http:\S+/)],
    ["policy --model", hub],
    ["serve --env arithmetic-stories", hub],
    ["train --model Qwen/", hub],
    ["train --model MODEL", ownServer],
    ["doctor --openai.base_url", ownServer]
  ]),
  ...lines("docs/evaluations.md", [
    ["evaluate suites", runs()],
    ["evaluate suites mmlu-pro", runs()],
    ["evaluate --suite", ownServer],
    ["evaluate diff", leftAlone("two evaluations of the reader's; Suites.test.ts has two")]
  ]),
  ...lines("docs/losses.md", [
    ["validate --loss ./my-loss.ts", runs()],
    ["up --loss ./my-loss.ts", runs(...short, "--fresh")],
    ["train --loss ./my-loss.ts", leftAlone("a service with a run; Training.test.ts has one")]
  ]),
  ...lines("docs/agents.md", [
    ["view sessions.jsonl", serves(/http:\S+/)],
    ["evaluate --from sessions.jsonl", runs()],
    ["sft-gen sft.jsonl --from", runs()],
    [
      "dpo-gen pairs.jsonl --from",
      leftAlone("sessions of one question with different rewards; its own tests have some")
    ],
    ["serve --env command", ownFile]
  ]),
  ...lines("docs/environments.md", [
    ...EnvironmentLines.scripted.map((line) => [line, scripted] as const),
    ...Object.entries(EnvironmentLines.leftAlone).map(([line, because]) => [line, leftAlone(because)] as const)
  ]),
  ...lines("docs/data-sets.md", [
    ["sft-gen sft.jsonl", service],
    ["sft-gen sft.parquet --from", hub],
    ["dpo-gen pairs.jsonl --env", ownServer],
    ["sft-gen - --save-messages", service]
  ]),
  ...lines("docs/engines.md", [
    ["api", leftAlone("README's line, but for the port")],
    ["tinker --model", ownModel],
    ["train --engine", ownModel],
    ["up --env ./mine.ts", ownModel],
    ["serve --env ./mine.ts", ownFile]
  ]),
  ...lines("docs/gpu.md", [["doctor", leftAlone("README's line")]]),
  ...lines("docs/harbor.md", [
    ["envs harbor", ownTasks],
    ["validate --env harbor", ownTasks],
    ["evaluate --env harbor", ownTasks],
    ["up --env harbor", ownTasks]
  ]),
  ...lines("docs/models.md", [
    ["up --env arithmetic-stories --model bundled", leftAlone("minutes; README's line")],
    ["policy --model bundled", leftAlone("on the page's port; bundled/BundledModel.test.ts serves it on a free one")],
    ["merge merged", hub]
  ]),
  ...lines("docs/openenv.md", [
    ["process --env openenv", openEnv],
    ["up --env openenv", openEnv],
    ["openenv --env wordle", leftAlone("README's line")]
  ]),
  ...lines("docs/python.md", [
    ["envs ", python],
    ["process --env reasoning-gym", python],
    ["evaluate --env inspect", python],
    ["up --env ", python]
  ]),
  ...lines("docs/tinker.md", [["tinker --model", ownModel]]),
  ...lines("docs/trl.md", [
    ["up --env sort-letters", trl],
    ["api", trl],
    ["policy --model base", trl],
    ["serve --env sort-letters", trl]
  ])
]

/** The pages whose every line is listed: all but the one that is made of the command's own help. */
export const pages: ReadonlyArray<string> = PageCommands.pages.filter(
  (page) => /^(README|docs\/.*)\.md$/.test(page) && page !== "docs/commands.md"
)

/** What becomes of the words after the command's name: the longest of the lines that they begin with. */
export const of = (page: string, words: ReadonlyArray<string>): PageRun | undefined =>
  all
    .filter((one) => one.page === page && words.join(" ").startsWith(one.line))
    .toSorted((left, right) => right.line.length - left.line.length)[0]

/** The words of a line for a scripted policy, and for one group. */
export const asScripted = (words: ReadonlyArray<string>): ReadonlyArray<string> => [
  ...words.filter(
    (word, index) =>
      !word.startsWith("--openai.") && words[index - 1]?.startsWith("--openai.") !== true && word !== "--testing"
  ),
  "--env.total_steps",
  "1",
  "--testing",
  "--env.data_path_to_save_groups",
  "out.jsonl"
]

/** The words with a port that is free in place of the page's. */
export const atFreePort = (words: ReadonlyArray<string>): ReadonlyArray<string> =>
  words.map((word, index) => (words[index - 1] === "--port" ? "0" : word))
