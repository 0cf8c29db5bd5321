/**
 * Runs the suites that need Python's packages: `npm run test:interop [-- --if-available] [--nightly] [WORD …]`. Words
 * select suites by a part of their path; `--nightly` runs those outside of the build.
 *
 * Prints the versions of the packages, and last `interop: N passed, N failed, N skipped`, in tests. Fails if a test
 * fails or is skipped for a missing package; also if there is no recent enough Python or no package index, except with
 * `--if-available`: then one line states what is missing.
 */
import { execFileSync, spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, dirname, join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import * as Python from "./Python.ts"
import * as PythonEnvironment from "./PythonEnvironment.ts"
import { environments } from "./Suites.ts"

interface Test {
  readonly fullName: string
  readonly status: "passed" | "failed" | "skipped" | "pending" | "todo" | "disabled"
}
interface Report {
  readonly testResults: ReadonlyArray<{
    readonly name: string
    readonly status: "passed" | "failed"
    /** Why the file could not be run at all. */
    readonly message: string
    readonly assertionResults: ReadonlyArray<Test>
  }>
}

const root = fileURLToPath(new URL("../..", import.meta.url))
const vitest = join(root, "node_modules/vitest/vitest.mjs")
const isAsked = (word: string): boolean => process.argv.slice(2).includes(word)
const isLenient = isAsked("--if-available")
const isNightly = isAsked("--nightly")
const words = process.argv.slice(2).filter((word) => !word.startsWith("--"))

const versionsOf = (interpreter: string, clients: ReadonlyArray<string>): string =>
  execFileSync(
    interpreter,
    [
      "-c",
      "import sys; from importlib.metadata import version as v; print(*(f'{n} {v(n)}' for n in sys.argv[1:]), sep=', ')"
    ].concat(clients),
    { encoding: "utf8" }
  ).trim()

const config = isNightly ? ["--config", "vitest.nightly.config.ts"] : []

/** Runs the suites of one environment in its interpreter. */
const run = (interpreter: string, suites: ReadonlyArray<string>): Report => {
  const folder = mkdtempSync(join(tmpdir(), "atropos-interop-"))
  const file = join(folder, "report.json")
  const { error } = spawnSync(
    process.execPath,
    [vitest, "run", ...config, "--reporter=default", "--reporter=json", `--outputFile.json=${file}`, ...suites],
    {
      cwd: root,
      stdio: "inherit",
      // Programs that come with packages, such as uv, are found as in an activated environment.
      env: {
        ...process.env,
        ATROPOS_TEST_PYTHON: interpreter,
        // Threads of PyTorch spin while they wait, which costs half of what these small models take.
        OMP_NUM_THREADS: "1",
        // Where a container has set it, each program compiles all that it imports: seconds for most of these packages.
        PYTHONDONTWRITEBYTECODE: "",
        PATH: `${dirname(interpreter)}${delimiter}${process.env["PATH"] ?? ""}`
      }
    }
  )
  if (error !== undefined) throw error
  const report = JSON.parse(readFileSync(file, "utf8")) as Report
  rmSync(folder, { recursive: true })
  return report
}

type State = "passed" | "failed" | "skipped"

/** By suite, then by the test's name without its reason for being skipped. */
const states = new Map<string, Map<string, State>>()

/** A test skipped in one environment passes if it passes in another; one that fails anywhere has failed. */
const add = (suite: string, { fullName, status }: Test): void => {
  const tests = states.get(suite) ?? new Map<string, State>()
  states.set(suite, tests)
  const name = fullName.replaceAll(/ \(skipped: [^)]*\)/g, "")
  const state = status === "passed" || status === "failed" ? status : "skipped"
  if (fullName.includes("cannot import")) lacking.add(`${suite}: ${name}`)
  const before = tests.get(name)
  if (before === undefined || before === "skipped" || state === "failed") tests.set(name, state)
}

/** Names of tests for which an environment lacked a package. */
const lacking = new Set<string>()
const faults: Array<string> = []
/** Names of missing environments, by reason. */
const absent = new Map<string, ReadonlyArray<string>>()

const asked = environments
  .map((one) => ({
    ...one,
    suites: (isNightly ? one.nightly : one.suites).filter((suite) => words.every((word) => suite.includes(word)))
  }))
  .filter(({ suites }) => suites.length > 0)

const versions: Array<string> = []
for (const { clients, lock, name, python: minor, suites } of asked) {
  const python = Python.find(minor)
  try {
    if (python === undefined) throw new PythonEnvironment.Unavailable(`there is no Python 3.${minor} or newer`)
    const interpreter = PythonEnvironment.ensure(name, lock, python)
    versions.push(`${name}: Python ${python.version.join(".")}, ${versionsOf(interpreter, clients)}`)
    for (const { assertionResults, message, name: file, status } of run(interpreter, suites).testResults) {
      const suite = relative(root, file)
      for (const test of assertionResults) add(suite, test)
      if (status !== "passed") faults.push(`${suite} failed in ${name}${message === "" ? "" : `: ${message}`}`)
    }
  } catch (error) {
    if (!(error instanceof PythonEnvironment.Unavailable)) throw error
    absent.set(error.message, [...(absent.get(error.message) ?? []), name])
  }
}

const all = new Set(asked.flatMap(({ suites }) => suites))
const counts = { passed: 0, failed: 0, skipped: 0 }
let whole = 0
for (const suite of all) {
  const tests = Array.from(states.get(suite) ?? [])
  for (const [name, state] of tests) {
    counts[state]++
    if (state !== "skipped") continue
    const test = `${suite}: ${name}`
    if (absent.size === 0 && lacking.has(test)) faults.push(`${test} is skipped, though every environment is there`)
    else console.log(`skipped: ${test}`)
  }
  const ran = tests.filter(([, state]) => state === "passed").length
  if (ran > 0 && tests.every(([, state]) => state !== "failed")) whole++
  if (ran === 0 && absent.size === 0) faults.push(`${suite} ran no test`)
}
for (const line of versions) console.log(line)
for (const fault of faults) console.log(`red: ${fault}`)
if (absent.size > 0) {
  console.log(`not run: ${Array.from(absent, ([why, names]) => `${names.join(", ")} (${why})`).join("; ")}`)
}
console.log(`${whole} of ${all.size} suites passed`)
console.log(`interop: ${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`)
if (faults.length > 0 || all.size === 0 || (absent.size > 0 && !isLenient)) process.exitCode = 1
