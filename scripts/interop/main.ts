/**
 * Runs the suites that ask for Python's packages, with these packages: `npm run test:interop [-- --if-available] [WORD …]`.
 * Words choose suites by a part of their path.
 *
 * Prints the versions of the packages, and last `interop: N passed, N failed, N skipped`, in tests. Fails where one
 * fails or is skipped for want of a package; where there is no Python that is new enough or no package index, too,
 * unless it was asked to run what is available: then one line says what is not.
 */
import { execFileSync, spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, dirname, join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import * as Python from "./Python.ts"
import * as PythonEnvironment from "./PythonEnvironment.ts"
import { type Environment, environments } from "./Suites.ts"

interface Test {
  readonly fullName: string
  readonly status: "passed" | "failed" | "skipped" | "pending" | "todo" | "disabled"
}
interface Report {
  readonly testResults: ReadonlyArray<{
    readonly name: string
    readonly status: "passed" | "failed"
    readonly assertionResults: ReadonlyArray<Test>
  }>
}

const root = fileURLToPath(new URL("../..", import.meta.url))
const isAsked = (word: string): boolean => process.argv.slice(2).includes(word)
const isLenient = isAsked("--if-available")
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

/** What became of the suites of one environment, in its interpreter. */
const run = (interpreter: string, suites: ReadonlyArray<string>): Report => {
  const folder = mkdtempSync(join(tmpdir(), "atropos-interop-"))
  const file = join(folder, "report.json")
  const { error } = spawnSync(
    process.execPath,
    [
      join(root, "node_modules/vitest/vitest.mjs"),
      ...["run", "--reporter=default", "--reporter=json", `--outputFile.json=${file}`, ...suites]
    ],
    {
      cwd: root,
      stdio: "inherit",
      // Programs that come with packages, such as uv, are found as in an activated environment.
      env: {
        ...process.env,
        ATROPOS_TEST_PYTHON: interpreter,
        PATH: `${dirname(interpreter)}${delimiter}${process.env["PATH"] ?? ""}`
      }
    }
  )
  if (error !== undefined) throw error
  const report = JSON.parse(readFileSync(file, "utf8")) as Report
  rmSync(folder, { recursive: true })
  return report
}

const counts = { passed: 0, failed: 0, skipped: 0 }
const faults: Array<string> = []
const absent: Array<string> = []
const passed = new Set<string>()
const red = new Set<string>()

const tell = (environment: Environment, suites: ReadonlyArray<string>, { testResults }: Report): void => {
  for (const suite of suites) {
    const found = testResults.find(({ name }) => relative(root, name) === suite)
    const tests = found?.assertionResults ?? []
    const is = (state: "passed" | "failed") => tests.filter(({ status }) => status === state).length
    const skipped = tests.filter(({ status }) => status !== "passed" && status !== "failed")
    counts.passed += is("passed")
    counts.failed += is("failed")
    counts.skipped += skipped.length
    for (const { fullName } of skipped) console.log(`skipped: ${suite}: ${fullName}`)
    const missing = skipped.some(({ fullName }) => fullName.includes("cannot import"))
    const fault =
      found?.status !== "passed"
        ? "failed"
        : missing
          ? "skipped tests, though the environment has its packages"
          : is("passed") === 0
            ? "ran no test"
            : undefined
    if (fault === undefined) passed.add(suite)
    else {
      red.add(suite)
      faults.push(`${suite} (${environment.name}): ${fault}`)
    }
  }
}

const asked = environments
  .map((one) => ({ ...one, suites: one.suites.filter((suite) => words.every((word) => suite.includes(word))) }))
  .filter(({ suites }) => suites.length > 0)

const lines: Array<string> = []
for (const environment of asked) {
  const { clients, lock, name, python: minor, suites } = environment
  const python = Python.find(minor)
  try {
    if (python === undefined) throw new PythonEnvironment.Unavailable(`there is no Python 3.${minor} or newer`)
    const interpreter = PythonEnvironment.ensure(name, lock, python)
    lines.push(`${name}: Python ${python.version.join(".")}, ${versionsOf(interpreter, clients)}`)
    tell(environment, suites, run(interpreter, suites))
  } catch (error) {
    if (!(error instanceof PythonEnvironment.Unavailable)) throw error
    absent.push(`${name} (${suites.length} suites): ${error.message}`)
  }
}

for (const line of lines) console.log(line)
for (const fault of faults) console.log(`red: ${fault}`)
if (absent.length > 0) console.log(`not run: ${absent.join("; ")}`)
const all = new Set(asked.flatMap(({ suites }) => suites))
for (const suite of red) passed.delete(suite)
console.log(`${passed.size} of ${all.size} suites passed`)
console.log(`interop: ${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`)
if (faults.length > 0 || all.size === 0 || (absent.length > 0 && !isLenient)) process.exitCode = 1
