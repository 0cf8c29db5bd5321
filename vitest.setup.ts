/**
 * Properties see the same random inputs in every run, so that a red run is the fault of the change it tests. `npm run
 * test:explore` draws others, and more: PROPERTY_SEED is an integer or `random`, PROPERTY_RUNS the inputs of a property
 * that does not say how many.
 */
import { Arbitrary } from "effect"
import { chai } from "vitest"

const { PROPERTY_SEED = "20261121", PROPERTY_RUNS } = process.env

Arbitrary.configureGlobal({
  check: {
    ...(PROPERTY_SEED !== "random" && { seed: Number(PROPERTY_SEED) }),
    ...(PROPERTY_RUNS !== undefined && { runs: Number(PROPERTY_RUNS) })
  }
})

// The proxy around every assertion names misspelt ones, as types do, and takes three times what the assertion takes.
chai.config.useProxy = false
