import { globSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"
import { BaseSequencer, type Reporter, type TestCase, type TestSpecification } from "vitest/node"

const name = ({ fullName, module }: TestCase): string => `${module.relativeModuleId} > ${fullName}`

/** Of a test that passed when it was repeated: that of the first try. */
const messageOf = (test: TestCase): string => test.result().errors?.[0]?.message.slice(0, 500) ?? "no message"

/**
 * Names the tests that failed, and those that failed once and then passed, and ends with a line that any reader of logs
 * understands: `740 passed, 0 failed, 0 skipped`.
 */
const summary: Reporter = {
  onTestRunEnd(modules) {
    const tests = modules.flatMap((module) => Array.from(module.children.allTests()))
    for (const test of tests) {
      if (test.result().state === "failed") console.log(`failed: ${name(test)}: ${messageOf(test)}`)
    }
    for (const module of modules) {
      for (const { message } of module.errors())
        console.log(`failed: ${module.relativeModuleId}: ${message.slice(0, 500)}`)
    }
    const flaky = tests.filter((test) => test.diagnostic()?.flaky === true)
    for (const test of flaky) console.log(`flaky: ${name(test)}: ${messageOf(test)}`)
    if (flaky.length > 0) console.log(`${flaky.length} flaky: failed once, then passed`)
    const count = (state: "passed" | "failed" | "skipped") =>
      tests.filter((test) => test.result().state === state).length
    console.log(`${count("passed")} passed, ${count("failed")} failed, ${count("skipped")} skipped`)
  }
}

/**
 * Files that change what belongs to a whole process (its environment), or read it (its memory, all that it has
 * measured): each has a process to itself. The others share one for each worker, which loads a module once. They may
 * come in any order: `npx vitest run --sequence.shuffle.files` draws one.
 */
const ownProcess = [
  "packages/api/test/v1/V1.test.ts",
  "packages/core/test/inference/backend/Slurm.test.ts",
  "packages/core/test/inference/Routing.test.ts",
  "packages/core/test/metrics/*.test.ts",
  "packages/trainer/test/exec/Device.test.ts",
  "packages/trainer/test/exec/OrtWorker.test.ts",
  "packages/trainer/test/server/PolicyServer.test.ts"
]

/**
 * Suites that start or kill programs, attack what they hold, drive a browser, train with whole programs or hold every
 * loss, architecture and environment to a reference: `npm run test:all` runs them, as the build does, and `npm test`
 * only one of each kind.
 */
const oneOfEach = ["packages/cli/test/crash/Trainer.test.ts", "packages/cli/test/hostile/Inference.test.ts"]
const kinds = [
  "packages/cli/test/{Bin,Gateway,Outputs,Policy,Training,UpMistakes,UpAgent,UpModel,UpScratch,Waiting,Mistakes,Registry,init/Init}.test.ts",
  "packages/cli/test/agents/Project.test.ts",
  "packages/cli/test/{evaluate/Reference,sets/Service,up/VllmServer,view/View}.test.ts",
  "packages/envs/test/{Mcp,coding/Acp,coding/CodingAgents,command/Command,command/Program,harbor/Hostile}.test.ts",
  "packages/cli/test/openenv/Served.test.ts",
  "packages/api/test/database/*.test.ts",
  "packages/core/test/base/FolderLockRace.test.ts",
  "packages/api/test/{TwoProcesses,v0/Replay}.test.ts",
  "packages/*/test/{crash,hostile,long}/**/*.test.ts",
  "examples/test/{AgentPages,AnyProgram,Examples}.test.ts",
  "packages/envs/test/{PythonTests,code/Contest,sandbox/Sandbox,verify/Adversarial}.test.ts",
  "packages/trainer/test/{loss/PyTorch,loss/TrainGraph,model/Architectures}.test.ts",
  "packages/cli/test/viewer/*.test.ts",
  "packages/cli/test/trl/*.test.ts",
  "packages/cli/test/tinker/*.test.ts",
  "packages/trainer/test/tinker/server/SameNumbers.test.ts",
  "packages/envs/test/sandbox/Secrets.test.ts",
  "packages/trainer/test/exec/Telemetry.test.ts",
  "packages/api/test/regular/*.test.ts",
  "packages/trainer/test/learn/Mismatch.test.ts",
  "packages/trainer/test/run/{ClosedLoop,EngineRecovery,Killed,OnPolicy,Quantized,ResumedLoop,RouterReplay,SharedService,WaitingAtBound}.test.ts",
  "packages/trainer/test/tinker/server/{HostileRequests,TinkerServerRefusals}.test.ts",
  "packages/trainer/test/tinker/TinkerEngine.test.ts"
]
const long = globSync(kinds, { cwd: import.meta.dirname }).filter((file) => !oneOfEach.includes(file))

/** What takes longest, to begin with: a long file that came last would run when the other workers have nothing left. */
const longest = [
  "cli/test/UpScratch",
  "cli/test/UpModel",
  "cli/test/long/evaluate/",
  "cli/test/viewer/",
  "trainer/test/run/Killed",
  "envs/test/long/",
  "trainer/test/tinker/",
  "cli/test/crash/",
  "cli/test/long/",
  "envs/test/sandbox/Sandbox",
  "examples/test/",
  "trainer/test/run/ClosedLoop",
  "trainer/test/loss/",
  "cli/test/Registry",
  "cli/test/hostile/",
  "cli/test/sets/",
  "cli/test/Bin",
  "envs/test/PythonTests",
  "trainer/test/run/SharedService"
]

/**
 * Project by project, the longest of each first: a worker goes on to the next file with the modules that it has loaded
 * where that is of the same project, else it is ended and the next one loads them again.
 */
const projects = ["own process", "long", "shared"]
const rank = ({ moduleId, project }: TestSpecification): number => {
  const at = longest.findIndex((part) => moduleId.includes(part))
  return projects.indexOf(project.name) * (longest.length + 1) + (at === -1 ? longest.length : at)
}

class LongestFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>) {
    const sorted = await super.sort(files)
    return sorted.toSorted((a, b) => rank(a) - rank(b))
  }
}

const isShuffled = process.argv.some((word) => word.startsWith("--sequence.shuffle"))

const conditions = ["atropos-src"]

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
  test: {
    setupFiles: ["vitest.setup.ts"],
    reporters: ["default", summary],
    // Ends a test that hangs, and measures nothing. The only such limit: a machine with other work takes ten times what
    // a test takes alone, and a limit that a test sets for itself fails there.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    // More than a small machine has cores: much of a file's time is waiting, for processes, leases and browsers.
    maxWorkers: 4,
    // Room for what files leave behind at once: a twentieth less work than collecting it as it comes.
    execArgv: ["--initial-heap-size=512", "--min-semi-space-size=32", "--max-semi-space-size=64"],
    sequence: isShuffled ? {} : { sequencer: LongestFirst },
    // For the workers and for the processes that tests start.
    env: { NODE_COMPILE_CACHE: fileURLToPath(new URL("node_modules/.cache/node", import.meta.url)) },
    projects: [
      { extends: true, test: { name: "own process", include: ownProcess } },
      {
        extends: true,
        test: {
          name: "shared",
          include: ["packages/*/test/**/*.test.ts", "examples/**/*.test.ts"],
          exclude: ["**/node_modules/**", "**/test/nightly/**", ...ownProcess, ...long],
          isolate: false
        }
      },
      // A long test that fails is repeated once, and named in the summary if it then passes.
      { extends: true, test: { name: "long", include: long, isolate: false, retry: 1 } }
    ]
  }
})
