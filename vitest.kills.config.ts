import { defineConfig, mergeConfig } from "vitest/config"
import shared from "./vitest.config.ts"

/** Programs killed at random moments (`npm run test:kills`): outside of the tests, which are the same every time. */
const { projects: _, ...test } = shared.test ?? {}

export default mergeConfig(
  { ...shared, test },
  defineConfig({ test: { include: ["packages/cli/test/kills/*.kills.ts"] } })
)
