import { defineConfig, mergeConfig } from "vitest/config"
import shared from "./vitest.config.ts"

/**
 * What costs minutes for each fact (`npm run test:nightly`): whole learning curves, programs killed at random moments.
 * The tests of the build hold the parts; a night's run holds what comes of them together.
 */
const { projects: _, ...test } = shared.test ?? {}

export default mergeConfig(
  { ...shared, test },
  defineConfig({ test: { include: ["{packages/*,examples}/test/nightly/**/*.test.ts"], maxWorkers: 2 } })
)
