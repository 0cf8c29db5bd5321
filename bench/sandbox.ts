/**
 * Measures the sandboxes: solutions that pass, the same with their last return value changed, times of warm runs, and
 * 200 hostile programs after which everything must be as before.
 *
 * `node --conditions=atropos-src bench/sandbox.ts [rows] [wasi|bubblewrap ...]`: rows as in HumanEval or MBPP, a file
 * (`.jsonl`) or `openai/openai_humaneval/test`; default: the bank of the environment `python-tests`. Other load on the
 * processor slows everything down; the processor time next to the wall time shows by how much.
 */
import { Dataset } from "@atropos/core"
import { Sandbox } from "@atropos/envs"
import { Effect } from "effect"
import { performance } from "node:perf_hooks"
import { hostile, tests as doubleTests } from "../packages/envs/test/sandbox/Hostile.ts"
import { bank } from "../packages/envs/src/code/Bank.ts"
import * as Problem from "../packages/envs/src/code/Problem.ts"

const kinds = process.argv.slice(2).filter((word) => word === "wasi" || word === "bubblewrap")
const [rows] = process.argv.slice(2).filter((word) => word !== "wasi" && word !== "bubblewrap")
const hostileRuns = 200
const workers = 2
const good = { source: "def double(x):\n    return 2 * x" }

const quantile = (sorted: ReadonlyArray<number>, share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN

const millis = (value: number): string => `${value.toFixed(1)} ms`

/** Wall and processor time of an effect, for this process and its threads together. */
const measured = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const [wall, used] = [performance.now(), process.cpuUsage()]
    const value = yield* effect
    const { system, user } = process.cpuUsage(used)
    return { value, wall: performance.now() - wall, cpu: (user + system) / 1000 }
  })

const holds = ({ tests }: Sandbox.Tested): boolean => tests.every(({ passed, total }) => passed === total)

const measure = Effect.fnUntraced(function* (problems: ReadonlyArray<Problem.Problem>) {
  const sandbox = yield* Sandbox.Sandbox
  const judged = (problem: Problem.Problem, source: string) => sandbox.test({ source }, problem)

  const cold = yield* measured(sandbox.test(good, { tests: doubleTests }))
  console.log(`  cold start and first run: ${millis(cold.wall)}`)
  // Warm-up: the interpreter's functions are not optimised at first.
  yield* Effect.forEach(problems.slice(0, 40), (problem) => judged(problem, problem.solution), { concurrency: workers })

  const runs = yield* Effect.forEach(problems, (problem) => measured(judged(problem, problem.solution)))
  const walls = runs.map(({ wall }) => wall).toSorted((a, b) => a - b)
  const cpu = runs.reduce((sum, run) => sum + run.cpu, 0) / runs.length
  console.log(`  solutions that pass: ${runs.filter(({ value }) => holds(value)).length} of ${problems.length}`)
  console.log(
    `  warm run, one after another: median ${millis(quantile(walls, 0.5))}, p90 ${millis(quantile(walls, 0.9))}, ` +
      `longest ${millis(quantile(walls, 1))}; processor ${millis(cpu)} a run`
  )

  const side = yield* measured(
    Effect.forEach(problems, (problem) => judged(problem, problem.solution), { concurrency: workers })
  )
  console.log(`  ${workers} at once: ${((problems.length * 1000) / side.wall).toFixed(1)} runs a second`)

  const changed = yield* Effect.forEach(
    problems,
    (problem) => judged(problem, Problem.withChangedReturn(problem.solution)),
    { concurrency: workers }
  )
  console.log(
    `  changed at their last return, that fail: ${changed.filter((tested) => !holds(tested)).length} of ${problems.length}`
  )

  const before = process.memoryUsage().rss
  const attempts = Array.from({ length: hostileRuns }, (_, index) => hostile[index % hostile.length]!)
  const attacked = yield* measured(
    Effect.forEach(
      attempts,
      ({ kind, source }, index) =>
        sandbox
          .test({ source: `# ${index}\n${source}` }, { tests: doubleTests }, { timeMillis: 1000 })
          .pipe(Effect.map((tested) => ({ kind, tested }))),
      { concurrency: workers }
    )
  )
  const endings = new Map<string, number>()
  for (const { tested } of attacked.value) {
    endings.set(tested.outcome.ending, (endings.get(tested.outcome.ending) ?? 0) + 1)
  }
  const passing = attacked.value.filter(({ tested }) => tested.tests.some(({ passed, total }) => passed === total))
  console.log(
    `  ${hostileRuns} hostile programs in ${(attacked.wall / 1000).toFixed(0)} s: ` +
      Array.from(endings, ([ending, count]) => `${count} ${ending}`).join(", ")
  )
  console.log(`  of them passed a test: ${passing.length === 0 ? "none" : passing.map(({ kind }) => kind).join(", ")}`)
  const after = yield* Effect.forEach(problems, (problem) => judged(problem, problem.solution), {
    concurrency: workers
  })
  const grown = (process.memoryUsage().rss - before) / 2 ** 20
  console.log(
    `  solutions that pass afterwards: ${after.filter(holds).length} of ${problems.length}; memory grown by ${grown.toFixed(0)} MiB`
  )
})

const problems =
  rows === undefined
    ? bank
    : await Effect.runPromise(
        Dataset.Dataset.use((dataset) => dataset.rows(rows, Problem.Row)).pipe(Effect.provide(Dataset.layer))
      ).then((read) => read.map(Problem.fromRow))

const limits = { workers, timeMillis: 30_000 }
for (const kind of kinds.length === 0 ? (["wasi", "bubblewrap"] as const) : kinds) {
  console.log(`${kind}, ${problems.length} problems, ${workers} workers`)
  const sandbox = kind === "wasi" ? Sandbox.layerWasi(limits) : Sandbox.layerBubblewrap(limits)
  await Effect.runPromise(Effect.provide(measure(problems), sandbox))
}
