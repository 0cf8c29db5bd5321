import { defineConfig } from "vitest/config"
import type { Reporter } from "vitest/node"

/** A last line that any reader of logs understands: `740 passed, 0 failed, 0 skipped`. */
const summary: Reporter = {
  onTestRunEnd(modules) {
    const count = (state: "passed" | "failed" | "skipped") =>
      modules.reduce((sum, module) => sum + Array.from(module.children.allTests(state)).length, 0)
    console.log(`${count("passed")} passed, ${count("failed")} failed, ${count("skipped")} skipped`)
  }
}

const conditions = ["atropos-src"]

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
  test: {
    setupFiles: ["vitest.setup.ts"],
    include: ["packages/*/test/**/*.test.ts", "examples/**/*.test.ts"],
    reporters: ["default", summary],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    maxWorkers: 2
  }
})
