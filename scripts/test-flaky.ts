/**
 * Repeats a selection of tests under load and prints which failed how often: `npm run test:flaky -- 10
 * packages/cli/test/crash` runs it ten times next to one busy loop per core.
 *
 * Words after the count go to vitest: patterns of files, `--project long`, `-t name`. Failed tests are not repeated
 * within a run. `--quiet` as the first word leaves the machine idle. Exit code 1 if any test failed in any run.
 */
import { spawn, type ChildProcess } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { availableParallelism, tmpdir } from "node:os"
import { join, relative } from "node:path"
import { fileURLToPath } from "node:url"

interface Report {
  readonly testResults: ReadonlyArray<{
    readonly name: string
    readonly status: string
    readonly message: string
    readonly assertionResults: ReadonlyArray<{
      readonly fullName: string
      readonly status: string
      readonly failureMessages: ReadonlyArray<string>
    }>
  }>
}

const root = fileURLToPath(new URL("..", import.meta.url))
const vitest = join(root, "node_modules/vitest/vitest.mjs")
const folder = mkdtempSync(join(tmpdir(), "atropos-flaky-"))
const words = process.argv.slice(2)
const isQuiet = words[0] === "--quiet"
const [count = "", ...selection] = isQuiet ? words.slice(1) : words
const runs = Number(count)
if (!Number.isInteger(runs) || runs < 1) {
  console.error("the number of runs is missing: npm run test:flaky -- [--quiet] 10 [pattern of files, vitest's flags]")
  process.exit(2)
}

/** Failures by test: the first message of each, and in which runs. */
const failures = new Map<string, { readonly message: string; readonly runs: Array<number> }>()
const note = (test: string, message: string, run: number) => {
  const failure = failures.get(test) ?? { message, runs: [] }
  failure.runs.push(run)
  failures.set(test, failure)
}

const children = new Set<ChildProcess>()
const start = (args: ReadonlyArray<string>): ChildProcess => {
  const child = spawn(process.execPath, args, { cwd: root, stdio: ["ignore", "ignore", "inherit"] })
  children.add(child)
  child.once("close", () => children.delete(child))
  return child
}
const endAll = () => {
  for (const child of children) child.kill()
}
process.once("SIGINT", () => {
  endAll()
  process.exit(130)
})

/** Runs the selection once; an error that vitest reports without a test is a failure of the file. */
const runOnce = async (run: number): Promise<void> => {
  const file = join(folder, `${run}.json`)
  const started = performance.now()
  const flags = ["--retry=0", "--reporter=json", `--outputFile=${file}`]
  const child = start([vitest, "run", ...flags, ...selection])
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve))
  if (!existsSync(file)) throw new Error(`vitest ended with ${code} and wrote no report: does the selection match?`)
  const { testResults } = JSON.parse(readFileSync(file, "utf8")) as Report
  const tests = testResults.flatMap(({ assertionResults, name }) => assertionResults.map((test) => ({ name, ...test })))
  const failed = tests.filter(({ status }) => status === "failed")
  for (const { failureMessages, fullName, name } of failed) {
    note(`${relative(root, name)} > ${fullName}`, failureMessages[0] ?? "", run)
  }
  for (const { assertionResults, message, name, status } of testResults) {
    const isNamed = assertionResults.some((test) => test.status === "failed")
    if (status === "failed" && !isNamed) note(relative(root, name), message, run)
  }
  if (code !== 0 && !testResults.some(({ status }) => status === "failed")) note("vitest", `ended with ${code}`, run)
  const passed = tests.filter(({ status }) => status === "passed").length
  const seconds = Math.round((performance.now() - started) / 1000)
  console.log(`run ${run} of ${runs}: ${passed} passed, ${failed.length} failed, ${seconds} s`)
}

const loops = isQuiet ? [] : Array.from({ length: availableParallelism() }, () => start(["-e", "for (;;);"]))
console.log(`${runs} runs beside ${loops.length} busy loops: ${selection.join(" ") || "all tests"}`)
try {
  for (let run = 1; run <= runs; run++) await runOnce(run)
} finally {
  endAll()
  rmSync(folder, { recursive: true, force: true })
}

if (failures.size === 0) {
  console.log("no test failed")
} else {
  console.log("\nfailed  test")
  for (const [test, failure] of [...failures].toSorted(([, a], [, b]) => b.runs.length - a.runs.length)) {
    console.log(`${`${failure.runs.length}/${runs}`.padEnd(8)}${test} (runs ${failure.runs.join(", ")})`)
    console.log(`        ${failure.message.split("\n")[0]}`)
  }
  process.exitCode = 1
}
