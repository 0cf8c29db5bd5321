/**
 * Properties see the same random inputs in every run, so that a red run is the fault of the change it tests. `npm run
 * test:explore` draws others, and more: PROPERTY_SEED is an integer or `random`, PROPERTY_RUNS the inputs of a property
 * that does not say how many.
 */
import { Arbitrary } from "effect"
import { afterAll, beforeEach, chai } from "vitest"
import * as Waits from "./packages/core/test/base/Waits.ts"

const { PROPERTY_SEED = "20261121", PROPERTY_RUNS } = process.env

Arbitrary.configureGlobal({
  check: {
    ...(PROPERTY_SEED !== "random" && { seed: Number(PROPERTY_SEED) }),
    ...(PROPERTY_RUNS !== undefined && { runs: Number(PROPERTY_RUNS) })
  }
})

// The proxy around every assertion names misspelt ones, as types do, and takes three times what the assertion takes.
chai.config.useProxy = false

// Vitest ends a test that reaches its limit by this signal, with the error that it prints.
beforeEach(({ signal }) => {
  signal.addEventListener("abort", () => {
    const waits = Waits.report()
    if (waits === undefined || !(signal.reason instanceof Error)) return
    signal.reason.message += `\n${waits}`
  })
})

// What a hook waited for, such as the start of a layer.
afterAll(() => {
  const waits = Waits.report()
  if (waits !== undefined) console.error(waits)
  Waits.clear()
})
