/**
 * Trains published models on the tasks of `results/` and renews the figures that the pages show: `npm run results --
 * --models FOLDER [--python PATH] [--task NAME …] [--seed N …]`, or `-- --draw`. The folder has one for each model.
 *
 * Prints its plan first, then runs each task with each seed as one `atropos up` with the task's committed
 * configuration, unless its metrics are there already. A task may have `rows.ts` or `rows.py`, which writes its rows,
 * and `warm-up.yaml`, for supervised steps before. `--python PATH` names the Python of tasks that need one; without it
 * they are left out. `--draw` only draws and tabulates what is there.
 */
import { execFileSync, spawnSync } from "node:child_process"
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { availableParallelism, cpus } from "node:os"
import { join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"

interface Task {
  readonly title: string
  readonly env: string
  /** Its folder in that of the models, or a name that the command knows. */
  readonly model: string
  /** Its configuration, if not in its folder of `results/`. */
  readonly config?: string
  /** The Python package it needs. */
  readonly needs?: string
  /** For the rollouts of the site, not for the table. */
  readonly isExample?: boolean
}

const tasks: { readonly [name: string]: Task } = {
  "tool-calling": { title: "tool calls, SmolLM2-135M-Instruct", env: "tool-calling", model: "smollm2-135m" },
  "needle-haystack": {
    title: "needle_haystack, SmolLM2-135M-Instruct",
    env: "reasoning-gym",
    model: "smollm2-135m",
    needs: "reasoning-gym"
  },
  capitals: { title: "capitals, SmolLM2-135M-Instruct", env: "examples/models/capitals.ts", model: "smollm2-135m" },
  "capitals-text": { title: "capitals, Gemma 3 270M", env: "examples/models/capitals.ts", model: "gemma3-270m" },
  instructions: { title: "instructions, SmolLM2-135M-Instruct", env: "instructions", model: "smollm2-135m" },
  calculator: {
    title: "an agent with a calculator, the bundled model",
    env: "examples/19-calculator-agent.ts",
    config: "examples/19-calculator-agent.yaml",
    model: "bundled",
    isExample: true
  },
  broken: { title: "a learning rate that is too high", env: "sort-letters", model: "scratch", isExample: true }
}

/** What a run was made with, beside its metrics. */
interface Made {
  readonly date: string
  readonly commit: string
  readonly machine: string
  readonly command: string
  readonly seconds: number
}

type Row = { readonly [name: string]: number | undefined }

const root = fileURLToPath(new URL("..", import.meta.url))
const { draw, models, python, seed, task } = parseArgs({
  options: {
    models: { type: "string" },
    python: { type: "string" },
    task: { type: "string", multiple: true },
    seed: { type: "string", multiple: true },
    draw: { type: "boolean" }
  }
}).values

const folderOf = (name: string, one: string): string => join(root, "results", name, `seed-${one}`)

const warmUpEnv = "sft-loader"

/** Words of `up` with files relative to the repository. */
const wordsOf = (env: string, config: string, one: string, model: string): ReadonlyArray<string> =>
  [
    "up",
    "--env",
    env,
    "--config",
    config,
    "--seed",
    one,
    "--exit",
    "--fresh",
    "--port",
    "0",
    "--policy_port",
    "0"
  ].concat(["--model", model])

/** The words that make a run from rows to metrics, each a command. */
const commandsOf = (name: string, one: string): ReadonlyArray<ReadonlyArray<string>> => {
  const { config = `results/${name}/config.yaml`, env, model } = tasks[name]!
  const warmUp = `results/${name}/warm-up.yaml`
  if (!existsSync(join(root, warmUp))) return [wordsOf(env, config, one, model)]
  return [
    wordsOf(warmUpEnv, warmUp, one, model),
    ["merge", "warmed-up", "--model", model, "--adapter", `.atropos/up/${warmUpEnv}-1/step_*`],
    wordsOf(env, config, one, "warmed-up")
  ]
}

const groupsFile = "groups.jsonl"

/** Groups that are kept to read: so many of the beginning of a run, and of its end. */
const groupsKept = 8

const firstAndLast = (lines: string): string => {
  const groups = lines.trim().split("\n")
  return [...groups.slice(0, groupsKept), ...groups.slice(-groupsKept), ""].join("\n")
}

/** A word of a command as it is given in the folder of a run. */
const given = (word: string, work: string, models: string): string => {
  if (/^(?:results|examples)\//.test(word)) return join(root, word)
  if (existsSync(join(models, word, "config.json"))) return resolve(models, word)
  const [path = word] = word.includes("*") ? globSync(word, { cwd: work }) : []
  return path
}

const run = (name: string, one: string, models: string): void => {
  const kept = folderOf(name, one)
  const work = join(root, ".atropos/results", `${name}-${one}`)
  rmSync(work, { recursive: true, force: true })
  const started = Date.now()
  const commit = execFileSync("git", ["rev-parse", "--short=8", "HEAD"], { cwd: root, encoding: "utf8" }).trim()
  mkdirSync(work, { recursive: true })
  const execute = (program: string, words: ReadonlyArray<string>): void => {
    // It keeps its run under the folder it is started in.
    const { status } = spawnSync(program, words, {
      cwd: work,
      stdio: "inherit",
      env: { ...process.env, DATABASE_URL: "" }
    })
    if (status !== 0) throw new Error(`${name}, seed ${one}: ${words.join(" ")} ended with ${status}`)
  }
  const rows = join(root, "results", name, "rows")
  if (existsSync(`${rows}.ts`)) execute(process.execPath, ["--conditions=atropos-src", `${rows}.ts`, "rows"])
  if (python !== undefined && existsSync(`${rows}.py`)) execute(python, [`${rows}.py`, "rows"])
  const commands = commandsOf(name, one)
  for (const words of commands) {
    const isLast = words === commands.at(-1)
    execute(process.execPath, [
      join(root, "packages/cli/bin/atropos.js"),
      ...words.map((word) => given(word, work, models)),
      ...(isLast ? ["--env.data_path_to_save_groups", groupsFile] : []),
      ...(isLast && python !== undefined && tasks[name]!.needs !== undefined ? ["--env.python", python] : [])
    ])
  }
  const made: Made = {
    date: new Date(started).toISOString().slice(0, 10),
    commit,
    machine: `${availableParallelism()} cores, ${cpus()[0]?.model.trim() ?? "unknown processor"}`,
    command: commands.map((words) => ["npx @atropos/cli", ...words].join(" ")).join(" && "),
    seconds: Math.round((Date.now() - started) / 1000)
  }
  mkdirSync(kept, { recursive: true })
  for (const [written, file] of [
    ["metrics.jsonl", "metrics.jsonl"],
    ["*-held-out.metrics.jsonl", "held-out.jsonl"]
  ] as const) {
    const [path] = globSync(`.atropos/up/*/${written}`, { cwd: work }).filter((path) => !path.includes(warmUpEnv))
    if (path === undefined) throw new Error(`${work} has no ${written}`)
    cpSync(join(work, path), join(kept, file))
  }
  writeFileSync(join(kept, "rollouts.jsonl"), firstAndLast(readFileSync(join(work, groupsFile), "utf8")))
  writeFileSync(join(kept, "run.json"), `${JSON.stringify(made, null, 2)}\n`)
}

const seedsOf = (name: string): ReadonlyArray<string> =>
  globSync("seed-*/run.json", { cwd: join(root, "results", name) })
    .map((path) => path.slice("seed-".length).split(/[/\\]/)[0]!)
    .toSorted((a, b) => Number(a) - Number(b))

const rowsOf = (name: string, one: string, file: "metrics" | "held-out"): ReadonlyArray<Row> =>
  readFileSync(join(folderOf(name, one), `${file}.jsonl`), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Row)

const mean = (values: ReadonlyArray<number>): string =>
  (values.reduce((sum, value) => sum + value, 0) / values.length).toFixed(3)

const percent = (share: number): string => (100 * share).toFixed(1)

/** `12.5 (7.3 to 20.6)` */
const shareOf = (row: Row | undefined): string => {
  const share = row?.["eval/percent_correct"]
  if (share === undefined) return "–"
  const [low, high] = [row?.["eval/percent_correct_ci_low"], row?.["eval/percent_correct_ci_high"]]
  return `${percent(share)}${low === undefined || high === undefined ? "" : ` (${percent(low)} to ${percent(high)})`}`
}

const lineOf = (name: string, one: string): string => {
  const rewards = rowsOf(name, one, "metrics").flatMap((row) => row["reward/mean"] ?? [])
  const evaluations = rowsOf(name, one, "held-out")
  const made = JSON.parse(readFileSync(join(folderOf(name, one), "run.json"), "utf8")) as Made
  const minutes = `${Math.floor(made.seconds / 60)} min ${made.seconds % 60} s`
  const cells = [name, one, String(rewards.length), mean(rewards.slice(0, 5)), mean(rewards.slice(-5))]
  const shares = [shareOf(evaluations[0]), shareOf(evaluations.at(-1))]
  return `| ${[...cells, ...shares, minutes, `${made.date}, ${made.commit}`].join(" | ")} |`
}

/** Renews `docs/results.md` between its markers, and the curves. */
const renew = (): void => {
  const present = Object.keys(tasks).filter((name) => tasks[name]!.isExample !== true && seedsOf(name).length > 0)
  if (present.length === 0) throw new Error("results/ has no runs: give --models FOLDER")
  const panels = present.map(
    (name) =>
      `${tasks[name]!.title}=${seedsOf(name)
        .map((one) => folderOf(name, one))
        .join(",")}`
  )
  execFileSync(process.execPath, ["scripts/draw-curves.ts", "docs/images/results.svg", ...panels], { cwd: root })
  const table = [
    "| task | seed | steps | reward, first 5 steps | last 5 | held-out solved before (95% CI), % | after | took | date, commit |",
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ...present.flatMap((name) => seedsOf(name).map((one) => lineOf(name, one)))
  ].join("\n")
  const page = join(root, "docs/results.md")
  const text = readFileSync(page, "utf8")
  const [begin, end] = ["<!-- begin: npm run results -->\n", "<!-- end: npm run results -->"]
  const from = text.indexOf(begin)
  const to = text.indexOf(end)
  if (from === -1 || to === -1) throw new Error(`${page} lacks its markers`)
  writeFileSync(page, `${text.slice(0, from + begin.length)}${table}\n${text.slice(to)}`)
}

if (draw !== true) {
  if (models === undefined) throw new Error("give --models FOLDER, or --draw")
  const asked = (task ?? Object.keys(tasks)).flatMap((name) => {
    if (!Object.hasOwn(tasks, name)) throw new Error(`no task ${name}: tasks are ${Object.keys(tasks).join(", ")}`)
    return (seed ?? (tasks[name]!.isExample === true ? ["1"] : ["1", "2", "3"])).map((one) => [name, one] as const)
  })
  const missing = asked.filter(([name, one]) => !existsSync(join(folderOf(name, one), "run.json")))
  const absent = (name: string) => (python === undefined ? tasks[name]!.needs : undefined)
  for (const [name, one] of missing) {
    const needs = absent(name)
    console.log(`will ${needs === undefined ? "run" : `leave out (--python PATH with ${needs})`}: ${name}, seed ${one}`)
  }
  for (const [name, one] of missing.filter(([name]) => absent(name) === undefined)) {
    run(name, one, models)
    renew()
  }
}
renew()
