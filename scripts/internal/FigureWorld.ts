/**
 * Inputs of each built-in environment for its group figure in docs/environments.md: settings that need no network, and
 * answers if it has no claims.
 */
import { ToolCalls } from "@atropos/core"
import type { Rollout } from "./GroupRollout.ts"
import { fileURLToPath } from "node:url"

export interface World {
  /** snake_case, as in files. */
  readonly settings?: { readonly [name: string]: unknown }
  /** Answers of each rollout; default: the environment's gold and wrong claims. */
  readonly rollouts?: ReadonlyArray<Rollout>
  /** The Python module that it needs. */
  readonly python?: string
  /** Additional search path for Python packages. */
  readonly pythonPath?: string
  /** True if it plays on one of our OpenEnv servers. */
  readonly isServed?: boolean
  readonly note?: string
}

const root = new URL("../../", import.meta.url)
const path = (file: string): string => fileURLToPath(new URL(file, root))
const rows = (file: string): string => path(`packages/cli/test/fixtures/rows/${file}`)
const questions = rows("questions.jsonl")
const preferences = rows("preferences.jsonl")

const act = (...actions: ReadonlyArray<string | number>): Rollout => actions.map((one) => `<action>${one}</action>`)
const call = (name: string, given: object): string => ToolCalls.writeCall({ name, arguments: given })
const bash = (...commands: ReadonlyArray<string>): Rollout => [
  ...commands.map((command) => call("bash", { command })),
  "Done."
]

const agent = path("packages/envs/test/command/agents/agent.mjs")
const scorer = `const { item, messages } = JSON.parse(require("fs").readFileSync(0, "utf8"))
console.log(messages.at(-1).content === item.answer.split("#### ")[1] ? 1 : 0)`
const packages = path("packages/envs/test/long/python/packages")

export const worlds: { readonly [name: string]: World } = {
  command: {
    settings: { command: `node ${agent}`, scorer: `node -e '${scorer}'`, items: questions },
    rollouts: [["61"], ["60"], ["I do not know."]],
    note: "(The program asks the item's question; the scorer compares what the model said last with the item's answer.)"
  },
  dataset: { settings: { source: questions, answer_after: "####" } },
  distill: {
    settings: { source: questions },
    rollouts: [["61"], ["I do not know."]],
    note: "(The teacher of this figure holds every token that was sampled for even odds: ln 1/2 is -0.693.)"
  },
  gsm8k: { settings: { train_split: questions, test_split: questions } },
  gymnasium: { python: "gymnasium", rollouts: [act(0), act(1), ["I stay."]] },
  harbor: {
    settings: { tasks: path("packages/envs/test/harbor/tasks/greeting") },
    rollouts: [
      bash("cat name.txt", 'printf "Hello, %s!\\n" "$(cat name.txt)" > greeting.txt'),
      bash("echo Hello, NAME! > greeting.txt"),
      ["Hello, Ada!"]
    ]
  },
  inspect: {
    python: "inspect_ai",
    settings: { task: `${packages}/capitals.py@twice` },
    rollouts: [["Oslo"], ["Oslo is the capital."], ["Bergen"]]
  },
  mcp: {
    rollouts: [
      [
        ["north", "east", "south", "west"].map((shelf) => call("count", { article: "gaskets", shelf })).join(""),
        "<answer>86</answer>"
      ],
      [call("count", { article: "gaskets", shelf: "all" }), "<answer>24</answer>"],
      ["86"]
    ]
  },
  openenv: { isServed: true, rollouts: [["\\boxed{39}"], ["\\boxed{24}"], ["I do not know."]] },
  preference: {
    settings: { source: preferences, test_source: null, chosen_column: "chosen", rejected_column: "rejected" },
    note: "(The judge of this figure prefers the answer that shares more words with the request.)"
  },
  "reasoning-gym": {
    python: "reasoning_gym",
    rollouts: [["<answer>-14282</answer>"], ["-14282"], ["<answer>-14283</answer>"]]
  },
  "reward-model": {
    settings: { source: preferences, test_source: null },
    rollouts: [["Mice."], ["The plural of mouse is mice."], ["I do not know."]],
    note: "(The reward model of this figure counts the words of an answer.)"
  },
  "sft-loader": { settings: { source: questions, group_size: 1 } },
  textarena: {
    python: "textarena",
    settings: { game: "GuessTheNumber-v0", players: 1 },
    rollouts: [["[10]"], ["[5]", "[10]"], ["ten", "ten"]]
  },
  "tool-use": {
    rollouts: [
      [
        call("python", { code: "print(sum(sum(map(int, str(n))) % 10 == 0 for n in range(1, 1307)))" }),
        "<answer>130</answer>"
      ],
      [call("calculator", { expression: "digits(1306)" }), "<answer>1</answer>"],
      ["130"]
    ]
  },
  verifiers: {
    python: "verifiers.v1",
    settings: { taskset: "reversal" },
    pythonPath: packages,
    rollouts: [["pmal"], ["lamp"], ["I do not know."]]
  },
  "vqa-dataset": {
    settings: { source: path("packages/envs/test/fixtures/pictures.parquet"), answer_column: "answers" }
  }
}
