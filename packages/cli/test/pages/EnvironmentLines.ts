/** What becomes of the command lines of docs/environments.md, by what each begins with. */

/** What these need is in the packages. */
export const scripted: ReadonlyArray<string> = [
  "process --env tool-use --env.kinds",
  "process --env text-to-sql",
  "process --env regex",
  "process --env mcp",
  "process --env tool-calling",
  "process --env travel-planning",
  "process --env fundamentals",
  "process --env ocr",
  "process --env scenes",
  "process --env pointing",
  "process --env blackjack",
  "process --env taxi",
  "process --env wordle",
  "process --env math",
  "process --env instructions",
  "process --env json-schema",
  "process --env answer-format",
  "process --env letter-counting"
]

const file = "a file of the reader's"
const hub = "rows of the hub"
const python = "packages of Python, which packages/envs/test/long/python has where they are"
const server = "a server of the reader's"
const tasks = "tasks of the reader's; packages/envs/test/harbor has some"
const training = "training; README's and the tests' runs of up are like it"

export const leftAlone: { readonly [line: string]: string } = {
  "process --env tool-use --env.source": file,
  "process --env python-tests": hub,
  "process --env reasoning-gym": python,
  "process --env gymnasium": python,
  "process --env openenv": server,
  "process --env textarena": python,
  "process --env verifiers": python,
  "evaluate --env inspect": python,
  "process --env command": file,
  "validate --env harbor": tasks,
  "process --env harbor": tasks,
  "process --env service-desk": server,
  "evaluate --env travel-planning": file,
  "evaluate --env pointing": file,
  "process --env vqa-dataset": hub,
  "up --env addition": training,
  "up --env arithmetic-stories": training,
  "process --env gsm8k": hub,
  "process --env dataset": file,
  "serve --env math": server,
  "process --env mcqa": hub,
  "up --env text-reversal": training,
  "process --env preference": server,
  "process --env reward-model": server,
  "serve --env sft-loader": file,
  "process --env distill": server,
  "up --env sort-letters": training
}
